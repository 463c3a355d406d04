/** Secrets that users send with stages: stages receive them, and no view of an execution shows them. */
import { formatJson, isRawNumber, parseJson } from '@fairlead/base/json/json.ts'
import { fieldOf, isObject, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import {
  isRecognisable,
  looksSecret,
  looksSecretHeader,
  mask,
  passwordsIn,
  provesSender,
  withoutSecrets,
} from '@fairlead/model/secrets/secret-names.ts'
import { isReference } from '@fairlead/model/secrets/secret-references.ts'
import {
  constraintKeys,
  maskDefinition,
  maskTrigger,
  mayHoldSecrets,
  secretsOfDefinition,
} from '../pipelines/trigger-secrets.ts'
import type { Execution, Stage } from './model.ts'

type NamesSecret = (name: string) => boolean

const everything = () => true
const nothing = () => false

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
  ...constraintKeys.map((key) => [key, provesSender] as const),
])

/** Members of a Secret of Kubernetes, which may stand anywhere as a manifest. */
const secretParts: ReadonlySet<string> = new Set(['data', 'stringData'])

/** @param holder The object that has the member */
function carrierOf(key: string, member: unknown, holder: JsonObject): NamesSecret | undefined {
  if (holder['kind'] === 'Secret' && secretParts.has(key)) return everything
  const isSecret = carriers.get(key)
  return Array.isArray(member) && isSecret === everything ? undefined : isSecret
}

/** Members of jobs that hold definitions: JSON in base64, or as they are. */
const definitions: ReadonlySet<string> = new Set(['pipeline', 'pipelines', 'pipelineTemplate'])

/** What a job holds in such a member; undefined where it has no secrets. */
function definitionsIn(key: string, member: unknown): unknown {
  if (!definitions.has(key)) return undefined
  if (typeof member !== 'string') return member
  const text = Buffer.from(member, 'base64').toString()
  return mayHoldSecrets(text) ? jsonOf(text) : undefined
}

/** The member with its secrets masked, in the form that it has. */
function maskedDefinitions(key: string, member: unknown): unknown {
  const held = definitionsIn(key, member)
  const shown = Array.isArray(held) ? held.map(maskDefinition) : maskDefinition(held)
  return typeof member === 'string' && held !== undefined
    ? Buffer.from(formatJson(shown)).toString('base64')
    : (shown ?? member)
}

const addresses: ReadonlySet<string> = new Set(['url', 'statusEndpoint', 'cancelEndpoint'])

/** Values of secrets in the contexts of stages, longest first. Their copies are secret, too. */
export function secretsIn(stages: Iterable<Stage>): readonly string[] {
  const found = new Set<string>()
  for (const { context } of stages) collect(context, found)
  return longestFirst(found)
}

/** Secrets of the stages, of the trigger, and those that the engine has noted. */
export function executionSecretsOf({
  stages,
  trigger,
  engine,
}: Pick<Execution, 'stages' | 'trigger' | 'engine'>): readonly string[] {
  const found = new Set([
    ...secretsIn(stages),
    ...(engine.secrets ?? []),
    ...secretsOfDefinition({ triggers: [trigger] }),
  ])
  for (const key of constraintKeys) {
    for (const name of Object.keys(objectOf(trigger[key]))) {
      if (provesSender(name)) collectAll(fieldOf(trigger['payload'], name), found)
    }
  }
  return longestFirst(found)
}

/** Secrets that an execution cannot know from its own record: of its definition, and of the run that has started it. */
export function secretsToNote(
  definition: JsonObject,
  parent: Execution | undefined,
): { secrets?: readonly string[] } {
  const found = [
    ...secretsOfDefinition(definition),
    ...(parent === undefined ? [] : executionSecretsOf(parent)),
  ].filter(isRecognisable)
  return found.length === 0 ? {} : { secrets: [...new Set(found)] }
}

/** Adds secrets of another execution, of which this one receives something. */
export function noteSecrets({ engine }: Execution, secrets: readonly string[]): void {
  const noted = new Set([...(engine.secrets ?? []), ...secrets.filter(isRecognisable)])
  if (noted.size > 0) engine.secrets = [...noted]
}

/** Shorter values of headers with other names are words such as a region, which responses repeat. */
const minHeaderLength = 16

