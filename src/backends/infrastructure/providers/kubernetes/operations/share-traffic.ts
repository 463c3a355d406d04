/** shareTraffic: a percentage of the requests for a server group, by weights of Gateway API routes or by numbers of replicas. */
import { numberOf } from '../../../../../json/values.ts'
import type { OperationType } from '../../../operation-type.ts'
import { shareOf } from '../manifests/shares.ts'
import type { KubernetesParts } from '../parts.ts'
import { type ChangedName, defineManifestOperation, type ManifestRun } from './parts.ts'
import { requireChangeable } from './rights.ts'
import { endReplicaShare, shareByReplicas, sharingKinds } from './share-by-replicas.ts'
import { endRouteShare, routesOf, shareByRoutes } from './share-by-routes.ts'
import { isSwitchable, servicesOf } from './sharing.ts'
import { describeTarget, describeTargetProblems, type LiveTarget, namedServerGroup } from './targets.ts'

export function shareTraffic(parts: KubernetesParts): OperationType {
  return defineManifestOperation(parts, {
    check: (description, account) => [
      ...describeTargetProblems(account, { field: 'serverGroupName', ...namedServerGroup(description) }),
      describePercentProblem(description['percent']),
    ],
    changes: (description) => [namedServerGroup(description), sharesOf(namedServerGroup(description))],
    run: async (running) => {
      const { description } = running
      const target = await requireChangeable(running, namedServerGroup(description), {
        kinds: sharingKinds,
        operation: 'share traffic with',
      })
      await applyShare(running, target, numberOf(description['percent']))
    },
  })
}

/** Shares of a namespace depend on each other: their operations wait for each other. */
export function sharesOf({ namespace }: Pick<ChangedName, 'namespace'>): ChangedName {
  return { namespace, name: 'shares of the traffic' }
}

/** Null takes the share away. */
export function describePercentProblem(value: unknown, field = 'percent'): string | undefined {
  const percent = numberOf(value)
  if (value === null || (percent !== undefined && Number.isInteger(percent) && percent >= 0 && percent <= 100)) return undefined
  return `${field}: it must be a whole number from 0 to 100, or null to take the share away.`
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
  const owner = target.live.metadata.ownerReferences?.find(({ controller }) => controller === true)
  if (owner !== undefined) {
    const other = `${owner.kind.toLowerCase()} ${owner.name}`
    throw new Error(`${describeTarget(running.account, target)} belongs to ${other}: share the traffic with that.`)
  }
  const services = await servicesOf(running, target)
  if (services.length === 0) {
    throw new Error(
      `${describeTarget(running.account, target)} is behind no service: deploy it with a load balancer that can share its requests.`,
    )
  }
  const names = services.map(({ name }) => name)
  const routes = share?.before !== undefined ? [] : await routesOf(running, target, names)
  if (share?.services !== undefined || (routes.length > 0 && isSwitchable(target, services))) {
    if (percent === undefined) await endRouteShare(running, target, { isServing: true })
    else await shareByRoutes(running, target, { services, routes, percent })
    return
  }
  await shareByReplicas(running, target, { services, percent, isNew })
}

/**
 * Ends the share of a server group that is disabled or about to go: routes would send requests to nothing, and others stay too small.
 *
 * @param fate `stays`: it has its own number of replicas again
 */
export async function endShare(running: ManifestRun, target: LiveTarget, fate: 'stays' | 'goes'): Promise<void> {
  const share = shareOf(target.live)
  if (share === undefined) return
  if (share.services !== undefined) await endRouteShare(running, target, { isServing: false })
  else await endReplicaShare(running, target, fate)
}
