/** The manifest of an uploaded folder: its files by digest, and its links. */
import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeIssues } from '@fairlead/base/settings/describe-issue.ts'
import { isForeign, ownFolder } from '@fairlead/model/app-file/sent-files.ts'
import { z } from 'zod'

const digestPattern = /^[0-9a-f]{64}$/

const SourceFile = z.strictObject({
  path: z.string().min(1).max(4096),
  /** Rights as a number; only whether the owner may execute it is kept. */
  mode: z.int().min(0).max(0o7777),
  /** Bytes. */
  size: z.int().min(0),
  sha256: z.string().regex(digestPattern, 'must be 64 hexadecimal digits in lower case'),
})
export type SourceFile = z.output<typeof SourceFile>

const SourceLink = z.strictObject({
  path: z.string().min(1).max(4096),
  target: z.string().min(1).max(4096),
})

const Manifest = z.strictObject({
  files: z.array(SourceFile),
  links: z.array(SourceLink).default([]),
})
export type Manifest = z.output<typeof Manifest>

export interface SourceBounds {
  readonly maxBytes: number
  readonly maxFiles: number
}

const mebibyte = 1024 * 1024

/** @throws {PortError} 400 for paths and links that leave the folder, 413 beyond the bounds */
export function parseManifest(text: string, bounds: SourceBounds): Manifest {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (error) {
    throw new PortError(400, `The list of files is no JSON: ${(error as Error).message}`)
  }
  const { data: manifest, error } = Manifest.safeParse(document)
  if (error !== undefined)
    throw new PortError(400, `The list of files has errors: ${describeIssues(error, 'the list')}.`)
  checkBounds(manifest, bounds)
  checkPaths(manifest)
  return manifest
}

/** Equal folders have one id. */
export function sourceIdOf({ files, links }: Manifest): string {
  const hash = createHash('sha256')
  const lines = [
    ...files.map(({ path, mode, sha256 }) =>
      JSON.stringify([path, isExecutable({ mode }), sha256]),
    ),
    ...links.map(({ path, target }) => JSON.stringify([path, target])),
  ]
  for (const line of lines.sort()) hash.update(`${line}\n`)
  return hash.digest('hex').slice(0, 32)
}

export function isExecutable({ mode }: Pick<SourceFile, 'mode'>): boolean {
  return (mode & 0o100) !== 0
}

function checkBounds({ files, links }: Manifest, { maxBytes, maxFiles }: SourceBounds): void {
  if (files.length === 0)
    throw new PortError(400, 'The list of files is empty. Send a folder with files.')
  const entries = files.length + links.length
  if (entries > maxFiles)
    throw new PortError(
      413,
      `The folder has ${entries} files; at most ${maxFiles} are taken. Leave some out by .fairleadignore.`,
    )
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  if (bytes <= maxBytes) return
  const largest = files.toSorted((one, other) => other.size - one.size).slice(0, 5)
  const named = largest.map(({ path, size }) => `${path} (${Math.ceil(size / mebibyte)} MiB)`)
  throw new PortError(
    413,
    `The folder has ${Math.ceil(bytes / mebibyte)} MiB; at most ${Math.floor(maxBytes / mebibyte)} MiB are taken. ` +
      `Its largest files are ${named.join(', ')}. Leave some out by .fairleadignore.`,
  )
}

function checkPaths({ files, links }: Manifest): void {
  const paths = new Set<string>()
  for (const { path } of [...files, ...links]) {
    if (!isPlainPath(path))
      throw refused(path, 'leads out of the folder, or is not written plainly')
    if (isForeign(path))
      throw refused(path, `is taken from ${ownFolder} by no build; only app.yml and build.yml are`)
    if (paths.has(path)) throw refused(path, 'is listed twice')
    paths.add(path)
  }
  for (const path of paths) {
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder))
      if (paths.has(folder)) throw refused(path, `lies below ${folder}, which is a file or a link`)
  }
  for (const { path, target } of links) {
    if (!isWithinFolder(path, target))
      throw refused(path, `is a link to ${target}, which leads out of the folder`)
  }
}

function isPlainPath(path: string): boolean {
  return (
    !path.startsWith('/') &&
    !/[\0\\]/.test(path) &&
    path
      .split('/')
      .every((part) => part !== '' && part !== '.' && part !== '..' && part.length <= 255)
  )
}

/** `..` only at the beginning: after a name, which may be a link, it would not lead where the text says. */
function isWithinFolder(path: string, target: string): boolean {
  if (target.startsWith('/') || /[\0\\]/.test(target)) return false
  const parts = target.split('/').filter((part) => part !== '.' && part !== '')
  const ups = parts.findIndex((part) => part !== '..')
  const isPlain = ups === -1 || !parts.slice(ups).includes('..')
  return isPlain && !posix.join(posix.dirname(path), target).startsWith('..')
}

function refused(path: string, why: string): PortError {
  return new PortError(400, `The list of files is refused: ${JSON.stringify(path)} ${why}.`)
}
