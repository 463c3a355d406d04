/** shareTraffic: a percentage of the requests for a server group, by weights of Gateway API routes or by numbers of replicas. */
import { shape } from '@fairlead/base/json/shape.ts'
import { fieldOf, isTrue, numberOf } from '@fairlead/base/json/values.ts'
import { shareOf } from '../manifests/shares.ts'
import { controllerOf } from '../objects.ts'
import { type ChangedName, defineManifestOperation, type ManifestRun } from './parts.ts'
import { requireChangeable } from './rights.ts'
import { endReplicaShare, forgetReplicaShares, shareByReplicas } from './share-by-replicas.ts'
import {
  endRouteShare,
  forgetRouteShares,
  ownServicesOf,
  routesOf,
  shareByRoutes,
} from './share-by-routes.ts'
import {
  groupsBehind,
  isSelected,
  isTarget,
  type SharingTarget,
  servicesOf,
  sharingKinds,
} from './sharing.ts'
import {
  describeObjectPlace,
  describeTarget,
  describeTargetProblems,
  findManifestByName,
  type LiveTarget,
  serverGroupFields,
} from './targets.ts'

const toSharing = shape({ ...serverGroupFields, isNew: isTrue })

export const shareTraffic = defineManifestOperation({
  reads: (description) => ({
    ...toSharing(description),
    percent: percentOf(fieldOf(description, 'percent')),
  }),
  check: (description, account) => [
    ...describeTargetProblems(account, description, 'serverGroupName'),
    describePercentProblem(description.percent),
  ],
  changes: (description) => [description, sharesOf(description)],
  run: async (running, { percent, isNew, ...named }) => {
    if (!percent && (await findManifestByName(running, named)).length === 0)
      return forgetShare(running, named)
    const target = await requireChangeable(running, named, {
      kinds: sharingKinds,
      operation: 'share traffic with',
    })
    await applyShare(running, target, percent, isNew)
  },
})

/** NaN: it is not the percentage of a share. Undefined: the share is taken away. */
export function percentOf(value: unknown): number | undefined {
  if (value === null) return undefined
  const percent = numberOf(value) ?? Number.NaN
  return Number.isInteger(percent) && percent >= 0 && percent <= 100 ? percent : Number.NaN
}

/** Shares of a namespace depend on each other: their operations wait for each other. */
export function sharesOf({ namespace }: Pick<ChangedName, 'namespace'>): ChangedName {
  return { namespace, name: 'shares of the traffic' }
}

export function describePercentProblem(
  percent: number | undefined,
  field = 'percent',
): string | undefined {
  return Number.isNaN(percent)
    ? `${field}: it must be a whole number from 0 to 100, or null to take the share away.`
    : undefined
}

/**
 * @param percent Undefined: it has no share any more, and takes what its pods take
 * @param isNew It was created for the share
 */
export async function applyShare(
  running: ManifestRun,
  target: LiveTarget,
  percent: number | undefined,
  isNew = false,
): Promise<void> {
  const share = shareOf(target.live)
  if (percent === undefined && share === undefined) return
  const owner = controllerOf(target.live)
  if (owner !== undefined) {
    const other = `${owner.kind.toLowerCase()} ${owner.name}`
    throw new Error(
      `${describeTarget(running.account, target)} belongs to ${other}: share the traffic with that.`,
    )
  }
  const services = await servicesOf(running, target)
  if (services.length === 0) {
    throw new Error(
      `${describeTarget(running.account, target)} is behind no service: deploy it with a load balancer that can share its requests.`,
    )
  }
  if (percent && share === undefined && !isNew && !isSelected(target, services)) {
    throw new Error(
      `${describeTarget(running.account, target)} is disabled and takes no requests. Enable it first.`,
    )
  }
  const groups = await groupsBehind(running, target, services)
  checkSum(running, target, groups, percent)
  const names = services.map(({ name }) => name)
  const routes = share?.before !== undefined ? [] : await routesOf(running, target, names)
  const own = ownServicesOf(target, { services, groups, routes })
  if (own === undefined)
    await shareByReplicas(running, target, { services, groups, percent, isNew })
  else if (percent === undefined) await endRouteShare(running, target, { isServing: true })
  else await shareByRoutes(running, target, { services, routes, own, percent })
}

/** @throws {Error} where nothing would be left for another share */
function checkSum(
  { account }: ManifestRun,
  target: LiveTarget,
  groups: readonly SharingTarget[],
  percent = 0,
): void {
  const sharing = groups.filter((each) => !isTarget(each, target) && each.share?.percent)
  const sum = sharing.reduce((total, each) => total + (each.share?.percent ?? 0), percent)
  if (percent === 0 || sum <= 100) return
  const known = sharing.map((each) => `${each.target.name} has ${each.share?.percent} %`).join(', ')
  throw new Error(
    `The shares with ${describeTarget(account, target)} would be ${sum} % together, as ${known}. Lower those first.`,
  )
}

/** The server group has been deleted: others get what it had. */
async function forgetShare(running: ManifestRun, named: ChangedName): Promise<void> {
  const { namespace = '', name } = named
  running.run.note(
    `${describeObjectPlace(running.account, name, namespace)} does not exist: its share goes to the others.`,
  )
  await forgetRouteShares(running, named)
  await forgetReplicaShares(running, namespace)
}

/**
 * Ends the share of a server group that is disabled or about to go: routes would send requests to nothing, and others stay too small.
 *
 * @param outcome `stays`: it has its own number of replicas again
 */
export async function endShare(
  running: ManifestRun,
  target: LiveTarget,
  outcome: 'stays' | 'goes',
): Promise<void> {
  const share = shareOf(target.live)
  if (share === undefined) return
  if (share.services !== undefined) await endRouteShare(running, target, { isServing: false })
  else await endReplicaShare(running, target, outcome)
}
