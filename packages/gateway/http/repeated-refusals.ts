/** Events that clients without login can repeat: one audit record for the first, one for the count of the rest. */
import type { AuditEvent } from '../audit/event.ts'
import { networkOf } from './forwarded.ts'

const intervalMs = 60_000
/** Beyond so many different ones in an interval, only the number is kept: many callers must not fill the disk either. */
const maxDifferent = 200

/** Changes without login, such as webhooks, of one network and interval that have records of their own. */
const maxOwnRecords = 60

interface Repetition {
  readonly first: AuditEvent
  readonly sinceMs: number
  last: AuditEvent
  repeated: number
}

export class RepeatedRefusals {
  readonly #repetitions = new Map<string, Repetition>()
  readonly #ownRecords = new Map<string, { sinceMs: number; records: number }>()

  absorbs(event: AuditEvent): boolean {
    // The end of a change that was recorded when it began must not be missing.
    if (!needsNoCredentials(event) || event.change !== undefined || this.#hasOwnRecord(event))
      return false
    const known = this.#repetitions.get(keyOf(event))
    if (known !== undefined) return count(known, event)
    if (this.#repetitions.size < maxDifferent) {
      this.#repetitions.set(keyOf(event), {
        first: event,
        sinceMs: event.atMs,
        last: event,
        repeated: 0,
      })
      return false
    }
    const nameless = withoutCaller(event)
    const crowd = this.#repetitions.get(keyOf(nameless)) ?? {
      first: nameless,
      sinceMs: event.atMs,
      last: nameless,
      repeated: 0,
    }
    this.#repetitions.set(keyOf(nameless), crowd)
    return count(crowd, nameless)
  }

  #hasOwnRecord({ decision, address = '', atMs }: AuditEvent): boolean {
    if (decision !== 'allowed') return false
    const network = networkOf(address)
    const key =
      this.#ownRecords.has(network) || this.#ownRecords.size < maxDifferent ? network : 'others'
    const known = this.#ownRecords.get(key)
    const isOver = known === undefined || isIntervalOver(known.sinceMs, atMs)
    const { sinceMs, records } = isOver ? { sinceMs: atMs, records: 0 } : known
    this.#ownRecords.set(key, { sinceMs, records: records + 1 })
    return records < maxOwnRecords
  }

  take(nowMs = Number.POSITIVE_INFINITY): AuditEvent[] {
    const taken: AuditEvent[] = []
    for (const [key, { first, sinceMs, last, repeated }] of this.#repetitions) {
      if (!isIntervalOver(sinceMs, nowMs)) continue
      this.#repetitions.delete(key)
      if (repeated > 0) taken.push(toSummary(first, last, repeated))
    }
    for (const [key, { sinceMs }] of this.#ownRecords)
      if (isIntervalOver(sinceMs, nowMs)) this.#ownRecords.delete(key)
    return taken
  }
}

/** A clock that was set back must not keep anything for ever. */
function isIntervalOver(sinceMs: number, nowMs: number): boolean {
  return nowMs - sinceMs >= intervalMs || nowMs < sinceMs
}

/** Clients without login can send it without limit; so can clients with credentials that cannot be checked. */
function needsNoCredentials({ kind, decision, user, token }: AuditEvent): boolean {
  if (kind === 'change' && decision !== 'begun' && user === undefined && token === undefined)
    return true
  return (
    decision === 'refused' || (decision === 'failed' && (kind === 'login' || kind === 'refusal'))
  )
}

function count(repetition: Repetition, event: AuditEvent): true {
  repetition.last = event
  repetition.repeated++
  return true
}

function keyOf(event: AuditEvent): string {
  const {
    kind,
    decision,
    user,
    login,
    token,
    address,
    method,
    operation,
    application,
    status,
    error,
    reason,
  } = event
  const network = address === undefined ? undefined : networkOf(address)
  return JSON.stringify([
    kind,
    decision,
    user,
    login,
    token,
    network,
    method,
    operation,
    application,
    status,
    error,
    reason,
  ])
}

function withoutCaller({ kind, atMs, decision, error }: AuditEvent): AuditEvent {
  return { kind, atMs, decision, error, reason: 'too many different ones to be listed' }
}

function toSummary(first: AuditEvent, last: AuditEvent, repeated: number): AuditEvent {
  const {
    requestId: _id,
    resource: _resource,
    upstream: _upstream,
    change: _change,
    ...common
  } = first
  return { ...common, atMs: last.atMs, repeated }
}
