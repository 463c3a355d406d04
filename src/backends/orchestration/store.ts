/** Executions in SQLite: one row each, written whole, so that changes are atomic. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { parseJson, UnsafeJsonError } from '../../json/json.ts'
import { isObject } from '../../json/values.ts'
import { SharedPartStore } from '../hosting/shared-parts.ts'
import type { Execution, ExecutionType, Trigger } from './model.ts'
import { isComplete, type Status } from './statuses.ts'

export interface ExecutionStore {
  insert(execution: Execution, nextDue: number | undefined): void
  /** Where an execution stands, or would stand, among those that start one another. */
  lineageOf(execution: Execution): Lineage
  /** Writes everything but the trigger, which does not change after submission, unless nothing has changed. @returns whether it was written */
  save(execution: Execution, nextDue: number | undefined): boolean
  load(id: string): Execution | undefined
  typeOf(id: string): ExecutionType | undefined
  /** Characters of the record, its trigger excluded, as it was last read or written. */
  sizeOf(execution: Execution): number
  /** Bytes of a record that has not been read, its trigger included. */
  storedBytes(id: string): number
  /** Ends a record that cannot be read: its text is changed in place. @returns undefined when there is none */
  abandon(id: string, reason: string, now: number): AbandonedExecution | undefined
  /** Counts that the engine has ended before the execution got on; returns how often in a row. */
  countInterruption(id: string): number
  clearInterruptions(id: string): void
  remove(id: string): void
  /** Newest `limit` of one pipeline, newest first. */
  newestOfConfig(configId: string, limit: number, wanted: readonly Status[] | undefined): ExecutionKey[]
  /** Ids of tasks started at or after `startedSince` or not started: not-started first, then newest start first. */
  tasks(query: TaskQuery): string[]
  /** The next `limit` pipeline executions of one application, or of all, by build time. */
  searchPage(query: SearchQuery, after: SearchRow | undefined, limit: number): SearchRow[]
  /** Executions with this correlation id that have not ended, oldest first. */
  correlated(correlationId: string): { id: string; type: ExecutionType; application: string }[]
  /** Ids of the pipelines of which an application has runs. */
  configIds(application: string): string[]
  /** Ids of the running executions of a pipeline. */
  running(configId: string): string[]
  /** Those that wait for their turn, with their places in the row. */
  parked(configId: string): { id: string; parkedAt: string }[]
  /** Executions that have not ended, by status. */
  countIncomplete(): Partial<Record<Status, number>>
  /** The first of those that wait for their turn; a ULID made when it was parked. */
  firstParked(): string | undefined
  /** What the engine has to look at, with its time. */
  due(): { id: string; due: number }[]
}

interface Lineage {
  /** The first one; undefined when it is the execution itself. */
  root: string | undefined
  /** How many starts away from the first one. */
  depth: number
  /** Executions that descend from the first one. */
  relatives: number
}

/** What lists are put in order by. */
export interface ExecutionKey {
  id: string
  startTime: number | undefined
}

interface TaskQuery {
  application: string | undefined
  startedSince: number
  statuses: readonly Status[] | undefined
  offset: number
  limit: number
}

export type AbandonedExecution = Pick<Execution, 'id' | 'type' | 'application' | 'pipelineConfigId'>

export interface SearchQuery {
  application: string | undefined
  name: string | undefined
  /** The user of the submission or of the trigger. */
  user: string | undefined
  from: number
  to: number
  statuses: readonly Status[] | undefined
  oldestFirst: boolean
}

interface SearchRow {
  id: string
  buildTime: number
  /** Reads the trigger, which may be large. */
  trigger: () => Trigger
}

