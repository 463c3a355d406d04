/** Shares of the traffic by numbers of replicas, where no route has weights. */
import { fieldAt, numberOf } from '../../../../../json/values.ts'
import { type GroupShare, type SizedGroup, shareOf, sizedByShares } from '../manifests/shares.ts'
import { annotatedLoadBalancers } from '../manifests/traffic.ts'
import { selects } from '../reads/selectors.ts'
import type { ManifestRun } from './parts.ts'
import { type Labels, setPodLabels } from './pod-labels.ts'
import { checkChanges, toChange } from './rights.ts'
import { allLabels, awaitReady, isSwitchable, noteShare, podLabelsOf, type SharedService, servicesOf } from './sharing.ts'
import { describeTarget, type LiveTarget } from './targets.ts'

export const sharingKinds = ['replicaSet', 'deployment', 'statefulSet'] as const

interface SharingTarget {
  readonly target: LiveTarget
  readonly replicas: number
  readonly share: GroupShare | undefined
}

interface ReplicaSharing {
  readonly services: readonly SharedService[]
  readonly percent: number | undefined
  readonly isNew: boolean
}

export async function shareByReplicas(running: ManifestRun, target: LiveTarget, sharing: ReplicaSharing): Promise<void> {
  const { run, account } = running
  const { percent } = sharing
  const plan = await planReplicas(running, target, sharing)
  await carryOut(running, target, plan)
  if (percent === undefined) return
  const served = plan.leaves ? 0 : plan.own.replicas
  const of = served + plan.others.reduce((sum, { replicas }) => sum + replicas, 0)
  const reached = Math.round((served / Math.max(1, of)) * 1000) / 10
  const subject = describeTarget(account, target)
  run.note(`${subject} has ${served} of ${of} replicas: about ${reached} % of the requests; ${percent} % are wanted.`)
  run.report({ trafficShare: { by: 'replicas', percent, reached, replicas: served, of } })
}

interface ReplicaPlan {
  readonly own: Sizing
  readonly others: readonly Sizing[]
  /** Labels by which the services select. */
  readonly labels: Labels
  readonly isServing: boolean
  /** Without requests its pods stay, ready for more. */
  readonly leaves: boolean
}

async function planReplicas(
  running: ManifestRun,
  target: LiveTarget,
  { services, percent, isNew }: ReplicaSharing,
): Promise<ReplicaPlan> {
  const shared = { ...(percent !== undefined && { percent }), ...(isNew && { isNew }) }
  const groups = (await groupsBehind(running, target, services)).map((each) =>
    isTarget(each, target) ? { ...each, share: { ...withoutPercent(each.share), ...shared } } : each,
  )
  await checkChanges(
    running,
    groups.map((each) => toChange(each.target)),
  )
  const sizes = sizedByShares(groups)
  const sized = groups.map((group, index): Sizing => ({ group, ...(sizes[index] as SizedGroup) }))
  const own = sized.find(({ group }) => isTarget(group, target)) as Sizing
  const leaves = percent === 0 && isSwitchable(target, services)
  const { replicas } = own.group
  const labels = allLabels(services)
  return {
    own: leaves ? { ...own, replicas, share: { ...own.share, given: replicas } } : own,
    others: sized.filter((each) => each !== own),
    labels,
    isServing: selects(labels, podLabelsOf(target.live)),
    leaves,
  }
}

/** In an order in which there are never fewer ready pods behind the services than before or after; what shall get none gets none at once. */
async function carryOut(running: ManifestRun, target: LiveTarget, plan: ReplicaPlan): Promise<void> {
  const { own, others, labels, isServing, leaves } = plan
  const grows = ({ group, replicas }: Sizing) => replicas > group.replicas
  if (isServing && leaves) await setPodLabels(running, target, { labels, isEnabled: false })
  // Before it serves, its size must be that of its share.
  const isFirst = !isServing || leaves || own.replicas === 0 || grows(own)
  if (isFirst) await resize(running, [own])
  await resize(running, others.filter(grows))
  if (!isServing && !leaves) await setPodLabels(running, target, { labels, isEnabled: true })
  const rest = others.filter((each) => !grows(each))
  if (rest.some(({ group, replicas }) => replicas < group.replicas)) await awaitReady(running, target, own.replicas)
  await resize(running, rest)
  if (!isFirst) await resize(running, [own])
}

function isTarget({ target: { live } }: SharingTarget, { live: wanted }: LiveTarget): boolean {
  return live.metadata.uid === wanted.metadata.uid
}

function withoutPercent({ percent: _former, ...share }: GroupShare = {}): GroupShare {
  return share
}

interface Sizing extends SizedGroup {
  readonly group: SharingTarget
}

/** Those that grow are ready when it is done. */
async function resize(running: ManifestRun, sizings: readonly Sizing[]): Promise<void> {
  const { run, account } = running
  for (const { group, replicas, share } of sizings) {
    if (group.replicas === replicas && share === undefined && group.share === undefined) continue
    if (group.replicas !== replicas) run.note(`Scaling ${describeTarget(account, group.target)} to ${replicas} …`)
    await noteShare(running, group.target, share, replicas)
  }
  for (const { group, replicas } of sizings) if (replicas > group.replicas) await awaitReady(running, group.target, replicas)
}

/** Workloads that services of the target send requests to, with the target. */
async function groupsBehind(
  running: ManifestRun,
  target: LiveTarget,
  services: readonly SharedService[],
): Promise<SharingTarget[]> {
  const { account } = running
  const { namespace } = target.place
  const found = await Promise.all(
    sharingKinds.map(async (kindName): Promise<SharingTarget[]> => {
      const resource = await account.api.find({ kind: kindName, group: 'apps' })
      const all = resource === undefined ? [] : await account.api.list(resource, { namespace })
      return all.flatMap((live) => {
        const isItself = live.metadata.uid === target.live.metadata.uid
        const isManaged = live.metadata.ownerReferences?.some(({ controller }) => controller === true) === true
        const replicas = numberOf(fieldAt(live, 'spec', 'replicas')) ?? 1
        const share = shareOf(live)
        const noted = share === undefined ? [] : annotatedLoadBalancers(live)
        const isBehind = services.some(
          ({ name, selector }) => selects(selector, podLabelsOf(live)) || noted.includes(`service ${name}`),
        )
        if (resource === undefined || (!isItself && (isManaged || !isBehind || (replicas === 0 && share === undefined))))
          return []
        const { name } = live.metadata
        const kind = account.kinds.kindOf({ kind: kindName, group: undefined })
        return [{ target: { name: `${kindName} ${name}`, kind, place: { resource, namespace, name }, live }, replicas, share }]
      })
    }),
  )
  return found.flat()
}

/** Others have the numbers that they had without it. @param fate `stays`: so has it */
export async function endReplicaShare(running: ManifestRun, target: LiveTarget, fate: 'stays' | 'goes'): Promise<void> {
  const groups = await groupsBehind(running, target, await servicesOf(running, target))
  const others = groups.filter((each) => !isTarget(each, target))
  await checkChanges(
    running,
    others.map((each) => toChange(each.target)),
  )
  const sized = sizedByShares(others)
  await resize(
    running,
    others.map((group, index) => ({ group, ...(sized[index] as SizedGroup) })),
  )
  const own = groups.find((each) => isTarget(each, target))
  if (own === undefined || fate === 'goes') return
  const [alone] = sizedByShares([{ ...own, share: withoutPercent(own.share) }])
  if (alone !== undefined) await noteShare(running, target, undefined, alone.replicas)
}
