/** Conversion of a start request into an execution. @see docs/contracts/orchestration.md#submission */
import { isObject, isTrue, type JsonObject, listOf, objectsOf, textOf } from '../../../json/values.ts'
import { joinUsers, usersOf } from '../../../names/acting-users.ts'
import { isTemplateInstance } from '../../../pipeline-templates/inheritance.ts'
import { checkOnApplication } from '../../../ports/access.ts'
import { type Caller, toCaller } from '../../../ports/caller.ts'
import { isPassing, PortError } from '../../../ports/port-error.ts'
import { isExecutionId } from '../../../storage/ulid.ts'
import { describeLongList, describeOversize, executionFactor, type PipelineLimits } from '../../limits.ts'
import { foldName } from '../../stores/document-store.ts'
import { bindExpected } from '../artifact-binding.ts'
import { artifactsOfExecution, distinctArtifacts } from '../artifacts-at-hand.ts'
import { authoredReferences } from '../authored-references.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { evaluateDefinition, evaluateExpectedArtifacts } from '../expressions/definition-evaluation.ts'
import { StageError } from '../machine/failure.ts'
import type { Execution, Trigger } from '../model.ts'
import { secretsToNote } from '../secrets.ts'
import { describeFieldProblems } from '../stages/described-fields.ts'
import { describeUnknownTypes } from '../stages/unknown-types.ts'
import { commonParts } from './prepare-task.ts'
import { checkGraph, checkStageList, referencedStages, stageFrom } from './references.ts'
import { expandTemplate } from './template-instance.ts'
import { normaliseTrigger, withDefaultParameters } from './trigger.ts'

type PreparedPipeline =
  | { kind: 'run'; execution: Execution }
  /** Only the processed definition was asked for. */
  | { kind: 'plan'; definition: JsonObject }
  /** Refused, and kept as a failed execution so that people see why. */
  | { kind: 'failed'; execution: Execution; message: string }

/** @throws {PortError} 400 when the body is refused without a trace. */
export async function preparePipeline(body: unknown, caller: Caller, sources: EngineOptions): Promise<PreparedPipeline> {
  const submitted = checkDefinition(body, sources.limits)
  const normalised = normaliseTrigger(submitted['trigger'], caller, sources)
  const failed = (definition: JsonObject, error: unknown): PreparedPipeline => {
    if (!(error instanceof StageError)) throw error
    const { message } = error
    return { kind: 'failed', execution: asFailed(executionFrom(definition, caller, sources), message), message }
  }
  await checkOwner(submitted, caller, sources)
  let given = submitted
  try {
    if (isTemplateInstance(submitted)) given = await expandInPlace(submitted, caller, sources)
  } catch (error) {
    return failed({ ...submitted, stages: [], trigger: normalised }, error)
  }
  const stages = referencedStages(checkStageList(given['stages'], 'stages', sources.limits))
  const parameters = withDefaultParameters(normalised.parameters, given['parameterConfig'])
  let trigger: Trigger = { ...normalised, parameters }
  try {
    // A plan has received nothing yet.
    if (!isTrue(given['plan'])) trigger = withArtifacts(trigger, given, sources)
    checkRunnable(given)
    if (!isTrue(given['plan'])) checkFields(stages, sources)
  } catch (error) {
    return failed({ ...given, stages, trigger }, error)
  }
  checkGraph(stages)
  const definition = evaluateDefinition({ ...given, stages, trigger }, sources.now())
  checkUnchanged(given, definition)
  if (isTrue(given['plan'])) {
    const unknown = describeUnknownTypes(stages, sources.stageTypes)
    const problems = [...(unknown === undefined ? [] : [unknown]), ...describeFieldProblems(stages, sources.stageTypes, 'plan')]
    if (problems.length > 0) throw new PortError(400, problems.join(' '), { errors: problems })
    return { kind: 'plan', definition }
  }
  const execution = executionFrom(definition, caller, sources, { ...given, stages })
  await checkStoredDefinition(execution, caller.identity, sources)
  return { kind: 'run', execution }
}

function checkDefinition(body: unknown, limits: PipelineLimits): JsonObject {
  if (!isObject(body)) throw new PortError(400, 'The body must be a pipeline definition.')
  if (body['errors'] !== undefined && body['errors'] !== null) {
    throw new PortError(400, 'The definition has errors of its own.', { errors: body['errors'] })
  }
  const broken = ['application', 'id'].find((key) => textOf(body[key])?.isWellFormed() === false)
  if (broken !== undefined) throw new PortError(400, `"${broken}" of the pipeline contains half of a character.`)
  const { trigger, ...definition } = body
  const excess =
    describeLongList('pipeline', { ...definition, receivedArtifacts: undefined }, limits) ??
    describeOversize('The definition', definition, limits.bytes) ??
    describeOversize('The trigger', trigger, executionFactor * limits.bytes)
  if (excess !== undefined) throw new PortError(400, excess)
  return body
}

