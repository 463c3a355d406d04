/** Annotations and labels that deployments write, and annotations that manifests give them (docs/contracts/kubernetes.md#names). */

import { fieldAt, isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import {
  applicationAnnotation,
  managerLabel,
  nameLabel,
  ownerOf,
  toHead,
  valueText,
} from '../objects.ts'
import { objectAt, templateMetadata } from './edit.ts'

/** The manager of the fields that Fairlead writes. */
export const fieldManager = 'fairlead'
/** The same for templates of an earlier revision: the next deployment takes their fields over. */
export const undoManager = 'fairlead-undo'

export const artifactAnnotations = {
  type: 'artifact.spinnaker.io/type',
  name: 'artifact.spinnaker.io/name',
  location: 'artifact.spinnaker.io/location',
  version: 'artifact.spinnaker.io/version',
} as const

export const monikerAnnotations = {
  application: applicationAnnotation,
  cluster: 'moniker.spinnaker.io/cluster',
  stack: 'moniker.spinnaker.io/stack',
  detail: 'moniker.spinnaker.io/detail',
  sequence: 'moniker.spinnaker.io/sequence',
} as const

export const sequenceLabel = monikerAnnotations.sequence

export const trafficAnnotation = 'traffic.spinnaker.io/load-balancers'
export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'
export const revisionAnnotation = 'deployment.kubernetes.io/revision'
export const restartedAnnotation = 'kubectl.kubernetes.io/restartedAt'
export const changeCauseAnnotation = 'kubernetes.io/change-cause'
/** The operation that has written an object, so that it does not write it twice after a crash. */
export const writtenByAnnotation = 'fairlead/written-by'

/** A digest of what was applied, where the whole is too long for an annotation. */
export const contentAnnotation = 'fairlead/content-digest'

/** Digests of the parts of such an object as the API server has stored it, as JSON by path. */
export const partsAnnotation = 'fairlead/part-digests'

/** Keys that Fairlead writes itself: no difference for users. */
export const ownAnnotations: ReadonlySet<string> = new Set<string>([
  ...Object.values(artifactAnnotations),
  ...Object.values(monikerAnnotations),
  lastAppliedAnnotation,
  writtenByAnnotation,
  contentAnnotation,
  partsAnnotation,
])

const strategyPrefix = 'strategy.spinnaker.io/'

/** How a manifest wants to be deployed. */
export interface ManifestStrategy {
  readonly isVersioned: boolean | undefined
  readonly recreates: boolean
  /** Recreates it without what it owns, which the new object takes over. */
  readonly orphans: boolean
  readonly replaces: boolean
  readonly serverSide: 'off' | 'conflicts-fail' | 'force-conflicts'
  /** Undefined: as the account has it. */
  readonly clientSide: boolean | undefined
  readonly maxVersionHistory: number | undefined
  readonly usesSourceCapacity: boolean
}

export function manifestStrategyOf(object: JsonObject): ManifestStrategy {
  const read = (name: string) =>
    annotationOf(object, `${strategyPrefix}${name}`)?.trim().toLowerCase()
  const versioned = read('versioned')
  const recreate = read('recreate')
  const serverSide = read('server-side-apply')
  const clientSide = read('client-side-apply')
  const history = read('max-version-history') ?? ''
  const isServerSide = serverSide === 'true' || serverSide === 'force-conflicts'
  return {
    isVersioned: versioned === 'true' ? true : versioned === 'false' ? false : undefined,
    recreates: recreate === 'true' || recreate === 'orphan',
    orphans: recreate === 'orphan',
    replaces: read('replace') === 'true',
    serverSide:
      serverSide === 'true'
        ? 'conflicts-fail'
        : serverSide === 'force-conflicts'
          ? serverSide
          : 'off',
    clientSide:
      isServerSide || clientSide === 'false' ? false : clientSide === 'true' ? true : undefined,
    maxVersionHistory: /^[+-]?\d{1,9}$/.test(history) ? Number(history) : undefined,
    usesSourceCapacity: read('use-source-capacity') === 'true',
  }
}

/** Like `valueText`: undefined where it is missing or empty. */
export function annotationOf(object: JsonObject, key: string): string | undefined {
  return valueText(fieldAt(object, 'metadata', 'annotations', key))
}

/**
 * Applications that a manifest claims once it is deployed: for itself, and for whatever a template in it will create. A deployment
 * writes its own application where the object and the pods of its template have no text in the annotation.
 */
export function claimedApplications(manifest: JsonObject): string[] {
  const own = [manifest, objectAt(manifest, templateMetadata.slice(0, -1))]
  const claims = claimantsIn(manifest).flatMap(
    (each) =>
      annotationOf(each, applicationAnnotation) ??
      (own.includes(each) ? undefined : ownerOf(each)) ??
      [],
  )
  return [...new Set(claims)]
}

export function ownerFieldsIn(object: JsonObject): unknown[] {
  return claimantsIn(object).map((each) => {
    const { annotations, labels, ownerReferences } = toHead(each).metadata
    return [
      annotations[applicationAnnotation],
      labels[managerLabel],
      labels[nameLabel],
      ownerReferences,
    ]
  })
}

/** Every object with metadata, in any depth: templates of jobs, of claims on volumes, and of custom resources. */
function claimantsIn(value: unknown): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(claimantsIn)
  if (!isObject(value)) return []
  return [
    ...(isObject(value['metadata']) ? [value] : []),
    ...Object.values(value).flatMap(claimantsIn),
  ]
}
