import { list, maybe, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, objectOf, objectsOf } from '@fairlead/base/json/values.ts'
import { clusterChoices } from '@fairlead/model/stage-types/infrastructure.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { errorTexts, StageError } from '../../machine/failure.ts'
import { graphOf } from '../../machine/graph.ts'
import type { Execution, Stage, StagePlace } from '../../model.ts'
import { isFine } from '../../statuses.ts'
import type { NewStage, TaskContext } from '../stage-type.ts'
import { pauseOf } from '../wait.ts'
import { locationOf } from './cloud-context.ts'
import { createdBy, lastResults, submitOperations } from './cloud-task.ts'
import type { Former } from './notes.ts'
import { takeBackStages } from './recreate.ts'
import {
  destroyLatest,
  disableStage,
  newGroupOf,
  pin,
  type StrategyPlace,
  serverGroupStage,
  sourceOf,
  strategyOf,
  strategyPlaceOf,
  toOperations,
  unpin,
} from './strategy-parts.ts'
import { checkTrafficGuards } from './traffic-guard.ts'

/** What happens at one share of the traffic, in this order. */
const readStep = shape({
  /** Undefined: as before. */
  percent: (value: unknown) => value,
  pauseSeconds: numberOf,
  checks: maybe(objectsOf),
  analysis: maybe(objectOf),
  judgment: maybe(objectOf),
})
const readSteps = shape({ canary: shape({ steps: list(readStep) }) })

interface Canary {
  readonly place: StrategyPlace
  readonly deployed: string
  readonly source: string
}

/** Runs before anything is created. @throws {StageError} that says what to write */
export function checkCanarySteps(context: JsonObject, { type }: Execution): void {
  const isJudged = canaryStepsOf(context).some(({ judgment }) => judgment !== undefined)
  if (!isJudged || type === 'PIPELINE') return
  throw new StageError([
    'Tasks cannot be judged: use "pauseSeconds" in place of "judgment", or deploy by a pipeline.',
  ])
}

function canaryStepsOf(context: JsonObject) {
  const steps = readSteps(context).canary.steps.map(checkStep)
  if (steps.some(({ percent }) => percent !== undefined)) return steps
  throw new StageError([
    'The canary would get no traffic: add a step with "percent" to "canary.steps".',
  ])
}

function checkStep(step: ReturnType<typeof readStep>, index: number) {
  const which = `Step ${index + 1} of the canary`
  if (Object.values(step).every((part) => part === undefined)) {
    const parts = Object.keys(step).map((part) => `"${part}"`)
    throw new StageError([`${which} does nothing: give it one of ${parts.join(', ')}.`])
  }
  const percent = numberOf(step.percent)
  const isShare =
    percent !== undefined && Number.isInteger(percent) && percent >= 0 && percent <= 100
  if (step.percent !== undefined && !isShare) {
    throw new StageError([
      `${which} gives no share: set "percent" to a whole number from 0 to 100.`,
    ])
  }
  const { pauseSeconds = 0 } = step
  if (pauseSeconds < 0)
    throw new StageError([
      `${which} cannot wait ${pauseSeconds} s: set "pauseSeconds" to 0 or more.`,
    ])
  return { ...step, percent, pauseSeconds }
}

/** The server group that serves beside the canary; undefined: there is none, so the new one is deployed as without steps. */
export function rivalOf(stage: Stage): Former | undefined {
  const source = strategyOf(stage.context) === 'canary' ? sourceOf(stage) : undefined
  return source?.isDisabled === false ? source : undefined
}

/** Up to all of the traffic. */
export function canaryStepStages(stage: Stage, place: StrategyPlace): NewStage[] {
  const [deployed, source] = [newGroupOf(stage), rivalOf(stage)]
  if (deployed === undefined || source === undefined) return []
  const steps = canaryStepsOf(stage.context)
  const canary = { place, deployed, source: source.name }
  let percent = 0
  const stages = steps.flatMap((step, index) => {
    percent = step.percent ?? percent
    const canaryStep = { number: index + 1, of: steps.length, percent }
    return stagesOfStep(step, percent, canary).map((each) => ({
      ...each,
      context: { ...each.context, canaryStep },
    }))
  })
  const isPinned = needsPin(source)
  return [
    ...(isPinned ? [pin(source, place)] : []),
    ...stages,
    share(canary, 100),
    ...(isPinned ? [unpin(source, place)] : []),
  ]
}

function needsPin({ capacity: { min, desired } }: Former): boolean {
  return min !== desired
}

function stagesOfStep(
  { percent, pauseSeconds, checks = [], analysis, judgment }: ReturnType<typeof checkStep>,
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
      : [
          {
            type: 'verify',
            name: `Verify ${at}`,
            context: { ...common, cluster, serverGroupName: deployed, checks },
          },
        ]),
    ...(analysis === undefined
      ? []
      : [
          {
            type: 'kayentaCanary',
            name: `Analyze ${at}`,
            context: { ...common, ...compare(analysis, canary) },
          },
        ]),
    ...(judgment === undefined
      ? []
      : [{ type: 'manualJudgment', name: `Judge ${at}`, context: judgment }]),
  ]
}

const readAnalysis = shape({
  canaryConfig: objectOf,
  given: [shape({ scopes: objectsOf }), 'canaryConfig'],
})

