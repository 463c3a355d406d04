/** `promote`: takes what one environment runs to the next, once the constraints of that one hold. */

import { shape } from '@fairlead/base/json/shape.ts'
import { listOf, textOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { findUnknownPlaces } from '@fairlead/model/environments/accounts.ts'
import { describeJudgment, describeSoak, soakedAt } from '@fairlead/model/environments/holds.ts'
import { type Running, runningIn } from '@fairlead/model/environments/running.ts'
import { StageError } from '../../machine/failure.ts'
import { graphOf } from '../../machine/graph.ts'
import { type Execution, type Stage, type StagePlace, waitingKey } from '../../model.ts'
import { isActive } from '../../statuses.ts'
import { note } from '../infrastructure/notes.ts'
import { requiredRoles } from '../manual-judgment.ts'
import type { NewStage, StageType, Step, TaskContext, TaskResult } from '../stage-type.ts'
import { plannedStages } from './constraints.ts'
import { plannedDeployments } from './deployments.ts'
import { checkMayPromote } from './may-promote.ts'
import { chosenClusters, loadPlaces, loadRunning, promotionSettingsOf, toSoak } from './places.ts'

const turnStep: Step = { name: 'waitForPromotions', decide: waitForPromotions, pollMs: 5_000 }
const resolveStep: Step = {
  name: 'resolvePromotion',
  execute: resolve,
  readsOnly: true,
  timeoutMs: 5 * 60_000,
}
const soakStep: Step = { name: 'waitForSoakTime', execute: waitForSoakTime, readsOnly: true }

export const promoteStage: StageType = {
  type: 'promote',
  steps: [turnStep, resolveStep, soakStep],
  chooseSteps: (stage) => (isSoak(stage) ? [soakStep] : [turnStep, resolveStep]),
  afterStages: (stage) => (isSoak(stage) ? [] : promotionOf(stage).stages),
  describeWait,
  forgets: ['promotion'],
  // Images and manifests are as they run.
  unevaluatedKeys: () => ['promotion'],
}

const waitingNote = note(waitingKey, textOf)

/** An inner stage that waits until the version has run long enough. */
function isSoak({ context }: Stage): boolean {
  return context['soak'] !== undefined
}

/** The later of two promotions to one environment takes what runs once the earlier one has ended. */
function waitForPromotions(context: TaskContext): TaskResult {
  const ahead = context.activeRuns().find((run) => isAhead(run, context))
  const words =
    ahead &&
    `waits for the promotion by ${ahead.name ?? 'another run'} (${ahead.id}), which began before`
  return { status: words === undefined ? 'SUCCEEDED' : 'RUNNING', context: { [waitingKey]: words } }
}

function isAhead(run: Execution, { execution, stage }: TaskContext): boolean {
  const startedMs = execution.startTime ?? 0
  const isEarlier =
    (run.startTime ?? 0) < startedMs || (run.startTime === startedMs && run.id < execution.id)
  return (
    isEarlier &&
    run.stages.some(
      (each) =>
        isActive(each.status) && meets({ execution: run, stage: each }, { execution, stage }),
    )
  )
}

/** Whether both promote the same clusters to the same environment. */
function meets(one: StagePlace, other: StagePlace): boolean {
  if (one.stage.type !== other.stage.type) return false
  const [mine, others] = [promotionSettingsOf(one), promotionSettingsOf(other)]
  const isSame = (key: 'application' | 'to') =>
    foldName(mine[key] ?? '') === foldName(others[key] ?? '')
  const isAll = mine.clusters.length === 0 || others.clusters.length === 0
  return (
    isSame('application') &&
    isSame('to') &&
    (isAll || mine.clusters.some((cluster) => others.clusters.includes(cluster)))
  )
}

/** Finds what is promoted, and how it is deployed; both stay as they are from here on. */
async function resolve(context: TaskContext): Promise<TaskResult> {
  const places = await loadPlaces(context)
  const { from, to, groups, accounts } = places
  const { application, clusters } = promotionSettingsOf(context)
  await checkMayPromote(context, to)
  const running = chosenClusters(runningIn(from, groups), clusters)
  const version = describeVersions(running)
  if (version === '') {
    const nothing = `${from.name} runs nothing of ${application} at present, so there is nothing to promote.`
    throw new StageError([nothing, ...findUnknownPlaces(from, accounts)])
  }
  const deployments = await plannedDeployments(context, places, running)
  const images = running.versions.map(({ image }) => image)
  const { constraints, name } = to
  const soak = { from, images, clusters: running.clusters.map(({ cluster }) => cluster) }
  const stages = plannedStages({
    application,
    from: from.name,
    to: name,
    version,
    constraints,
    deployments,
    soak,
  })
  return {
    status: 'SUCCEEDED',
    context: { promotion: { from: from.name, to: name, version, images, stages } },
    promotesTo: { name, mayPromote: [...(to.mayPromote ?? [])] },
    outputs: {
      promotedVersion: version,
      promotedImages: images,
      isPromoted: deployments.length > 0,
    },
  }
}

function describeVersions({ versions }: Running): string {
  return [...new Set(versions.map(({ label }) => label))].join(', ')
}

/** Result that `resolve` has kept. */
const toPromotion = shape({
  to: String,
  version: String,
  stages: (value) => listOf(value) as NewStage[],
})

function promotionOf({ context }: Stage) {
  return toPromotion(context['promotion'])
}

const longestPauseMs = 60_000

async function waitForSoakTime(context: TaskContext): Promise<TaskResult> {
  const { from, minutes, clusters, images } = toSoak(context.stage.context['soak'])
  const running = chosenClusters(await loadRunning(context, from), clusters)
  const there = running.versions.map(({ image }) => image)
  const gone = images.find((image) => !there.includes(image))
  if (gone !== undefined) {
    throw new StageError([
      `${gone} no longer runs in ${from.name}, so it cannot stay there for ${minutes} minutes.`,
    ])
  }
  const sinceMs = Math.max(...running.clusters.map((cluster) => cluster.sinceMs ?? context.now))
  const words = describeSoak({ from: from.name, minutes, sinceMs, now: context.now })
  if (words === undefined) return { status: 'SUCCEEDED', context: { [waitingKey]: undefined } }
  const pollMs = Math.min(soakedAt({ minutes, sinceMs }) - context.now, longestPauseMs)
  return { status: 'RUNNING', context: { [waitingKey]: words }, pollMs }
}

/** Names the inner stage that holds it up. */
function describeWait(stage: Stage, execution: Execution): string | undefined {
  if (isSoak(stage)) return undefined
  const part = graphOf(execution)
    .childrenOf(stage)
    .find(({ status }) => isActive(status) && status !== 'NOT_STARTED')
  if (part === undefined) return undefined
  const { to, version } = promotionOf(stage)
  switch (part.type) {
    case 'manualJudgment':
      return describeJudgment(requiredRoles(part.context))
    case 'promote':
      return waitingNote.in(part.context)
    case 'restrictExecutionDuringTimeWindow': {
      const opens =
        part.scheduledTime === undefined
          ? ''
          : `, which opens at ${new Date(part.scheduledTime).toISOString()}`
      return `waits for the window of ${to}${opens}`
    }
    case 'kayentaCanary':
      return 'waits for the verdict of the canary analysis'
    case 'verify':
      return `verifies ${version} in ${to}`
    default:
      return `deploys ${version} to ${to}`
  }
}
