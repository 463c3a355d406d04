/**
 * Secrets of triggers in definitions: readers get masks, and a save with masks keeps what is stored.
 *
 * @see docs/contracts/definitions.md#secrets-of-triggers
 */

import { formatJson, isRawNumber, parseJson } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject, objectOf, objectsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { mask, provesSender } from '@fairlead/model/secrets/secret-names.ts'

/** Fields of a trigger that say what an event must hold; by some, its sender shows that it is the one. */
export const constraintKeys = ['payloadConstraints', 'attributeConstraints'] as const

/** A quick look at the text of a definition. */
export function mayHoldSecrets(text: string): boolean {
  return text.includes('Constraints"') || text.includes('"secret"')
}

/** Members of a definition in which triggers are: of a template in its pipeline, of an instance in its configuration. */
const insides = ['pipeline', 'configuration', 'config'] as const

/** The same definition with masks in place of secrets of its triggers; itself where there are none. */
export function maskDefinition<T>(definition: T): T {
  return mapTriggers(definition, maskTrigger) as T
}

export function maskTrigger(trigger: JsonObject): JsonObject {
  return mapSecrets(trigger, () => mask)
}

/** The JSON text of a definition, masked. */
export function maskDefinitionText(text: string): string {
  if (!mayHoldSecrets(text)) return text
  const definition = parseJson(text)
  const masked = maskDefinition(definition)
  return masked === definition ? text : formatJson(masked)
}

/** Values by which senders of events prove who they are. A constraint is a pattern, usually of the whole value. */
export function secretsOfDefinition(definition: JsonObject): string[] {
  const values = triggersIn(definition).flatMap(secretFields)
  return values.flatMap(([, value]) => {
    const isText =
      value !== mask &&
      (typeof value === 'string' || typeof value === 'number' || isRawNumber(value))
    return isText ? [String(value), String(value).replace(/^\^|\$$/g, '')] : []
  })
}

/**
 * The definition with stored secrets in place of masks.
 *
 * @param versions Of the stored definition, newest first; read only as far as masks need it.
 * @throws {PortError} 400 when nothing is stored for a mask
 */
export function unmaskDefinition<T extends JsonObject>(
  definition: T,
  versions: () => Iterable<JsonObject>,
): T {
  if (maskedTriggers(definition).length === 0) return definition
  let shown = definition
  for (const version of versions()) {
    shown = fillFrom(shown, version)
    if (maskedTriggers(shown).length === 0) return shown
  }
  const [[field, position] = ['', 0]] = maskedTriggers(shown)
  throw new PortError(
    400,
    `"${field}" of trigger ${position} is masked as "${mask}", and no secret is stored for it. Send the secret itself.`,
    { exception: 'InvalidRequest' },
  )
}

/** Names and positions, from 1, of what is masked. */
function maskedTriggers(definition: unknown): [field: string, position: number][] {
  const found: [string, number][] = []
  mapTriggers(definition, (trigger, index) => {
    for (const [field, value] of secretFields(trigger))
      if (value === mask) found.push([field, index + 1])
    return trigger
  })
  return found
}

interface Sameness {
  /** Whether a trigger of the store is the one that was sent. */
  isSame(sent: JsonObject, stored: JsonObject): boolean
  /** None of several candidates is taken: a trigger must not get the secret of another one. */
  readonly isVague?: true
}

/** The surest way first. */
const ways: readonly Sameness[] = [
  {
    isSame: (sent, stored) =>
      typeof sent['id'] === 'string' && sent['id'] !== '' && sent['id'] === stored['id'],
  },
  { isSame: (sent, stored) => maskedText(sent) === maskedText(stored) },
  { isSame: hasSame('type', 'source', 'project', 'slug', 'subscriptionName'), isVague: true },
  { isSame: hasSame('type'), isVague: true },
]

function hasSame(...keys: string[]): Sameness['isSame'] {
  return (sent, stored) => keys.every((key) => sent[key] === stored[key])
}

function maskedText(trigger: JsonObject): string {
  return formatJson(maskTrigger(trigger))
}

/** Each stored trigger fills one that was sent, so that two that look alike keep their secrets. */
function fillFrom<T extends JsonObject>(sent: T, stored: JsonObject): T {
  const [triggers, sources] = [triggersIn(sent), new Set(triggersIn(stored))]
  const taken = new Map<JsonObject, JsonObject>()
  for (const { isSame, isVague } of ways) {
    for (const trigger of triggers) {
      if (taken.has(trigger)) continue
      const [source, ...others] = [...sources].filter((each) => isSame(trigger, each))
      if (source === undefined || (isVague && others.length > 0)) continue
      taken.set(trigger, source)
      sources.delete(source)
    }
  }
  return mapTriggers(sent, (trigger) => {
    const source = taken.get(trigger)
    if (source === undefined) return trigger
    const known = new Map(secretFields(source))
    return mapSecrets(trigger, (value, field) =>
      value === mask ? (known.get(field) ?? value) : value,
    )
  }) as T
}

/** Secrets of a trigger, by `secret` or `payloadConstraints.token`; of git triggers `secret` is that of the sender. */
function secretFields(trigger: JsonObject): [field: string, value: unknown][] {
  const found: [string, unknown][] = []
  mapSecrets(trigger, (value, field) => {
    found.push([field, value])
    return value
  })
  return found
}

/** A copy where a value has changed. What is an expression is known at the start only, and holds no secret itself. */
function mapSecrets(
  trigger: JsonObject,
  change: (value: unknown, field: string) => unknown,
): JsonObject {
  let changed = trigger
  const put = (holder: JsonObject, name: string, path: string): JsonObject => {
    const before = holder[name]
    if (before === undefined || before === null || before === '' || isExpression(before))
      return holder
    const after = change(before, path)
    return after === before ? holder : { ...holder, [name]: after }
  }
  changed = put(changed, 'secret', 'secret')
  for (const key of constraintKeys) {
    const before = objectOf(trigger[key])
    let constraints = before
    for (const name of Object.keys(before)) {
      // A mask may stand under another name after an edit: it must not become the constraint.
      if (provesSender(name) || before[name] === mask)
        constraints = put(constraints, name, `${key}.${name}`)
    }
    if (constraints !== before) changed = { ...changed, [key]: constraints }
  }
  return changed
}

function isExpression(value: unknown): boolean {
  return typeof value === 'string' && /^\$\{.*\}$/s.test(value)
}

function triggersIn(definition: unknown): JsonObject[] {
  const found: JsonObject[] = []
  mapTriggers(definition, (trigger) => {
    found.push(trigger)
    return trigger
  })
  return found
}

/** A copy of the definition where a trigger has changed. */
function mapTriggers(
  definition: unknown,
  change: (trigger: JsonObject, index: number) => JsonObject,
): unknown {
  if (!isObject(definition)) return definition
  let changed = definition
  const triggers = definition['triggers']
  if (Array.isArray(triggers) && objectsOf(triggers).length > 0) {
    const mapped = triggers.map((each: unknown, index) =>
      isObject(each) ? change(each, index) : each,
    )
    if (mapped.some((each, index) => each !== triggers[index]))
      changed = { ...changed, triggers: mapped }
  }
  for (const key of insides) {
    const before = definition[key]
    const after = mapTriggers(before, change)
    if (after !== before) changed = { ...changed, [key]: after }
  }
  return changed
}
