/** The folder of an app on this machine, for detection. */
import { type Dirent, existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import type { AppFolder } from '@fairlead/model/app-file/detect/detected.ts'

/** What no upload has, or no author wrote. */
const skipped: ReadonlySet<string> = new Set([
  ...[
    '.git',
    '.hg',
    '.fairlead',
    'node_modules',
    '.venv',
    'venv',
    '__pycache__',
    '.next',
    'target',
    'vendor',
  ],
])
const maxDepth = 5
const maxPaths = 20_000
const maxReadBytes = 4 * 1024 * 1024

export function openAppFolder(root: string): AppFolder {
  const paths = new Set<string>()
  collect(root, '', paths)
  return {
    paths,
    read: async (path) => (paths.has(path) ? readSmall(join(root, path)) : undefined),
  }
}

function collect(root: string, below: string, paths: Set<string>): void {
  const entries = readdirSync(join(root, below), { withFileTypes: true })
  // What says how an app is built is not behind the thousands of files of another folder.
  const ordered = entries.toSorted((one, other) => Number(other.isFile()) - Number(one.isFile()))
  for (const entry of ordered) {
    if (paths.size >= maxPaths) return
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isFile() || isLinkToFile(root, path, entry)) paths.add(path)
    else if (entry.isDirectory() && !skipped.has(entry.name) && path.split('/').length < maxDepth)
      collect(root, path, paths)
  }
}

/** Within the folder: what leads out of it is not sent. */
function isLinkToFile(root: string, path: string, entry: Dirent): boolean {
  if (!entry.isSymbolicLink()) return false
  const file = join(root, path)
  return (
    existsSync(file) &&
    statSync(file).isFile() &&
    realpathSync(file).startsWith(realpathSync(root) + sep)
  )
}

function readSmall(file: string): string | undefined {
  return statSync(file).size > maxReadBytes ? undefined : readFileSync(file, 'utf8')
}
