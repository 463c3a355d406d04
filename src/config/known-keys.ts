/** The tree of all keys that may be written, in any of Spring's spellings, and the nearest one to a key that may not. */
import { z } from 'zod'
import { editDistance } from '../edit-distance.ts'
import { coreOf } from './schema-shape.ts'

export interface KnownKey {
  /** As it is documented: `baseUrl`. */
  name: string
  /** In full: `services.orca.baseUrl`. */
  path: string
  /** By their uniform names. */
  children: Map<string, KnownKey>
  /** Elements of a list. */
  item?: KnownKey
  /** Values of a map with free keys. */
  entry?: KnownKey
  /** Whatever stands below is accepted. */
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

export function createKnownKeys(settings: Readonly<Record<string, z.core.$ZodType>>, foreignPaths: readonly string[]): KnownKey {
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
    for (const [name, child] of Object.entries(core.shape as Record<string, z.core.$ZodType>)) expand(childKey(key, name), child)
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

/** The known key that the writer of `path` most likely meant; undefined when nothing is near. */
export function nearestKey(root: KnownKey, path: readonly string[]): string[] | undefined {
  const written = path.map(uniformName)
  const wanted = written.join('.')
  const last = written.at(-1) as string
  let best: { path: string[]; distance: number } | undefined
  for (const candidate of keysBelow(root, [], path)) {
    const uniform = candidate.map(uniformName).join('.')
    const sameEnd = last.length > 5 && uniform.endsWith(`.${last}`)
    const limit = sameEnd ? Infinity : Math.max(1, Math.floor(wanted.length / 5))
    if (!sameEnd && Math.abs(uniform.length - wanted.length) > limit) continue
    const distance = editDistance(uniform, wanted) - (sameEnd ? 2 : 0)
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { path: candidate, distance }
  }
  return best?.path
}

/** The paths of all keys of our own; free names and indexes are taken from the path that was written. */
function* keysBelow(key: KnownKey, above: readonly string[], written: readonly string[]): Generator<string[]> {
  const free = written[above.length]
  for (const child of [
    ...key.children.values(),
    ...(key.item && free ? [key.item] : []),
    ...(key.entry && free ? [key.entry] : []),
  ]) {
    const path = [...above, child === key.item || child === key.entry ? (free as string) : child.name]
    if (!child.foreign) yield path
    yield* keysBelow(child, path, written)
  }
}
