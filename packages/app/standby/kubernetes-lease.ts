/** The lease as an object of Kubernetes: `coordination.k8s.io/v1`, in the namespace of the pod. */

import { or, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { isApiError } from '@fairlead/providers/kubernetes/api/api-error.ts'
import type { KubeClient } from '@fairlead/providers/kubernetes/api/client.ts'
import type { ApiResource } from '@fairlead/providers/kubernetes/api/cluster-api.ts'
import type { KubeObject } from '@fairlead/providers/kubernetes/objects.ts'
import { type LeaseRecord, type LeaseStore, usualTimes } from './lease.ts'

const name = 'fairlead-backends'
const idAnnotation = 'fairlead/directory'
const writtenAnnotation = 'fairlead/written'
const copyAnnotation = 'fairlead/copy'

const resource: ApiResource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  shortNames: [],
  isNamespaced: true,
  verbs: [],
  subresources: [],
}

/** Needs the verbs get, create and update on leases. The client is closed with it. */
export function createKubernetesLease(
  client: Pick<KubeClient, 'get' | 'create' | 'replace' | 'close'>,
  namespace: string,
): LeaseStore {
  const place = { resource, namespace, name }
  return {
    name: 'the API of Kubernetes',
    removal: `kubectl delete lease -n ${namespace} ${name}`,
    async read() {
      const found = await client.get(place)
      return found && { record: toRecord(found), version: found.metadata.resourceVersion ?? '' }
    },
    async write(record, seen) {
      try {
        const body = toObject(record, namespace, seen)
        const written = seen
          ? await client.replace(place, body)
          : await client.create(resource, namespace, body)
        return written.metadata.resourceVersion
      } catch (error) {
        // Another one was faster, or an operator has removed it.
        if (isApiError(error, 409) || (seen && isApiError(error, 404))) return undefined
        throw error
      }
    },
    close: () => client.close(),
  }
}

function toObject(
  { id, holder, term, written, copy, released }: LeaseRecord,
  namespace: string,
  resourceVersion: string | undefined,
) {
  const renewTime = new Date().toISOString().replace('Z', '000Z')
  const annotations = definedOf({
    [idAnnotation]: id,
    [writtenAnnotation]: written?.toString(),
    [copyAnnotation]: copy,
  })
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace, annotations, ...(resourceVersion && { resourceVersion }) },
    spec: {
      holderIdentity: released ? '' : holder,
      leaseDurationSeconds: usualTimes.freeMs / 1000,
      leaseTransitions: term,
      renewTime,
    },
  }
}

const leaseOf = shape({
  metadata: shape({
    annotations: shape({
      id: [or(textOf, ''), idAnnotation],
      written: [numberOf, writtenAnnotation],
      copy: [textOf, copyAnnotation],
    }),
  }),
  spec: shape({
    holder: [or(textOf, ''), 'holderIdentity'],
    term: [or(numberOf, 0), 'leaseTransitions'],
  }),
})

function toRecord(object: KubeObject): LeaseRecord {
  const { metadata, spec } = leaseOf(object)
  const { id, written = 0, copy } = metadata.annotations
  return {
    id,
    ...spec,
    written: written > 0 ? written : undefined,
    copy,
    released: spec.holder === '',
  }
}
