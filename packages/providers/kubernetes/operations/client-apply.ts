/** Client-side apply: Fairlead merges the last applied manifest, the new one and the live object (docs/contracts/kubernetes.md#deployments). */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { isApiError } from '../api/api-error.ts'
import type { WriteOptions } from '../api/cluster-api.ts'
import { fieldManager } from '../manifests/annotations.ts'
import { withField } from '../manifests/edit.ts'
import { threeWayPatch } from '../manifests/three-way-patch.ts'
import { lastAppliedOf } from '../manifests/versions.ts'
import type { KubeObject } from '../objects.ts'
import { whenServed } from './custom-resources.ts'
import type { ManifestRun } from './parts.ts'
import { type PreparedManifest, toWire } from './prepared.ts'

/** Fails with 409 when the live object has changed since it was read. */
export async function applyFromClient(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject | undefined,
  { dryRun = false }: Pick<WriteOptions, 'dryRun'> = {},
): Promise<KubeObject> {
  const { api } = running.account
  const { resource, namespace, isPlanned } = prepared
  const options = { fieldManager, dryRun }
  const wire = toWire(prepared)
  if (live === undefined) return whenServed(running, isPlanned, () => api.create(resource, namespace, wire, options))
  const place = { resource, namespace, name: live.metadata.name }
  const states = { applied: wireOfLastApply(prepared, live), live, manifest: wire }
  const patch = (lists: 'by-key' | 'whole') =>
    withField(threeWayPatch(states, lists), ['metadata', 'resourceVersion'], live.metadata.resourceVersion)
  try {
    return await api.patch(place, patch('by-key'), { ...options, type: 'strategic' })
  } catch (error) {
    // Custom resources know no keys of list entries.
    if (!isApiError(error, 415)) throw error
    return api.patch(place, patch('whole'), { ...options, type: 'merge' })
  }
}

/** In the form in which it was sent. */
function wireOfLastApply(prepared: PreparedManifest, live: KubeObject): JsonObject {
  const applied = lastAppliedOf(live)
  return applied === undefined ? {} : toWire({ ...prepared, manifest: applied, isNewVersion: false })
}
