/** `cleanupCanaryClusters`, and the same after a cancellation: baseline and canary lose their traffic and go. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Operations } from '@fairlead/ports/infrastructure.ts'
import { StageError } from '../../machine/failure.ts'
import { graphOf } from '../../machine/graph.ts'
import { passedMs } from '../../machine/timeout.ts'
import { type ServerGroupTarget, stageTargetFields } from '../infrastructure/cloud-context.ts'
import { monitorStep, submitOperations, submitStep } from '../infrastructure/cloud-task.ts'
import { chosenNote, lastTaskNote } from '../infrastructure/notes.ts'
import { inPlace } from '../infrastructure/server-groups.ts'
import { waitGoneStep } from '../infrastructure/waits.ts'
import type { StageType, Submission, TaskContext, TaskResult } from '../stage-type.ts'
import {
  type CanaryGroup,
  canaryGroupsOf,
  canaryStageOf,
  deploymentsOf,
  groupsAround,
} from './canary-groups.ts'
import { durationMs } from './canary-settings.ts'
import { hasDeployed } from './deploy-canaries.ts'

export const cleanupCanaryClustersStage: StageType = {
  type: 'cleanupCanaryClusters',
  steps: [
    submitStep(
      'disableCanaryServerGroups',
      (context) => removal(context, withoutTraffic),
      'disableservergroup',
    ),
    monitorStep('monitorDisable'),
    { name: 'waitBeforeCleanup', decide: waitBeforeCleanup },
    submitStep(
      'destroyCanaryServerGroups',
      (context) => removal(context, destroyed),
      'destroyservergroup',
    ),
    monitorStep('monitorDestroy'),
    waitGoneStep(({ stage }) => chosenNote.in(stage.context)),
  ],
}

interface FoundGroup {
  readonly target: ServerGroupTarget
  readonly hasShare: boolean
}

/** The share ends first: without one, it would take as much traffic as any other server group until it is disabled. */
function withoutTraffic({ target, hasShare }: FoundGroup): Operations {
  const fields = stageTargetFields(target)
  return [
    ...(hasShare ? [{ shareTraffic: { ...fields, percent: 0 } }] : []),
    { disableServerGroup: fields },
  ]
}

function destroyed({ target, hasShare }: FoundGroup): Operations {
  const fields = stageTargetFields(target)
  return [
    ...(hasShare ? [{ shareTraffic: { ...fields, percent: null } }] : []),
    { destroyServerGroup: fields },
  ]
}

async function removal(
  context: TaskContext,
  change: (found: FoundGroup) => Operations,
): Promise<Submission> {
  const groups = groupsAround(context)
  const found = await findGroups(context, groups)
  return {
    operations: found.flatMap(change),
    context: {
      ...chosenNote.as(found.map(({ target }) => target)),
      cloudProvider: groups[0]?.provider,
    },
  }
}

async function findGroups(
  context: TaskContext,
  groups: readonly CanaryGroup[],
): Promise<FoundGroup[]> {
  const found = groups.map(
    async ({ application, provider, account, clusters, regions, percent }) => {
      const loaded = await Promise.all(
        clusters.map((cluster) =>
          context.infrastructure.cluster({ application, provider, account, cluster }),
        ),
      )
      const all = loaded.flatMap((each) => each ?? [])
      return regions
        .flatMap((region) => inPlace(all, region))
        .map(({ name, region }) => ({
          target: { provider, account, region, name },
          hasShare: percent !== undefined,
        }))
    },
  )
  return (await Promise.all(found)).flat()
}

/** For those who want to look at the server groups once they are without traffic. */
function waitBeforeCleanup({ execution, stage, now }: TaskContext): TaskResult {
  const { delayBeforeCleanup } = deploymentsOf(canaryStageOf({ execution, stage }))
  const task = stage.tasks.find(({ name }) => name === 'waitBeforeCleanup')
  const wantedMs = durationMs(delayBeforeCleanup, 'delayBeforeCleanup') ?? 0
  const remainingMs = wantedMs - passedMs(execution, task?.startTime ?? now, now)
  return remainingMs <= 0 ? { status: 'SUCCEEDED' } : { status: 'RUNNING', pollMs: remainingMs }
}

const lookMs = 500
/** Then the rest is for the next attempt. */
const mostLooks = 60
/** How long a submission may be on its way of which no answer was recorded. */
const onItsWayMs = 5000

/** Removes baseline and canary of a canary stage that was cancelled; what was about to be created then is waited for. */
export async function removeCanaryGroups(context: TaskContext): Promise<void> {
  const { stage, execution } = context
  if (!hasDeployed(stage, execution)) return
  const groups = canaryGroupsOf(stage, execution.application)
  const ordered = new Set<string>()
  for (let look = 0; look < mostLooks; look++) {
    const isCreating = await isOneBeingCreated(context, context.now + look * lookMs)
    const found = await findGroups(context, groups)
    if (found.length === 0 && !isCreating) return
    const added = found.filter(({ target }) => !ordered.has(JSON.stringify(target)))
    for (const { target } of added) ordered.add(JSON.stringify(target))
    const operations = added.flatMap((each) => [...withoutTraffic(each), ...destroyed(each)])
    // Another attempt is another request.
    const name = `removeCanaries-${context.now}-${look}`
    if (operations.length > 0)
      await submitOperations(context, name, operations, groups[0]?.provider ?? '')
    await sleep(lookMs)
  }
  throw new StageError(['Baseline and canary of a cancelled analysis still exist.'])
}

async function isOneBeingCreated(context: TaskContext, now: number): Promise<boolean> {
  const { stage, execution } = context
  const creations = graphOf(execution)
    .descendantsOf(stage)
    .filter(({ type }) => type === 'createServerGroup')
  for (const creation of creations) {
    const submission = creation.tasks.find(({ name }) => name === 'createServerGroup')
    const id = lastTaskNote.in(creation.context)
    if (id !== undefined) {
      if ((await context.infrastructure.task(id))?.status.completed === false) return true
    } else if (submission?.status === 'CANCELED' && now - (submission.endTime ?? 0) < onItsWayMs)
      return true
  }
  return false
}
