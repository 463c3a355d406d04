/** Health results on live objects, with what the API server says of their kinds. */

import { asGiven, objectList, or, shape } from '@fairlead/base/json/shape.ts'
import { fieldOf, isObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { isApiError } from '../api/api-error.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import { loadHealthRules } from '../application-rules.ts'
import { toClaim } from '../health/built-in.ts'
import { evaluateHealth } from '../health/evaluate.ts'
import { type HealthContext, type HealthResult, isSet } from '../health/result.ts'
import { isBuiltInGroup } from '../kinds.ts'
import { toEvent } from '../objects/event.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount, KubernetesParts } from '../parts.ts'

export async function loadHealth(
  { parts, account }: { readonly parts: KubernetesParts; readonly account: KubernetesAccount },
  object: KubeObject,
  resource: ApiResource,
): Promise<HealthResult> {
  const { times, own, now } = account.health
  const storageClass = await storageClassOf(account, object)
  const namesConditions = await namesConditionsOf(account, object, resource)
  return evaluateHealth(object, {
    ...times,
    nowMs: now(),
    own: [...(await loadHealthRules(parts, object)), own],
    hasStatus: resource.subresources.includes('status'),
    namesConditions,
    ...(storageClass !== undefined && { storageClass }),
  })
}

/** What binds a claim that is pending. */
async function storageClassOf(
  { api }: KubernetesAccount,
  object: KubeObject,
): Promise<HealthContext['storageClass']> {
  const { spec, status } = toClaim(object)
  if (object.kind !== 'PersistentVolumeClaim' || status.phase === 'Bound') return undefined
  const resource = await api.find({ kind: 'storageClass' })
  if (resource === undefined) return undefined
  const { storageClassName: name } = spec
  const classes = await allowed(api.list(resource), undefined)
  if (classes === undefined) return undefined
  const isDefault = ({ metadata }: KubeObject) =>
    metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true'
  const found = classes.find((each) =>
    name === undefined ? isDefault(each) : each.metadata.name === name,
  )
  if (found === undefined) return 'missing'
  return found['volumeBindingMode'] === 'WaitForFirstConsumer' ? 'waits-for-pod' : 'immediate'
}

/** Whether the definition of a custom kind says that there will be conditions; asked only of objects without any. */
async function namesConditionsOf(
  { api }: KubernetesAccount,
  { status, apiVersion }: KubeObject,
  { group, version, plural, subresources }: ApiResource,
): Promise<boolean> {
  const isOwn = !apiVersion.includes('/') || isBuiltInGroup(group)
  if (isOwn || !subresources.includes('status') || isSet(fieldOf(status, 'conditions')))
    return false
  const resource = await api.find({ kind: 'customResourceDefinition' })
  if (resource === undefined) return false
  const place = { resource, namespace: '', name: `${plural}.${group}` }
  const definition = await allowed(api.get(place), undefined)
  const served = readDefinition(definition).spec.versions.find(({ name }) => name === version)
  if (served === undefined) return false
  const { properties } = served.schema.openAPIV3Schema
  return (
    isObject(properties.status.properties['conditions']) ||
    served.columns.some(({ jsonPath }) => jsonPath.startsWith('.status.conditions'))
  )
}

const readDefinition = shape({
  spec: shape({
    versions: objectList(
      shape({
        name: asGiven,
        schema: shape({
          openAPIV3Schema: shape({
            properties: shape({ status: shape({ properties: objectOf }) }),
          }),
        }),
        columns: [objectList(shape({ jsonPath: or(textOf, '') })), 'additionalPrinterColumns'],
      }),
    ),
  }),
})

async function allowed<T, U>(asked: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await asked
  } catch (error) {
    if (isApiError(error, 403, 404)) return otherwise
    throw error
  }
}

const endings: Readonly<Record<string, string>> = {
  Completed: 'Complete',
  BackoffLimitExceeded: 'Failed',
  DeadlineExceeded: 'Failed',
  PodFailurePolicy: 'Failed',
  FailedIndexes: 'Failed',
  MaxFailedIndexesExceeded: 'Failed',
  FailedJob: 'Failed',
}

/** A job that is gone, with the end that its events tell; undefined: they tell none. */
export async function loadCollectedJob(
  { api }: KubernetesAccount,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<KubeObject | undefined> {
  const resource = await api.find({ kind: 'event', version: 'v1' })
  if (resource === undefined) return undefined
  const fieldSelector = `involvedObject.kind=Job,involvedObject.name=${name}`
  const events = (await allowed(api.list(resource, { namespace, fieldSelector }), []))
    .map(toEvent)
    .toSorted((one, other) => other.time.localeCompare(one.time))
  const uid = events[0]?.involvedObject.uid
  const end = events.find(
    ({ reason = '', involvedObject }) =>
      involvedObject.uid === uid && Object.hasOwn(endings, reason),
  )
  if (uid === undefined || end?.reason === undefined) return undefined
  const { reason, message, time } = end
  const type = endings[reason]
  const condition = { type, status: 'True', reason, message, lastTransitionTime: time }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace, uid },
    spec: {},
    status: { conditions: [condition] },
  }
}
