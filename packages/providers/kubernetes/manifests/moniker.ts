/** Monikers of objects: the application by `ownerOf`, the rest by annotations, then names (docs/contracts/kubernetes.md#owners). */

import { type Moniker, noMoniker, parseMoniker } from '@fairlead/base/names/moniker.ts'
import { builtInKind, kindOfManifest } from '../kinds.ts'
import { type KubeObject, ownerOf } from '../objects.ts'
import { annotationOf, monikerAnnotations, revisionAnnotation } from './annotations.ts'

const systemPrefix = 'system:'

/**
 * @param warn Gets a sentence about an annotation that cannot be read; its part is null
 */
export function monikerOf(
  {
    kind,
    apiVersion,
    metadata,
  }: Pick<KubeObject, 'kind' | 'metadata'> & { readonly apiVersion?: string },
  warn: (problem: string) => void = () => {},
): Moniker {
  const parsed = parseName(metadata.name)
  const cluster = annotationOf({ metadata }, monikerAnnotations.cluster)
  const isReplicaSet = builtInKind(kindOfManifest({ kind, apiVersion }))?.name === 'replicaSet'
  const sequenceKey = [
    monikerAnnotations.sequence,
    ...(isReplicaSet ? [revisionAnnotation] : []),
  ].find((key) => annotationOf({ metadata }, key) !== undefined)
  return {
    app: ownerOf({ metadata }) ?? null,
    stack: annotationOf({ metadata }, monikerAnnotations.stack) ?? null,
    detail: annotationOf({ metadata }, monikerAnnotations.detail) ?? null,
    cluster: cluster ?? parsed.cluster,
    sequence:
      sequenceKey === undefined ? parsed.sequence : numberAnnotation(metadata, sequenceKey, warn),
  }
}

/** Names such as `system:node` do not follow the grammar of server groups. */
function parseName(name: string): Moniker {
  if (!name.startsWith(systemPrefix)) return parseMoniker(name)
  const [, cluster = name, sequence] = /^(.+)-v(\d{3,6})$/s.exec(name) ?? []
  return { ...noMoniker, cluster, sequence: sequence === undefined ? null : Number(sequence) }
}

function numberAnnotation(
  metadata: KubeObject['metadata'],
  key: string,
  warn: (problem: string) => void,
): number | null {
  const text = annotationOf({ metadata }, key) ?? ''
  if (/^\s*\d{1,15}\s*$/.test(text)) return Number(text)
  warn(`The annotation ${key} of ${metadata.name} should be a whole number; it is "${text}".`)
  return null
}
