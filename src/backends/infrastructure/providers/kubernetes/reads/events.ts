/** Events about an object. */
import { fieldAt, type JsonObject, textOf } from '../../../../../json/values.ts'
import { isApiError } from '../api/api-error.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'
import { millisecondsOf } from './times.ts'

/** Cluster-wide objects have theirs there. */
const usualNamespace = 'default'

/** Oldest first; none where Fairlead may not read them. */
export async function loadEvents({ api }: KubernetesAccount, object: KubeObject): Promise<KubeObject[]> {
  const { name, namespace = usualNamespace } = object.metadata
  const resource = await api.find({ kind: 'event', version: 'v1' })
  if (resource === undefined) return []
  const fieldSelector = `involvedObject.name=${name}`
  const events = await api.list(resource, { namespace, fieldSelector }).catch((error: unknown) => {
    if (isApiError(error, 403)) return []
    throw error
  })
  return events
    .filter((event) => isAbout(event, object))
    .map(withoutManagedFields)
    .sort((one, other) => timeOf(one) - timeOf(other))
}

/** An object of the same name that existed before has events, too. */
function isAbout(event: JsonObject, { kind, metadata }: KubeObject): boolean {
  const isKind = textOf(fieldAt(event, 'involvedObject', 'kind'))?.toLowerCase() === kind.toLowerCase()
  const uid = textOf(fieldAt(event, 'involvedObject', 'uid'))
  return isKind && (uid === undefined || metadata.uid === undefined || uid === metadata.uid)
}

/** Those without a time come last. */
function timeOf({ lastTimestamp, firstTimestamp, eventTime }: JsonObject): number {
  return millisecondsOf(lastTimestamp) ?? millisecondsOf(firstTimestamp) ?? millisecondsOf(eventTime) ?? Number.MAX_SAFE_INTEGER
}

/** Tell which field was written by what, for the API server alone. */
export function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
