import { isTrue, type JsonObject, numberOf, objectOf, objectsOf } from '@fairlead/base/json/values.ts'
import { errorTexts, StageError } from '../../machine/failure.ts'
import { graphOf } from '../../machine/graph.ts'
import type { Execution, Stage, StagePlace } from '../../model.ts'
import { isFine } from '../../statuses.ts'
import type { NewStage, TaskContext } from '../stage-type.ts'
import { pauseOf } from '../wait.ts'
import { locationOf, type ServerGroupTarget, stageProviderOf, stageTargetFields } from './cloud-context.ts'
import { lastResults, serverGroupNamesByRegion, submitOperations } from './cloud-task.ts'
import { takeBackStages, toOperations } from './recreate.ts'
import {
  newGroupOf,
  pin,
  type Source,
  type StrategyPlace,
  serverGroupStage,
  sourceOf,
  strategyOf,
  strategyPlaceOf,
  unpin,
} from './strategy-parts.ts'
import { checkTrafficGuards } from './traffic-guard.ts'

/** What happens at one share of the traffic, in this order. */
interface CanaryStep {
  /** Undefined: as before. */
  readonly percent: number | undefined
  readonly pauseSeconds: number
  readonly checks: readonly JsonObject[]
  readonly analysis: JsonObject | undefined
  readonly judgment: JsonObject | undefined
}

interface Canary {
  readonly place: StrategyPlace
  readonly deployed: string
  readonly source: string
}

const parts = ['percent', 'pauseSeconds', 'checks', 'analysis', 'judgment'] as const

/** Before anything is created. @throws {StageError} that says what to write */
export function checkCanarySteps(context: JsonObject, { type }: Execution): void {
  const isJudged = canaryStepsOf(context).some(({ judgment }) => judgment !== undefined)
  if (!isJudged || type === 'PIPELINE') return
  throw new StageError(['Tasks cannot be judged: use "pauseSeconds" in place of "judgment", or deploy by a pipeline.'])
}

function canaryStepsOf(context: JsonObject): CanaryStep[] {
  const steps = objectsOf(objectOf(context['canary'])['steps']).map(toStep)
  if (steps.some(({ percent }) => percent !== undefined)) return steps
  throw new StageError(['The canary would get no traffic: add a step with "percent" to "canary.steps".'])
}

function toStep(step: JsonObject, index: number): CanaryStep {
  const which = `Step ${index + 1} of the canary`
  if (parts.every((part) => step[part] === undefined)) {
    throw new StageError([`${which} does nothing: give it one of ${parts.map((part) => `"${part}"`).join(', ')}.`])
  }
  const percent = numberOf(step['percent'])
  const isShare = percent !== undefined && Number.isInteger(percent) && percent >= 0 && percent <= 100
  if (step['percent'] !== undefined && !isShare) {
    throw new StageError([`${which} gives no share: set "percent" to a whole number from 0 to 100.`])
  }
  const pauseSeconds = numberOf(step['pauseSeconds']) ?? 0
  if (pauseSeconds < 0) throw new StageError([`${which} cannot wait ${pauseSeconds} s: set "pauseSeconds" to 0 or more.`])
  const objectIn = (part: 'analysis' | 'judgment') => (step[part] === undefined ? undefined : objectOf(step[part]))
  return {
    percent,
    pauseSeconds,
    checks: objectsOf(step['checks']),
    analysis: objectIn('analysis'),
    judgment: objectIn('judgment'),
  }
}

/** The server group that serves beside the canary; undefined: there is none, so the new one is deployed as without steps. */
export function rivalOf(stage: Stage): Source | undefined {
  const source = strategyOf(stage.context) === 'canary' ? sourceOf(stage) : undefined
  return source?.isDisabled === false ? source : undefined
}

