/**
 * Validation of a pipeline or strategy before a save, and the fields of the store.
 *
 * @see docs/contracts/definitions.md#rules-of-a-save
 */

import { randomUUID } from 'node:crypto'
import { formatJson } from '@fairlead/base/json/json.ts'
import { isTrue, type JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import type { PortError } from '@fairlead/base/port-error.ts'
import type { DocumentStore } from '@fairlead/base/stores/document-store.ts'
import { templateOf } from '@fairlead/model/pipeline-templates/references.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { checkBody, optionalFlagField } from '@fairlead/ports/requests/check-body.ts'
import { z } from 'zod'
import { describeBatch, describeExcess, describeLongList, describeOversize } from '../limits.ts'
import { type DocumentKind, findingsOf, refuseErrors } from '../orchestration/findings/findings.ts'
import { unmaskDefinition } from '../pipelines/trigger-secrets.ts'
import { checkApplicationName } from './application-names.ts'
import type { Definitions } from './collections.ts'
import {
  checkArray,
  incomplete,
  objectField,
  optionalName,
  optionalTextField,
  refusal,
} from './requests.ts'

/** Values are those that Front50 takes, which reads flags and numbers from texts; they are stored as they were sent. */
const flag = z.union([optionalFlagField, z.number()], 'it must be true or false').nullish()
const whole = z.union([z.int(), z.string().regex(/^-?\d*$/)], 'it must be a whole number').nullish()
const scalar = z.union([z.string(), z.number(), z.boolean()], 'it must be text').nullish()
const objects = z.array(objectField.nullable(), 'it must be a list of objects').nullish()

/** What stages, triggers and parameters consist of is for `findings/` to say. */
const PipelineFields = z.looseObject({
  id: optionalName,
  name: optionalName,
  application: optionalTextField,
  schema: scalar,
  type: scalar,
  description: scalar,
  stages: objects,
  triggers: objects,
  parameterConfig: objects,
  expectedArtifacts: objects,
  notifications: objects,
  index: whole,
  disabled: flag,
  limitConcurrent: flag,
  keepWaitingPipelines: flag,
  strategy: flag,
  maxConcurrentExecutions: whole,
  template: objectField.nullish(),
  spelEvaluator: scalar,
  locked: objectField.nullish(),
  regenerateCronTriggerIds: flag,
  updateTs: scalar,
  lastModifiedBy: scalar,
})

/** A pipeline as it was sent, of the declared types but not yet according to the rules. */
export type PipelineBody = z.infer<typeof PipelineFields> & JsonObject

/** @throws {PortError} 400 when a field has a type that Front50 would not take */
export function checkPipelineTypes(body: unknown): PipelineBody {
  return checkBody(PipelineFields, body)
}

/** @throws {PortError} 422 when application or name are blank (rule 1); 400 when no application can have the name */
export function checkPlace(
  definitions: Definitions,
  store: DocumentStore,
  pipeline: PipelineBody,
): void {
  for (const field of ['application', 'name'] as const) {
    if ((pipeline[field] ?? '').trim() === '')
      throw incomplete(`A pipeline needs the field "${field}", and it must not be blank.`)
  }
  checkApplicationName(
    definitions,
    String(pipeline.application),
    store.get(foldName(pipeline.id ?? ''))?.['application'],
  )
}

interface SaveOptions {
  /** Whether a save is refused that is based on an older version than the stored one. */
  readonly staleCheck: boolean
  readonly user: string
}

/**
 * Applies every rule but `checkStrictly`, and answers the document to store, with its id.
 *
 * @throws {PortError} 400 or 422 with what is wrong.
 */
export function checkPipeline(
  definitions: Definitions,
  sent: PipelineBody,
  { staleCheck, user }: SaveOptions,
): JsonObject {
  checkPlace(definitions, definitions.pipelines, sent)
  const body = withStoredSecrets(definitions.pipelines, sent)
  const template = templateOf(body)
  if (template !== undefined && !definitions.templates.has(foldName(template)))
    throw refusal(`The pipeline uses the template "${template}", which does not exist.`)
  if (staleCheck) checkFresh(definitions.pipelines, body, user)
  checkBounds(definitions, body)
  const pipeline = toDocument(definitions.pipelines, body)
  checkNameIsFree(definitions.pipelines, pipeline)
  return pipeline
}

/**
 * Readers get masks, and send them back. A trigger may come from an older version, but not from one of an application to which the
 * pipeline no longer belongs: its secrets are not the saver's.
 *
 * @throws {PortError} 400 when nothing is stored for a mask
 */
export function withStoredSecrets(store: DocumentStore, body: PipelineBody): PipelineBody {
  const key = foldName(body.id ?? '')
  return unmaskDefinition(body, () => {
    const owners = new Set(
      [body.application, store.get(key)?.['application']].map((owner) => foldName(String(owner))),
    )
    return store
      .versions(key)
      .filter(({ application }) => owners.has(foldName(String(application))))
  })
}

/** @throws {PortError} 400 when the engine would refuse to run it for its size. */
export function checkBounds(definitions: Definitions, definition: JsonObject): void {
  const limits = definitions.context.settings.limits
  refuseExcess(describeExcess(readPipeline(definition).stages, limits))
  checkLists(definitions, 'pipeline', definition)
  refuseExcess(describeOversize('The definition', definition, limits.bytes))
}

/** @throws {PortError} 400 when a list of the object is too long. */
export function checkLists({ context }: Definitions, what: string, object: JsonObject): void {
  refuseExcess(describeLongList(what, object, context.settings.limits))
}

/** @throws {PortError} 400 when the body is no list, or has more definitions than one request may save. */
export function checkBatch({ context }: Definitions, body: unknown): unknown[] {
  const list = checkArray(body)
  refuseExcess(describeBatch(list, context.settings.limits))
  return list
}

function refuseExcess(excess: string | undefined): void {
  if (excess !== undefined) throw refusal(excess, [excess])
}

/**
 * Where the operator wants it, what can never work is refused. Other requests have their turn meanwhile, thus before the transaction
 * of a save.
 *
 * @throws {PortError} 400 with each error
 */
export async function checkStrictly(
  { context, findingSources }: Definitions,
  kind: DocumentKind,
  document: JsonObject,
): Promise<void> {
  if (context.settings.findings.strict)
    refuseErrors(await findingsOf(kind, document, findingSources), document)
}

/** The document to store: name trimmed, id and cron trigger ids filled in, input flags taken out. */
export function toDocument(store: DocumentStore, body: PipelineBody): JsonObject {
  const { regenerateCronTriggerIds, errorMsg: _output, index, ...kept } = body
  const isNew = (body.id ?? '') === ''
  const stored = isNew ? undefined : store.get(foldName(body.id as string))
  return {
    ...kept,
    ...(index == null ? {} : { index }),
    id: isNew ? randomUUID() : (stored?.['id'] ?? body.id),
    name: (body.name ?? '').trim(),
    schema: body.schema || '1',
    triggers: (body.triggers ?? []).map((trigger) =>
      withCronId(trigger, isNew || isTrue(regenerateCronTriggerIds)),
    ),
  }
}

function withCronId(trigger: JsonObject | null, isForced: boolean): JsonObject | null {
  if (trigger === null) return null
  const hasId = trigger['id'] != null && trigger['id'] !== ''
  return trigger['type'] === 'cron' && (isForced || !hasId)
    ? { ...trigger, id: randomUUID() }
    : trigger
}

/** @throws {PortError} 400 when another pipeline of the application has the name, ignoring case (rule 8). */
export function checkNameIsFree(
  store: DocumentStore,
  pipeline: JsonObject,
  kind: 'pipeline' | 'strategy' = 'pipeline',
): void {
  const name = String(pipeline['name'])
  const application = String(pipeline['application'])
  const key = foldName(String(pipeline['id']))
  const other = store.named(name, application).find((each) => foldName(String(each['id'])) !== key)
  if (other !== undefined) throw nameTaken(kind, name, other)
}

/** The name belongs to a stored pipeline or strategy; the message tells how to update that one. */
export function nameTaken(
  kind: 'pipeline' | 'strategy',
  name: string,
  { application, id }: JsonObject,
): PortError {
  return refusal(
    `A ${kind} named "${name}" exists already in the application "${application}". ` +
      `To update it, send its "id", "${id}"; to save another one, choose another name.`,
  )
}

/** Refuses a save that is based on an older version than the stored one (docs/contracts/definitions.md#stale-saves). */
function checkFresh(store: DocumentStore, body: PipelineBody, user: string): void {
  const token = String(body.updateTs ?? '')
  if ((body.id ?? '') === '' || token === '') return
  const key = foldName(body.id as string)
  const storedMs = store.modifiedMs(key)
  if (storedMs === undefined || String(storedMs) === token) return
  if (/^\d{1,15}$/.test(token) && wasOnlySwitched(store, key, Number(token), user)) return
  const stored = store.get(key) ?? {}
  const changedBy =
    stored['lastModifiedBy'] === user
      ? 'You, perhaps in another window,'
      : String(stored['lastModifiedBy'])
  const message =
    `${changedBy} saved the pipeline "${stored['name']}" on ${formatMoment(storedMs)}, ` +
    `after you had loaded its version of ${formatMoment(Number(token))}. ` +
    'Your changes are not saved: reload the pipeline and make them again.'
  throw refusal(message, [message])
}

const stampsAndSwitch = ['disabled', 'updateTs', 'lastModified', 'lastModifiedBy']
/** Users do not switch a pipeline more often without loading it. */
const maxSwitches = 100

/**
 * Whether all that happened since is that the same user switched the pipeline off or on. The web UI does so, and saves again,
 * without loading it in between.
 */
function wasOnlySwitched(
  store: DocumentStore,
  key: string,
  sinceMs: number,
  user: string,
): boolean {
  const [base, ...later] = store.versionsSince(key, sinceMs, maxSwitches)
  if (
    base === undefined ||
    String(base['updateTs']) !== String(sinceMs) ||
    later.length === maxSwitches - 1
  )
    return false
  return later.every((version, index) => {
    const before = later[index - 1] ?? base
    const isSwitch = readPipeline(version).isDisabled !== readPipeline(before).isDisabled
    return (
      isSwitch &&
      version['lastModifiedBy'] === user &&
      withoutSwitch(version) === withoutSwitch(base)
    )
  })
}

function withoutSwitch(pipeline: JsonObject): string {
  const fields = Object.entries(pipeline).filter(([name]) => !stampsAndSwitch.includes(name))
  return formatJson(fields.sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** Such as `2026-11-22 at 03:25:02 UTC`. */
function formatMoment(ms: number): string {
  const moment = new Date(ms)
  if (Number.isNaN(moment.getTime())) return 'an unknown time'
  const [day, time = ''] = moment.toISOString().split('T')
  return `${day} at ${time.slice(0, 8)} UTC`
}