export function openExecutionStore(db: DatabaseSync): ExecutionStore {
  const insert = db.prepare(`
    INSERT INTO orchestration_executions
      (id, type, application, config_id, status, complete, correlation_id, build_time, start_time, parked_at, next_due, body, trigger,
       lineage_root, lineage_depth, user, trigger_user)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const place = db.prepare(
    'SELECT coalesce(lineage_root, id) AS root, lineage_depth AS depth FROM orchestration_executions WHERE id = ?',
  )
  const relatives = db.prepare('SELECT count(*) AS n FROM orchestration_executions WHERE lineage_root = ?')
  const update = db.prepare(`
    UPDATE orchestration_executions
    SET status = ?, complete = ?, start_time = ?, parked_at = ?, next_due = ?, body = ? WHERE id = ?`)
  const select = db.prepare('SELECT body, trigger FROM orchestration_executions WHERE id = ?')
  const measure = db.prepare(
    'SELECT octet_length(body) + octet_length(trigger) AS bytes FROM orchestration_executions WHERE id = ?',
  )
  const abandon = db.prepare(`
    UPDATE orchestration_executions
    SET status = 'TERMINAL', complete = 1, parked_at = NULL, next_due = NULL,
      body = CASE WHEN json_valid(body) THEN
        json_set(body, '$.status', 'TERMINAL', '$.endTime', ?, '$.canceled', json('true'), '$.canceledBy', 'spinnaker',
          '$.cancellationReason', ?, '$.engine.followUps', json('[]'))
        ELSE body END
    WHERE id = ? RETURNING type, application, config_id`)
  const interrupt = db.prepare(
    'UPDATE orchestration_executions SET interruptions = interruptions + 1 WHERE id = ? RETURNING interruptions',
  )
  const calm = db.prepare('UPDATE orchestration_executions SET interruptions = 0 WHERE id = ? AND interruptions > 0')
  const remove = db.prepare('DELETE FROM orchestration_executions WHERE id = ?')
  const correlated = db.prepare(
    'SELECT id, type, application FROM orchestration_executions WHERE correlation_id = ? AND complete = 0 ORDER BY id',
  )
  const running = db.prepare(
    "SELECT id FROM orchestration_executions WHERE complete = 0 AND status = 'RUNNING' AND config_id = ?",
  )
  const parked = db.prepare('SELECT id, parked_at FROM orchestration_executions WHERE config_id = ? AND parked_at IS NOT NULL')
  const configIds = db.prepare(`
    SELECT DISTINCT config_id FROM orchestration_executions
    WHERE application = ? AND type = 'PIPELINE' AND config_id IS NOT NULL`)
  const counted = db.prepare('SELECT status, count(*) AS n FROM orchestration_executions WHERE complete = 0 GROUP BY status')
  const firstParked = db.prepare('SELECT min(parked_at) AS first FROM orchestration_executions WHERE parked_at IS NOT NULL')
  const typed = db.prepare('SELECT type FROM orchestration_executions WHERE id = ?')
  const due = db.prepare('SELECT id, next_due FROM orchestration_executions WHERE next_due IS NOT NULL')

  const parts = new SharedPartStore(db, { prefix: 'orchestration', parse: parseStored, format: formatStored })
  /** The text of which a record was made, so that a record that did not change is not written. */
  const texts = new WeakMap<Execution, string>()
  const parseTrigger = (id: string, text: string): Trigger =>
    parts.restore(id, { trigger: parseStored(text) })['trigger'] as Trigger
  const parseRow = (row: Record<string, unknown>): Execution => {
    const execution = parseStored(row['body'] as string) as Execution
    execution.trigger = parseTrigger(execution.id, row['trigger'] as string)
    texts.set(execution, row['body'] as string)
    return execution
  }

  /** The parent is what the engine knows under the id that the trigger gives; one that is made up is none. */
  const lineageOf = (execution: Execution): Lineage => {
    const { parentExecution } = execution.trigger
    const parentId = isObject(parentExecution) ? parentExecution['id'] : undefined
    const parent = typeof parentId === 'string' ? place.get(parentId) : undefined
    if (parent === undefined) return { root: undefined, depth: 0, relatives: 0 }
    const root = String(parent['root'])
    return { root, depth: Number(parent['depth']) + 1, relatives: Number(relatives.get(root)?.['n']) }
  }

  return {
    lineageOf,
    insert(execution, nextDue) {
      const body = formatBody(execution)
      const { root, depth } = lineageOf(execution)
      const { user } = execution.authentication
      const trigger = parts.split({ trigger: execution.trigger })
      texts.set(execution, body)
      insert.run(
        execution.id,
        execution.type,
        execution.application,
        execution.pipelineConfigId ?? null,
        execution.status,
        isComplete(execution.status) ? 1 : 0,
        execution.trigger.correlationId ?? null,
        execution.buildTime,
        execution.startTime ?? null,
        execution.engine.parkedAt ?? null,
        nextDue ?? null,
        body,
        formatStored(trigger.rest['trigger']),
        root ?? null,
        depth,
        user ?? null,
        execution.trigger.user === user ? null : execution.trigger.user,
      )
      parts.keep(execution.id, trigger.parts)
    },
    save(execution, nextDue) {
      const body = formatBody(execution)
      if (body === texts.get(execution)) return false
      texts.set(execution, body)
      update.run(
        execution.status,
        isComplete(execution.status) ? 1 : 0,
        execution.startTime ?? null,
        execution.engine.parkedAt ?? null,
        nextDue ?? null,
        body,
        execution.id,
      )
      return true
    },
    typeOf: (id) => typed.get(id)?.['type'] as ExecutionType | undefined,
    load(id) {
      const row = select.get(id)
      return row === undefined ? undefined : parseRow(row)
    },
    sizeOf: (execution) => texts.get(execution)?.length ?? 0,
    storedBytes: (id) => Number(measure.get(id)?.['bytes'] ?? 0),
    abandon(id, reason, now) {
      const row = abandon.get(now, reason, id)
      if (row === undefined) return undefined
      const pipelineConfigId = (row['config_id'] ?? undefined) as string | undefined
      return { id, type: row['type'] as ExecutionType, application: String(row['application']), pipelineConfigId }
    },
    countInterruption: (id) => Number(interrupt.get(id)?.['interruptions'] ?? 0),
    clearInterruptions(id) {
      calm.run(id)
    },
    remove(id) {
      remove.run(id)
    },
    newestOfConfig(configId, limit, wanted) {
      const rows = db
        .prepare(
          `SELECT id, start_time FROM orchestration_executions
           WHERE config_id = ? AND type = 'PIPELINE'${statusCondition(wanted)} ORDER BY id DESC LIMIT ?`,
        )
        .all(configId, ...(wanted ?? []), limit)
      return rows.map((row) => ({ id: row['id'] as string, startTime: (row['start_time'] ?? undefined) as number | undefined }))
    },
    tasks(query) {
      const values: SQLInputValue[] = []
      if (query.application !== undefined) values.push(query.application)
      values.push(query.startedSince, ...(query.statuses ?? []), query.limit, query.offset)
      const rows = db
        .prepare(
          `SELECT id FROM orchestration_executions
           WHERE type = 'ORCHESTRATION'${query.application === undefined ? '' : ' AND application = ?'}
             AND (start_time IS NULL OR start_time >= ?)${statusCondition(query.statuses)}
           ORDER BY start_time IS NULL DESC, start_time DESC, id DESC LIMIT ? OFFSET ?`,
        )
        .all(...values)
      return rows.map((row) => row['id'] as string)
    },
    searchPage(query, after, limit) {
      // Each end of the range once: with two of them, SQLite would not begin where the last page has ended.
      const [first, last] = query.oldestFirst ? [query.from, query.to] : [query.to, query.from]
      const values: SQLInputValue[] = after === undefined ? [last, first] : [last, after.buildTime, after.id]
      if (query.application !== undefined) values.push(query.application)
      if (query.name !== undefined) values.push(query.name)
      values.push(...(query.statuses ?? []))
      const [direction, beyond, within] = query.oldestFirst ? ['ASC', '>', '<='] : ['DESC', '<', '>=']
      const begin = after === undefined ? `build_time ${beyond}= ?` : `(build_time, id) ${beyond} (?, ?)`
      const order = `ORDER BY build_time ${direction}, id ${direction} LIMIT ?`
      // With the sign, the application's index cannot win over the user's.
      const application = query.user === undefined ? 'application' : '+application'
      const page = (source: string) => `
        SELECT id, build_time, trigger FROM orchestration_executions ${source}
          type = 'PIPELINE' AND build_time ${within} ? AND ${begin} ${query.application === undefined ? '' : `AND ${application} = ?`}
          ${query.name === undefined ? '' : "AND json_extract(body, '$.name') = ?"}${statusCondition(query.statuses)}
          ${order}`
      const rows =
        query.user === undefined
          ? db.prepare(page('WHERE')).all(...values, limit)
          : db
              .prepare(
                `SELECT * FROM (${page('WHERE user = ? AND')}) UNION ALL SELECT * FROM (${page('WHERE trigger_user = ? AND')}) ${order}`,
              )
              .all(query.user, ...values, limit, query.user, ...values, limit, limit)
      return rows.map((row) => ({
        id: row['id'] as string,
        buildTime: Number(row['build_time']),
        trigger: () => parseTrigger(row['id'] as string, row['trigger'] as string),
      }))
    },
    correlated: (correlationId) =>
      correlated.all(correlationId).map((row) => ({
        id: row['id'] as string,
        type: row['type'] as ExecutionType,
        application: row['application'] as string,
      })),
    configIds: (application) => configIds.all(application).map((row) => row['config_id'] as string),
    running: (configId) => running.all(configId).map((row) => row['id'] as string),
    parked: (configId) => parked.all(configId).map((row) => ({ id: row['id'] as string, parkedAt: row['parked_at'] as string })),
    countIncomplete: () => Object.fromEntries(counted.all().map((row) => [String(row['status']), Number(row['n'])])),
    firstParked: () => (firstParked.get()?.['first'] ?? undefined) as string | undefined,
    due: () => due.all().map((row) => ({ id: row['id'] as string, due: Number(row['next_due']) })),
  }
}

/** What a service has answered may hold what a request may not; a record stays readable whatever is in it. */
function parseStored(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof UnsafeJsonError)) throw error
    return JSON.parse(text, (key, value) => (key === '__proto__' ? undefined : value))
  }
}

function statusCondition(wanted: readonly Status[] | undefined): string {
  return wanted === undefined ? '' : ` AND status IN (${wanted.map(() => '?').join(', ')})`
}

function formatBody(execution: Execution): string {
  return formatStored({ ...execution, trigger: undefined })
}

/** Members that are null are not stored: missing and null mean the same. Elements of arrays are written as null. */
export function formatStored(value: unknown): string {
  const text = JSON.stringify(value)
  // A replacer makes it three times as slow, and most records hold no null.
  if (!text.includes('null')) return text
  return JSON.stringify(value, (_key, member) => (member === null ? undefined : member))
}
