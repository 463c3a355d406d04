/** Conversion of a start request into an execution. @see docs/contracts/orchestration.md#submission */

import { formatFinding, warningAt } from '@fairlead/base/findings/document-finding.ts'
import { maybeObject, or, shape } from '@fairlead/base/json/shape.ts'
import {
  isObject,
  isTrue,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { joinUsers, usersOf } from '@fairlead/base/names/acting-users.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { isExecutionId } from '@fairlead/base/storage/ulid.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import { type CommitAuthor, takeAuthors } from '@fairlead/model/environments/commit-authors.ts'
import { isTemplateInstance } from '@fairlead/model/pipeline-templates/inheritance.ts'
import { readPipeline, withoutNullEntries } from '@fairlead/model/pipelines/definition.ts'
import { isCheckedLater } from '@fairlead/model/rights/privileged-stages.ts'
import { describeOtherValues } from '@fairlead/model/stage-types/check-parameters.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import {
  describeLongList,
  describeOversize,
  executionFactor,
  type PipelineLimits,
} from '../../limits.ts'
import { readArrival } from '../../pipelines/arrivals.ts'
import { toExpected } from '../../pipelines/artifact-match.ts'
import { bindExpected } from '../artifact-binding.ts'
import { artifactsOfExecution, distinctArtifacts } from '../artifacts-at-hand.ts'
import { authoredReferences } from '../authored-references.ts'
import type { EngineOptions } from '../engine-parts.ts'
import {
  evaluateDefinition,
  evaluateExpectedArtifacts,
  evaluateTrigger,
} from '../expressions/definition-evaluation.ts'
import { findingsOf, versionOneProblem } from '../findings/findings.ts'
import { StageError } from '../machine/failure.ts'
import {
  type Execution,
  isFalse,
  noteAuthors,
  notify,
  startFailure,
  type Trigger,
} from '../model.ts'
import { secretsToNote } from '../secrets.ts'
import { describeFieldProblems } from '../stages/described-fields.ts'
import { commonParts } from './prepare-task.ts'
import { checkGraph, checkStageList, referencedStages, stageFrom } from './references.ts'
import { checkOwner, createStart, isDisabledInStore, type Start } from './stored-definition.ts'
import { expandTemplate } from './template-instance.ts'
import { normaliseTrigger, withDefaultParameters } from './trigger.ts'

type PreparedPipeline =
  | { kind: 'run'; execution: Execution }
  /** Only the processed definition was asked for. */
  | { kind: 'plan'; definition: JsonObject }
  /** Refused, and kept as a failed execution so that people see why. */
  | { kind: 'failed'; execution: Execution; message: string }

/** A definition between two phases. */
interface Draft {
  /** Definition of the author, or of the template. */
  readonly given: JsonObject
  readonly trigger: Trigger
  /** Authors of the commits that it begins with. */
  readonly authors?: readonly CommitAuthor[]
  /** Stages with references. */
  readonly stages: readonly JsonObject[]
  /** Why parameters are not what their expressions say, as sentences. */
  readonly notices?: readonly string[]
  /** What keeps a plan from starting. */
  readonly faults?: readonly string[]
}

type Phase = (
  draft: Draft,
  start: Start,
) => Partial<Draft> | undefined | Promise<Partial<Draft> | undefined>

/** From what was submitted to what can be evaluated. Each may throw a `StageError`: the start is refused, and kept as a failure. */
const phases: readonly Phase[] = [
  expandInstance,
  referenceStages,
  readReferred,
  ({ trigger }) => takeAuthors(trigger),
  settleTrigger,
  bindArtifacts,
  checkRunnable,
  checkFields,
  ({ stages }) => void checkGraph(stages),
]

/**
 * @param stored The definition in the store, where it is known
 * @throws {PortError} 400 when the body is refused without a trace.
 */
export async function preparePipeline(
  body: unknown,
  caller: Caller,
  sources: EngineOptions,
  stored?: JsonObject,
): Promise<PreparedPipeline> {
  const start = createStart(caller, sources, stored)
  const given = withoutNullEntries(checkDefinition(body, sources.limits))
  await checkOwner(given, start)
  let draft: Draft = {
    given,
    trigger: normaliseTrigger(given['trigger'], caller, sources),
    stages: [],
  }
  try {
    for (const phase of phases) draft = { ...draft, ...(await phase(draft, start)) }
  } catch (error) {
    if (!(error instanceof StageError)) throw error
    const { message } = error
    return { kind: 'failed', execution: asFailed(executionFrom(draft, start), message), message }
  }
  const definition = evaluate(draft, sources)
  if (isPlan(draft)) return { kind: 'plan', definition: await checkPlan(definition, draft, start) }
  const execution = executionFrom(draft, start, definition)
  await holdStages(execution, draft, sources)
  return { kind: 'run', execution }
}

