/** Monikers of objects: their annotations, then their names (docs/contracts/kubernetes.md#names). */
import { type Moniker, noMoniker, parseMoniker } from '../../../../../names/moniker.ts'
import { builtInKind, kindOfManifest } from '../kinds.ts'
import type { KubeObject, ObjectMeta } from '../objects.ts'
import { applicationAnnotation, unquoted } from '../owner.ts'
import { monikerAnnotations, revisionAnnotation } from './annotations.ts'

const systemPrefix = 'system:'

/**
 * @param warn Gets a sentence about an annotation that cannot be read; its part is null
 */
export function monikerOf(
  { kind, apiVersion, metadata }: Pick<KubeObject, 'kind' | 'metadata'> & { readonly apiVersion?: string },
  warn: (problem: string) => void = () => {},
): Moniker {
  const parsed = parseName(metadata.name)
  const app = textAnnotation(metadata, applicationAnnotation)
  const cluster = textAnnotation(metadata, monikerAnnotations.cluster)
  const isReplicaSet = builtInKind(kindOfManifest({ kind, apiVersion }))?.name === 'replicaSet'
  const sequenceKey = [monikerAnnotations.sequence, ...(isReplicaSet ? [revisionAnnotation] : [])].find(
    (key) => textAnnotation(metadata, key) !== undefined,
  )
  return {
    app: app ?? parsed.app,
    stack: textAnnotation(metadata, monikerAnnotations.stack) ?? null,
    detail: textAnnotation(metadata, monikerAnnotations.detail) ?? null,
    cluster: cluster ?? parsed.cluster,
    sequence: sequenceKey === undefined ? parsed.sequence : numberAnnotation(metadata, sequenceKey, warn),
  }
}

/** Names such as `system:node` do not follow the grammar of server groups. */
function parseName(name: string): Moniker {
  if (!name.startsWith(systemPrefix)) return parseMoniker(name)
  const [, cluster = name, sequence] = /^(.+)-v(\d{3,6})$/s.exec(name) ?? []
  return { ...noMoniker, app: 'system', cluster, sequence: sequence === undefined ? null : Number(sequence) }
}

/** Undefined where it is missing or empty. */
function textAnnotation({ annotations }: Pick<ObjectMeta, 'annotations'>, key: string): string | undefined {
  const value: unknown = annotations?.[key]
  if (typeof value !== 'string') return undefined
  return unquoted(value) || undefined
}

function numberAnnotation(metadata: ObjectMeta, key: string, warn: (problem: string) => void): number | null {
  const text = textAnnotation(metadata, key) ?? ''
  if (/^\s*\d{1,15}\s*$/.test(text)) return Number(text)
  warn(`The annotation ${key} of ${metadata.name} should be a whole number; it is "${text}".`)
  return null
}