/** Up to all of the traffic. */
export function canaryStages(stage: Stage, place: StrategyPlace): NewStage[] {
  const [deployed, source] = [newGroupOf(stage), rivalOf(stage)]
  if (deployed === undefined || source === undefined) return []
  const steps = canaryStepsOf(stage.context)
  const canary = { place, deployed, source: source.name }
  let percent = 0
  const stages = steps.flatMap((step, index) => {
    percent = step.percent ?? percent
    const canaryStep = { number: index + 1, of: steps.length, percent }
    return stagesOfStep(step, percent, canary).map((each) => ({ ...each, context: { ...each.context, canaryStep } }))
  })
  const isPinned = needsPin(source)
  return [...(isPinned ? [pin(source, place)] : []), ...stages, share(canary, 100), ...(isPinned ? [unpin(source, place)] : [])]
}

function needsPin({ capacity: { min, desired } }: Source): boolean {
  return min !== desired
}

function stagesOfStep(
  { percent, pauseSeconds, checks, analysis, judgment }: CanaryStep,
  now: number,
  canary: Canary,
): NewStage[] {
  const { place, deployed } = canary
  const at = `at ${now} %`
  const { common, cluster } = place
  return [
    ...(percent === undefined ? [] : [share(canary, percent)]),
    ...pauseOf(pauseSeconds).map((pause) => ({ ...pause, name: `${pause.name} ${at}` })),
    ...(checks.length === 0
      ? []
      : [{ type: 'verify', name: `Verify ${at}`, context: { ...common, cluster, serverGroupName: deployed, checks } }]),
    ...(analysis === undefined
      ? []
      : [{ type: 'kayentaCanary', name: `Analyze ${at}`, context: { ...common, ...compare(analysis, canary) } }]),
    ...(judgment === undefined ? [] : [{ type: 'manualJudgment', name: `Judge ${at}`, context: judgment }]),
  ]
}

/** Scopes that name nothing compare the new server group with the one before. */
function compare(analysis: JsonObject, { place: { common }, deployed, source }: Canary): JsonObject {
  const config = objectOf(analysis['canaryConfig'])
  const given = objectsOf(config['scopes'])
  const { region } = common
  const known = {
    scopeName: 'default',
    controlScope: source,
    controlLocation: region,
    experimentScope: deployed,
    experimentLocation: region,
  }
  const scopes = (given.length === 0 ? [{}] : given).map((scope) => ({ ...known, ...scope }))
  return { analysisType: 'realTime', ...analysis, canaryConfig: { ...config, scopes } }
}

function share({ place, deployed }: Pick<Canary, 'place' | 'deployed'>, percent: number): NewStage {
  return serverGroupStage('shareTraffic', `Send ${percent} % to`, place, deployed, { percent })
}

/** The last stage: the server group serves as any other. */
export function takeShareAway(stage: Stage, place: StrategyPlace): NewStage[] {
  const deployed = newGroupOf(stage)
  if (deployed === undefined || rivalOf(stage) === undefined) return []
  return [serverGroupStage('shareTraffic', 'Take the share away from', place, deployed, { percent: null })]
}

/** Those before it serve all, and it is disabled; it keeps no share, so that it can be enabled again. */
export function abortStages(stage: Stage, place: StrategyPlace): NewStage[] {
  const [deployed, source] = [newGroupOf(stage), rivalOf(stage)]
  if (deployed === undefined || source === undefined) return []
  return [
    share({ place, deployed }, 0),
    serverGroupStage('disableServerGroup', 'Disable', place, deployed),
    ...(isDestroyed(stage)
      ? [serverGroupStage('destroyServerGroup', 'Destroy', place, deployed, { skipDisableBeforeDestroy: true })]
      : takeShareAway(stage, place)),
    ...(needsPin(source) ? [unpin(source, place)] : []),
  ]
}

function isDestroyed({ context }: Stage): boolean {
  return isTrue(objectOf(context['rollback'])['destroyLatest'])
}

const handovers: ReadonlySet<string> = new Set(['disableCluster', 'disableManifest', 'deleteManifest'])

/** The server groups before it may already be out of traffic: from then on, nothing goes back to them by itself. */
export function hasHandedOver({ execution, stage }: StagePlace): boolean {
  return graphOf(execution)
    .childrenOf(stage, 'STAGE_AFTER')
    .some(
      ({ id, type, status, context }) =>
        status !== 'NOT_STARTED' &&
        (handovers.has(type) ||
          (type === 'shrinkCluster' && (isTrue(context['allowDeleteActive']) || isRecreation(stage))) ||
          (type === 'disableServerGroup' && !stage.engine.failureStages?.includes(id) && isRolling(stage))),
    )
}