/**
 * A run under the id of a stored pipeline is one of its runs: it receives what the last one left, and starts what follows. So
 * a user who starts a definition of another application under that id needs EXECUTE on the application of the pipeline.
 *
 * @throws {PortError} 403; 503 while the store or the permission service cannot be asked
 */
async function checkOwner(submitted: JsonObject, caller: Caller, sources: EngineOptions): Promise<void> {
  const id = textOf(submitted['id'])
  if (!sources.judges || id === undefined) return
  const owner = (await ownerOf(id, caller, sources)) ?? sources.store.newestRun(id)?.application
  if (owner === undefined || foldName(owner) === foldName(String(submitted['application'] ?? ''))) return
  checkOnApplication(await sources.accessOf(caller.user), owner, 'EXECUTE')
}

/** To which application a run belongs, and of which pipeline it is one, its instance says and never the template. */
async function expandInPlace(instance: JsonObject, { identity }: Caller, sources: EngineOptions): Promise<JsonObject> {
  const { application, id } = instance
  return { ...(await expandTemplate(instance, identity, sources)), application, id }
}

/** @throws {PortError} 400 when an expression says where the run belongs: that was judged before */
function checkUnchanged(given: JsonObject, evaluated: JsonObject): void {
  const changed = ['application', 'id'].find((key) => given[key] !== evaluated[key])
  if (changed !== undefined) throw new PortError(400, `"${changed}" of a pipeline cannot be an expression.`)
}

async function ownerOf(id: string, caller: Caller, sources: EngineOptions): Promise<string | undefined> {
  const stored = await loadDefinition(id, caller, sources).catch(() => {
    throw new PortError(503, 'The pipeline cannot be started now: the definition store cannot be asked whose it is.')
  })
  return textOf(stored?.['application'])
}

/** The stored pipeline; undefined: the caller sees none. @throws {Error} while the definition store cannot be asked */
export async function loadDefinition(id: string, caller: Caller, { ports }: EngineOptions): Promise<JsonObject | undefined> {
  return ports.definitions.pipeline(id, caller).catch((error: unknown) => {
    if (!isPassing(error)) return undefined
    throw error
  })
}

/** Those that stages produce are bound later. @throws {StageError} */
function withArtifacts(trigger: Trigger, given: JsonObject, sources: EngineOptions): Trigger {
  const received = [...listOf(given['receivedArtifacts']), ...trigger.artifacts]
  const wantedIds = listOf(trigger['expectedArtifactIds'])
  const expected = objectsOf(evaluateExpectedArtifacts({ ...given, trigger }, sources.now())).filter(
    ({ id, usePriorArtifact, useDefaultArtifact }) =>
      wantedIds.includes(id) || isTrue(usePriorArtifact) || isTrue(useDefaultArtifact),
  )
  const resolved = bindExpected(expected, {
    among: received,
    isUnique: true,
    prior: () => priorArtifacts(given, sources),
    missing: 'The trigger has received no artifact',
  })
  const artifacts = distinctArtifacts([...received, ...resolved.map(({ boundArtifact }) => boundArtifact)])
  return { ...trigger, artifacts, expectedArtifacts: resolved, resolvedExpectedArtifacts: resolved }
}

function priorArtifacts(given: JsonObject, sources: EngineOptions): unknown[] {
  const configId = textOf(given['id'])
  const newest = configId === undefined ? undefined : sources.store.newestRun(configId)
  return newest === undefined ? [] : artifactsOfExecution(newest)
}

/** Why an instance of a template cannot run, and what to do; undefined for every other definition. */
export function versionOneProblem(definition: JsonObject): string | undefined {
  const isOne = definition['type'] === 'templatedPipeline' && !isTemplateInstance(definition)
  if (!isOne || listOf(definition['stages']).length > 0) return undefined
  return (
    'The pipeline is an instance of a version-1 template, and the embedded engine runs those of version 2 ("schema": "v2"). Save the ' +
    'template by POST /v2/pipelineTemplates/create, with its stages in "pipeline" and its variables as ${templateVariables.NAME}; or set ' +
    'services.orca.baseUrl to an Orca.'
  )
}

/** @throws {StageError} for what is refused but kept: a disabled definition, and an instance of a version-1 template. */
function checkRunnable(given: JsonObject): void {
  if (isTrue(given['disabled'])) throw new StageError(['The pipeline is disabled and cannot be started.'])
  const problem = versionOneProblem(given)
  if (problem !== undefined) throw new StageError([problem])
}

/** @throws {StageError} naming stages and fields whose values the engine could not use; what is missing may come to be set */
function checkFields(stages: readonly JsonObject[], { stageTypes }: EngineOptions): void {
  const problems = describeFieldProblems(stages, stageTypes, 'start')
  if (problems.length > 0) throw new StageError([problems.join(' ')])
}

