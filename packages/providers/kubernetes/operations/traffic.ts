/** enableManifest and disableManifest: labels that services select pods by. */
import { textsOf } from '@fairlead/base/json/values.ts'
import { shareOf } from '../manifests/shares.ts'
import { annotatedLoadBalancers, parseLoadBalancer, selectorOf, trafficReceivers } from '../manifests/traffic.ts'
import { type ChangedName, defineManifestOperation, type KubernetesOperation, type ManifestRun } from './parts.ts'
import { type Labels, ownedPods, setPodLabels, type WantedLabels } from './pod-labels.ts'
import { checkChanges, type ObjectChange, requireChangeable, toChange } from './rights.ts'
import { endShare } from './share-traffic.ts'
import { byManifest, byServerGroup, describeTargetProblems, type Target, type TargetName } from './targets.ts'

export const enableManifest = switching(byManifest, { isEnabled: true })
export const disableManifest = switching(byManifest, { isEnabled: false })
export const enableServerGroup = switching(byServerGroup, { isEnabled: true })
export const disableServerGroup = switching(byServerGroup, { isEnabled: false })

function switching({ field, of }: TargetName, { isEnabled }: Pick<WantedLabels, 'isEnabled'>): KubernetesOperation {
  return defineManifestOperation({
    check: (description, account) => describeTargetProblems(account, { field, ...of(description) }),
    changes: (description) => [of(description)],
    run: (running) => switchTraffic(running, of(running.description), isEnabled),
  })
}

async function switchTraffic(running: ManifestRun, changed: ChangedName, isEnabled: boolean): Promise<void> {
  const { description, run } = running
  const operation = isEnabled ? 'enable' : 'disable'
  const target = await requireChangeable(running, changed, { kinds: [...trafficReceivers], operation })
  const given = textsOf(description['loadBalancers'])
  const balancers = given.length > 0 ? given : annotatedLoadBalancers(target.live)
  const { labels, services } = await selectorsOf(running, target, balancers)
  const pods = target.kind.name === 'replicaSet' ? await ownedPods(running, target) : []
  await checkChanges(running, [...services, ...pods.map(toChange)])
  if (Object.keys(labels).length === 0) return
  if (isEnabled && shareOf(target.live)?.services !== undefined) {
    run.note(`${target.subject} has a share of the traffic, and no other way to it.`)
    return
  }
  run.note(`${isEnabled ? 'Attaching' : 'Detaching'} ${target.subject}: ${balancers.join(', ')} …`)
  await setPodLabels(running, target, { labels, isEnabled })
  if (!isEnabled) await endShare(running, target, 'stays')
}

/** Labels of all selectors together. @throws {Error} where a load balancer is missing */
async function selectorsOf(
  { account }: ManifestRun,
  { place }: Target,
  names: readonly string[],
): Promise<{ readonly labels: Labels; readonly services: readonly ObjectChange[] }> {
  const services: ObjectChange[] = []
  let labels: Labels = {}
  for (const name of names) {
    const resource = await account.api.find({ kind: 'service', group: '' })
    const { name: bare } = parseLoadBalancer(name)
    const live = resource && (await account.api.get({ resource, namespace: place.namespace, name: bare }))
    if (live === undefined) throw new Error(`The load balancer ${name} does not exist in ${place.namespace}.`)
    labels = { ...labels, ...selectorOf(live, name) }
    services.push({ name, isNamespaced: true, live })
  }
  return { labels, services }
}
