/** References to what registries hold: `registry.example/team/app:1.2`, with a tag or a digest. */
import { PortError } from '@fairlead/base/port-error.ts'

export interface ImageReference {
  /** Host and port; undefined where the reference names none. */
  readonly host: string | undefined
  readonly repository: string
  /** A digest wins over a tag. */
  readonly tag: string | undefined
  readonly digest: string | undefined
}

const repositoryPattern = /^[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/
const tagPattern = /^\w[\w.-]{0,127}$/
const digestPattern = /^sha(?:256:[0-9a-f]{64}|512:[0-9a-f]{128})$/

export function isImageDigest(text: string): boolean {
  return digestPattern.test(text)
}

/** @param version Tag or digest, for a reference without one @throws {PortError} 400 */
export function parseImageReference(text: string, version: string | undefined): ImageReference {
  const [named = '', ownDigest] = text.replace(/^(?:oci|docker):\/\//, '').split('@')
  const [, place = '', ownTag] = /^(.*?)(?::([^:/]+))?$/.exec(named) ?? []
  const [first = '', ...rest] = place.split('/')
  const hasHost = rest.length > 0 && /[.:]|^localhost$/.test(first)
  const isDigest = version !== undefined && isImageDigest(version)
  const reference = {
    host: hasHost ? first.toLowerCase() : undefined,
    repository: hasHost ? rest.join('/') : place,
    tag: ownTag ?? (isDigest ? undefined : version),
    digest: ownDigest ?? (isDigest ? version : undefined),
  }
  const { repository, tag, digest } = reference
  const isRight =
    repositoryPattern.test(repository) &&
    (tag === undefined || tagPattern.test(tag)) &&
    (digest === undefined || isImageDigest(digest))
  if (isRight) return reference
  throw new PortError(
    400,
    `"${text.slice(0, 200)}" is no reference such as registry.example/team/app:1.2 or team/app@sha256:….`,
  )
}
