/** Versions of objects that are deployed under a new name with each change (docs/contracts/kubernetes.md#deployments). */
import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { maybeObject } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import type { KubeObject } from '../objects.ts'
import {
  annotationOf,
  artifactAnnotations,
  contentAnnotation,
  lastAppliedAnnotation,
  writtenByAnnotation,
} from './annotations.ts'

export interface PriorVersion {
  readonly number: number
  readonly name: string
  /** Applied manifest; undefined where that is not known. */
  readonly applied: JsonObject | undefined
  /** Digest of what was applied, where that is too long to be kept. */
  readonly digest: string | undefined
  readonly writtenBy: string | undefined
}

export interface ChosenVersion {
  readonly number: number
  /** `v003` */
  readonly version: string
  /** Whether the operation creates it, or has created it before a crash. */
  readonly isNew: boolean
}

const versionPattern = /^v(\d{3,9})$/

export function formatVersion(number: number): string {
  return `v${String(number).padStart(3, '0')}`
}

/** Undefined for an object that is no version of the artifact. */
export function toPriorVersion(
  object: Pick<KubeObject, 'metadata'>,
  artifact: string,
): PriorVersion | undefined {
  const manifest = { metadata: object.metadata }
  const [, number] =
    versionPattern.exec(annotationOf(manifest, artifactAnnotations.version) ?? '') ?? []
  if (annotationOf(manifest, artifactAnnotations.name) !== artifact || number === undefined)
    return undefined
  return {
    number: Number(number),
    name: object.metadata.name,
    applied: lastAppliedOf(object),
    digest: annotationOf(manifest, contentAnnotation),
    writtenBy: annotationOf(manifest, writtenByAnnotation),
  }
}

/** The manifest that was applied last; undefined where it is missing or unreadable. */
export function lastAppliedOf({ metadata }: Pick<KubeObject, 'metadata'>): JsonObject | undefined {
  const text: unknown = metadata.annotations?.[lastAppliedAnnotation]
  if (typeof text !== 'string') return undefined
  try {
    return maybeObject(parseJson(text))
  } catch {
    return undefined
  }
}

interface VersionQuestion {
  readonly manifest: JsonObject
  readonly artifact: string
  readonly prior: readonly PriorVersion[]
  /** Names of all objects of the kind there. */
  readonly taken: ReadonlySet<string>
  /** The operation that asks: what it has written before a crash is not written twice. */
  readonly writer: string
}

/** One with the same content is reused; else the highest number and one. */
export function chooseVersion({
  manifest,
  artifact,
  prior,
  taken,
  writer,
}: VersionQuestion): ChosenVersion {
  const newestFirst = [...prior].sort((one, other) => other.number - one.number)
  const own = newestFirst.find(({ writtenBy }) => writtenBy === writer)
  const same =
    own ??
    newestFirst.find(({ applied, digest }) =>
      applied === undefined
        ? digest !== undefined && digest === contentDigest(manifest)
        : hasSameContent(applied, manifest),
    )
  if (same !== undefined)
    return { number: same.number, version: formatVersion(same.number), isNew: own !== undefined }
  let number = (newestFirst[0]?.number ?? -1) + 1
  while (taken.has(`${artifact}-${formatVersion(number)}`)) number++
  return { number, version: formatVersion(number), isNew: true }
}

/** Everything but `metadata`. */
function hasSameContent(one: JsonObject, other: JsonObject): boolean {
  return isDeepStrictEqual(contentOf(one), contentOf(other))
}

function contentOf(manifest: JsonObject): JsonObject {
  const { metadata: _metadata, ...content } = parseJson(formatJson(manifest)) as JsonObject
  return content
}

export function contentDigest(manifest: JsonObject): string {
  return hash('sha256', formatJson(sorted(contentOf(manifest))), 'hex')
}

/** Sorts the keys of all objects. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key])]),
  )
}
