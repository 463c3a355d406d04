/** Routes of the Gateway API, with any fields, in a control plane that has none. */
import type { JsonObject } from '../../packages/base/json/values.ts'
import type { KubernetesClient } from './kubernetes-client.ts'
import { waitUntil } from './wait-until.ts'

export const routeDefinition: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'httproutes.gateway.networking.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api' },
  },
  spec: {
    group: 'gateway.networking.k8s.io',
    scope: 'Namespaced',
    names: { plural: 'httproutes', singular: 'httproute', kind: 'HTTPRoute' },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
}

/** @returns its path */
export async function createRoute(
  api: KubernetesClient,
  namespace: string,
  rules: readonly JsonObject[],
): Promise<string> {
  await api
    .create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', routeDefinition)
    .catch(() => {})
  const path = `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/httproutes`
  await waitUntil(async () => (await api.find(`${path}?limit=1`)) !== undefined, 'routes')
  const apiVersion = 'gateway.networking.k8s.io/v1'
  await api.create(path, {
    apiVersion,
    kind: 'HTTPRoute',
    metadata: { name: 'web', namespace },
    spec: { rules },
  })
  return `${path}/web`
}
