/** enableManifest and disableManifest: labels that services select pods by. */

import { type Reader, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textsOf } from '@fairlead/base/json/values.ts'
import { shareOf } from '../manifests/shares.ts'
import {
  annotatedLoadBalancers,
  attached,
  parseLoadBalancer,
  selectorOf,
  trafficReceivers,
  withLoadBalancers,
} from '../manifests/traffic.ts'
import type { KubeObject, Labels } from '../objects.ts'
import {
  type ChangedName,
  defineManifestOperation,
  type KubernetesOperation,
  type ManifestRun,
} from './parts.ts'
import { ownedPods, setPodLabels, type WantedLabels } from './pod-labels.ts'
import type { DeployFields, ManifestDraft } from './prepared.ts'
import { checkChanges, type ObjectChange, requireChangeable, toChange } from './rights.ts'
import { endShare } from './share-traffic.ts'
import {
  describeTargetProblems,
  manifestFields,
  serverGroupFields,
  type TargetObject,
} from './targets.ts'

const byManifest = { field: 'manifestName', reads: switched(manifestFields) }
const byServerGroup = { field: 'serverGroupName', reads: switched(serverGroupFields) }

export const enableManifest = switching(byManifest, { isEnabled: true })
export const disableManifest = switching(byManifest, { isEnabled: false })
export const enableServerGroup = switching(byServerGroup, { isEnabled: true })
export const disableServerGroup = switching(byServerGroup, { isEnabled: false })

interface Switched extends ChangedName {
  /** Empty: those of its annotation. */
  readonly loadBalancers: readonly string[]
}

function switched(fields: typeof manifestFields | typeof serverGroupFields): Reader<Switched> {
  return shape({ ...fields, loadBalancers: textsOf })
}

function switching(
  { field, reads }: typeof byManifest,
  { isEnabled }: Pick<WantedLabels, 'isEnabled'>,
): KubernetesOperation {
  return defineManifestOperation({
    reads,
    check: (description, account) => describeTargetProblems(account, description, field),
    changes: (description) => [description],
    run: (running, description) => switchTraffic(running, description, isEnabled),
  })
}

async function switchTraffic(
  running: ManifestRun,
  { loadBalancers, ...changed }: Switched,
  isEnabled: boolean,
): Promise<void> {
  const { run } = running
  const operation = isEnabled ? 'enable' : 'disable'
  const target = await requireChangeable(running, changed, {
    kinds: [...trafficReceivers],
    operation,
  })
  const balancers = loadBalancers.length > 0 ? loadBalancers : annotatedLoadBalancers(target.live)
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
  { place }: TargetObject,
  names: readonly string[],
): Promise<{ readonly labels: Labels; readonly services: readonly ObjectChange[] }> {
  const services: ObjectChange[] = []
  let labels: Labels = {}
  for (const name of names) {
    const resource = await account.api.find({ kind: 'service', group: '' })
    const { name: bare } = parseLoadBalancer(name)
    const live =
      resource && (await account.api.get({ resource, namespace: place.namespace, name: bare }))
    if (live === undefined)
      throw new Error(`The load balancer ${name} does not exist in ${place.namespace}.`)
    labels = { ...labels, ...selectorOf(live, name) }
    services.push({ name, isNamespaced: true, live })
  }
  return { labels, services }
}

export interface RequestTraffic {
  readonly drafts: readonly ManifestDraft[]
  readonly services: Map<string, ObjectChange>
}

export async function withTraffic(
  running: ManifestRun,
  manifest: JsonObject,
  {
    draft,
    fields,
    traffic,
  }: {
    readonly draft: ManifestDraft
    readonly fields: DeployFields
    readonly traffic: RequestTraffic
  },
): Promise<JsonObject> {
  if (!trafficReceivers.has(draft.kind.name)) return manifest
  const noted = withLoadBalancers(manifest, fields.services)
  if (!fields.enablesTraffic) return noted
  const isPod = draft.kind.name === 'pod'
  let reached = noted
  for (const name of annotatedLoadBalancers(noted)) {
    const selector = selectorOf(
      await findService(running, name, { namespace: draft.namespace, traffic }),
      name,
    )
    reached = attached(reached, { name, selector, isPod, mayBeAttached: draft.isEdit })
  }
  return reached
}

/** Service of the request, else a live one. */
async function findService(
  { account }: ManifestRun,
  name: string,
  { namespace, traffic }: { readonly namespace: string; readonly traffic: RequestTraffic },
): Promise<JsonObject> {
  const full = parseLoadBalancer(name)
  const sent = traffic.drafts.find(
    (draft) =>
      draft.kind.name === 'service' &&
      draft.namespace === namespace &&
      draft.artifactName === full.name,
  )
  if (sent !== undefined) return sent.manifest
  const resource = await account.api.find({ kind: 'service', group: '' })
  const live: KubeObject | undefined =
    resource && (await account.api.get({ resource, namespace, name: full.name }))
  if (live === undefined)
    throw new Error(
      `The load balancer ${name} does not exist in ${namespace}; deploy it before, or together.`,
    )
  traffic.services.set(`${namespace} ${full.name}`, {
    name: `service ${full.name}`,
    isNamespaced: true,
    live,
  })
  return live
}
