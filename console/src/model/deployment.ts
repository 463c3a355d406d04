/** A deployment as its run tells it: which server groups came and went, and when; and how traffic is shared now. */

import { textsOf } from '@fairlead/base/json/values.ts'
import { imageOfStage } from '@fairlead/model/environments/images.ts'
import {
  describeEffect,
  type Effect,
  effectsOf,
  isEnd,
} from '@fairlead/model/stage-types/effect.ts'
import {
  type Execution,
  isComplete,
  type Kind,
  type Stage,
  stageStatus,
  titleOf,
} from './execution.ts'
import { versionIn } from './server-groups.ts'

/** What a run did to one cluster. */
export type Deployment = ReturnType<typeof deploymentsOf>[number]

/** @param root Only this stage and those inside it. */
export function deploymentsOf({ stages }: Execution, root?: Stage) {
  const byId = new Map(stages.map((stage) => [stage.id, stage]))
  const lineOf = (stage: Stage | undefined): readonly Stage[] =>
    stage === undefined ? [] : [stage, ...lineOf(byId.get(stage.parentStageId ?? ''))]
  // Baseline and canary go with their analysis.
  const analysisOf = (stage: Stage) => lineOf(stage).find(({ type }) => type === 'kayentaCanary')
  const isInside = (stage: Stage) =>
    !isComplete(analysisOf(stage)?.status) &&
    (root === undefined || lineOf(stage).some(({ id }) => id === root.id))
  const steps = stages
    .filter((stage) => stage.startTime && isInside(stage))
    .toSorted((a, b) => (a.startTime ?? 0) - (b.startTime ?? 0))
    .flatMap((stage) => effectsOf(stage).map((effect) => ({ stage, effect })))
  const byPlace = Map.groupBy(steps, ({ effect: { account, region, cluster } }) =>
    [account, region, cluster].join('\n'),
  )
  return [...byPlace.values()]
    .map((some) => ({
      ...toDeployment(some as [Step, ...Step[]]),
      upcoming: upcomingOf(some, stages),
      isOver: some.every(
        ({ stage }) => isComplete(stage.status) && analysisOf(stage) === undefined,
      ),
    }))
    .filter(({ cluster }) => cluster !== '')
}

interface Step {
  readonly stage: Stage
  readonly effect: Effect
}

/** What a canary that gets more of the traffic step by step does now, and what is to come: that has no time yet. */
function upcomingOf(some: readonly Step[], all: readonly Stage[]): readonly Happening[] {
  const owners = new Set(some.map(({ stage }) => stage.parentStageId))
  const isUpcoming = ({ context, parentStageId, status }: Stage) =>
    context['canaryStep'] !== undefined && owners.has(parentStageId) && status !== 'SUCCEEDED'
  return all.filter(isUpcoming).map((stage) => ({
    atMs: stage.startTime ?? 0,
    text: titleOf(stage),
    kind: stageStatus(stage).kind,
  }))
}

