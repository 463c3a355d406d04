/** Common parts of the operations of this machine, and the parser of their descriptions. */

import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { describeIssue } from '@fairlead/base/settings/describe-issue.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { ImageEnvironment, ProgramLimitsFile } from '@fairlead/ports/image-file.ts'
import { z } from 'zod'
import type { ImageStore } from '../../images/image-store.ts'
import type { OperationRun, OperationType } from '../../infrastructure/operation-type.ts'
import type { Containers } from '../containers.ts'
import type { Desired } from '../desired.ts'
import type { AccountVariables } from '../outgoing/account-variables.ts'
import type { InstancePorts } from '../ports.ts'
import type { ProgramOverrides } from '../program.ts'
import type { Reconciler } from '../reconciler.ts'
import type { LocalAccountSettings, LocalSettings } from '../settings.ts'
import type { AccountUsers } from '../users.ts'
import type { Volumes } from '../volumes.ts'

export interface OperationParts {
  readonly context: BackendContext
  readonly settings: LocalSettings
  readonly desired: Desired
  readonly images: ImageStore
  readonly ports: InstancePorts
  readonly users: AccountUsers
  readonly reconciler: Reconciler
  readonly volumes: Volumes
  readonly containers: Containers
  readonly variables: AccountVariables
  readonly dataDir: string
  readonly newId: () => string
}

/** Older clients leave fields out or send null. */
export function optionalField<S extends z.ZodType>(schema: S) {
  return schema.nullish().transform((value) => value ?? undefined)
}

export const optionalTextPart = optionalField(z.string().trim()).transform(
  (value) => value || undefined,
)
/** Expressions of pipelines make texts of numbers. An empty one is no number: 0 would stop all instances. */
export function numeric<S extends z.ZodNumber>(schema: S) {
  return z.preprocess(
    (value) => (typeof value === 'string' && value.trim() !== '' ? Number(value) : value),
    schema,
  )
}
export const countField = numeric(
  z
    .number('it must be a whole number')
    .int('it must be a whole number')
    .min(0, 'it must not be negative'),
)
export const flagField = optionalField(z.union([z.boolean(), z.stringbool()])).transform(
  (value) => value === true,
)
export const textsField = optionalField(z.array(z.string().trim().min(1)))
/** The name of an image, or an object that has it. @param keys Where it has it */
export function imageField(...keys: readonly string[]) {
  const toImage = shape({ id: [textOf, ...keys] })
  return z
    .unknown()
    .optional()
    .transform((value) => textOf(value) ?? toImage(value).id)
}
export const textMap = optionalField(
  z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String)),
)

const environment = optionalField(ImageEnvironment)

/** What a description may say about the program, beside its command. */
export const programFields = {
  environment,
  env: environment,
  secrets: environment,
  limits: optionalField(ProgramLimitsFile),
  stopSeconds: optionalField(numeric(z.number().min(0).max(3600))),
}

type ProgramFields = { [K in keyof typeof programFields]: z.output<(typeof programFields)[K]> }

export function overridesOf({
  env,
  environment = env,
  secrets,
  limits,
  stopSeconds,
}: ProgramFields): ProgramOverrides {
  return { environment, secrets, limits, stopSeconds }
}

/** Fields that name the account and the region, whichever synonym was used. */
const PlaceFields = z.looseObject({
  credentials: optionalTextPart,
  account: optionalTextPart,
  accountName: optionalTextPart,
  region: optionalTextPart,
  regions: textsField,
  zone: optionalTextPart,
  availabilityZones: z.record(z.string(), z.array(z.string()).nullish()).nullish(),
})

export interface TargetPlace {
  readonly account: LocalAccountSettings
  readonly region: LocalAccountSettings['regions'][number]
  /** Zones that were chosen; all of the region unless some were. */
  readonly zones: readonly string[]
}

