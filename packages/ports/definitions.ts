/** What users and tools declare: applications, pipelines and what belongs to them. Documents are as stored, with their secrets. */
import { asGiven, objectList, or, type ShapeOf, shape, withAll } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { PermissionRecord } from '@fairlead/model/rights/permissions.ts'
import type { Caller } from './caller.ts'
import type { PortRules } from './rules.ts'

function wholeOf(value: unknown): number | undefined {
  const number = Number(value)
  return ['number', 'string'].includes(typeof value) &&
    value !== '' &&
    Number.isSafeInteger(number) &&
    number >= 0
    ? number
    : undefined
}

const text = or(textOf, '')

export const toApplication = withAll(
  shape({
    name: text,
    /** How long its executions and tasks are kept. */
    retention: shape({ days: [wholeOf, 'retentionDays'], kept: wholeOf }),
    repoType: textOf,
    repoProjectKey: textOf,
    repoSlug: textOf,
    /** As declared: see `declaredEnvironments`. */
    environments: asGiven,
    trafficGuards: objectList(
      shape({
        enabled: (value: unknown) => value === undefined || isTrue(value),
        account: text,
        location: text,
        stack: text,
        detail: text,
      }),
    ),
    /** Rules of Kubernetes objects: see `rulesIn` and `OwnRules`. */
    ignoreDifferences: objectsOf,
    health: objectsOf,
  }),
)
export type Application = ShapeOf<typeof toApplication>

export const toServiceAccount = shape({ name: text, memberOf: textsOf })
type ServiceAccount = ShapeOf<typeof toServiceAccount>

export interface TriggeredBy {
  /** Types of triggers. */
  readonly types: readonly string[]
  /** Names of what they wait for, as `TriggerKind` has them; undefined: anything. */
  readonly about?: readonly string[]
}

/** What is not there is undefined, or an empty list. All throw {PortError} while the store cannot be asked, or refuses the caller. */
export interface StoredDefinitions {
  /** In messages. */
  readonly name: string
  /** Whether `triggeredPipelines` knows the triggers that instances inherit from their templates. */
  readonly seesInheritedTriggers: boolean
  /** Another text after each change of such documents; undefined where changes cannot be seen. */
  version(of: VersionedKind): string | undefined
  applications(as: Caller): Promise<Application[]>
  application(name: string, as: Caller): Promise<Application | undefined>
  /** Permissions of applications. */
  permissions(as: Caller): Promise<PermissionRecord[]>
  /** The last permissions of applications that were removed. */
  removedPermissions(as: Caller): Promise<PermissionRecord[]>
  serviceAccounts(as: Caller): Promise<ServiceAccount[]>
  pipelines(as: Caller): Promise<JsonObject[]>
  /** Pipelines with such a trigger, and perhaps others. */
  triggeredPipelines(wanted: TriggeredBy, as: Caller): Promise<JsonObject[]>
  /** Pipelines that follow the end of another one, and perhaps others. @param word Of its end: `successful`, … */
  followersOf(id: string, word: string, as: Caller): Promise<JsonObject[]>
  /** Within a transaction. False: no pipeline follows the end of this one. */
  mayBeFollowed(id: string): boolean
  /** Pipelines with a notification of such a type, and perhaps others. @param isWanted Receives types in lower case */
  notifyingPipelines(isWanted: (type: string) => boolean, as: Caller): Promise<JsonObject[]>
  /** In their order. */
  pipelinesOf(application: string, as: Caller): Promise<JsonObject[]>
  pipeline(id: string, as: Caller): Promise<JsonObject | undefined>
  /** The one that is spelled so. */
  pipelineNamed(
    place: { readonly application: string; readonly name: string },
    as: Caller,
  ): Promise<JsonObject | undefined>
  /** The newest first. */
  pipelineVersions(
    wanted: { readonly id: string; readonly most: number },
    as: Caller,
  ): Promise<JsonObject[]>
  /** @param application Undefined: of all */
  strategies(application: string | undefined, as: Caller): Promise<JsonObject[]>
  projects(as: Caller): Promise<JsonObject[]>
  /** @param nameOrId Of several with the name, one that is spelled so */
  project(nameOrId: string, as: Caller): Promise<JsonObject | undefined>
  /** A template of the second schema. */
  template(wanted: WantedTemplate, as: Caller): Promise<JsonObject | undefined>
  /** Recipients of notifications: records of applications, and one of all. */
  notifications(as: Caller): Promise<JsonObject[]>
  /** @param application Undefined: the record of all */
  notificationsOf(application: string | undefined, as: Caller): Promise<JsonObject>
  /** Notifications of an application and of all, within a transaction; undefined: they have to be asked for. */
  notificationsAtHand(application: string): JsonObject[] | undefined
  /** What of a pipeline or strategy waits for a user with the right. */
  heldAtHand(id: string): readonly HeldPart[]
  /** @param wanted With a time in milliseconds, the version of that time; else the last one */
  snapshot(
    wanted: { readonly id: string; readonly timestamp?: number },
    as: Caller,
  ): Promise<JsonObject | undefined>

