/** Secrets that users send with stages: stages receive them, and no view of an execution shows them. */
import { isRawNumber } from '../../json/json.ts'
import { isObject, type JsonObject } from '../../json/values.ts'
import { looksSecret, mask, withoutSecrets } from '../secret-names.ts'
import type { Execution, Stage } from './model.ts'

/** Members of a context that hold secrets: all their values, or those with telling names. */
const carriers: ReadonlyMap<string, (name: string) => boolean> = new Map([
  ['secrets', () => true],
  ['environment', looksSecret],
  ['env', looksSecret],
  ['extendedAttributes', looksSecret],
])

/** A copy of a shorter one is not recognised: its text stands in too many others. */
const minLength = 4

/** Values of secrets in the contexts of stages, longest first. Their copies are secret, too. */
export function secretsIn(stages: Iterable<Stage>): readonly string[] {
  const found = new Set<string>()
  for (const { context } of stages) collect(context, found)
  return [...found].sort((one, other) => other.length - one.length)
}

function collect(value: unknown, found: Set<string>): void {
  if (Array.isArray(value)) for (const each of value) collect(each, found)
  if (!isObject(value)) return
  for (const [key, member] of Object.entries(value)) {
    const isSecret = isObject(member) ? carriers.get(key) : undefined
    if (isSecret === undefined) collect(member, found)
    else {
      for (const [name, secret] of Object.entries(member as JsonObject)) {
        const text = isSecret(name) ? textOfScalar(secret) : undefined
        if (text !== undefined && text !== '' && text !== mask) found.add(text)
      }
    }
  }
}

/** Numbers as well: one that was sent as a number may be copied into a text. */
function textOfScalar(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || isRawNumber(value) ? String(value) : undefined
}

/** The same value with masks; itself where there are no secrets. */
export function maskIn<T>(value: T, secrets: readonly string[]): T {
  if (secrets.length === 0) return value
  return masked(
    value,
    secrets.filter((secret) => secret.length >= minLength),
  ) as T
}

function masked(value: unknown, secrets: readonly string[]): unknown {
  const text = textOfScalar(value)
  if (text !== undefined) {
    const shown = withoutSecrets(text, secrets)
    return shown === text ? value : shown
  }
  if (Array.isArray(value)) return value.map((each) => masked(each, secrets))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const isSecret = isObject(member) ? carriers.get(key) : undefined
      return [key, isSecret === undefined ? masked(member, secrets) : maskedCarrier(member as JsonObject, isSecret, secrets)]
    }),
  )
}

function maskedCarrier(carrier: JsonObject, isSecret: (name: string) => boolean, secrets: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(carrier).map(([name, value]) => [name, isSecret(name) ? mask : masked(value, secrets)]),
  )
}

/** A copy for readers, such as those who evaluate expressions against it. Itself where there are no secrets. */
export function maskExecution(execution: Execution): Execution {
  const secrets = secretsIn(execution.stages)
  if (secrets.length === 0) return execution
  const { engine, stages, ...shown } = execution
  const maskedStages = stages.map(({ engine: notes, ...stage }) => ({ ...maskIn(stage, secrets), engine: notes }))
  return { ...maskIn(shown, secrets), stages: maskedStages, engine }
}

/** A client that sends back what it has read sends masks: the values stay. */
export function keepMasked(changes: JsonObject, before: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(changes).map(([key, value]) => [key, kept(value, before[key])]))
}

function kept(value: unknown, before: unknown): unknown {
  if (value === mask) return before ?? value
  if (Array.isArray(value)) return value.map((each, index) => kept(each, Array.isArray(before) ? before[index] : undefined))
  if (!isObject(value)) return value
  return keepMasked(value, isObject(before) ? before : {})
}
