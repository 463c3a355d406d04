/** Shares of the traffic by numbers of replicas, where no route has weights. */
import { type GroupShare, type SizedGroup, sizedByShares } from '../manifests/shares.ts'
import type { Labels } from '../objects.ts'
import { selects } from '../reads/selectors.ts'
import type { ManifestRun } from './parts.ts'
import { podLabelsOf, setPodLabels } from './pod-labels.ts'
import { checkChanges, toChange } from './rights.ts'
import {
  allLabels,
  awaitReady,
  groupsBehind,
  isSwitchable,
  isTarget,
  noteShare,
  type SharedService,
  type SharingTarget,
  servicesOf,
  sharingGroups,
} from './sharing.ts'
import { describeTarget, type LiveTarget } from './targets.ts'

interface ReplicaSharing {
  readonly services: readonly SharedService[]
  readonly groups: readonly SharingTarget[]
  readonly percent: number | undefined
  readonly isNew: boolean
}

export async function shareByReplicas(
  running: ManifestRun,
  target: LiveTarget,
  sharing: ReplicaSharing,
): Promise<void> {
  const { run, account } = running
  const { percent } = sharing
  const plan = planReplicas(target, sharing)
  await checkChanges(
    running,
    sharing.groups.map((each) => toChange(each.target)),
  )
  await carryOut(running, target, plan)
  if (percent === undefined) return
  const served = plan.leaves ? 0 : plan.own.replicas
  const of = served + plan.others.reduce((sum, { replicas }) => sum + replicas, 0)
  const reached = Math.round((served / Math.max(1, of)) * 1000) / 10
  const subject = describeTarget(account, target)
  run.note(
    `${subject} has ${served} of ${of} replicas: about ${reached} % of the requests; ${percent} % are wanted.`,
  )
  run.report({ trafficShare: { by: 'replicas', percent, reached, replicas: served, of } })
}

interface ReplicaPlan {
  readonly own: Sizing
  readonly others: readonly Sizing[]
  readonly labels: Labels
  readonly isServing: boolean
  /** Without requests its pods stay, ready for more. */
  readonly leaves: boolean
}

function planReplicas(
  target: LiveTarget,
  { services, groups: behind, percent, isNew }: ReplicaSharing,
): ReplicaPlan {
  const shared = { ...(percent !== undefined && { percent }), ...(isNew && { isNew }) }
  const groups = behind.map((each) =>
    isTarget(each, target)
      ? { ...each, share: { ...withoutPercent(each.share), ...shared } }
      : each,
  )
  const sizes = sizedByShares(groups)
  const sized = groups.map((group, index): Sizing => ({ group, ...(sizes[index] as SizedGroup) }))
  const own = sized.find(({ group }) => isTarget(group, target)) as Sizing
  const leaves = percent === 0 && isSwitchable(target, services)
  const { replicas } = own.group
  return {
    own: leaves ? { ...own, replicas, share: { ...own.share, given: replicas } } : own,
    others: sized.filter((each) => each !== own),
    labels: allLabels(services),
    isServing: selects(allLabels(services), podLabelsOf(target.live)),
    leaves,
  }
}

/** In an order in which there are never fewer ready pods behind the services than before or after; what shall get none gets none at once. */
async function carryOut(
  running: ManifestRun,
  target: LiveTarget,
  { own, others, labels, isServing, leaves }: ReplicaPlan,
): Promise<void> {
  const grows = ({ group, replicas }: Sizing) => replicas > group.replicas
  if (isServing && leaves) await setPodLabels(running, target, { labels, isEnabled: false })
  // Before it serves, its size must be that of its share.
  const isFirst = !isServing || leaves || own.replicas === 0 || grows(own)
  if (isFirst) await resize(running, [own])
  await resize(running, others.filter(grows))
  if (!isServing && !leaves) await setPodLabels(running, target, { labels, isEnabled: true })
  const rest = others.filter((each) => !grows(each))
  if (rest.some(({ group, replicas }) => replicas < group.replicas))
    await awaitReady(running, target, own.replicas)
  await resize(running, rest)
  if (!isFirst) await resize(running, [own])
}

function withoutPercent({ percent: _former, ...share }: GroupShare = {}): GroupShare {
  return share
}

interface Sizing extends SizedGroup {
  readonly group: SharingTarget
}

/** Waits until those that grow are ready. */
async function resize(running: ManifestRun, sizings: readonly Sizing[]): Promise<void> {
  const { run, account } = running
  for (const { group, replicas, share } of sizings) {
    if (group.replicas === replicas && share === undefined && group.share === undefined) continue
    if (group.replicas !== replicas)
      run.note(`Scaling ${describeTarget(account, group.target)} to ${replicas} …`)
    await noteShare(running, group.target, share, replicas)
  }
  for (const { group, replicas } of sizings)
    if (replicas > group.replicas) await awaitReady(running, group.target, replicas)
}

/** Others have the numbers that they had without it. @param outcome `stays`: so has it */
export async function endReplicaShare(
  running: ManifestRun,
  target: LiveTarget,
  outcome: 'stays' | 'goes',
): Promise<void> {
  const groups = await groupsBehind(running, target, await servicesOf(running, target))
  await resizeTogether(
    running,
    groups.filter((each) => !isTarget(each, target)),
  )
  const own = groups.find((each) => isTarget(each, target))
  if (own === undefined || outcome === 'goes') return
  const [alone] = sizedByShares([{ ...own, share: withoutPercent(own.share) }])
  if (alone !== undefined) await noteShare(running, target, undefined, alone.replicas)
}

/** Numbers of replicas of a namespace that had made room for a server group which has been deleted. */
export async function forgetReplicaShares(running: ManifestRun, namespace: string): Promise<void> {
  for (const { target, share } of await sharingGroups(running, namespace)) {
    if (share?.before === undefined) continue
    await resizeTogether(
      running,
      await groupsBehind(running, target, await servicesOf(running, target)),
    )
  }
}

async function resizeTogether(
  running: ManifestRun,
  groups: readonly SharingTarget[],
): Promise<void> {
  await checkChanges(
    running,
    groups.map((each) => toChange(each.target)),
  )
  const sized = sizedByShares(groups)
  await resize(
    running,
    groups.map((group, index) => ({ group, ...(sized[index] as SizedGroup) })),
  )
}
