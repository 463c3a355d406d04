/** Secrets that users send with stages: stages receive them, and no view of an execution shows them. */
import { isRawNumber, parseJson } from '../../json/json.ts'
import { fieldOf, isObject, type JsonObject, objectOf } from '../../json/values.ts'
import { looksSecret, looksSecretHeader, mask, passwordsIn, withoutSecrets } from '../secret-names.ts'
import type { Execution, Stage } from './model.ts'

type NamesSecret = (name: string) => boolean

const everything = () => true
const nothing = () => false

/** By such a field of its payload, the sender of a webhook shows that it is the one. */
function provesSender(name: string): boolean {
  return looksSecret(name) || /signature/i.test(name)
}

/** Members of a context that hold secrets, at any depth: all their values, or those with telling names. */
const carriers: ReadonlyMap<string, NamesSecret> = new Map([
  ['secrets', everything],
  ['environment', looksSecret],
  ['env', looksSecret],
  ['extendedAttributes', looksSecret],
  ['customHeaders', looksSecretHeader],
  ['headers', looksSecretHeader],
  ['payload', looksSecret],
  ['cancelPayload', looksSecret],
  ['payloadConstraints', provesSender],
])

function carrierOf(key: string, member: unknown): NamesSecret | undefined {
  const isSecret = carriers.get(key)
  return Array.isArray(member) && isSecret === everything ? undefined : isSecret
}

const addresses: ReadonlySet<string> = new Set(['url', 'statusEndpoint', 'cancelEndpoint'])

/** A copy of a shorter one is not recognised: its text stands in too many others. */
const minLength = 4

/** Values of secrets in the contexts of stages, longest first. Their copies are secret, too. */
export function secretsIn(stages: Iterable<Stage>): readonly string[] {
  const found = new Set<string>()
  for (const { context } of stages) collect(context, found)
  return longestFirst(found)
}

/** Of the stages and of the trigger. */
export function secretsOf({ stages, trigger }: Pick<Execution, 'stages' | 'trigger'>): readonly string[] {
  const found = new Set(secretsIn(stages))
  for (const [name, value] of Object.entries(objectOf(trigger['payloadConstraints']))) {
    if (!provesSender(name)) continue
    collectAll(value, found)
    // The constraint is a pattern, usually of the whole value.
    if (typeof value === 'string') collectAll(value.replace(/^\^|\$$/g, ''), found)
    collectAll(fieldOf(trigger['payload'], name), found)
  }
  return longestFirst(found)
}

/** Shorter values of headers with other names are words such as a region, which responses repeat. */
const minHeaderLength = 16

/** Of a webhook in the configuration: values of its headers, and of members with telling names. */
export function secretsOfSettings(settings: JsonObject): readonly string[] {
  const found = new Set<string>()
  collect(settings, found)
  const { customHeaders } = settings
  for (const [name, value] of Object.entries(isObject(customHeaders) ? customHeaders : {})) {
    if (!/^(?:accept|content-|user-agent)/i.test(name) && String(value).length >= minHeaderLength) collectAll(value, found)
  }
  return longestFirst(found)
}

function longestFirst(found: ReadonlySet<string>): readonly string[] {
  return [...found].sort((one, other) => other.length - one.length)
}

function collect(value: unknown, found: Set<string>): void {
  if (Array.isArray(value)) for (const each of value) collect(each, found)
  if (!isObject(value)) return
  for (const [key, member] of Object.entries(value)) {
    const isSecret = carrierOf(key, member)
    if (typeof member === 'string') collectFromText(member, { isSecret, isAddress: addresses.has(key) }, found)
    else if (isSecret === undefined) collect(member, found)
    else collectWhere(member, isSecret, found)
  }
}

function collectWhere(value: unknown, isSecret: NamesSecret, found: Set<string>): void {
  if (Array.isArray(value)) for (const each of value) collectWhere(each, isSecret, found)
  if (!isObject(value)) return
  for (const [name, member] of Object.entries(value)) {
    if (isSecret(name)) collectAll(member, found)
    else if (typeof member === 'string') for (const password of passwordsIn(member)) collectWithDecoded(password, found)
    else collectWhere(member, isSecret, found)
  }
}

function collectAll(value: unknown, found: Set<string>): void {
  const text = textOfScalar(value)
  if (text !== undefined) {
    // A server may repeat the token without its scheme.
    const [, token] = /^(?:bearer|basic|token)\s+(\S+)$/i.exec(text) ?? []
    for (const each of [text, token]) if (each !== undefined && each !== '' && each !== mask) found.add(each)
  } else if (Array.isArray(value)) for (const each of value) collectAll(each, found)
  else if (isObject(value)) for (const each of Object.values(value)) collectAll(each, found)
}

