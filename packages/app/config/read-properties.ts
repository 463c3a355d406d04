/** Java property files, and directories with one file for each setting, as trees of settings. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { propertyLines } from '@fairlead/base/settings/property-lines.ts'
import type { Problem } from './problems.ts'
import { createMap, createScalar, type MapNode, type Node } from './tree.ts'

const maxDepth = 20
const maxFileBytes = 1024 * 1024
const maxEntries = 10_000
/** The highest index of a list; Spring would fill the places in between. */
const maxIndex = 1000

/** The documents of a property file, which `#---` separates. Bytes are ISO 8859-1, as in Spring. */
export function readProperties(
  source: string,
  bytes: Uint8Array,
): { documents: MapNode[]; problems: Problem[] } {
  const problems: Problem[] = []
  const documents = [createMap({ source, line: 1 })]
  for (const { line, key, value } of propertyLines(Buffer.from(bytes).toString('latin1'))) {
    if (key === undefined) {
      if (/^.---\s*$/.test(value)) documents.push(createMap({ source, line }))
    } else if (!place(documents.at(-1) as MapNode, key, value, line))
      problems.push({
        origin: { source, line },
        message: `has the key ${key} in two forms, or beyond a list; correct it`,
      })
  }
  return { documents, problems }
}

/** @returns whether the tree has a place for `a.b[0].c` */
function place(root: MapNode, key: string, text: string, line: number): boolean {
  const origin = { ...root.origin, line }
  const steps = key.split(/\[(\d{1,4})\]\.?/)
  const create = (at: number): Node => {
    if (at === steps.length || (at === steps.length - 1 && steps[at] === '' && at > 0))
      return createScalar(text, origin)
    return at % 2 === 1 ? { kind: 'list', items: [], origin } : createMap(origin)
  }
  let node: Node = root
  for (let at = 0; node.kind !== 'scalar'; at++) {
    const step = steps[at] as string
    const next = create(at + 1)
    if (node.kind === 'list') {
      const index = Number(step)
      if (index > Math.min(node.items.length, maxIndex)) return false
      const present: Node | undefined = node.items[index]
      if (present !== undefined && (present.kind !== next.kind || next.kind === 'scalar'))
        return false
      node = node.items[index] = present ?? next
    } else {
      const present: Node | undefined = node.entries.get(step)
      if (present !== undefined && present.kind !== next.kind) return false
      const kept: Node = present === undefined || next.kind === 'scalar' ? next : present
      node.entries.set(step, kept)
      node = kept
    }
  }
  return true
}

/**
 * The files below a directory: `db/password` is the setting `db.password`. Volumes of Kubernetes have this form; their hidden
 * directories are left out. A line break at the end of a file does not count.
 */
export function readConfigTree(
  source: string,
  directory: string,
): { documents: MapNode[]; problems: Problem[] } {
  const root = createMap({ source })
  const problems: Problem[] = []
  let entries = 0
  const walk = (path: string, key: string, depth: number): void => {
    for (const name of readdirSync(path).sort()) {
      if (name.startsWith('..') || depth > maxDepth || ++entries > maxEntries) continue
      const [child, childKey] = [join(path, name), key === '' ? name : `${key}.${name}`]
      const { isDirectory, isFile, size } = kindOf(child)
      if (isDirectory) walk(child, childKey, depth + 1)
      else if (isFile && size <= maxFileBytes) {
        const text = readFileSync(child, 'utf8').replace(/\r?\n$/, '')
        root.entries.set(
          childKey,
          createScalar(text, { source: join(source, relative(directory, child)) }),
        )
      } else
        problems.push({
          origin: { source },
          message: `${child} is no file of at most ${maxFileBytes} bytes; remove it`,
        })
    }
  }
  walk(directory, '', 0)
  return { documents: [root], problems }
}

function kindOf(path: string): { isDirectory: boolean; isFile: boolean; size: number } {
  const stats = statSync(path, { throwIfNoEntry: false })
  return {
    isDirectory: stats?.isDirectory() === true,
    isFile: stats?.isFile() === true,
    size: stats?.size ?? 0,
  }
}
