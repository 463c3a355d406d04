/** `promote`: takes what one environment runs to the next, once the constraints of that one hold. */
import type { Constraint } from '../../../../environments/declaration.ts'
import { describeJudgment, describeMissingRole, describeSoak, soakedAt } from '../../../../environments/holds.ts'
import type { Running } from '../../../../environments/running.ts'
import { isObject, type JsonObject, numberOf, objectOf, textOf, textsOf } from '../../../../json/values.ts'
import { executionIdentityOf } from '../../identity.ts'
import { StageError } from '../../machine/failure.ts'
import { graphOf } from '../../machine/graph.ts'
import { type Execution, type Stage, waitingKey } from '../../model.ts'
import { isActive } from '../../statuses.ts'
import { mayJudge, requiredRoles } from '../manual-judgment.ts'
import { inSequence, type NewStage, type StageType, type Step, type TaskContext, type TaskResult } from '../stage-type.ts'
import { plannedDeployments } from './deployments.ts'
import { applicationOf, chosenClusters, loadPlaces, loadRunning, type Places, readEnvironment } from './places.ts'

const resolveStep: Step = { name: 'resolvePromotion', execute: resolve, readsOnly: true, timeoutMs: 5 * 60_000 }
const soakStep: Step = { name: 'waitForSoakTime', execute: waitForSoakTime, readsOnly: true }

export const promoteStage: StageType = {
  type: 'promote',
  steps: [resolveStep, soakStep],
  chooseSteps: (stage) => [isSoak(stage) ? soakStep : resolveStep],
  afterStages: (stage) => (isSoak(stage) ? [] : plannedStages(stage)),
  describeWait,
  forgets: ['promotion'],
  // Images and manifests are as they run.
  unevaluatedKeys: () => ['promotion'],
}

/** An inner stage that waits until the version has run long enough. */
function isSoak({ context }: Stage): boolean {
  return isObject(context['soak'])
}

/** Finds what is promoted, and how it is deployed; both stay as they are from here on. */
async function resolve(context: TaskContext): Promise<TaskResult> {
  const places = await loadPlaces(context)
  const { from, to } = places
  await checkMayPromote(context, places)
  const running = chosenClusters(context, await loadRunning(context, from))
  const version = describeVersions(running)
  if (version === '') {
    throw new StageError([`${from.name} runs nothing of ${applicationOf(context)} at present, so there is nothing to promote.`])
  }
  const deployments = await plannedDeployments(context, places, running)
  const images = running.versions.map(({ image }) => image)
  const { constraints } = to
  return {
    status: 'SUCCEEDED',
    context: { promotion: { from, to: to.name, version, images, constraints, deployments } },
    outputs: { promotedVersion: version, promotedImages: images, isPromoted: deployments.length > 0 },
  }
}

/** @throws {StageError} naming who may */
async function checkMayPromote(context: TaskContext, { to }: Places): Promise<void> {
  const user = executionIdentityOf(context).user || 'anonymous'
  const ask = (path: string) => context.call('fiat', { method: 'GET', path }, [404])
  if (await mayJudge({ requiredJudgmentRoles: to.mayPromote ?? [] }, user, ask)) return
  throw new StageError([describeMissingRole(to, user)], { status: 403, kind: 'PERMISSION' })
}

function describeVersions({ versions }: Running): string {
  return [...new Set(versions.map(({ label }) => label))].join(', ')
}

interface Promotion {
  readonly from: JsonObject
  readonly to: string
  readonly version: string
  readonly images: readonly string[]
  readonly constraints: readonly Constraint[]
  readonly deployments: readonly NewStage[]
}

function promotionOf({ context }: Stage): Promotion {
  return context['promotion'] as Promotion
}

/** The constraints in their order, the deployments, and their verifications. Nothing where the target runs the version already. */
function plannedStages(stage: Stage): NewStage[] {
  const promotion = promotionOf(stage)
  const { constraints, deployments } = promotion
  if (deployments.length === 0) return []
  const isAfterwards = ({ type }: Constraint) => type === 'verification'
  const toStage = (constraint: Constraint) => constraintStage(constraint, stage, promotion)
  const before = constraints.filter((each) => !isAfterwards(each)).map(toStage)
  return inSequence([...before, ...deployments, ...constraints.filter(isAfterwards).map(toStage)])
}

function constraintStage(constraint: Constraint, stage: Stage, { from, to, version, images, deployments }: Promotion): NewStage {
  const { type, roles, instructions, minutes, days, whitelist, checks, rollback, ...fields } = constraint
  switch (type) {
    case 'judgment':
      return {
        type: 'manualJudgment',
        name: `Judge ${version} for ${to}`,
        context: { instructions, requiredJudgmentRoles: roles ?? [] },
      }
    case 'soakTime': {
      const { application, clusters } = stage.context
      const soak = { from, minutes, images }
      return { type: 'promote', name: `Soak time in ${String(from['name'])}`, context: { application, clusters, soak } }
    }
    case 'window':
      return {
        type: 'restrictExecutionDuringTimeWindow',
        name: `Window of ${to}`,
        context: { restrictedExecutionWindow: { days, whitelist } },
      }
    case 'canary':
      return { type: 'kayentaCanary', name: `Canary for ${to}`, context: { ...canaryDeployments(deployments), ...fields } }
    case 'verification':
      return { type: 'verify', name: `Verify ${to}`, context: { ...fields, checks, rollback } }
  }
}

/** Baseline and canary beside what runs there, as the deployment would make them. Kubernetes has none. */
function canaryDeployments(planned: readonly NewStage[]): JsonObject {
  const groups = planned.filter(({ type }) => type !== 'deployManifest').map(({ context }) => context)
  const [first] = groups
  if (first === undefined) return {}
  const { application, account, cloudProvider } = first
  const cluster = textOf(first['cluster'])
  return {
    deployments: {
      baseline: { application, account, cluster, cloudProvider },
      serverGroupPairs: groups.map((group) => ({ control: { ...group, imageId: undefined }, experiment: group })),
    },
  }
}

const longestPauseMs = 60_000

async function waitForSoakTime(context: TaskContext): Promise<TaskResult> {
  const soak = objectOf(context.stage.context['soak'])
  const from = readEnvironment(soak['from'])
  const minutes = numberOf(soak['minutes']) ?? 0
  const running = chosenClusters(context, await loadRunning(context, from))
  const there = running.versions.map(({ image }) => image)
  const gone = textsOf(soak['images']).find((image) => !there.includes(image))
  if (gone !== undefined) {
    throw new StageError([`${gone} no longer runs in ${from.name}, so it cannot stay there for ${minutes} minutes.`])
  }
  const sinceMs = Math.max(...running.clusters.map((cluster) => cluster.sinceMs ?? context.now))
  const words = describeSoak({ from: from.name, minutes, sinceMs, now: context.now })
  if (words === undefined) return { status: 'SUCCEEDED', context: { [waitingKey]: undefined } }
  const pollMs = Math.min(soakedAt({ minutes, sinceMs }) - context.now, longestPauseMs)
  return { status: 'RUNNING', context: { [waitingKey]: words }, pollMs }
}

/** Which of its inner stages holds it up. */
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
      return textOf(part.context[waitingKey])
    case 'restrictExecutionDuringTimeWindow': {
      const opens = part.scheduledTime === undefined ? '' : `, which opens at ${new Date(part.scheduledTime).toISOString()}`
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