/** A body may be the text of JSON or of a form; an address has a query and may have a password. */
function collectFromText(
  text: string,
  { isSecret, isAddress }: { isSecret: NamesSecret | undefined; isAddress: boolean },
  found: Set<string>,
): void {
  if (isAddress && URL.canParse(text)) {
    const { password, search } = new URL(text)
    if (password !== '') collectWithDecoded(password, found)
    collectFromForm(search.slice(1), looksSecret, found)
  } else if (isSecret !== undefined && /^\s*[[{]/.test(text)) {
    const parsed = jsonOf(text)
    if (parsed === undefined) return
    const inside = new Set<string>()
    collectWhere(parsed, isSecret, inside)
    for (const each of inside) found.add(each).add(JSON.stringify(each).slice(1, -1))
  } else if (isSecret !== undefined) collectFromForm(text, isSecret, found)
}

function collectFromForm(text: string, isSecret: NamesSecret, found: Set<string>): void {
  for (const pair of text.split('&')) {
    const [name = '', ...rest] = pair.split('=')
    if (rest.length > 0 && isSecret(name)) collectWithDecoded(rest.join('='), found)
  }
}

function collectWithDecoded(encoded: string, found: Set<string>): void {
  collectAll(encoded, found)
  const [[, decoded] = ['', '']] = new URLSearchParams(`value=${encoded}`)
  collectAll(decoded, found)
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** Numbers as well: one that was sent as a number may be copied into a text. */
function textOfScalar(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || isRawNumber(value) ? String(value) : undefined
}

/** The same value with masks; itself where there are no secrets. */
export function maskIn<T>(value: T, secrets: readonly string[]): T {
  return secrets.length === 0 ? value : (masked(value, createMasker(secrets)) as T)
}

/** Masks copies only, whatever the names of members. */
export function maskCopies<T>(value: T, secrets: readonly string[]): T {
  return secrets.length === 0 ? value : (masked(value, createMasker(secrets), nothing) as T)
}

type Masker = (text: string) => string

/** So many are looked for one by one. */
const few = 32

/** Many secrets are found by their first characters: a user may have written thousands, and each view has as many texts. */
function createMasker(secrets: readonly string[]): Masker {
  const recognisable = secrets.filter((secret) => secret.length >= minLength)
  if (recognisable.length <= few) return (text) => withoutSecrets(text, recognisable)
  const starts = new Set(recognisable.map((secret) => secret.slice(0, minLength)))
  return (text) => {
    const found = new Set<string>()
    for (let at = 0; at + minLength <= text.length; at++) {
      const start = text.slice(at, at + minLength)
      if (starts.has(start)) found.add(start)
    }
    if (found.size === 0) return text
    return withoutSecrets(
      text,
      recognisable.filter((secret) => found.has(secret.slice(0, minLength))),
    )
  }
}

/** @param isSecret Of the carrier that holds the value. */
function masked(value: unknown, maskText: Masker, isSecret?: NamesSecret): unknown {
  const text = textOfScalar(value)
  if (text !== undefined) {
    const shown = maskText(text)
    return shown === text ? value : shown
  }
  if (Array.isArray(value)) return value.map((each) => masked(each, maskText, isSecret))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (isSecret?.(key)) return [key, mask]
      // What started the run is no body of a call, although its name is the same.
      if (key === 'trigger' && isObject(member) && isObject(member['payload'])) {
        const { payload, ...trigger } = member
        return [key, { ...(masked(trigger, maskText) as JsonObject), payload: masked(payload, maskText, nothing) }]
      }
      return [key, masked(member, maskText, isSecret ?? carrierOf(key, member))]
    }),
  )
}

/** A copy for readers, such as those who evaluate expressions against it. Itself where there are no secrets. */
export function maskExecution(execution: Execution): Execution {
  const secrets = secretsOf(execution)
  if (secrets.length === 0) return execution
  const { engine, stages, ...shown } = execution
  const maskedStages = stages.map(({ engine: notes, ...stage }) => ({ ...maskIn(stage, secrets), engine: notes }))
  return { ...maskIn(shown, secrets), stages: maskedStages, engine }
}

/** A client that sends back what it has read sends masks: the values stay. */
export function keepMasked(changes: JsonObject, before: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(changes).map(([key, value]) => [key, kept(value, fieldOf(before, key))]))
}

function kept(value: unknown, before: unknown): unknown {
  if (value === mask) return before ?? value
  if (typeof value === 'string' && typeof before === 'string') return isMaskedForm(value, before) ? before : value
  if (Array.isArray(value)) return value.map((each, index) => kept(each, Array.isArray(before) ? before[index] : undefined))
  if (!isObject(value)) return value
  return keepMasked(value, isObject(before) ? before : {})
}

/** Whether the text is the other one with masks in place of parts. */
function isMaskedForm(text: string, whole: string): boolean {
  const [first = '', ...rest] = text.split(mask)
  const last = rest.pop()
  if (last === undefined || !whole.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = whole.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return whole.length - last.length >= at && whole.endsWith(last)
}