/** Stages whose expressions say what they are about act for the user who saved or released them, too. */
async function holdStages(
  { stages }: Execution,
  { given, stages: authored }: Draft,
  { judges, ports, accessOf }: EngineOptions,
): Promise<void> {
  const { id } = readPipeline(given)
  if (!judges || id === undefined) return
  const refs = new Set(authored.filter(isCheckedLater).map(({ refId }) => refId))
  if (refs.size === 0) return
  const held = ports.definitions.heldAtHand(id).filter(({ account }) => account === undefined)
  const users = held.flatMap(({ user }) => usersOf(user))
  const heldFor = await callInTurns(users, async (user) => ({
    user,
    allowedAccounts: [...(await accessOf(user)).accounts],
  }))
  if (heldFor.length > 0)
    for (const stage of stages) if (refs.has(stage.refId)) stage.engine.heldFor = heldFor
}

/** Say to which application a run belongs, and of which pipeline it is one. */
const placeKeys = ['application', 'id']

function checkDefinition(body: unknown, limits: PipelineLimits): JsonObject {
  if (!isObject(body)) throw new PortError(400, 'The body must be a pipeline definition.')
  if (body['errors'] !== undefined && body['errors'] !== null) {
    throw new PortError(400, 'The definition has errors of its own.', { errors: body['errors'] })
  }
  const broken = placeKeys.find((key) => textOf(body[key])?.isWellFormed() === false)
  if (broken !== undefined)
    throw new PortError(400, `"${broken}" of the pipeline contains half of a character.`)
  const { trigger, ...definition } = body
  const excess =
    describeLongList('pipeline', { ...definition, receivedArtifacts: undefined }, limits) ??
    describeOversize('The definition', definition, limits.bytes) ??
    describeOversize('The trigger', trigger, executionFactor * limits.bytes)
  if (excess !== undefined) throw new PortError(400, excess)
  return body
}

/** The instance, never the template, decides on application and pipeline of a run. */
async function expandInstance(
  { given }: Draft,
  { caller, sources }: Start,
): Promise<Partial<Draft>> {
  if (!isTemplateInstance(given)) return {}
  const { application, id } = given
  const expanded = await expandTemplate(given, caller, sources)
  return { given: { ...withoutNullEntries(expanded), application, id } }
}

function referenceStages({ given }: Draft, { sources }: Start): Partial<Draft> {
  return { stages: referencedStages(checkStageList(given['stages'], 'stages', sources.limits)) }
}

/** Reads the build and the packages that a trigger names, unless the event service or a parent has done that. */
async function readReferred(draft: Draft, { caller, sources }: Start): Promise<Partial<Draft>> {
  const { given, trigger } = draft
  const isRead =
    given['receivedArtifacts'] !== undefined || (trigger['buildInfo'] ?? trigger['parentExecution'])
  if (isRead || isPlan(draft)) return {}
  const { artifacts, fields, problems } = await readArrival(
    sources.ports.builds,
    { trigger, artifacts: trigger.artifacts },
    caller,
  )
  if (problems.length > 0) throw new StageError([problems.join(' ')])
  return { trigger: { ...trigger, ...fields, artifacts } }
}

/** What the start brings is values from here on: artifacts are bound by them, and the stages see the same. */
function settleTrigger({ given, trigger }: Draft, { sources }: Start): Partial<Draft> {
  const parameters = withDefaultParameters(trigger.parameters, given['parameterConfig'])
  const artifacts = distinctArtifacts([...toStart(given).receivedArtifacts, ...trigger.artifacts])
  const settled = evaluateTrigger(
    { ...given, trigger: { ...trigger, parameters, artifacts } },
    sources.now(),
  )
  const others = describeOtherValues(given, objectOf(settled.trigger['parameters']))
  return { trigger: settled.trigger as Trigger, notices: [...settled.problems, ...others] }
}

/** What a start has beside a definition, and its trigger beside what all have. */
const toStart = shape({
  plan: isTrue,
  resolveArtifacts: (value) => !isFalse(value),
  executionId: textOf,
  receivedArtifacts: objectsOf,
  expectedArtifactIds: listOf,
})