/** The id that was handed out before the engine has seen the start. @throws {PortError} 400 */
function givenId(given: unknown, { now }: EngineOptions): string | undefined {
  const id = textOf(given)
  if (id === undefined) return undefined
  if (isExecutionId(id, now())) return id
  throw new PortError(400, '"executionId" must be a ULID made within the last day. Leave it out, and the engine makes one.')
}

/** @param authored The definition before its expressions were evaluated */
function executionFrom(
  definition: JsonObject,
  caller: Caller,
  sources: EngineOptions,
  authored: JsonObject = definition,
): Execution {
  const trigger = definition['trigger'] as Trigger
  const id = givenId(definition['executionId'], sources) ?? sources.nextId()
  const parent = isObject(trigger['parentExecution']) ? trigger['parentExecution'] : undefined
  const common = commonParts(definition, caller, sources)
  const parentId = textOf(parent?.['id'])
  const known = parentId === undefined ? undefined : sources.store.load(parentId)
  const secrets = secretsToNote(definition, known)
  const { application } = definition
  const references = authoredReferences(authored, trigger, { application, parent: known })
  return {
    type: 'PIPELINE',
    id,
    rootId: known?.rootId ?? id,
    application: textOf(definition['application']) ?? 'spinnaker_unknown',
    name: textOf(definition['name']),
    ...common,
    engine: { ...common.engine, ...secrets, ...references },
    pipelineConfigId: textOf(definition['id']),
    limitConcurrent: isTrue(definition['limitConcurrent']),
    maxConcurrentExecutions: wholeNumber(definition['maxConcurrentExecutions']),
    keepWaitingPipelines: isTrue(definition['keepWaitingPipelines']),
    templateVariables: isObject(definition['templateVariables']) ? definition['templateVariables'] : undefined,
    source: isObject(definition['source']) ? definition['source'] : undefined,
    trigger,
    stages: (definition['stages'] as JsonObject[]).map((stage) => stageFrom(stage, sources.nextId)),
    notifications: listOf(definition['notifications']),
  }
}

function wholeNumber(value: unknown): number {
  const number = Number(value ?? 0)
  return Number.isInteger(number) && number > 0 ? number : 0
}

/**
 * A run that another one starts.
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
    vouchers === undefined ? undefined : joinUsers([...usersOf(headers['x-spinnaker-user'] ?? ''), ...usersOf(vouchers)])
  const identity = users === undefined ? headers : { ...headers, 'x-spinnaker-user': users }
  const prepared = await preparePipeline(definition, callerAs(identity, parent), sources)
  if (prepared.kind === 'run') return prepared.execution
  throw new PortError(400, prepared.kind === 'failed' ? prepared.message : 'A plan cannot be started.')
}

/** Whom a run acts for that another one starts. */
export function callerAs(headers: Record<string, string>, { origin }: Execution): Caller {
  const accounts = (headers['x-spinnaker-accounts'] ?? '').split(',').filter((account) => account !== '')
  return { user: headers['x-spinnaker-user'], accounts, origin, identity: headers }
}

/** The failed execution of an unchecked definition; stages that cannot be read are left out. */
export function recordFailure(definition: JsonObject, message: string, caller: Caller, sources: EngineOptions): Execution {
  const trigger = normaliseTrigger(definition['trigger'], caller, sources)
  const stages = readableStages(definition['stages'], sources.limits)
  return asFailed(executionFrom({ ...definition, stages, trigger }, caller, sources), message)
}

function readableStages(value: unknown, limits: PipelineLimits): JsonObject[] {
  try {
    return referencedStages(checkStageList(value, 'stages', limits))
  } catch {
    return []
  }
}

/** An execution that has not begun, as one that could not. */
export function asFailed(execution: Execution, message: string): Execution {
  return {
    ...execution,
    status: 'TERMINAL',
    canceled: true,
    canceledBy: 'system',
    cancellationReason: `Failed on startup: ${message}`,
  }
}

/** A definition that is disabled in the store is not run; a store that cannot be asked does not hold anything up. */
async function checkStoredDefinition(
  execution: Execution,
  headers: Record<string, string>,
  sources: EngineOptions,
): Promise<void> {
  if (execution.pipelineConfigId === undefined || isTrue(execution.initialConfig['enabled'])) return
  const stored = await loadDefinition(execution.pipelineConfigId, toCaller(headers), sources).catch((error: unknown) => {
    sources.log.warn({ err: error, pipeline: execution.pipelineConfigId }, 'the stored definition could not be read')
    return undefined
  })
  if (isTrue(stored?.['disabled'])) throw new PortError(400, 'The pipeline is disabled and cannot be started.')
}
