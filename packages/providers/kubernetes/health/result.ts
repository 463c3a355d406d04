/** States of objects of every kind, and what a health result says (docs/contracts/kubernetes.md#status). */
import { asGiven, objectList, shape } from '@fairlead/base/json/shape.ts'
import {
  fieldAt,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { type KubeObject, millisecondsOf } from '../objects.ts'

/** The worst first. */
const healthStates = [
  'failed',
  'missing',
  'terminating',
  'unknown',
  'progressing',
  'unattended',
  'suspended',
  'healthy',
  'done',
] as const
export type ObjectState = (typeof healthStates)[number]

/** What a rule finds. */
export interface HealthOutcome {
  readonly state: ObjectState
  /** A fact with its number and cause. */
  readonly sentence: string
  /** One word, as controllers write it. */
  readonly reason?: string | undefined
  /** RFC 3339. */
  readonly since?: string | undefined
  /** Whether waiting cannot change it. */
  readonly final?: boolean
  /** A trouble that ends by itself, or fails the object after the grace. */
  readonly isTrouble?: boolean
  /** Whether it serves while it changes. */
  readonly isAvailable?: boolean
  /** What users should know of an object in order. */
  readonly warning?: string | undefined
}

export interface HealthResult extends HealthOutcome {
  readonly final: boolean
  readonly observedGeneration: number | undefined
  /** Milliseconds of the same trouble after which the object counts as failed; undefined: it has none, or has failed for good. */
  readonly failsAfterMs: number | undefined
}

export interface HealthTimes {
  /** How long a trouble may last. */
  readonly graceMs: number
  /** How long a first status is waited for. */
  readonly firstStatusMs: number
  /** Age of an object without status at which no controller seems to act on it. */
  readonly unattendedMs: number
}

/** What a health result depends on besides the object. */
export interface HealthContext extends HealthTimes {
  /** Milliseconds since the epoch. */
  readonly nowMs: number
  /** Whether a controller writes a status of the kind. */
  readonly hasStatus: boolean
  /** Whether the definition of the kind names conditions. */
  readonly namesConditions?: boolean
  /** Binding by the storage class of a claim. */
  readonly storageClass?: 'immediate' | 'waits-for-pod' | 'missing'
}

/** An object as rules read it. */
export interface HealthSubject {
  readonly object: KubeObject
  readonly spec: JsonObject
  readonly status: JsonObject
  /** Conditions of this generation. */
  readonly conditions: readonly HealthCondition[]
}

export interface HealthCondition {
  readonly type: string
  readonly status: string
  readonly reason: string | undefined
  readonly message: string | undefined
  readonly since: string | undefined
}

export function toHealthSubject(object: KubeObject): HealthSubject {
  const status = objectOf(object['status'])
  return {
    object,
    spec: objectOf(object['spec']),
    status,
    conditions: conditionsIn(status, object),
  }
}

const readConditions = shape({
  conditions: objectList(
    shape({
      type: asGiven,
      status: asGiven,
      reason: textOf,
      message: textOf,
      since: [textOf, 'lastTransitionTime'],
      observed: [numberOf, 'observedGeneration'],
    }),
  ),
})

/** Conditions of a status, or of a part of it such as a listener. */
export function conditionsIn(
  part: JsonObject,
  { metadata }: Pick<KubeObject, 'metadata'>,
): HealthCondition[] {
  return readConditions(part).conditions.flatMap(({ type, status, observed, ...condition }) => {
    const isOld = observed !== undefined && observed < (metadata.generation ?? 0)
    if (typeof type !== 'string' || typeof status !== 'string' || isOld) return []
    return { type, status, ...condition }
  })
}

/** Milliseconds since the epoch of the last change that was none of its status; undefined: not known. */
export function changedMsOf(object: KubeObject): number | undefined {
  return latest([...writesOf(object, false), object.metadata.creationTimestamp])
}

/** Milliseconds since the epoch of the last write to its status; undefined: not known. */
export function reportedMsOf(object: KubeObject): number | undefined {
  return latest(writesOf(object, true))
}

export const toManaged = shape({
  managedFields: objectList(shape({ manager: textOf, subresource: asGiven, time: asGiven })),
})

function writesOf({ metadata }: KubeObject, ofStatus: boolean): unknown[] {
  return toManaged(metadata)
    .managedFields.filter(({ subresource }) =>
      ofStatus ? subresource === 'status' : subresource === undefined,
    )
    .map(({ time }) => time)
}

function latest(times: readonly unknown[]): number | undefined {
  const known = times.map(millisecondsOf).filter((ms) => ms !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

/** Milliseconds since the object was changed; infinite where nothing tells. */
export function ageOf({ object }: HealthSubject, { nowMs }: HealthContext): number {
  const changedMs = changedMsOf(object)
  return changedMs === undefined ? Infinity : nowMs - changedMs
}

export function healthConditionOf(
  { conditions }: HealthSubject,
  type: string,
): HealthCondition | undefined {
  return conditions.find((condition) => condition.type === type)
}

/** The condition, if it is true. */
export function trueCondition(subject: HealthSubject, type: string): HealthCondition | undefined {
  const condition = healthConditionOf(subject, type)
  return condition?.status === 'True' ? condition : undefined
}

type More = Omit<HealthOutcome, 'state' | 'sentence'>

export function outcome(state: ObjectState, sentence: string, more: More = {}): HealthOutcome {
  return { state, sentence, ...more }
}

export function byCondition(
  state: ObjectState,
  { type, status, reason, message, since }: HealthCondition,
  more: More = {},
): HealthOutcome {
  const why = message === undefined ? '.' : `: ${ended(message)}`
  const word = reason === undefined || reason === type ? '' : ` (${reason})`
  return { state, sentence: `${type} is ${status}${word}${why}`, reason, since, ...more }
}

/** Progressing until a time has passed, then unattended. */
export function awaited(
  subject: HealthSubject,
  context: HealthContext,
  { limitMs, waits, nobody }: { limitMs: number; waits: string; nobody: string },
): HealthOutcome {
  return ageOf(subject, context) < limitMs
    ? outcome('progressing', waits)
    : outcome('unattended', nobody, { warning: nobody })
}

export function ended(text: string): string {
  const trimmed = text.trim()
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`
}

/** Texts at a path, which may pass lists: `status.bindings[].name`. */
export function valuesAt(value: unknown, path: readonly string[]): unknown[] {
  const [name, ...rest] = path
  if (name === undefined) return [value]
  if (name === '*') return Object.values(objectOf(value)).flatMap((each) => valuesAt(each, rest))
  if (!name.endsWith('[]')) return valuesAt(fieldAt(value, name), rest)
  const list = fieldAt(value, name.slice(0, -2))
  return Array.isArray(list) ? list.flatMap((each) => valuesAt(each, rest)) : []
}

export function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '') return false
  if (Array.isArray(value)) return value.length > 0
  return !isObject(value) || Object.keys(value).length > 0
}
