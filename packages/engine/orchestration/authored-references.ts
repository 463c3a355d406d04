/** References to secrets that count in a run, by the stages that contain them: docs/contracts/secrets.md#authors-and-events. */
import { formatJson } from '@fairlead/base/json/json.ts'
import { list, shape } from '@fairlead/base/json/shape.ts'
import { fieldOf, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { allReferencesIn, writtenReferencesIn } from '@fairlead/model/secrets/secret-references.ts'
import { StageError } from './machine/failure.ts'
import { graphOf } from './machine/graph.ts'
import type { AuthoredReferences, Execution, StagePlace, Trigger } from './model.ts'

interface RunOrigin {
  readonly application: unknown
  /** The run that has started this one, where there is such a run. */
  readonly parent: Execution | undefined
}

/**
 * What the author of a definition refers to. What an event brings along, such as a payload, refers to nothing: otherwise its sender
 * could read secrets. Parameters of a user who starts the run count, and those that a run of the same application passes on.
 *
 * @param authored The definition before its expressions were evaluated, with the trigger as it was submitted and references of stages
 */
export function authoredReferences(
  authored: JsonObject,
  trigger: Trigger,
  { application, parent }: RunOrigin,
): { references?: AuthoredReferences } {
  const declared = declaredParameters(authored)
  const passed =
    parent === undefined ? new Set<string>() : passedReferences(trigger, application, parent)
  const written = writtenReferencesIn([[...declared.values()], authored['templateVariables']])
  const chosen = allReferencesIn(trigger.type === 'manual' ? trigger.parameters : undefined)
  const shared = new Set([...written, ...passed, ...chosen])
  const ofStages = toStages(authored).stages.map(
    ({ refId, all }) => [refId, [...writtenReferencesIn(all)]] as const,
  )
  const byRefId = Object.fromEntries(ofStages.filter(([, found]) => found.length > 0))
  const known = new Set([shared, ...Object.values(byRefId)].flatMap((found) => [...found]))
  if (known.size === 0) return {}
  const event = eventTexts(authored['trigger'], trigger, declared)
  const isReceived = (each: string) =>
    event.includes(`secret:${each}`) || event.includes(`secret:{${each}}`)
  const received = [...known].filter((each) => !passed.has(each) && isReceived(each))
  return { references: { shared: [...shared], byRefId, ...(received.length > 0 && { received }) } }
}

const toStages = shape({
  stages: [list((stage) => ({ ...toReference(stage), all: stage })), 'stages', 'job'],
})
const toReference = shape({ refId: String })

/** Values that the definition gives parameters: defaults, and those of its triggers. */
function declaredParameters(authored: JsonObject): ReadonlyMap<string, readonly unknown[]> {
  const { parameterConfig, triggers } = toDeclaring(authored)
  const found = new Map<string, unknown[]>()
  const add = (name: string, value: unknown) =>
    void found.getOrInsertComputed(name, () => []).push(value)
  for (const { name, default: value } of parameterConfig) add(name, value)
  for (const { parameters } of triggers)
    for (const [name, value] of Object.entries(parameters)) add(name, value)
  return found
}

const toDeclaring = shape({
  parameterConfig: list(shape({ name: String, default: (value) => value })),
  triggers: list(shape({ parameters: objectOf })),
})

/** References in parameters that a run of the same application passes, as far as they count in the stage that passes them. */
function passedReferences(
  { parameters, parentPipelineStageId }: Trigger,
  application: unknown,
  parent: Execution,
): Set<string> {
  if (foldName(parent.application) !== foldName(String(application))) return new Set()
  const stage = graphOf(parent).find(String(parentPipelineStageId))
  const known = referencesAt(
    parent.engine.references,
    stage && graphOf(parent).topLevelOf(stage).refId,
  )
  return allReferencesIn(parameters).intersection(known)
}

const toGiven = shape({ parameters: objectOf })

/** What the event has brought, as JSON: its payload, and parameters to which the definition gives other values. */
function eventTexts(
  submitted: unknown,
  trigger: Trigger,
  declared: ReadonlyMap<string, readonly unknown[]>,
): string {
  const given = trigger.type === 'manual' ? {} : toGiven(submitted).parameters
  const foreign = Object.entries(given).filter(([name, value]) => {
    const text = formatJson(value)
    return (
      declared.get(name)?.some((each) => each !== undefined && formatJson(each) === text) !== true
    )
  })
  // Texts of a trigger can be expressions, which may make up references.
  const parameters = foreign.map(([name, value]) => [
    name,
    value,
    fieldOf(trigger.parameters, name) ?? null,
  ])
  return formatJson([payloadsOf(objectOf(submitted)), payloadsOf(trigger), parameters])
}

/** Payloads of the runs that led to it, too. */
function payloadsOf({ payload = null, parentExecution }: JsonObject): unknown[] {
  const trigger = fieldOf(parentExecution, 'trigger')
  return [payload, ...(trigger === undefined ? [] : payloadsOf(objectOf(trigger)))]
}

/** @param refId Of the authored stage; undefined: what counts everywhere */
function referencesAt(
  references: Execution['engine']['references'],
  refId: string | undefined,
): Set<string> {
  const { shared = [], byRefId = {}, received = [] } = references ?? {}
  const own = refId !== undefined && Object.hasOwn(byRefId, refId) ? byRefId[refId] : []
  return new Set([...shared, ...(own ?? [])]).difference(new Set(received))
}

/** Stages that others add belong to the authored one. @throws {StageError} for a reference that does not count in the stage */
export function checkAuthored(value: unknown, { execution, stage }: StagePlace): void {
  const { references } = execution.engine
  const known = referencesAt(references, graphOf(execution).topLevelOf(stage).refId)
  const [foreign] = allReferencesIn(value).difference(known)
  if (foreign !== undefined) throw new StageError([describeForeign(foreign, references)])
}

function describeForeign(foreign: string, references: Execution['engine']['references']): string {
  if (references?.received?.includes(foreign)) {
    return (
      `"secret:${foreign}" is also in the payload or the parameters of the event that started the pipeline, and refers to nothing. ` +
      'Remove it from the event: only the definition may name it.'
    )
  }
  return (
    `"secret:${foreign}" is not in the definition of the stage, but came with an event or a result, and refers to nothing. ` +
    'Write the reference into the stage, or into the default of the parameter.'
  )
}