/**
 * Binds all expected artifacts that have arrived. Those of the trigger, and those with a prior one or a default, are required; the
 * others may be ones that stages produce.
 */
function bindArtifacts(draft: Draft, { sources }: Start): Partial<Draft> {
  const { given, trigger } = draft
  if (isPlan(draft) && !toStart(given).resolveArtifacts) return {}
  const { expectedArtifactIds: wantedIds } = toStart(trigger)
  const expected = evaluateExpectedArtifacts({ ...given, trigger }, sources.now())
  const isOptional = (each: JsonObject) => {
    const { usePriorArtifact, useDefaultArtifact } = toExpected(each)
    return !(wantedIds.includes(each['id']) || usePriorArtifact || useDefaultArtifact)
  }
  const candidates = {
    among: trigger.artifacts,
    isUnique: true,
    isOptional,
    prior: () => priorArtifacts(given, sources),
    missing: 'The trigger has received no artifact',
  } as const
  try {
    const resolved = bindExpected(
      expected.filter((each) => !isOptional(each) || saysSomething(each)),
      candidates,
    )
    const bound = resolved.map(({ boundArtifact }) => boundArtifact)
    const artifacts = distinctArtifacts([...trigger.artifacts, ...bound])
    return {
      trigger: {
        ...trigger,
        artifacts,
        expectedArtifacts: resolved,
        resolvedExpectedArtifacts: resolved,
      },
    }
  } catch (error) {
    if (!isPlan(draft) || !(error instanceof StageError)) throw error
    return { faults: error.errors }
  }
}

/** An optional one without any field would take what arrives. */
function saysSomething(expected: JsonObject): boolean {
  return Object.values(toExpected(expected).matchArtifact).some((field) => field !== undefined)
}

function priorArtifacts(given: JsonObject, { store }: EngineOptions): JsonObject[] {
  const { id } = readPipeline(given)
  const newest = id === undefined ? undefined : store.newestStarted(id)
  return newest === undefined ? [] : artifactsOfExecution(newest)
}

/** Refuses definitions that are disabled, also only where they are stored, and instances of version-1 templates. */
async function checkRunnable({ given }: Draft, start: Start): Promise<undefined> {
  const isDisabled = readPipeline(given).isDisabled || (await isDisabledInStore(given, start))
  const problem = isDisabled
    ? 'The pipeline is disabled and cannot be started.'
    : versionOneProblem(given)
  if (problem !== undefined) throw new StageError([problem])
}

/** Names stages and fields whose values the engine could not use; what is missing may come to be set. */
function checkFields(draft: Draft, { sources }: Start): undefined {
  const problems = isPlan(draft)
    ? []
    : describeFieldProblems(draft.stages, sources.stageTypes, 'start')
  if (problems.length > 0) throw new StageError([problems.join(' ')])
}

function definitionOf({ given, trigger, stages }: Draft): JsonObject {
  return { ...given, trigger, stages }
}

function isPlan({ given }: Draft): boolean {
  return toStart(given).plan
}

/** @throws {PortError} 400 when an expression says where the run belongs: that was judged before */
function evaluate(draft: Draft, { now }: EngineOptions): JsonObject {
  const { given } = draft
  const evaluated = evaluateDefinition(definitionOf(draft), now())
  const changed = placeKeys.find((key) => given[key] !== evaluated[key])
  if (changed === undefined) return evaluated
  throw new PortError(400, `"${changed}" of a pipeline cannot be an expression.`)
}

/** Findings are shown beside the definition. @throws {PortError} 400 with all that keeps it from running */
async function checkPlan(
  definition: JsonObject,
  { stages, given, faults = [], notices = [] }: Draft,
  { caller, sources }: Start,
): Promise<JsonObject> {
  const checked = { ...given, type: undefined, stages }
  const findings = [
    ...(await findingsOf('pipeline', checked, sources, { occasion: 'plan', caller })),
    ...notices.map((notice) => warningAt('trigger.parameters', notice)),
  ]
  // A trigger that cannot fire does not keep users from starting it.
  const errors = [
    ...faults,
    ...findings
      .filter(({ severity, place }) => severity === 'error' && !place.startsWith('triggers'))
      .map(formatFinding),
  ]
  if (errors.length > 0) throw new PortError(400, errors.join(' '), { errors, findings })
  return findings.length === 0 ? definition : { ...definition, findings }
}

