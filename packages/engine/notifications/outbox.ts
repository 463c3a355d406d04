/** Outbox of notifications: what waits for its delivery, and what became of the rest. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import type { Notice } from './notification-type.ts'

export const notificationMigrations = [
  `
  CREATE TABLE events_notifications (
    -- The same for the same occasion and recipient, so that an event that comes twice is sent once.
    id           TEXT PRIMARY KEY,
    execution_id TEXT,
    type         TEXT NOT NULL,
    address      TEXT NOT NULL,
    notice       TEXT NOT NULL,
    -- waiting, delivered or failed
    status       TEXT NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    accepted_ms  INTEGER NOT NULL,
    changed_ms   INTEGER NOT NULL,
    due_ms       INTEGER NOT NULL,
    reason       TEXT
  ) STRICT;
  CREATE INDEX events_notifications_by_execution ON events_notifications (execution_id) WHERE execution_id IS NOT NULL;
  CREATE INDEX events_notifications_waiting ON events_notifications (due_ms) WHERE status = 'waiting';
  CREATE INDEX events_notifications_by_change ON events_notifications (changed_ms) WHERE status <> 'waiting';
  `,
]

export interface NoticeDelivery {
  readonly type: string
  readonly notice: Notice
}

export interface WaitingDelivery extends NoticeDelivery {
  readonly attempts: number
  /** Milliseconds since the epoch. */
  readonly acceptedMs: number
}

export type DeliveryOutcome =
  | { readonly status: 'delivered' }
  | { readonly status: 'failed'; readonly reason: string }
  | { readonly status: 'waiting'; readonly reason: string; readonly dueMs: number }

/** The first that is due of a recipient. */
interface DueDelivery {
  readonly id: string
  readonly recipient: string
}

export class Outbox {
  readonly #insert: StatementSync
  readonly #due: StatementSync
  readonly #nextDue: StatementSync
  readonly #load: StatementSync
  readonly #settle: StatementSync
  readonly #delay: StatementSync
  readonly #ofExecution: StatementSync
  readonly #countOfExecution: StatementSync
  readonly #countWaiting: StatementSync
  readonly #prune: StatementSync

  constructor(db: DatabaseSync) {
    const table = 'events_notifications'
    this.#insert = db.prepare(`INSERT OR IGNORE INTO ${table}
      (id, execution_id, type, address, notice, status, accepted_ms, changed_ms, due_ms, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#due = db.prepare(`SELECT id, type, address, min(due_ms) FROM ${table}
      WHERE status = 'waiting' AND due_ms <= ? GROUP BY type, address ORDER BY min(due_ms)`)
    this.#nextDue = db.prepare(
      `SELECT min(due_ms) AS due FROM ${table} WHERE status = 'waiting' AND due_ms > ?`,
    )
    this.#load = db.prepare(`SELECT * FROM ${table} WHERE id = ?`)
    this.#settle = db.prepare(
      `UPDATE ${table} SET status = ?, reason = ?, attempts = attempts + 1, changed_ms = ?, due_ms = ? WHERE id = ?`,
    )
    this.#delay = db.prepare(
      `UPDATE ${table} SET due_ms = max(due_ms, ?) WHERE status = 'waiting' AND type = ? AND address = ?`,
    )
    this.#ofExecution = db.prepare(
      `SELECT * FROM ${table} WHERE execution_id = ? ORDER BY accepted_ms, rowid`,
    )
    this.#countOfExecution = db.prepare(
      `SELECT count(*) AS count FROM ${table} WHERE execution_id = ?`,
    )
    this.#countWaiting = db.prepare(
      `SELECT count(*) AS count FROM ${table} WHERE status = 'waiting'`,
    )
    this.#prune = db.prepare(`DELETE FROM ${table} WHERE status <> 'waiting' AND changed_ms < ?`)
  }

  /** @param problem Why it is not tried. @returns whether it is new */
  add({ type, notice }: NoticeDelivery, now: number, problem: string | undefined): boolean {
    const status = problem === undefined ? 'waiting' : 'failed'
    const executionId = notice.execution?.id ?? null
    const { id, address } = notice
    const text = formatJson(notice)
    return (
      this.#insert.run(id, executionId, type, address, text, status, now, now, now, problem ?? null)
        .changes > 0
    )
  }

  /** One of each recipient, the longest due first. */
  due(now: number): DueDelivery[] {
    return this.#due
      .all(now)
      .map(({ id, type, address }) => ({ id: String(id), recipient: `${type} ${address}` }))
  }

  /** When the next is due after a moment. */
  nextDue(now: number): number | undefined {
    const due = this.#nextDue.get(now)?.['due']
    return typeof due === 'number' ? due : undefined
  }

  load(id: string): WaitingDelivery | undefined {
    const row = this.#load.get(id)
    if (row === undefined || row['status'] !== 'waiting') return undefined
    const notice = parseJson(String(row['notice'])) as Notice
    return {
      type: String(row['type']),
      notice,
      attempts: Number(row['attempts']),
      acceptedMs: Number(row['accepted_ms']),
    }
  }

  /** What waits for the same recipient waits as long. */
  settle({ type, notice }: NoticeDelivery, outcome: DeliveryOutcome, now: number): void {
    const reason = outcome.status === 'delivered' ? null : outcome.reason
    const dueMs = outcome.status === 'waiting' ? outcome.dueMs : now
    this.#settle.run(outcome.status, reason, now, dueMs, notice.id)
    if (outcome.status === 'waiting') this.#delay.run(dueMs, type, notice.address)
  }

  countOfExecution(executionId: string): number {
    return Number(this.#countOfExecution.get(executionId)?.['count'])
  }

  countWaiting(): number {
    return Number(this.#countWaiting.get()?.['count'])
  }

  /** What became of the notifications of an execution, for its readers. */
  deliveriesOf(executionId: string): JsonObject[] {
    return this.#ofExecution.all(executionId).map((row) => {
      const { occasion, stage, shownAs } = parseJson(String(row['notice'])) as Notice
      const status = String(row['status'])
      return definedOf({
        id: row['id'],
        type: row['type'],
        address: shownAs ?? shownAddress(String(row['address'])),
        when: occasion,
        stageId: stage?.id,
        status,
        attempts: Number(row['attempts']),
        acceptedTime: Number(row['accepted_ms']),
        changedTime: Number(row['changed_ms']),
        nextAttemptTime: status === 'waiting' ? Number(row['due_ms']) : undefined,
        reason: row['reason'] ?? undefined,
      })
    })
  }

  /** Removes what was settled before a moment. */
  prune(beforeMs: number): void {
    this.#prune.run(beforeMs)
  }
}

/** Path and query of a webhook let others send: they are not shown. */
export function shownAddress(address: string): string {
  if (!/^\w+:\/\//.test(address)) return address
  const url = URL.parse(address)
  return url === null ? 'an address' : `${url.protocol}//${url.host}/…`
}
