/** Required attributes of a provider's users, and look-up of attributes. */
import { isObject } from '@fairlead/base/json/values.ts'
import { parseJavaPattern } from '@fairlead/base/settings/setting.ts'

export type UserAttributes = Readonly<Record<string, unknown>>

export interface Requirement {
  readonly attribute: string
  /** A text is compared as it is; a pattern matches the whole text. */
  readonly value: string | RegExp
}

/** @throws {Error} when the text looks like a pattern and is none */
export function parseRequirement(attribute: string, text: string): Requirement {
  const pattern = /^\/(.*)\/$/s.exec(text)
  return { attribute, value: pattern === null ? text : parseJavaPattern(pattern[1] as string) }
}

/** The first attribute that does not fit; undefined when all do. Of a list, one fitting element is enough. */
export function findUnmet(
  attributes: UserAttributes,
  requirements: readonly Requirement[],
): string | undefined {
  return requirements.find((requirement) => !isMet(attributes, requirement))?.attribute
}

export function isMet(attributes: UserAttributes, { attribute, value }: Requirement): boolean {
  const found = findAttribute(attributes, attribute)
  return (Array.isArray(found) ? found : [found]).some((one) => fits(one, value))
}

function fits(found: unknown, wanted: string | RegExp): boolean {
  const text = toText(found)
  if (text === null) return false
  return typeof wanted === 'string' ? text === wanted : wanted.test(text) && !hasTwoDomains(text)
}

/** `me@evil.example@corp.example` ends like an address of the second domain, and is none of it. */
export function hasTwoDomains(address: string): boolean {
  return address.indexOf('@') !== address.lastIndexOf('@')
}

/** By the exact name, or else by a path with dots: `realm_access.roles`. */
export function findAttribute(attributes: UserAttributes, name: string): unknown {
  if (Object.hasOwn(attributes, name)) return attributes[name]
  const dot = name.indexOf('.')
  if (dot < 1) return undefined
  const outer = name.slice(0, dot)
  const inner = Object.hasOwn(attributes, outer) ? attributes[outer] : undefined
  return isObject(inner) ? findAttribute(inner, name.slice(dot + 1)) : undefined
}

/** Texts, numbers and truth values as text; everything else is nothing. */
export function toText(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}
