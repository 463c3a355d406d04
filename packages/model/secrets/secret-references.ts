/** References to secrets in JSON data: docs/contracts/secrets.md#references. */
import { isObject, type JsonObject, mapLeaves, textsWithin } from '@fairlead/base/json/values.ts'

/** What stands behind `secret:` or in the braces, without these. */
export type SecretReference =
  | { readonly kind: 'stored'; readonly name: string }
  | { readonly kind: 'file'; readonly name: string }
  | { readonly kind: 'vault'; readonly path: string; readonly key: string }

/** Names of secrets: letters, digits, dot, hyphen and underscore. */
export const secretNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

const whole = /^secret:([^\s{}]{1,600})$/
const quoted = /"secret:([^\s{}"]{1,600})"/g
const inside = /secret:\{([^{}\s]{1,600})\}/g
const vaultPath = /^vault:([A-Za-z0-9][A-Za-z0-9._/-]{0,499})#([A-Za-z0-9][A-Za-z0-9._-]{0,99})$/

/** @returns undefined for what only looks like a reference */
export function parseReference(text: string): SecretReference | undefined {
  if (secretNamePattern.test(text)) return { kind: 'stored', name: text }
  if (text.startsWith('file:')) {
    const name = text.slice('file:'.length)
    return secretNamePattern.test(name) ? { kind: 'file', name } : undefined
  }
  const [, path, key] = vaultPath.exec(text) ?? []
  if (path === undefined || key === undefined) return undefined
  const isPlain = path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  return isPlain ? { kind: 'vault', path, key } : undefined
}

/** Whether the text is one reference and nothing else; such a text may be shown. */
export function isReference(text: string): boolean {
  const [, name] = whole.exec(text) ?? /^secret:\{([^{}\s]{1,600})\}$/.exec(text) ?? []
  return name !== undefined && parseReference(name) !== undefined
}

/** What a text refers to, as it is written: `db-password`, `vault:team/db#password`. */
export function referencesIn(text: string): string[] {
  if (!text.includes('secret:')) return []
  const [, name] = whole.exec(text) ?? []
  const found =
    name === undefined ? [...text.matchAll(inside)].map(([, each = '']) => each) : [name]
  return found.filter((each) => parseReference(each) !== undefined)
}

/** Everything that JSON data refers to, names of members aside. */
export function allReferencesIn(value: unknown): Set<string> {
  return new Set(textsWithin(value).flatMap(referencesIn))
}

/** What an author has written into JSON data: also references that are values in a text of JSON, such as a payload. */
export function writtenReferencesIn(value: unknown): Set<string> {
  const texts = textsWithin(value).filter((text) => text.includes('secret:'))
  const names = texts.flatMap((text) => [...text.matchAll(quoted)].map(([, each = '']) => each))
  return new Set([
    ...names.filter((name) => parseReference(name) !== undefined),
    ...texts.flatMap(referencesIn),
  ])
}

/** A copy with values in place of references; itself where there are none. */
export function replaceReferences<T>(value: T, values: ReadonlyMap<string, string>): T {
  return mapLeaves(value, (text) => {
    if (typeof text !== 'string') return text
    const references = referencesIn(text)
    if (references.length === 0) return text
    const [, name] = whole.exec(text) ?? []
    if (name !== undefined) return values.get(name) ?? text
    return text.replace(inside, (part, each: string) => values.get(each) ?? part)
  }) as T
}

/** Members of operations and calls in which references count; elsewhere `secret:x` is a text like any other. */
const holders: ReadonlySet<string> = new Set([
  'environment',
  'env',
  'secrets',
  'customHeaders',
  'headers',
  'payload',
  'parameters',
  'extendedAttributes',
  'extended_attributes',
])

/**
 * Replaces the members in which references count: those with such names at any depth, and `stringData` of a Secret of Kubernetes.
 * Other manifests are left alone: all users who may read their objects would see the values.
 */
export async function mapHolders(
  value: unknown,
  change: (member: unknown, name: string) => Promise<unknown>,
): Promise<unknown> {
  if (Array.isArray(value)) {
    const members: unknown[] = []
    for (const each of value) members.push(await mapHolders(each, change))
    return members.some((member, index) => member !== value[index]) ? members : value
  }
  if (!isObject(value)) return value
  const names = holdersOf(value)
  let changed: JsonObject = value
  for (const [name, member] of Object.entries(value)) {
    const after =
      names === 'none'
        ? member
        : names(name)
          ? await change(member, name)
          : await mapHolders(member, change)
    if (after !== member) changed = { ...changed, [name]: after }
  }
  return changed
}

function holdersOf(value: JsonObject): ((name: string) => boolean) | 'none' {
  const isManifest = typeof value['kind'] === 'string' && typeof value['apiVersion'] === 'string'
  if (!isManifest) return (name) => holders.has(name)
  return value['kind'] === 'Secret' ? (name) => name === 'stringData' : 'none'
}
