/** Traffic guards for operations on single objects: the last healthy instances of a guarded cluster keep their traffic. */
import { fieldOf, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { kubernetes } from '../infrastructure/cloud-context.ts'
import { inPlace } from '../infrastructure/server-groups.ts'
import { checkTrafficGuards } from '../infrastructure/traffic-guard.ts'
import type { TaskContext } from '../stage-type.ts'
import { kindOf, type ManifestTarget } from './manifest-context.ts'
import { loadManifest } from './stabilize.ts'

/** @param doing Such as `disabling`, for the message. @throws {StageError} when a guard forbids it */
export type ManifestGuard = (context: TaskContext, target: ManifestTarget, doing: string) => Promise<void>

export const noGuard: ManifestGuard = async () => undefined

const managers: ReadonlySet<string> = new Set(['deployment'])
const serverGroups: ReadonlySet<string> = new Set(['replicaset', 'statefulset', 'daemonset', 'job', 'cronjob'])

/** Server groups, and deployments with all server groups that they own. */
export const guardManifest: ManifestGuard = async (context, target, doing) => {
  const { account, location: region, name } = target
  const kind = kindOf(name)
  if (!managers.has(kind) && !serverGroups.has(kind)) return
  const body = await loadManifest(context, target)
  const moniker = objectOf(body?.['moniker'])
  const [application, cluster] = [textOf(moniker['app']), textOf(moniker['cluster'])]
  if (application === undefined || cluster === undefined) return
  const place = { provider: kubernetes, account, region }
  const groups = managers.has(kind) ? await ownedBy(context, target, { application, cluster }) : [name]
  const targets = groups.map((each) => ({ ...place, name: each, moniker }))
  await checkTrafficGuards(context, { targets, doing })
}

async function ownedBy(
  context: TaskContext,
  { account, location, name }: ManifestTarget,
  { application, cluster }: { application: string; cluster: string },
): Promise<string[]> {
  const groups = (await context.infrastructure.cluster({ application, provider: kubernetes, account, cluster })) ?? []
  const bareName = name.split(' ')[1]
  const isOwned = (manager: unknown) => fieldOf(manager, 'name') === bareName || fieldOf(manager, 'name') === name
  return inPlace(groups, location)
    .filter(({ all }) => objectsOf(all['serverGroupManagers']).some(isOwned))
    .map((group) => group.name)
}