  createApplication(application: JsonObject, as: Caller): Promise<void>
  /** Fields that are left out stay. */
  updateApplication(application: JsonObject & { readonly name: string }, as: Caller): Promise<void>
  removeApplication(name: string, as: Caller): Promise<void>
  setPermissions(
    record: { readonly name: string; readonly permissions: unknown },
    as: Caller,
  ): Promise<void>
  removePermissions(application: string, as: Caller): Promise<void>
  savePipeline(pipeline: JsonObject, options: SaveOptions, as: Caller): Promise<JsonObject>
  replacePipeline(
    pipeline: JsonObject & { readonly id: string },
    options: SaveOptions,
    as: Caller,
  ): Promise<JsonObject>
  /** Saves those that are fine; the others are reported. */
  savePipelines(
    pipelines: readonly unknown[],
    options: SaveOptions,
    as: Caller,
  ): Promise<BatchReport>
  removePipeline(
    place: { readonly application: string; readonly name: string },
    as: Caller,
  ): Promise<void>
  reorder(order: PipelineOrder, as: Caller): Promise<void>
  createProject(project: JsonObject, as: Caller): Promise<void>
  replaceProject(project: JsonObject & { readonly id: string }, as: Caller): Promise<void>
  removeProject(id: string, as: Caller): Promise<void>
  createTemplate(template: GivenTemplate, as: Caller): Promise<void>
  updateTemplate(template: GivenTemplate, as: Caller): Promise<void>
  deleteTemplate(template: Omit<GivenTemplate, 'content'>, as: Caller): Promise<void>
  saveSnapshot(snapshot: JsonObject, as: Caller): Promise<void>
}

/** A part of a definition that runs only by the rights of a certain user, too. */
export interface HeldPart {
  /** Account of triggers, which wait for a release; undefined: stages, which act for the user, too. */
  readonly account: string | undefined
  /** Who has saved or released it. */
  readonly user: string
}

/** Pipelines include strategies. */
export type VersionedKind = 'applications' | 'pipelines' | 'projects'

export interface WantedTemplate {
  readonly id: string
  /** Either of them, or neither. */
  readonly tag?: string
  readonly digest?: string
}

export interface GivenTemplate extends WantedTemplate {
  /** Whether it has the second schema. */
  readonly isVersioned: boolean
  readonly content: JsonObject
}

interface SaveOptions {
  /** Refuses what was changed since it was read. */
  readonly staleCheck: boolean
}

interface PipelineOrder {
  readonly kind: 'pipelines' | 'strategies'
  readonly application: string
  readonly idsToIndices: JsonObject
}

export interface BatchReport {
  readonly successful_pipelines_count: number
  readonly successful_pipelines: readonly string[]
  readonly failed_pipelines_count: number
  /** Definitions as sent, with `errorMsg`. */
  readonly failed_pipelines: readonly JsonObject[]
}

const unrepeatable = [
  'createApplication',
  'updateApplication',
  'savePipeline',
  'savePipelines',
  'reorder',
  'createProject',
  'createTemplate',
] as const

export const definitionRules: PortRules<StoredDefinitions> = {
  service: 'front50',
  changes: [
    ...unrepeatable,
    'removeApplication',
    'setPermissions',
    'removePermissions',
    'replacePipeline',
    'removePipeline',
    'replaceProject',
    'removeProject',
    'updateTemplate',
    'deleteTemplate',
  ],
  holdsSecrets: [],
  once: unrepeatable,
}
