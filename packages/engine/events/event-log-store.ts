/** Tables of the event log. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { definedOf, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import type { TriggerOutcome } from '@fairlead/ports/event-record.ts'
import type { EventLogSettings } from './event-log-settings.ts'

export const eventLogMigrations = [
  `
  CREATE TABLE events_log_events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    -- That of the event; the sender may have chosen it.
    id       TEXT NOT NULL,
    time_ms  INTEGER NOT NULL,
    type     TEXT NOT NULL,
    source   TEXT NOT NULL,
    -- started, nothing or failed
    outcome  TEXT NOT NULL,
    summary  TEXT NOT NULL,
    payload  TEXT,
    reason   TEXT,
    -- Events of the same share have only a part of the log together.
    share    TEXT
  ) STRICT;
  CREATE INDEX events_log_events_by_id ON events_log_events (id);
  CREATE INDEX events_log_events_by_time ON events_log_events (time_ms);
  CREATE INDEX events_log_events_by_share ON events_log_events (share, position) WHERE share IS NOT NULL;
  CREATE TABLE events_log_pipelines (
    position     INTEGER NOT NULL,
    application  TEXT NOT NULL,
    pipeline_id  TEXT NOT NULL,
    execution_id TEXT,
    details      TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_log_pipelines_by_event ON events_log_pipelines (position);
  CREATE INDEX events_log_pipelines_by_application ON events_log_pipelines (application, position);
  CREATE TRIGGER events_log_removal AFTER DELETE ON events_log_events BEGIN
    DELETE FROM events_log_pipelines WHERE position = OLD.position;
  END;
  `,
]

export type EventOutcome = 'started' | 'nothing' | 'failed'

export interface StoredEvent {
  readonly id: string
  readonly timeMs: number
  readonly type: string
  readonly source: string
  readonly outcome: EventOutcome
  readonly summary: JsonObject
  readonly payload?: JsonObject
  readonly reason?: string
  readonly share?: string
  readonly triggers: readonly TriggerOutcome[]
}

export interface EventFilter {
  /** Only what concerns its pipelines. */
  readonly application?: string
  /** Name or id; only together with an application. */
  readonly pipeline?: string
  readonly type?: string
  readonly outcome?: EventOutcome
  /** Milliseconds since the epoch. */
  readonly fromMs?: number
  /** Events before the one with this id. */
  readonly before?: string
  readonly limit: number
}

/** A share has at most one part in so many of the log. */
const shareParts = 4
const dayMs = 24 * 60 * 60_000

const ofApplication = `SELECT 1 FROM events_log_pipelines p WHERE p.position = e.position AND p.application = :application
  AND (:pipeline IS NULL OR p.pipeline_id = :pipeline OR p.details ->> 'pipeline' = :pipeline)`

/** The outcome for an application is that of its own pipelines. */
const outcomeSql = `CASE WHEN :application IS NULL OR e.outcome = 'failed' THEN e.outcome
  WHEN EXISTS (${ofApplication} AND p.execution_id IS NOT NULL) THEN 'started' ELSE 'nothing' END`

const listSql = `SELECT e.*, ${outcomeSql} AS own_outcome FROM events_log_events e
  WHERE (:before IS NULL OR e.position < (SELECT min(position) FROM events_log_events WHERE id = :before))
    AND (:fromMs IS NULL OR e.time_ms >= :fromMs) AND (:type IS NULL OR e.type = :type) AND (:id IS NULL OR e.id = :id)
    AND (:application IS NULL OR (
      e.position IN (SELECT position FROM events_log_pipelines WHERE application = :application) AND EXISTS (${ofApplication})))
    AND (:outcome IS NULL OR own_outcome = :outcome)
  ORDER BY e.position DESC LIMIT :limit`

export class EventLogStore {
  readonly #maxEvents: number
  readonly #maxAgeMs: number
  readonly #insert: StatementSync
  readonly #insertTrigger: StatementSync
  readonly #list: StatementSync
  readonly #triggers: StatementSync
  readonly #removeOldest: StatementSync
  readonly #removeOlder: StatementSync
  readonly #removeOfShare: StatementSync
  readonly #countAll: StatementSync
  /** At least as many as there are: a transaction may have been rolled back. */
  #count: number