function isRecreation({ context }: Stage): boolean {
  return strategyOf(context) === 'recreate'
}

function isRolling({ context }: Stage): boolean {
  return strategyOf(context) === 'rollingredblack'
}

/** The same for a stage that was cancelled, whose execution runs no stages any more; without a canary, the new one is disabled. */
export async function cancelDeployment(context: TaskContext): Promise<void> {
  const { stage } = context
  const name = newGroupOf(stage) ?? (await createdMeanwhile(context))
  const source = rivalOf(stage)
  const isOver = hasHandedOver(context)
  const operations: Operation[] = []
  if (isRecreation(stage)) {
    if (!isOver) operations.push(...toOperations(takeBackStages(stage, strategyPlaceOf(stage, context.execution), name)))
  } else if (name !== undefined && !(isOver && source === undefined)) {
    const target = { ...locationOf(stage.context), name }
    if (!isOver) await checkTrafficGuards(context, { targets: [target], doing: 'disabling' })
    operations.push(...cancelOperations(context, target, isOver))
  }
  if (operations.length === 0) return
  await submitOperations(context, 'abortDeployment', operations, stageProviderOf(stage.context))
}

function cancelOperations(context: TaskContext, target: ServerGroupTarget, isOver: boolean): Operation[] {
  const source = rivalOf(context.stage)
  if (source === undefined) return [{ disableServerGroup: fieldsOf(context, target) }]
  return isOver ? [withoutShare(context, target)] : abortOperations(context, target, source)
}

type Operation = Readonly<Record<string, JsonObject>>

function abortOperations(context: TaskContext, target: ServerGroupTarget, source: Source): Operation[] {
  const { min, max, desired } = source.capacity
  const unpinned = { ...fieldsOf(context, { ...target, name: source.name }), capacity: { min, max, desired } }
  return [
    { shareTraffic: { ...fieldsOf(context, target), percent: 0 } },
    { disableServerGroup: fieldsOf(context, target) },
    isDestroyed(context.stage) ? { destroyServerGroup: fieldsOf(context, target) } : withoutShare(context, target),
    ...(needsPin(source) ? [{ resizeServerGroup: unpinned }] : []),
  ]
}

function withoutShare(context: TaskContext, target: ServerGroupTarget): Operation {
  return { shareTraffic: { ...fieldsOf(context, target), percent: null } }
}

function fieldsOf({ stage, execution }: TaskContext, target: ServerGroupTarget): JsonObject {
  return { ...strategyPlaceOf(stage, execution).common, ...stageTargetFields(target) }
}

/** What the operation creates that ran when the stage was cancelled. @throws {RetryableError} while it still runs */
async function createdMeanwhile(context: TaskContext): Promise<string | undefined> {
  return Object.values(serverGroupNamesByRegion(await lastResults(context))).flat()[0]
}

/** Which step stopped the canary, at which share, and why; undefined where it was no step. */
export function describeStop(place: StagePlace): string | undefined {
  const { stage, execution } = place
  if (rivalOf(stage) === undefined || hasHandedOver(place)) return undefined
  const stopped = graphOf(execution)
    .childrenOf(stage, 'STAGE_AFTER')
    .find(({ status }) => !isFine(status))
  const { number, of, percent } = objectOf(stopped?.context['canaryStep'])
  if (stopped === undefined || number === undefined) return undefined
  const which = `step ${String(number)} of ${String(of)}, "${stopped.name}"`
  return `The canary ${newGroupOf(stage)} was stopped at ${String(percent)} % of the traffic by ${which}: ${reasonOf(stopped)}`
}

function reasonOf({ type, status, context, lastModified }: Stage): string {
  const [text] = errorTexts(context['exception'])
  if (text !== undefined) return text
  if (status !== 'TERMINAL') return 'it was cancelled.'
  return type === 'manualJudgment' ? `${lastModified?.user ?? 'a user'} judged so.` : 'it failed and says no reason.'
}