/** Scopes that name nothing compare the new server group with the one before. */
function compare(
  analysis: JsonObject,
  { place: { common }, deployed, source }: Canary,
): JsonObject {
  const { canaryConfig: config, given } = readAnalysis(analysis)
  const { region } = common
  const known = {
    scopeName: 'default',
    controlScope: source,
    controlLocation: region,
    experimentScope: deployed,
    experimentLocation: region,
  }
  const scopes = (given.scopes.length === 0 ? [{}] : given.scopes).map((scope) => ({
    ...known,
    ...scope,
  }))
  return { analysisType: 'realTime', ...analysis, canaryConfig: { ...config, scopes } }
}

function share({ place, deployed }: Pick<Canary, 'place' | 'deployed'>, percent: number): NewStage {
  return serverGroupStage('shareTraffic', `Send ${percent} % to`, place, deployed, { percent })
}

/** The last stage: the server group serves as any other. */
export function takeShareAway(
  stage: Stage,
  place: StrategyPlace,
  deployed = newGroupOf(stage),
): NewStage[] {
  if (deployed === undefined || rivalOf(stage) === undefined) return []
  return [
    serverGroupStage('shareTraffic', 'Take the share away from', place, deployed, {
      percent: null,
    }),
  ]
}

/** Earlier server groups serve all, and it is disabled; it keeps no share, so that it can be enabled again. */
export function abortStages(
  stage: Stage,
  place: StrategyPlace,
  deployed = newGroupOf(stage),
  isCanceled = false,
): NewStage[] {
  const source = rivalOf(stage)
  if (deployed === undefined || source === undefined) return []
  const destroying = destroyLatest(stage, place, { name: deployed, isCanceled })
  return [
    share({ place, deployed }, 0),
    disableStage(place, deployed),
    ...(destroying.length > 0 ? destroying : takeShareAway(stage, place, deployed)),
    ...(needsPin(source) ? [unpin(source, place)] : []),
  ]
}

const handovers: ReadonlySet<string> = new Set([
  'disableCluster',
  'disableManifest',
  'deleteManifest',
])

/** The server groups before it may already be out of traffic: from then on, nothing goes back to them by itself. */
export function hasHandedOver({ execution, stage }: StagePlace): boolean {
  const strategy = strategyOf(stage.context)
  return graphOf(execution)
    .childrenOf(stage, 'STAGE_AFTER')
    .some(
      ({ id, type, status, context }) =>
        status !== 'NOT_STARTED' &&
        (handovers.has(type) ||
          (type === 'shrinkCluster' &&
            (readFields(clusterChoices, context).allowDeleteActive || strategy === 'recreate')) ||
          (type === 'disableServerGroup' &&
            !stage.engine.failureStages?.includes(id) &&
            strategy === 'rollingredblack')),
    )
}

/** The same for a stage that was cancelled, whose execution runs no stages any more; without a canary, the new one is disabled. */
export async function cancelDeployment(context: TaskContext): Promise<void> {
  const { stage, execution } = context
  const deployed = newGroupOf(stage) ?? createdBy(await lastResults(context))[0]?.name
  const place = strategyPlaceOf(stage, execution)
  const isRecreation = strategyOf(stage.context) === 'recreate'
  let stages: readonly NewStage[] = []
  if (hasHandedOver(context)) stages = isRecreation ? [] : takeShareAway(stage, place, deployed)
  else if (isRecreation) stages = takeBackStages(stage, place, deployed, true)
  else if (deployed !== undefined) {
    const target = { ...locationOf(stage.context), name: deployed }
    await checkTrafficGuards(context, { targets: [target], doing: 'disabling' })
    const aborting = abortStages(stage, place, deployed, true)
    const destroying = destroyLatest(stage, place, { name: deployed, isCanceled: true })
    stages = aborting.length > 0 ? aborting : [disableStage(place, deployed), ...destroying]
  }
  if (stages.length === 0) return
  await submitOperations(
    context,
    'abortDeployment',
    toOperations(stages),
    locationOf(stage.context).provider,
  )
}

const readNumber = shape({
  canaryStep: shape({ number: numberOf, of: numberOf, percent: numberOf }),
})

/** Names the step that stopped the canary, its share and the reason; undefined where it was no step. */
export function describeStop(place: StagePlace): string | undefined {
  const { stage, execution } = place
  if (rivalOf(stage) === undefined || hasHandedOver(place)) return undefined
  const stopped = graphOf(execution)
    .childrenOf(stage, 'STAGE_AFTER')
    .find(({ status }) => !isFine(status))
  const { number, of, percent } = readNumber(stopped?.context).canaryStep
  if (stopped === undefined || number === undefined) return undefined
  const which = `step ${number} of ${of}, "${stopped.name}"`
  return `The canary ${newGroupOf(stage)} was stopped at ${percent} % of the traffic by ${which}: ${reasonOf(stopped)}`
}

function reasonOf({ type, status, context, lastModified }: Stage): string {
  const [text] = errorTexts(context['exception'])
  if (text !== undefined) return text
  if (status !== 'TERMINAL') return 'it was cancelled.'
  return type === 'manualJudgment'
    ? `${lastModified?.user ?? 'a user'} judged so.`
    : 'it failed and says no reason.'
}