  constructor(db: DatabaseSync, { maxEvents, maxDays }: EventLogSettings) {
    this.#maxEvents = maxEvents
    this.#maxAgeMs = maxDays * dayMs
    this.#insert =
      db.prepare(`INSERT INTO events_log_events (id, time_ms, type, source, outcome, summary, payload, reason, share)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#insertTrigger = db.prepare('INSERT INTO events_log_pipelines VALUES (?, ?, ?, ?, ?)')
    this.#list = db.prepare(listSql)
    this.#triggers = db.prepare(
      'SELECT application, details FROM events_log_pipelines WHERE position = ? ORDER BY rowid',
    )
    this.#removeOldest = db.prepare(
      'DELETE FROM events_log_events WHERE position IN (SELECT position FROM events_log_events ORDER BY position LIMIT ?)',
    )
    this.#removeOlder = db.prepare('DELETE FROM events_log_events WHERE time_ms < ?')
    this.#removeOfShare = db.prepare(`DELETE FROM events_log_events WHERE share = ?1 AND position <=
      (SELECT position FROM events_log_events WHERE share = ?1 ORDER BY position DESC LIMIT 1 OFFSET ?2)`)
    this.#countAll = db.prepare('SELECT count(*) AS count FROM events_log_events')
    this.#count = this.#counted()
  }

  add({
    id,
    timeMs,
    type,
    source,
    outcome,
    summary,
    payload,
    reason,
    share,
    triggers,
  }: StoredEvent): void {
    const payloadText = payload === undefined ? null : formatJson(payload)
    const row = [
      id,
      timeMs,
      type,
      source,
      outcome,
      formatJson(summary),
      payloadText,
      reason ?? null,
      share ?? null,
    ]
    const position = this.#insert.run(...row).lastInsertRowid
    for (const details of triggers) {
      const { application, pipelineId, executionId = null } = details
      this.#insertTrigger.run(
        position,
        foldName(application),
        pipelineId,
        executionId,
        formatJson(definedOf(details)),
      )
    }
    this.#count++
  }

  /** Removes what is too old or too much. @param shares Those that have grown */
  prune(now: number, shares: Iterable<string>): void {
    const mostOfShare = Math.floor(this.#maxEvents / shareParts)
    for (const share of shares) this.#removeOfShare.run(share, mostOfShare)
    this.#removeOlder.run(now - this.#maxAgeMs)
    if (this.#count <= this.#maxEvents) return
    const tooMany = this.#counted() - this.#maxEvents
    if (tooMany > 0) this.#removeOldest.run(tooMany)
    this.#count = this.#counted()
  }

  #counted(): number {
    return Number(this.#countAll.get()?.['count'])
  }

  /** Newest first. */
  list(filter: EventFilter, id?: string): JsonObject[] {
    const { application, pipeline, type, outcome, fromMs, before, limit } = filter
    const folded = application === undefined ? undefined : foldName(application)
    const values: Record<string, SQLInputValue | undefined> = {
      application: folded,
      pipeline,
      type,
      outcome,
      fromMs,
      before,
      id,
      limit,
    }
    const given = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, value ?? null]),
    )
    return this.#list.all(given).map((row) => this.#view(row, folded))
  }

  #view(row: Record<string, unknown>, application: string | undefined): JsonObject {
    const triggers = this.#triggers
      .all(Number(row['position']))
      .filter((each) => application === undefined || each['application'] === application)
    return definedOf({
      id: row['id'],
      time: Number(row['time_ms']),
      type: row['type'],
      source: row['source'],
      outcome: row['own_outcome'],
      summary: objectOf(parseJson(String(row['summary']))),
      payload: row['payload'] === null ? undefined : parseJson(String(row['payload'])),
      reason: row['reason'] ?? undefined,
      triggers: triggers.map(({ details }) => parseJson(String(details))),
    })
  }
}
