/** Events about an object. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { isApiError } from '../api/api-error.ts'
import { isAbout } from '../manifests/reasons.ts'
import { toEvent } from '../objects/event.ts'
import { type KubeObject, millisecondsOf } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'

/** Cluster-wide objects have theirs there. */
const usualNamespace = 'default'

/** Oldest first; none where Fairlead may not read them. */
export async function loadEvents(
  { api }: KubernetesAccount,
  object: KubeObject,
): Promise<KubeObject[]> {
  const { name, namespace = usualNamespace } = object.metadata
  const resource = await api.find({ kind: 'event', version: 'v1' })
  if (resource === undefined) return []
  const fieldSelector = `involvedObject.name=${name}`
  const events = await api.list(resource, { namespace, fieldSelector }).catch((error: unknown) => {
    if (isApiError(error, 403)) return []
    throw error
  })
  return events
    .filter((event) => isAbout(toEvent(event), object))
    .map(withoutManagedFields)
    .sort((one, other) => timeOf(one) - timeOf(other))
}

/** Infinite without a time, to come last. */
function timeOf({ lastTimestamp, firstTimestamp, eventTime }: JsonObject): number {
  return (
    millisecondsOf(lastTimestamp) ??
    millisecondsOf(firstTimestamp) ??
    millisecondsOf(eventTime) ??
    Number.MAX_SAFE_INTEGER
  )
}

/** Tell which field was written by what, for the API server alone. */
export function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
