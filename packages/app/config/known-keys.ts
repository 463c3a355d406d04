/** Tree of all valid keys, in any of Spring's spellings, with suggestions for others. */

import { editDistance } from '@fairlead/base/names/edit-distance.ts'
import { z } from 'zod'
import { coreOf } from './schema-shape.ts'

export interface KnownKey {
  /** Documented spelling: `baseUrl`. */
  name: string
  /** In full: `services.orca.baseUrl`. */
  path: string
  /** By their uniform names. */
  children: Map<string, KnownKey>
  /** Elements of a list. */
  item?: KnownKey
  /** Values of a map with free keys. */
  entry?: KnownKey
  /** Any key below is accepted. */
  open: boolean
  /** This is a setting, or part of one. */
  schema?: z.core.$ZodType
  /** Belongs to others; everything below that is not known otherwise is passed over. */
  foreign: boolean
}

/** `baseUrl`, `base-url`, `base_url` and `BASEURL` are the same to Spring. */
export function uniformName(name: string): string {
  return name.replaceAll(/[-_]/g, '').toLowerCase()
}

export function createKnownKeys(
  settings: Readonly<Record<string, z.core.$ZodType>>,
  foreignPaths: readonly string[],
): KnownKey {
  const root = createKey('', '')
  for (const [path, schema] of Object.entries(settings)) expand(keyAt(root, path), schema)
  for (const path of foreignPaths) keyAt(root, path).foreign = true
  return root
}

function createKey(name: string, path: string): KnownKey {
  return { name, path, children: new Map(), open: false, foreign: false }
}

function keyAt(root: KnownKey, path: string): KnownKey {
  let key = root
  for (const name of path.split('.')) key = childKey(key, name)
  return key
}

function childKey(parent: KnownKey, name: string): KnownKey {
  const uniform = uniformName(name)
  const existing = parent.children.get(uniform)
  if (existing !== undefined) return existing
  const created = createKey(name, parent.path === '' ? name : `${parent.path}.${name}`)
  parent.children.set(uniform, created)
  return created
}

function expand(key: KnownKey, schema: z.core.$ZodType): void {
  key.schema = schema
  const core = coreOf(schema)
  if (core instanceof z.ZodUnknown) {
    key.open = true
  } else if (core instanceof z.ZodObject) {
    for (const [name, child] of Object.entries(core.shape as Record<string, z.core.$ZodType>))
      expand(childKey(key, name), child)
    key.open = core.def.catchall instanceof z.ZodUnknown
  } else if (core instanceof z.ZodRecord) {
    key.entry = createKey('*', `${key.path}.<name>`)
    expand(key.entry, core.valueType)
  } else if (core instanceof z.ZodArray) {
    key.item = createKey('0', `${key.path}[0]`)
    expand(key.item, core.element)
  }
}

/** The key below `parent` that `segment` names; undefined when there is none. */
export function findChild(parent: KnownKey, segment: string): KnownKey | undefined {
  const named = parent.children.get(uniformName(segment))
  if (named !== undefined) return named
  if (parent.item !== undefined && /^\d{1,6}$/.test(segment)) return parent.item
  return parent.entry
}

/** Whether the key holds one value, so that what follows it in a dotted path belongs to a free key. */
export function isLeaf(key: KnownKey): boolean {
  return key.children.size === 0 && key.item === undefined && key.entry === undefined && !key.open
}

/** Fewer letters have no characteristic form. */
const minJoined = 6

/** The known key that the writer of `path` most likely meant; undefined when nothing is near. */
export function nearestKey(root: KnownKey, path: readonly string[]): string[] | undefined {
  const written = path.map(uniformName)
  let best: { path: string[]; distance: number } | undefined
  for (const candidate of keysBelow(root, [], path)) {
    const distance = distanceBetween(candidate.map(uniformName), written)
    if (
      distance !== undefined &&
      distance > 0 &&
      (best === undefined || distance < best.distance)
    ) {
      best = { path: candidate, distance }
    }
  }
  return best?.path
}

/** How far a key is from what was written; undefined when it is too far to be meant. */
function distanceBetween(key: readonly string[], written: readonly string[]): number | undefined {
  if (key.length === written.length) return distanceByName(key, written)
  const missing = Math.abs(key.length - written.length)
  if (missing <= 2 && (isEndOf(key, written) || isWithin(written, key))) return missing * 3
  const [joined, other] = [key.join(''), written.join('')]
  const isNear =
    joined.length >= minJoined &&
    Math.abs(joined.length - other.length) <= 1 &&
    editDistance(joined, other) <= 1
  return isNear ? missing : undefined
}

/** Each name has to be near its counterpart. */
function distanceByName(key: readonly string[], written: readonly string[]): number | undefined {
  let sum = 0
  for (const [index, name] of key.entries()) {
    const other = written[index] as string
    const limit = Math.max(1, Math.floor(Math.max(name.length, other.length) / 4))
    if (Math.abs(name.length - other.length) > limit) return undefined
    const distance = editDistance(name, other)
    if (distance > limit) return undefined
    sum += distance
  }
  return sum
}

/** Whether the key was written below something that it does not belong to. */
function isEndOf(key: readonly string[], written: readonly string[]): boolean {
  const from = written.length - key.length
  return key.length > 1 && from > 0 && key.every((name, index) => name === written[from + index])
}

/** Whether the writer left out some names of the key. */
function isWithin(written: readonly string[], key: readonly string[]): boolean {
  let at = 0
  for (const name of key) if (name === written[at]) at++
  return written.length > 1 && at === written.length && written.at(-1) === key.at(-1)
}

/** The paths of all keys of our own. A free name is that of the path that was written, and stands where that has it. */
function* keysBelow(
  key: KnownKey,
  above: readonly string[],
  written: readonly string[],
): Generator<string[]> {
  const free = written[above.length]
  const isIndex = free !== undefined && /^\d+$/.test(free)
  const isFree =
    free !== undefined &&
    above.every((name, index) => uniformName(name) === uniformName(written[index] as string))
  for (const child of [
    ...key.children.values(),
    ...(key.item && isIndex ? [key.item] : []),
    ...(key.entry && isFree ? [key.entry] : []),
  ]) {
    const path = [
      ...above,
      child === key.item || child === key.entry ? (free as string) : child.name,
    ]
    if (!child.foreign) yield path
    yield* keysBelow(child, path, written)
  }
}
