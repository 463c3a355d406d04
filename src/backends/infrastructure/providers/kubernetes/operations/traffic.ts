/** enableManifest and disableManifest: labels that services select pods by. */
import { fieldAt, type JsonObject, objectOf, textOf, textsOf } from '../../../../../json/values.ts'
import type { OperationType } from '../../../operation-type.ts'
import { isApiError } from '../api/api-error.ts'
import type { ObjectPlace } from '../api/cluster-api.ts'
import { fieldManager } from '../manifests/annotations.ts'
import { withField } from '../manifests/edit.ts'
import { matchLabelsOf } from '../manifests/selectors.ts'
import { loadBalancersOf, parseLoadBalancer, podLabelsPath, selectorOf } from '../manifests/traffic.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesParts } from '../parts.ts'
import { checkChanges, toChange } from './owners.ts'
import { type ChangedName, defineOperation, type Running } from './parts.ts'
import { isPassingOrConflict, retrying } from './retry.ts'
import type { Change } from './rights.ts'
import { serverGroupOf } from './scale.ts'
import {
  aboutObject,
  describeTarget,
  describeTargetProblems,
  findTarget,
  requireCapability,
  requireLive,
  type Target,
  toNamespace,
} from './targets.ts'

type Labels = Readonly<Record<string, string>>

const receivers = ['deployment', 'replicaSet', 'statefulSet', 'daemonSet', 'pod', 'job', 'cronJob']

/** Pods that are created while labels change may have the old ones. */
const podRounds = 3

export function enableManifest(parts: KubernetesParts): OperationType {
  return trafficOperation(parts, { isEnabled: true, field: 'manifestName', targetOf: manifestOf })
}

export function disableManifest(parts: KubernetesParts): OperationType {
  return trafficOperation(parts, { isEnabled: false, field: 'manifestName', targetOf: manifestOf })
}

export function enableServerGroup(parts: KubernetesParts): OperationType {
  return trafficOperation(parts, { isEnabled: true, field: 'serverGroupName', targetOf: serverGroupOf })
}

export function disableServerGroup(parts: KubernetesParts): OperationType {
  return trafficOperation(parts, { isEnabled: false, field: 'serverGroupName', targetOf: serverGroupOf })
}

function manifestOf({ manifestName, location }: JsonObject): ChangedName {
  return { name: textOf(manifestName) ?? '', namespace: toNamespace(location) }
}

interface TrafficOperation {
  readonly isEnabled: boolean
  readonly field: string
  readonly targetOf: (description: JsonObject) => ChangedName
}

function trafficOperation(parts: KubernetesParts, { isEnabled, field, targetOf }: TrafficOperation): OperationType {
  return defineOperation(parts, {
    check: (description, account) => describeTargetProblems(account, { field, ...targetOf(description) }),
    changes: (description) => [targetOf(description)],
    run: (running) => switchTraffic(running, targetOf(running.description), isEnabled),
  })
}

async function switchTraffic(running: Running, { name, namespace = '' }: ChangedName, isEnabled: boolean): Promise<void> {
  const { account, description, run } = running
  const target = await findTarget(running, { name, namespace })
  requireCapability(account, target, { kinds: receivers, operation: isEnabled ? 'enable' : 'disable' })
  const live = await requireLive(account, target)
  const given = textsOf(description['loadBalancers'])
  const balancers = given.length > 0 ? given : loadBalancersOf(live)
  const { labels, services } = await selectorsOf(running, target, balancers)
  const pods = target.kind.name === 'replicaSet' ? await ownedPods(running, target, live) : []
  await checkChanges(running, [toChange(target, live), ...services, ...pods.map((pod) => toChange(pod, pod.live))])
  if (Object.keys(labels).length === 0) return
  run.note(`${isEnabled ? 'Attaching' : 'Detaching'} ${describeTarget(account, target)}: ${balancers.join(', ')} …`)
  const wanted: WantedLabels = { labels, isEnabled }
  await label(running, { ...target, live }, wanted, podLabelsPath(target.kind.name === 'pod'))
  if (target.kind.name === 'replicaSet') await labelPods(running, { ...target, live }, wanted)
}

/** Labels of all selectors together. @throws {Error} where a load balancer is missing */
async function selectorsOf(
  { account }: Running,
  { place }: Target,
  names: readonly string[],
): Promise<{ readonly labels: Labels; readonly services: readonly Change[] }> {
  const services: Change[] = []
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

interface Labelled extends Pick<Target, 'name' | 'place'> {
  readonly live: KubeObject
}

/** Changes nothing where the labels are right already. */
async function label(running: Running, labelled: Labelled, wanted: WantedLabels, path: readonly string[]): Promise<void> {
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

async function labelPods(running: Running, owner: Target & { readonly live: KubeObject }, wanted: WantedLabels): Promise<void> {
  const path = podLabelsPath(true)
  for (let round = 0; round < podRounds; round++) {
    const pods = await ownedPods(running, owner, owner.live)
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

interface OwnedPod {
  readonly name: string
  readonly place: ObjectPlace
  readonly live: KubeObject
}

async function ownedPods({ account }: Running, { place }: Target, owner: KubeObject): Promise<OwnedPod[]> {
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