/** @throws {Error} for people */
export function placeOf({
  description,
  settings,
}: Pick<LocalSubmission, 'description' | 'settings'>): TargetPlace {
  const { credentials, account, accountName, region, regions, zone, availabilityZones } =
    PlaceFields.parse(description)
  const name = credentials ?? account ?? accountName
  const found = settings.accounts.find((one) => one.name === name)
  if (found === undefined) throw new Error(`The account "${name ?? ''}" does not exist.`)
  const chosen = Object.entries(availabilityZones ?? {})
  const ofZone = found.regions.find(({ zones }) => zone !== undefined && zones.includes(zone))?.name
  const wanted = region ?? chosen[0]?.[0] ?? regions?.[0] ?? ofZone
  const place = found.regions.find((one) => one.name === wanted)
  if (place === undefined) {
    const known = found.regions.map((one) => one.name).join(', ')
    throw new Error(
      wanted === undefined
        ? `region: it is missing. The account ${found.name} has ${known}.`
        : `region: the account ${found.name} has no region "${wanted}"; it has ${known}.`,
    )
  }
  const zones =
    chosen.find(([one]) => one === place.name)?.[1] ?? (zone === undefined ? [] : [zone])
  const unknown = zones.find((one) => !place.zones.includes(one))
  if (unknown !== undefined) {
    throw new Error(
      `availabilityZones: the region ${place.name} has no zone "${unknown}"; it has ${place.zones.join(', ')}.`,
    )
  }
  return { account: found, region: place, zones: zones.length === 0 ? place.zones : zones }
}

export interface LocalSubmission<Fields = unknown> extends OperationParts {
  readonly fields: Fields
  readonly description: JsonObject
}

export interface RunningOperation<Fields = unknown> extends LocalSubmission<Fields> {
  readonly run: OperationRun
  /** The last thing that an operation does: changes the desired state together with the task's progress, and acts on it. */
  readonly change: (work: () => void) => void
}

/** Sentences; conditions that do not hold are none. */
export type Problems = readonly (string | false | undefined | Problems)[]

/** Names in a description that has not been checked: a field that cannot be read is missing. */
export type Concern<Fields> = (
  submission: LocalSubmission<Partial<Fields>>,
) => readonly (string | undefined)[]

export type FieldsOf<S extends z.ZodRawShape> = z.output<z.ZodObject<S>>

/** What it is about beyond the account in its description; every operation says it. */
type Concerned<Fields> =
  /** Names of server groups, load balancers and the like. */
  | { readonly resources: Concern<Fields>; readonly accounts?: Concern<Fields> }
  | { readonly resources?: Concern<Fields>; readonly accounts: Concern<Fields> }

export interface OperationBody<S extends z.ZodRawShape> {
  readonly fields: S
  /** What is wrong beyond the fields. */
  readonly check?: (submission: LocalSubmission<FieldsOf<S>>) => Problems
  readonly run: (running: RunningOperation<FieldsOf<S>>) => Promise<void> | void
}

export type LocalOperation = (parts: OperationParts) => OperationType
export type LocalOperations = Readonly<Record<string, LocalOperation>>

/** An operation from a schema of its fields; unknown ones are ignored, since clients send all that they have. */
export function defineOperation<S extends z.ZodRawShape>(
  source: OperationBody<S> & Concerned<FieldsOf<S>>,
): LocalOperation {
  const schema = z.looseObject(source.fields) as unknown as z.ZodObject<S>
  const concernsOf = (
    concern: Concern<FieldsOf<S>> = () => [],
    description: JsonObject,
    parts: OperationParts,
  ) => {
    const fields = readableFields(source.fields, description)
    return concern({ ...parts, fields, description }).filter((name) => name !== undefined)
  }
  return (parts) => ({
    check(description) {
      const { success, data, error } = schema.safeParse(description)
      if (!success) return error.issues.map(describeField)
      try {
        return flatten(source.check?.({ ...parts, fields: data, description }) ?? [])
      } catch (thrown) {
        return [(thrown as Error).message]
      }
    },
    keepsReferences: true,
    applications: (description) =>
      concernsOf(source.resources, description, parts).flatMap(
        (name) => parseMoniker(name).app ?? [],
      ),
    accounts: (description) => concernsOf(source.accounts, description, parts),
    async run(description, run) {
      const change = (work: () => void) => {
        parts.desired.within((store) => run.commit(store), work)
        parts.reconciler.step()
      }
      await source.run({ ...parts, fields: schema.parse(description), description, run, change })
    },
  })
}

function flatten(problems: Problems): string[] {
  return problems.flatMap((problem) =>
    typeof problem === 'object' ? flatten(problem) : problem || [],
  )
}

/** Fields that can be read before it runs: permissions are about what it will find then. */
function readableFields<S extends z.ZodRawShape>(
  fields: S,
  description: JsonObject,
): Partial<FieldsOf<S>> {
  const read = Object.entries(fields).map(
    ([name, field]) => [name, z.safeParse(field, description[name]).data] as const,
  )
  return Object.fromEntries(read) as Partial<FieldsOf<S>>
}

function describeField(issue: z.core.$ZodIssue): string {
  return `${issue.path.join('.')}: ${describeIssue(issue)}.`
}