/** The id that was handed out before the engine has seen the start. @throws {PortError} 400 */
function givenId(definition: JsonObject, { now }: EngineOptions): string | undefined {
  const { executionId: id } = toStart(definition)
  if (id === undefined || isExecutionId(id, now())) return id
  throw new PortError(
    400,
    '"executionId" must be a ULID made within the last day. Leave it out, and the engine makes one.',
  )
}

/** @param definition With its expressions evaluated */
function executionFrom(
  authored: Draft,
  { caller, sources }: Start,
  definition = definitionOf(authored),
): Execution {
  const { trigger, authors } = takeAuthors(definition['trigger'] as Trigger)
  const pipeline = toPipeline(definition)
  const id = givenId(definition, sources) ?? sources.nextId()
  const common = commonParts(definition, caller, sources)
  const parent = toParent(trigger['parentExecution']).id
  const known = parent === undefined ? undefined : sources.store.load(parent)
  const secrets = secretsToNote(definition, known)
  const { application } = definition
  const references = authoredReferences({ ...authored.given, stages: authored.stages }, trigger, {
    application,
    parent: known,
  })
  const execution: Execution = {
    type: 'PIPELINE',
    id,
    rootId: known?.rootId ?? id,
    ...pipeline,
    ...common,
    engine: { ...common.engine, ...secrets, ...references },
    trigger,
    stages: (definition['stages'] as JsonObject[]).map((stage) => stageFrom(stage, sources.nextId)),
  }
  noteAuthors(execution, [...(authored.authors ?? []), ...authors])
  for (const notice of authored.notices ?? [])
    notify(execution, notice, common.buildTime, 'parameters')
  return execution
}

const toParent = shape({ id: textOf })
const toPipeline = shape({
  application: or(textOf, 'spinnaker_unknown'),
  name: textOf,
  pipelineConfigId: [textOf, 'id'],
  limitConcurrent: isTrue,
  maxConcurrentExecutions: wholeNumber,
  keepWaitingPipelines: isTrue,
  templateVariables: maybeObject,
  source: maybeObject,
  notifications: objectsOf,
})

function wholeNumber(value: unknown): number {
  const number = Number(value ?? 0)
  return Number.isInteger(number) && number > 0 ? number : 0
}

/**
 * A run that another one starts: one that has failed already says why.
 *
 * @param headers Identity to use
 * @throws {PortError} 400 when the definition cannot be run
 */
export async function prepareChild(
  definition: JsonObject,
  parent: Execution,
  headers: Record<string, string>,
  sources: EngineOptions,
): Promise<Execution> {
  const vouchers = await sources.vouchersOf(definition)
  const users =
    vouchers === undefined
      ? undefined
      : joinUsers([...usersOf(headers['x-spinnaker-user'] ?? ''), ...usersOf(vouchers)])
  const identity = users === undefined ? headers : { ...headers, 'x-spinnaker-user': users }
  const prepared = await preparePipeline(definition, callerAs(identity, parent), sources)
  if (prepared.kind !== 'plan') return prepared.execution
  throw new PortError(400, 'A plan cannot be started.')
}

/** Whom a run acts for that another one starts. */
export function callerAs(headers: Record<string, string>, { origin }: Execution): Caller {
  const accounts = (headers['x-spinnaker-accounts'] ?? '')
    .split(',')
    .filter((account) => account !== '')
  return { user: headers['x-spinnaker-user'], accounts, origin, identity: headers }
}

/** The failed execution of an unchecked definition; stages that cannot be read are left out. */
export function recordFailure(
  given: JsonObject,
  message: string,
  caller: Caller,
  sources: EngineOptions,
): Execution {
  const start = createStart(caller, sources)
  const draft = { given, trigger: normaliseTrigger(given['trigger'], caller, sources), stages: [] }
  return asFailed(executionFrom({ ...draft, ...readableStages(draft, start) }, start), message)
}

function readableStages(draft: Draft, start: Start): Partial<Draft> {
  try {
    return referenceStages(draft, start)
  } catch {
    return {}
  }
}

/** An execution that has not begun, as one that could not: it began and ended when it was submitted. */
export function asFailed(execution: Execution, message: string): Execution {
  return {
    ...execution,
    ...startFailure,
    startTime: execution.buildTime,
    endTime: execution.buildTime,
    cancellationReason: `Failed on startup: ${message}`,
  }
}
