/** Rewrites the keys of a source to their documented spelling, and notes unknown ones. */
import { findChild, isLeaf, type KnownKey } from './known-keys.ts'
import type { Problem, SourcePosition } from './problems.ts'
import { notesOf } from './schema-shape.ts'
import { createMap, type MapNode, type Node } from './tree.ts'

export interface UnknownKey {
  /** In its usual spelling as far as that is known, then as written. */
  path: string[]
  /** How many of its names are known. */
  depth: number
  origin: SourcePosition
}

export interface KeyFindings {
  problems: Problem[]
  unknown: UnknownKey[]
  /** Known keys of others that were passed over, each as the shortest path that says what it is. */
  foreign: Set<string>
}

export function createFindings(): KeyFindings {
  return { problems: [], unknown: [], foreign: new Set() }
}

/** The same tree with `ok-http-client` as `okHttpClient` and `a.b: 1` as `a: {b: 1}`. */
export function toCanonical(root: MapNode, known: KnownKey, findings: KeyFindings): MapNode {
  const result = createMap(root.origin)
  place(root, result, known, [], findings)
  return result
}

/** The known key that a map belongs to; undefined below what is not known. An open key stays the place of what is below it. */
type OwningKey = KnownKey | undefined

function place(
  source: MapNode,
  target: MapNode,
  at: OwningKey,
  above: readonly string[],
  findings: KeyFindings,
): void {
  for (const [name, value] of source.entries) {
    const steps = followKey(name, at, above, value.origin, findings)
    const isPassedOver = steps.at?.foreign ? value.kind !== 'map' : isWithoutEffect(steps.at)
    if (steps.at !== undefined && isPassedOver) findings.foreign.add(steps.at.path)
    if (isGroup(steps.at) && value.kind !== 'map') {
      const isEmpty = value.kind === 'scalar' && value.text === ''
      if (!isEmpty)
        findings.problems.push({
          origin: value.origin,
          key: steps.at.path,
          message: 'must be a map of keys',
        })
      continue
    }
    const parent = createParents(target, steps.path.slice(0, -1), value.origin)
    const last = steps.path.at(-1) as string
    const path = [...above, ...steps.path]
    const existing = parent?.entries.get(last)
    const isOther = existing !== undefined && (existing.kind !== 'map' || value.kind !== 'map')
    if (
      isOther &&
      (isPassedOver || saysSame(existing, convert(value, undefined, steps.at, path, findings)))
    )
      continue
    if (parent === undefined || isOther) {
      const first = existing === undefined ? '' : `, first in line ${existing.origin.line ?? '?'}`
      findings.problems.push({
        origin: value.origin,
        key: path.join('.'),
        message: `is written twice${first}; keep one`,
      })
      continue
    }
    parent.entries.set(last, convert(value, existing, steps.at, path, findings))
  }
}

function saysSame(one: Node, other: Node): boolean {
  if (one.kind === 'scalar') return other.kind === 'scalar' && one.text === other.text
  if (one.kind === 'list')
    return (
      other.kind === 'list' &&
      one.items.length === other.items.length &&
      one.items.every((item, index) => saysSame(item, other.items[index] as Node))
    )
  return (
    other.kind === 'map' &&
    one.entries.size === other.entries.size &&
    [...one.entries].every(([key, value]) => {
      const counterpart = other.entries.get(key)
      return counterpart !== undefined && saysSame(value, counterpart)
    })
  )
}

/** A setting that is accepted for the sake of Gate's files. */
export function isWithoutEffect(at: KnownKey | undefined): boolean {
  return at?.schema !== undefined && notesOf(at.schema).effect === 'none'
}

/** A key that only holds others, such as `server`. */
function isGroup(at: OwningKey): at is KnownKey {
  return at !== undefined && at.schema === undefined && !at.foreign && at.children.size > 0
}

function convert(
  value: Node,
  existing: Node | undefined,
  at: OwningKey,
  path: readonly string[],
  findings: KeyFindings,
): Node {
  if (value.kind === 'scalar') return value
  if (value.kind === 'list') {
    const items = value.items.map((item, index) =>
      convert(item, undefined, at?.item ?? openPlace(at), [...path, String(index)], findings),
    )
    return { ...value, items }
  }
  const map = existing?.kind === 'map' ? existing : createMap(value.origin)
  place(value, map, at, path, findings)
  return map
}

function openPlace(at: OwningKey): OwningKey {
  return at?.open ? at : undefined
}

/** Splits a key at its dots as far as the known keys tell; in free maps a dot belongs to the key. */
function followKey(
  name: string,
  start: OwningKey,
  above: readonly string[],
  origin: SourcePosition,
  findings: KeyFindings,
): { path: string[]; at: OwningKey } {
  const segments = splitKey(name)
  if (start === undefined) return { path: segments, at: undefined }
  if (start.open && findChild(start, segments[0] as string) === undefined)
    return { path: [name], at: start }
  const path: string[] = []
  let at: KnownKey = start
  for (const [index, segment] of segments.entries()) {
    const rest = segments.slice(index)
    const child = findChild(at, segment)
    if (child === undefined) {
      noteUnknown(at, [...above, ...path], rest, origin, findings)
      return { path: [...path, ...rest], at: at.open ? at : undefined }
    }
    if (child === at.entry && isLeaf(child)) return { path: [...path, rest.join('.')], at: child }
    path.push(child === at.entry || child === at.item ? segment : child.name)
    at = child
  }
  return { path, at }
}

function noteUnknown(
  at: KnownKey,
  above: readonly string[],
  rest: readonly string[],
  origin: SourcePosition,
  findings: KeyFindings,
): void {
  if (at.open) return
  if (at.foreign) findings.foreign.add(at.children.size > 0 ? `${at.path}.${rest[0]}` : at.path)
  else findings.unknown.push({ path: [...above, ...rest], depth: above.length, origin })
}

/** `a.b[c.d][0]` has the segments a, b, c.d and 0. */
export function splitKey(key: string): string[] {
  const segments: string[] = []
  for (const match of key.matchAll(/\[([^[\]]*)\]|([^.[]+)/g))
    segments.push((match[1] ?? match[2]) as string)
  return segments.length === 0 ? [key] : segments
}

/** The map at the path, created as needed; undefined when something else stands there. */
function createParents(
  root: MapNode,
  path: readonly string[],
  origin: SourcePosition,
): MapNode | undefined {
  let map = root
  for (const segment of path) {
    const next = map.entries.get(segment)
    if (next !== undefined && next.kind !== 'map') return undefined
    const child = next ?? createMap(origin)
    map.entries.set(segment, child)
    map = child
  }
  return map
}

/** The path of a key as it may be spelt in a placeholder, or undefined where it is spelt beyond the known keys. */
export function canonicalPath(key: string, known: KnownKey): string[] {
  const path: string[] = []
  let at: OwningKey = known
  for (const segment of splitKey(key)) {
    const child: OwningKey = at && findChild(at, segment)
    path.push(
      child === undefined || child === at?.entry || child === at?.item ? segment : child.name,
    )
    at = child
  }
  return path
}
