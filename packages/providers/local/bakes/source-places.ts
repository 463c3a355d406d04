/** Files and folders of this machine that a builder reads to fetch the sources of a bake. */
import { createHash, randomUUID } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { isWithin } from '@fairlead/base/outside/builder-process.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { type FileUser, listTree } from '@fairlead/base/storage/directory-trees.ts'
import type { BakeSource } from './plan.ts'

/** Files beyond these do not count. */
const maxEntries = 100_000

/**
 * Changes with the names, sizes and times of files. What cannot be read is like nothing else, and the bake reports it.
 *
 * @param user In whose name directories are read; undefined: that of this process
 */
export async function fingerprintOf(
  source: BakeSource,
  user: FileUser | undefined,
): Promise<unknown> {
  if (source.kind === 'git') return source
  try {
    return {
      ...source,
      state:
        source.kind === 'archive'
          ? await fileState(source.path)
          : await directoryState(source.path, user),
    }
  } catch {
    return { ...source, state: randomUUID() }
  }
}

async function fileState(path: string): Promise<string> {
  const { mode, size, mtimeMs } = await lstat(path)
  return `${mode} ${size} ${mtimeMs}`
}

async function directoryState(path: string, user: FileUser | undefined): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of listTree(path, user, maxEntries)) hash.update(piece)
  return hash.digest('hex')
}

/** State, sockets and configuration of the machine. */
const closed = ['/etc', '/proc', '/run', '/sys']

interface SourceSurroundings {
  readonly dataDir: string
  /** Folder of the operator, also in the data directory. */
  readonly packages: string
  readonly uid: number | undefined
}

/** @throws {PortError} 400 for a path that bakes may not take */
export function placesOfSources(
  sources: readonly BakeSource[],
  surroundings: SourceSurroundings,
): string[] {
  return sources.flatMap((source) => {
    const path = source.kind === 'git' ? localPathOf(source.url) : source.path
    if (path !== undefined) return [checkPath(path, surroundings)]
    return source.kind === 'git' && !/^(?:https?|git):/.test(source.url)
      ? sshFoldersOf(surroundings.uid)
      : []
  })
}

function localPathOf(url: string): string | undefined {
  return /^(?:file:\/\/)?(\/.*)$/.exec(url)?.[1]
}

/** Its keys and known hosts, where SSH looks for them. */
function sshFoldersOf(uid: number | undefined): string[] {
  const entries = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const home = entries.find((entry) => entry[2] === String(uid))?.[5]
  return home === undefined ? [] : [join(home, '.ssh')]
}

function checkPath(path: string, { dataDir, packages }: SourceSurroundings): string {
  const way = wayTo(path)
  if (isWithin(way, wayTo(packages))) return path
  const place = [wayTo(dataDir), ...closed].find(
    (each) => isWithin(way, each) || isWithin(each, way),
  )
  if (place === undefined) return path
  throw new PortError(
    400,
    `${path} cannot be a source: it lies in ${place}, or contains it. Name a directory beside it.`,
  )
}

/** Without links; what does not exist is reported by the builder. */
function wayTo(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
