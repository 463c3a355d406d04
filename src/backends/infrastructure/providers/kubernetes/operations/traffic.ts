/** enableManifest and disableManifest: labels that services select pods by. */
import { fieldAt, type JsonObject, objectOf, textsOf } from '../../../../../json/values.ts'
import type { OperationType } from '../../../operation-type.ts'
import { isApiError } from '../api/api-error.ts'
import { fieldManager } from '../manifests/annotations.ts'
import { withField } from '../manifests/edit.ts'
import { matchLabelsOf } from '../manifests/selectors.ts'
import { annotatedLoadBalancers, parseLoadBalancer, podLabelsPath, selectorOf, trafficReceivers } from '../manifests/traffic.ts'
import type { KubernetesParts } from '../parts.ts'
import { type ChangedName, defineManifestOperation, type ManifestRun } from './parts.ts'
import { isPassingOrConflict, retrying } from './retry.ts'
import { checkChanges, type ObjectChange, requireChangeable, toChange } from './rights.ts'
import {
  aboutObject,
  describeTarget,
  describeTargetProblems,
  type LiveTarget,
  namedManifest,
  namedServerGroup,
  type Target,
} from './targets.ts'

type Labels = Readonly<Record<string, string>>

/** Pods that are created while labels change may have the old ones. */
const podRounds = 3

export function enableManifest(parts: KubernetesParts): OperationType {
  return trafficOperation(parts, { isEnabled: true, field: 'manifestName', targetOf: namedManifest })
}

export function disableManifest(parts: KubernetesParts): OperationType {
  return trafficOperation(parts, { isEnabled: false, field: 'manifestName', targetOf: namedManifest })
}

export function enableServerGroup(parts: KubernetesParts): OperationType {
  return trafficOperation(parts, { isEnabled: true, field: 'serverGroupName', targetOf: namedServerGroup })
}

export function disableServerGroup(parts: KubernetesParts): OperationType {
  return trafficOperation(parts, { isEnabled: false, field: 'serverGroupName', targetOf: namedServerGroup })
}

interface TrafficOperation {
  readonly isEnabled: boolean
  readonly field: string
  readonly targetOf: (description: JsonObject) => ChangedName
}

function trafficOperation(parts: KubernetesParts, { isEnabled, field, targetOf }: TrafficOperation): OperationType {
  return defineManifestOperation(parts, {
    check: (description, account) => describeTargetProblems(account, { field, ...targetOf(description) }),
    changes: (description) => [targetOf(description)],
    run: (running) => switchTraffic(running, targetOf(running.description), isEnabled),
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
  run.note(`${isEnabled ? 'Attaching' : 'Detaching'} ${target.subject}: ${balancers.join(', ')} …`)
  const wanted: WantedLabels = { labels, isEnabled }
  await label(running, target, wanted, podLabelsPath(target.kind.name === 'pod'))
  if (target.kind.name === 'replicaSet') await labelPods(running, target, wanted)
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

interface WantedLabels {
  readonly labels: Labels
  readonly isEnabled: boolean
}

type Labelled = Omit<LiveTarget, 'kind'>

/** Changes nothing where the labels are right already. */
async function label(running: ManifestRun, labelled: Labelled, wanted: WantedLabels, path: readonly string[]): Promise<void> {
  const { account } = running
  const { live, place } = labelled
  const { labels, isEnabled } = wanted
  if (hasLabels(live, path, wanted)) return
  const values = Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, isEnabled ? value : null]))
  const patched = await aboutObject(describeTarget(account, labelled), () =>
    retrying(
      running,
      () => account.api.patch(place, withField({}, path, values), { type: 'merge', fieldManager }),
      isPassingOrConflict,
    ),
  )
  account.lists.observe(patched)
}

function hasLabels(object: JsonObject, path: readonly string[], { labels, isEnabled }: WantedLabels): boolean {
  const present = objectOf(fieldAt(object, ...path))
  return Object.entries(labels).every(([key, value]) => (isEnabled ? present[key] === value : !Object.hasOwn(present, key)))
}

async function labelPods(running: ManifestRun, owner: LiveTarget, wanted: WantedLabels): Promise<void> {
  const path = podLabelsPath(true)
  for (let round = 0; round < podRounds; round++) {
    const pods = await ownedPods(running, owner)
    const wrong = pods.filter(({ live }) => !hasLabels(live, path, wanted))
    if (wrong.length === 0) return
    await Promise.all(
      wrong.map((pod) =>
        label(running, pod, wanted, path).catch((error: unknown) => {
          // A pod may end at any time.
          if (!isApiError((error as Error).cause, 404)) throw error
        }),
      ),
    )
  }
}

async function ownedPods({ account }: ManifestRun, { place, live: owner }: LiveTarget): Promise<Labelled[]> {
  const resource = await account.api.find({ kind: 'pod', group: '' })
  if (resource === undefined) return []
  const { namespace } = place
  const pods = await account.api.list(resource, { namespace, labelSelector: matchLabelsOf(owner['spec']) })
  return pods
    .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid))
    .map((live) => {
      const { name } = live.metadata
      return { name: `pod ${name}`, place: { resource, namespace, name }, live }
    })
}
