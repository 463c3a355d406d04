/** Attaches manifests to their load balancers before they are deployed. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import {
  annotatedLoadBalancers,
  attached,
  parseLoadBalancer,
  selectorOf,
  trafficReceivers,
  withLoadBalancers,
} from '../manifests/traffic.ts'
import type { KubeObject } from '../objects.ts'
import type { DeployFields } from './deploy-fields.ts'
import type { ManifestRun } from './parts.ts'
import type { Draft } from './prepared.ts'
import type { ObjectChange } from './rights.ts'

/** What a request knows of load balancers. */
export interface RequestTraffic {
  readonly drafts: readonly Draft[]
  readonly services: Map<string, ObjectChange>
}

export async function withTraffic(
  running: ManifestRun,
  manifest: JsonObject,
  { draft, fields, traffic }: { readonly draft: Draft; readonly fields: DeployFields; readonly traffic: RequestTraffic },
): Promise<JsonObject> {
  if (!trafficReceivers.has(draft.kind.name)) return manifest
  const noted = withLoadBalancers(manifest, fields.services)
  if (!fields.enablesTraffic) return noted
  const isPod = draft.kind.name === 'pod'
  let reached = noted
  for (const name of annotatedLoadBalancers(noted)) {
    const selector = selectorOf(await findService(running, name, { namespace: draft.namespace, traffic }), name)
    reached = attached(reached, { name, selector, isPod, mayBeAttached: draft.isEdit })
  }
  return reached
}

/** Among those of the request, else live. */
async function findService(
  { account }: ManifestRun,
  name: string,
  { namespace, traffic }: { readonly namespace: string; readonly traffic: RequestTraffic },
): Promise<JsonObject> {
  const full = parseLoadBalancer(name)
  const sent = traffic.drafts.find(
    (draft) => draft.kind.name === 'service' && draft.namespace === namespace && draft.artifactName === full.name,
  )
  if (sent !== undefined) return sent.manifest
  const resource = await account.api.find({ kind: 'service', group: '' })
  const live: KubeObject | undefined =
    resource === undefined ? undefined : await account.api.get({ resource, namespace, name: full.name })
  if (live === undefined)
    throw new Error(`The load balancer ${name} does not exist in ${namespace}; deploy it before, or together.`)
  traffic.services.set(`${namespace} ${full.name}`, { name: `service ${full.name}`, isNamespaced: true, live })
  return live
}
