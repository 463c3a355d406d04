/** Reads the drift of an application: its deployed objects, live. */
import type { OwnResource } from '../../model.ts'
import type { DriftQuery } from '../../provider.ts'
import { isApiError } from './api/api-error.ts'
import type { ApiResource } from './api/cluster-api.ts'
import { driftOf, isDeployedFor } from './drift.ts'
import { formatFullName } from './full-name.ts'
import { kindOfManifest, parseKind } from './kinds.ts'
import { monikerOf } from './manifests/moniker.ts'
import type { KubernetesAccount } from './parts.ts'

/** What users deploy; the objects that controllers create from it follow it. */
const kinds = [
  ...['deployment', 'statefulSet', 'daemonSet', 'replicaSet', 'cronJob', 'service', 'ingress', 'networkPolicy', 'configMap'],
  ...['horizontalpodautoscaler', 'podDisruptionBudget', 'serviceAccount', 'role', 'roleBinding', 'persistentVolumeClaim'],
]
/** Deployed objects carry it, unless `kubernetes.v2.apply-app-labels` is off. */
const managedSelector = 'app.kubernetes.io/managed-by'

/** @param namespaces Where the application has objects, as lists know it */
export async function loadDrift(
  account: KubernetesAccount,
  namespaces: readonly string[],
  { application, location }: Pick<DriftQuery, 'application' | 'location'>,
): Promise<OwnResource[]> {
  const wanted = location === undefined ? namespaces : namespaces.filter((namespace) => namespace === location)
  if (wanted.length === 0) return []
  const found = [...kinds, ...account.kinds.custom.map(({ name }) => name)].map((name) => account.api.find(parseKind(name)))
  const resources = (await Promise.all(found)).filter((resource) => resource?.isNamespaced === true && mayList(resource))
  const lists = await Promise.all(
    resources.flatMap((resource) =>
      resource === undefined ? [] : wanted.map((namespace) => driftIn(account, resource, { application, namespace })),
    ),
  )
  return lists.flat()
}

function mayList({ verbs }: ApiResource): boolean {
  return verbs.includes('list')
}

async function driftIn(
  account: KubernetesAccount,
  resource: ApiResource,
  { application, namespace }: { readonly application: string; readonly namespace: string },
): Promise<OwnResource[]> {
  const objects = await account.api.list(resource, { namespace, labelSelector: managedSelector }).catch((error: unknown) => {
    // A kind that may not be listed has nothing to show.
    if (isApiError(error, 403, 404, 405)) return []
    throw error
  })
  return objects.flatMap((object) => {
    // Replica sets and pods of a deployment follow it.
    if (!isDeployedFor(application, object) || (object.metadata.ownerReferences ?? []).length > 0) return []
    const name = formatFullName(account.kinds.kindOf(kindOfManifest(object)), object.metadata.name)
    const place = { account: account.settings.name, namespace, name }
    return driftOf(object).map((drift) => ({
      account: account.settings.name,
      moniker: monikerOf(object),
      view: { ...place, ...drift },
    }))
  })
}
