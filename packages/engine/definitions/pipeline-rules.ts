/**
 * Validation of a pipeline or strategy before a save, and the fields of the store.
 *
 * @see docs/contracts/definitions.md#rules-of-a-save
 */
import { randomUUID } from 'node:crypto'
import { formatJson, isRawNumber } from '@fairlead/base/json/json.ts'
import { isTrue, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import type { PortError } from '@fairlead/base/port-error.ts'
import { type DocumentStore, foldName } from '@fairlead/base/stores/document-store.ts'
import {
  Parameter,
  Pipeline,
  PipelineStage,
  PipelineTrigger,
} from '@fairlead/model/environments/pipeline-models.ts'
import { templateOf } from '@fairlead/model/pipeline-templates/references.ts'
import { checkBody, optionalFlagField } from '@fairlead/ports/requests/check-body.ts'
import { z } from 'zod'
import { describeBatch, describeExcess, describeLongList, describeOversize } from '../limits.ts'
import { describeStageCycle } from '../orchestration/submission/stage-cycle.ts'
import { unmaskDefinition } from '../pipelines/trigger-secrets.ts'
import { checkApplicationName } from './application-names.ts'
import type { Definitions } from './collections.ts'
import {
  checkArray,
  incomplete,
  nameText,
  objectField,
  optionalName,
  optionalTextField,
  refusal,
} from './requests.ts'
import { checkStages } from './runnable-stages.ts'
import { checkTriggers } from './usable-triggers.ts'

/** Forms in which older clients send some fields. They are stored as the API document describes them. */
const olderForms = {
  text: {
    schema: z.union([z.string(), z.number()], 'it must be text or a number').nullish(),
    convert: (value: unknown) =>
      typeof value === 'number' || isRawNumber(value) ? String(value) : value,
  },
  flag: {
    schema: optionalFlagField,
    convert: (value: unknown) => (typeof value === 'string' ? isTrue(value) : value),
  },
  texts: {
    schema: z.array(z.union([z.string(), z.number()], 'it must be text or a number')).nullish(),
    convert: (value: unknown): unknown =>
      Array.isArray(value) ? value.map(olderForms.text.convert) : value,
  },
} as const

type Forms = Readonly<Record<string, keyof typeof olderForms>>

const pipelineForms = {
  disabled: 'flag',
  limitConcurrent: 'flag',
  keepWaitingPipelines: 'flag',
  strategy: 'flag',
} as const
const stageForms = { refId: 'text', requisiteStageRefIds: 'texts' } as const
const triggerForms = { enabled: 'flag', cronExpression: 'text' } as const

function schemasOf(forms: Forms): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(forms).map(([name, form]) => [name, olderForms[form].schema]),
  )
}

function converted(object: JsonObject, forms: Forms): JsonObject {
  const present = Object.entries(forms).filter(([name]) => object[name] !== undefined)
  return {
    ...object,
    ...Object.fromEntries(
      present.map(([name, form]) => [name, olderForms[form].convert(object[name])]),
    ),
  }
}

function convertedList(list: unknown, forms: Forms): unknown {
  return Array.isArray(list) ? list.map((each: JsonObject) => converted(each, forms)) : list
}

/** What the API document says, and what clients send besides: nothing is stored that the document does not describe. */
const PipelineFields = Pipeline.extend({
  id: optionalName,
  name: optionalName,
  application: optionalTextField,
  parameterConfig: z.array(Parameter.extend({ name: nameText })).nullish(),
  stages: z.array(PipelineStage.extend(schemasOf(stageForms))).nullish(),
  triggers: z.array(PipelineTrigger.extend(schemasOf(triggerForms))).nullish(),
  ...schemasOf(pipelineForms),
  spelEvaluator: optionalTextField,
  locked: objectField.nullish(),
  regenerateCronTriggerIds: optionalFlagField,
  updateTs: z.union([z.string(), z.number()]).nullish(),
})

/** A pipeline as it was sent, of the declared types but not yet according to the rules. */
export type PipelineBody = z.infer<typeof PipelineFields> & JsonObject

/**
 * The body in the types that the API document describes.
 *
 * @throws {PortError} 400 when a field has the wrong type.
 */
export function checkPipelineTypes(body: unknown): PipelineBody {
  const checked = checkBody(PipelineFields, body)
  const { stages, triggers } = checked
  return {
    ...converted(checked, pipelineForms),
    ...(stages !== undefined && { stages: convertedList(stages, stageForms) }),
    ...(triggers !== undefined && { triggers: convertedList(triggers, triggerForms) }),
  } as PipelineBody
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
 * Applies every rule but `checkPatterns`, and answers the document to store, with its id.
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
  const cycle = describeStageCycle(body.stages ?? [])
  if (cycle !== undefined) throw refusal(cycle, [cycle])
  checkBounds(definitions, body)
  checkStages(definitions, body)
  checkTriggers(definitions, body)
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
  refuseExcess(describeExcess(objectsOf(definition['stages']), limits))
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

function withCronId(trigger: JsonObject, isForced: boolean): JsonObject {
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
    const isSwitch = isTrue(version['disabled']) !== isTrue(before['disabled'])
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

/** As in `2026-11-22 at 03:25:02 UTC`. */
function formatMoment(ms: number): string {
  const moment = new Date(ms)
  if (Number.isNaN(moment.getTime())) return 'an unknown time'
  const [day, time = ''] = moment.toISOString().split('T')
  return `${day} at ${time.slice(0, 8)} UTC`
}
