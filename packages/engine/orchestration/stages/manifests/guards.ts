/** Traffic guards for operations on single objects: the last healthy instances of a guarded cluster keep their traffic. */
import { kubernetes } from '../infrastructure/cloud-context.ts'
import { groupsIn } from '../infrastructure/server-groups.ts'
import { checkTrafficGuards } from '../infrastructure/traffic-guard.ts'
import type { TaskContext } from '../stage-type.ts'
import { kindOf, type ManifestTarget } from './manifest-context.ts'
import { loadManifest } from './stabilize.ts'

/** @param doing Such as `disabling`, for the message. @throws {StageError} when a guard forbids it */
export type ManifestGuard = (
  context: TaskContext,
  target: ManifestTarget,
  doing: string,
) => Promise<void>

export const noGuard: ManifestGuard = async () => undefined

const serverGroups: ReadonlySet<string> = new Set([
  'replicaset',
  'statefulset',
  'daemonset',
  'job',
  'cronjob',
])

/** Server groups, and deployments with all server groups that they own. */
export const guardManifest: ManifestGuard = async (context, target, doing) => {
  const { account, location: region, name } = target
  const isManager = kindOf(name) === 'deployment'
  if (!isManager && !serverGroups.has(kindOf(name))) return
  const moniker = (await loadManifest(context, target))?.moniker
  if (moniker?.app === undefined || moniker.cluster === undefined) return
  const place = { provider: kubernetes, account, region }
  const cluster = { ...place, application: moniker.app, cluster: moniker.cluster }
  const isOwner = (manager: { name: string | undefined }) =>
    manager.name === name || manager.name === name.split(' ')[1]
  const groups = isManager
    ? (await groupsIn(context, cluster, region)).filter((group) =>
        group.serverGroupManagers.some(isOwner),
      )
    : [{ name }]
  await checkTrafficGuards(context, {
    targets: groups.map((each) => ({ ...place, name: each.name, moniker })),
    doing,
  })
}