/** @param steps In the order of their starts. */
function toDeployment(steps: readonly [Step, ...Step[]]) {
  const [{ stage, effect }] = steps
  const { account, region, cluster } = effect
  const of = (kinds: readonly Effect['kind'][]) =>
    steps.filter((step) => kinds.includes(step.effect.kind))
  const namesOf = (some: readonly Step[]) =>
    some.flatMap(({ effect: { serverGroup } }) => serverGroup ?? [])
  const created = of(['created'])
  const fresh = new Set(namesOf(of(['created', 'enabled'])))
  const others = new Set([
    ...created.flatMap((step) => step.effect.source ?? []),
    ...namesOf(steps),
  ])
  const isOfFresh = ({ effect: { serverGroup } }: Step) =>
    serverGroup === undefined || fresh.has(serverGroup)
  return {
    account,
    region,
    cluster,
    /** Server groups that it created or gave traffic to, and those that were there before. */
    fresh: [...fresh],
    old: [...others.difference(fresh)],
    /** What became of them, by name, such as "disabled". */
    outcomes: new Map(
      steps
        .filter((step) => isEnd(step.effect) && endOf(step) !== undefined)
        .flatMap((step) =>
          namesOf([step]).map((name) => [name, describeEffect(step.effect, true)] as const),
        ),
    ),
    startMs: stage.startTime ?? 0,
    /** Instances of the new server group at the end. */
    desired: of(['created', 'resized']).findLast(
      (step) => isOfFresh(step) && step.effect.desired !== undefined,
    )?.effect.desired,
    version: imageOfStage(created[0]?.stage.context ?? {}),
    /** Percentages of the traffic that it has given to server groups; undefined takes one away. */
    shares: new Map(
      of(['shared', 'created'])
        .filter((step) => step.stage.status === 'SUCCEEDED')
        .flatMap((step) => namesOf([step]).map((name) => [name, step.effect.percent] as const)),
    ),
    hasFailed: steps.some((step) => step.stage.status === 'TERMINAL'),
    events: [...steps.flatMap(happeningsOf), ...failuresOf(steps)].toSorted(
      (a, b) => a.atMs - b.atMs,
    ),
  }
}

interface Happening {
  readonly atMs: number
  readonly text: string
  readonly kind: Kind
}

/** When an effect was over; undefined: it is not. */
function endOf({ effect, stage }: Step) {
  return effect.atMs ?? (stage.status === 'SUCCEEDED' ? (stage.endTime ?? 0) : undefined)
}

function happeningsOf(step: Step) {
  const { effect, stage } = step
  const version = versionIn(effect.serverGroup ?? '')
  const isNew = effect.kind === 'created'
  const up = isNew && effect.desired !== 0 ? upOf(step, version) : []
  if (effect.kind === 'pinned' || (version === '' && !isNew)) return []
  const [done, doing] =
    isNew && stage.type === 'deployManifest'
      ? ['Manifest applied', 'Applying the manifest']
      : [
          `${version} ${describeEffect(effect, true)}`,
          isNew ? 'Creating a server group' : `${version} is ${describeEffect(effect, false)}`,
        ]
  return [
    ...happening(
      { ...stage, endTime: endOf(step) ?? null, isOver: endOf(step) !== undefined },
      done,
      doing,
    ),
    ...up,
  ]
}

/** A new server group comes up, and so takes traffic, before its stage ends. */
function upOf({ effect, stage }: Step, version: string) {
  const count =
    effect.desired === undefined ? 'All up' : `${effect.desired} of ${effect.desired} up`
  const up = textsOf(stage.context['loadBalancers']).length > 0 ? `${count}, took traffic` : count
  const texts: Readonly<Record<string, readonly [done: string, doing: string]>> = {
    waitForUpInstances: [up, `Waiting until ${version} is up`],
    waitForManifestToStabilize: ['Stable', 'Waiting until it is stable'],
  }
  return stage.tasks.flatMap((task) => {
    const [done, doing] = texts[task.name] ?? []
    return done && doing
      ? happening({ ...task, isOver: task.status === 'SUCCEEDED' }, done, doing)
      : []
  })
}

type Part = Pick<Stage, 'status' | 'startTime' | 'endTime'> & { readonly isOver: boolean }

function happening(
  { isOver, status, startTime, endTime }: Part,
  done: string,
  doing: string,
): readonly Happening[] {
  if (isOver) return [{ atMs: endTime ?? 0, text: done, kind: 'succeeded' }]
  return startTime && !isComplete(status) ? [{ atMs: startTime, text: doing, kind: 'running' }] : []
}

function failuresOf(steps: readonly Step[]): readonly Happening[] {
  const failed = new Set(
    steps.map(({ stage }) => stage).filter(({ status }) => status === 'TERMINAL'),
  )
  return [...failed].map(({ name, type, endTime }) => ({
    atMs: endTime ?? 0,
    text: `${name ?? type} failed`,
    kind: 'failed',
  }))
}