/** Secrets of a webhook in the configuration: values of its headers, and of members with telling names. */
export function secretsOfSettings(settings: JsonObject): readonly string[] {
  const found = new Set<string>()
  collect(settings, found)
  const { customHeaders } = settings
  for (const [name, value] of Object.entries(objectOf(customHeaders))) {
    if (!/^(?:accept|content-|user-agent)/i.test(name) && String(value).length >= minHeaderLength)
      collectAll(value, found)
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
    const isSecret = carrierOf(key, member, value)
    for (const held of [definitionsIn(key, member)].flat()) {
      if (isObject(held)) for (const secret of secretsOfDefinition(held)) collectAll(secret, found)
    }
    if (typeof member === 'string')
      collectFromText(member, { isSecret, isAddress: addresses.has(key) }, found)
    else if (isSecret === undefined) collect(member, found)
    else collectWhere(member, isSecret, found)
  }
}

function collectWhere(value: unknown, isSecret: NamesSecret, found: Set<string>): void {
  if (Array.isArray(value)) for (const each of value) collectWhere(each, isSecret, found)
  if (!isObject(value)) return
  for (const [name, member] of Object.entries(value)) {
    if (isSecret(name)) collectAll(member, found)
    else if (typeof member === 'string')
      for (const password of passwordsIn(member)) collectWithDecoded(password, found)
    else collectWhere(member, isSecret, found)
  }
}

function collectAll(value: unknown, found: Set<string>): void {
  const text = textOfScalar(value)
  if (text !== undefined) {
    // A server may repeat the token without its scheme.
    const [, token] = /^(?:bearer|basic|token)\s+(\S+)$/i.exec(text) ?? []
    for (const each of [text, token])
      if (each !== undefined && each !== '' && each !== mask && !isReference(each)) found.add(each)
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
  return typeof value === 'string' || typeof value === 'number' || isRawNumber(value)
    ? String(value)
    : undefined
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
const startLength = 4

/** Many secrets are found by their first characters: a user may have written thousands, and each view has as many texts. */
function createMasker(secrets: readonly string[]): Masker {
  const recognisable = secrets.filter(isRecognisable)
  if (recognisable.length <= few) return (text) => withoutSecrets(text, recognisable)
  const starts = new Set(recognisable.map((secret) => secret.slice(0, startLength)))
  return (text) => {
    const found = new Set<string>()
    for (let at = 0; at + startLength <= text.length; at++) {
      const start = text.slice(at, at + startLength)
      if (starts.has(start)) found.add(start)
    }
    if (found.size === 0) return text
    return withoutSecrets(
      text,
      recognisable.filter((secret) => found.has(secret.slice(0, startLength))),
    )
  }
}

/** @param isSecret The rule of the carrier that holds the value. */
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
      if (isSecret?.(key))
        return [key, typeof member === 'string' && isReference(member) ? member : mask]
      if (key === 'trigger' && isObject(member)) return [key, maskedTrigger(member, maskText)]
      return [
        key,
        masked(maskedDefinitions(key, member), maskText, isSecret ?? carrierOf(key, member, value)),
      ]
    }),
  )
}

function maskedTrigger({ payload, ...trigger }: JsonObject, maskText: Masker): JsonObject {
  const shown = objectOf(masked(maskTrigger(trigger), maskText))
  // What started the run is no body of a call, although its name is the same.
  return payload === undefined ? shown : { ...shown, payload: masked(payload, maskText, nothing) }
}

/** A copy for readers, such as those who evaluate expressions against it. Itself where there are no secrets. */
export function maskExecution(execution: Execution): Execution {
  const secrets = executionSecretsOf(execution)
  if (secrets.length === 0) return execution
  const { engine, stages, ...shown } = execution
  const maskedStages = stages.map(({ engine: notes, ...stage }) => ({
    ...maskIn(stage, secrets),
    engine: notes,
  }))
  return { ...maskIn(shown, secrets), stages: maskedStages, engine }
}

/** A client that sends back what it has read sends masks: the values stay. */
export function keepMasked(changes: JsonObject, before: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(changes).map(([key, value]) => [key, kept(value, fieldOf(before, key))]),
  )
}

function kept(value: unknown, before: unknown): unknown {
  if (value === mask) return before ?? value
  if (typeof value === 'string' && typeof before === 'string')
    return isMaskedForm(value, before) ? before : value
  if (Array.isArray(value))
    return value.map((each, index) => kept(each, Array.isArray(before) ? before[index] : undefined))
  if (!isObject(value)) return value
  return keepMasked(value, objectOf(before))
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
