/** Executions in SQLite: a row each. Stages of long ones have rows of their own, and a step writes those that it has changed. */
import type { DatabaseSync, SQLTagStore } from 'node:sqlite'
import { Attached } from '@fairlead/base/caches/attached.ts'
import { parseJson, UnsafeJsonError } from '@fairlead/base/json/json.ts'
import type { GroupCommit } from '@fairlead/base/storage/group-commit.ts'
import { SharedPartStore } from '@fairlead/base/storage/shared-parts.ts'
import type { KeptStage } from './kept-stage.ts'
import {
  type Execution,
  type ExecutionType,
  hasFailedToStart,
  originOf,
  type Stage,
  type Trigger,
} from './model.ts'
import {
  authorMarksOf,
  markOfTerms,
  searchMarks,
  searchMarksOf,
  searchTextOf,
} from './search-text.ts'
import { maskExecution } from './secrets.ts'
import {
  noStages,
  type StageChange,
  type StageEntry,
  StageRows,
  type StoredStages,
} from './stage-rows.ts'
import { isComplete, type Status } from './statuses.ts'

interface Lineage {
  /** The first one; undefined when it is the execution itself. */
  root: string | undefined
  /** How many starts away from the first one. */
  depth: number
  /** Executions that descend from the first one. */
  relatives: number
}

/** What lists are put in order by; one that ended without having begun has the time of its submission. */
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
  /** Types of triggers; all unless given. */
  types?: readonly string[]
  /** Event that has started it. */
  eventId?: string | undefined
  /** Marks of authors, of whom one is enough. */
  authors?: readonly string[]
  /** What its text contains. @see searchTextOf */
  terms?: readonly string[]
}

export interface SearchRow {
  id: string
  buildTime: number
  /** Whether it has the wanted types and terms. */
  matches: boolean
  /** Reads the trigger, which may be large; undefined if the execution was removed meanwhile. */
  trigger: () => Trigger | undefined
}

/** An execution that has ended, and that the engine need not look at any more. */
export interface EndedRow {
  readonly id: string
  readonly application: string
  readonly configId: string | null
  readonly buildTime: number
}

/** A record as it was last read or written, so that what has not changed is not written. */
interface Known {
  readonly body: string
  readonly stages: StoredStages
  /** The next step may go on with the execution that this one had. */
  readonly isForStep: boolean
}

/** Executions among which one is looked for that has started. */
const mostLookedAt = 50
/** Characters. Shorter records are read and written faster as one. */
const usualBodyLength = 32_768

export class ExecutionStore {
  readonly #db: DatabaseSync
  readonly #commits: GroupCommit
  readonly #sql: SQLTagStore
  readonly #parts: SharedPartStore
  readonly #stages: StageRows
  readonly #maxBodyLength: number
  readonly #known = new Attached<Execution, Known>()

  /** @param maxBodyLength Of a record, until which its stages stand in its body */
  constructor(db: DatabaseSync, commits: GroupCommit, maxBodyLength = usualBodyLength) {
    this.#db = db
    this.#commits = commits
    this.#sql = db.createTagStore()
    this.#parts = new SharedPartStore(db, {
      prefix: 'orchestration',
      parse: parseStored,
      format: formatStored,
    })
    this.#stages = new StageRows(db, { parse: parseStored, format: formatStored })
    this.#maxBodyLength = maxBodyLength
  }

  insert(execution: Execution, nextDue: number | undefined): void {
    const {
      id,
      type,
      application,
      pipelineConfigId,
      status,
      buildTime,
      startTime,
      engine,
      authentication,
    } = execution
    const { correlationId, user: triggerUser } = execution.trigger
    const { user } = authentication
    const { root, depth } = this.lineageOf(execution)
    const trigger = this.#parts.split({ trigger: execution.trigger })
    const { change, body } = this.#compare(execution, noStages)
    const revision = this.#stages.nextRevision()
    this.#sql.run`
      INSERT INTO orchestration_executions
        (id, type, application, config_id, status, complete, correlation_id, build_time, start_time, parked_at, next_due, body,
         trigger, lineage_root, lineage_depth, user, trigger_user, revision)
      VALUES (${id}, ${type}, ${application}, ${pipelineConfigId ?? null}, ${status}, ${Number(isComplete(status))},
        ${correlationId ?? null}, ${buildTime}, ${startTime ?? null}, ${engine.parkedAt ?? null}, ${nextDue ?? null},
        ${body}, ${formatStored(trigger.rest['trigger'])}, ${root ?? null}, ${depth}, ${user ?? null},
        ${triggerUser === user ? null : triggerUser}, ${revision})`
    this.#note(execution, body, change, revision)
    this.#parts.keep(id, trigger.parts)
    if (type !== 'PIPELINE') return
    const text = searchTextOf(maskExecution(execution))
    this.#sql
      .run`INSERT INTO orchestration_searched VALUES (${id}, ${execution.trigger.type}, ${text})`
    this.#mark(execution, searchMarksOf(execution, text))
  }

  #mark({ id, application, buildTime }: Execution, marks: Iterable<string>): void {
    for (const mark of marks)
      this.#sql
        .run`INSERT OR IGNORE INTO orchestration_search_marks VALUES (${application}, ${mark}, ${buildTime}, ${id})`
  }

  /** Writes everything but the trigger, which does not change after submission, unless nothing has changed. @returns whether it was written */
  save(execution: Execution, nextDue: number | undefined): boolean {
    const known = this.#known.get(execution)
    const { change, body } = this.#compare(execution, known?.stages ?? noStages)
    if (body === known?.body && change.written.size + change.removed.length === 0) {
      this.#keep(execution, known)
      return false
    }
    const { id, status, startTime, engine } = execution
    const revision = this.#stages.nextRevision()
    this.#sql.run`
      UPDATE orchestration_executions
      SET status = ${status}, complete = ${Number(isComplete(status))}, start_time = ${startTime ?? null},
        parked_at = ${engine.parkedAt ?? null}, next_due = ${nextDue ?? null}, body = ${body}, revision = ${revision} WHERE id = ${id}`
    this.#note(execution, body, change, revision)
    if (execution.type === 'PIPELINE' && isComplete(status)) {
      this.#sql
        .run`UPDATE orchestration_searched SET text = ${searchTextOf(maskExecution(execution))} WHERE id = ${id}`
      this.#mark(execution, authorMarksOf(engine))
    }
    return true
  }

  /** Stages leave the body of a record that has become long, and stay out of it. */
  #compare(execution: Execution, known: StoredStages): { change: StageChange; body: string } {
    if (known.stages.length === 0) {
      const body = formatBody(execution, execution.stages)
      if (body.length <= this.#maxBodyLength)
        return { change: { ...noStages, written: new Map(), removed: [] }, body }
    }
    const change = this.#stages.compare(execution.stages, known)
    return { change, body: formatBody(execution, undefined) }
  }

  /** Writes the stages that have changed. A transaction that is rolled back leaves a revision that no record has. */
  #note(execution: Execution, body: string, change: StageChange, revision: number): void {
    this.#stages.write(execution.id, change)
    const stages = { revision, stages: change.stages, length: change.length, list: change.list }
    const isForStep = this.#known.get(execution)?.isForStep === true
    this.#keep(execution, { body, stages, isForStep })
  }

  #keep(execution: Execution, known: Known): void {
    this.#known.set(execution, known)
    const { stages, isForStep } = known
    if (stages.length > 0) this.#stages.keep(execution, stages, isForStep)
  }

  load(id: string): Execution | undefined {
    return this.#load(id, false)
  }

  /**
   * For a step of the machine, which calls `ownParts` before it changes a stage that is not active. A long execution that goes on is the
   * one that the last step had, so that what steps do not change costs them nothing; others get copies.
   */
  loadForStep(id: string): Execution | undefined {
    const execution = this.#stages.take(
      id,
      () =>
        this.#sql.get`SELECT revision FROM orchestration_executions WHERE id = ${id}`?.['revision'],
    )
    return execution ?? this.#load(id, true)
  }

  #load(id: string, isForStep: boolean): Execution | undefined {
    const row = this.#sql
      .get`SELECT body, trigger, revision FROM orchestration_executions WHERE id = ${id}`
    if (row === undefined) return undefined
    const body = row['body'] as string
    const execution = parseStored(body) as Execution
    const inBody: readonly StageEntry[] | undefined = execution.stages
    const hasRows = inBody?.every((entry) => typeof entry !== 'string') !== true
    const stages = hasRows ? this.#stages.load(id, Number(row['revision']), inBody) : noStages
    if (hasRows) {
      const isOver = isComplete(execution.status)
      const entries = inBody ?? this.#stages.entriesOf(stages.list)
      const kept = stages.stages.values()
      // Of one that is over, nothing is shared: it is not read again soon.
      execution.stages = entries.map((entry) => {
        if (typeof entry !== 'string') return entry
        const stage = kept.next().value as KeptStage
        return isOver ? stage.read() : stage.copy(isForStep)
      })
      this.#stages.keep(execution, stages, false)
    }
    execution.trigger = this.#parseTrigger(execution.id, row['trigger'])
    this.#known.set(execution, { body, stages, isForStep })
    return execution
  }

  #parseTrigger(id: string, text: unknown): Trigger {
    return this.#parts.restore(id, { trigger: parseStored(text as string) })['trigger'] as Trigger
  }

  /**
   * Where an execution stands, or would stand, among those that start one another. The parent is what the engine knows under the id
   * that the trigger gives; one that is made up is none.
   */
  lineageOf({ trigger }: Execution): Lineage {
    const parentId = originOf(trigger).run.id
    const parent =
      parentId === undefined
        ? undefined
        : this.#sql.get`
      SELECT coalesce(lineage_root, id) AS root, lineage_depth AS depth FROM orchestration_executions WHERE id = ${parentId}`
    if (parent === undefined) return { root: undefined, depth: 0, relatives: 0 }
    const root = String(parent['root'])
    const relatives = this.#sql
      .get`SELECT count(*) AS n FROM orchestration_executions WHERE lineage_root = ${root}`
    return { root, depth: Number(parent['depth']) + 1, relatives: Number(relatives?.['n']) }
  }

  typeOf(id: string): ExecutionType | undefined {
    return this.#sql.get`SELECT type FROM orchestration_executions WHERE id = ${id}`?.['type'] as
      | ExecutionType
      | undefined
  }

  /** Makes an execution anew as it is now; undefined for long ones. */
  asItIs(execution: Execution): (() => Execution) | undefined {
    const body = formatBody(execution, execution.stages)
    if (body.length > this.#maxBodyLength) return undefined
    return () => ({ ...(parseStored(body) as Execution), trigger: execution.trigger })
  }

  /** Characters of the record, its trigger excluded, as it was last read or written. */
  sizeOf(execution: Execution): number {
    const known = this.#known.get(execution)
    return known === undefined ? 0 : known.body.length + known.stages.length
  }

  /** Bytes of a record, its trigger included; stages that are in memory count by their characters. */
  storedBytes(id: string): number {
    const row = this.#sql.get`
      SELECT octet_length(body) + octet_length(trigger) AS bytes, revision FROM orchestration_executions WHERE id = ${id}`
    if (row === undefined) return 0
    return Number(row['bytes']) + this.#stages.lengthOf(id, Number(row['revision']))
  }

  /** Ends a record that cannot be read: its text is changed in place. @returns undefined when there is none */
  abandon(id: string, reason: string, now: number): AbandonedExecution | undefined {
    const row = this.#sql.get`
      UPDATE orchestration_executions
      SET status = 'TERMINAL', complete = 1, parked_at = NULL, next_due = NULL,
        body = CASE WHEN json_valid(body) THEN
          json_set(body, '$.status', 'TERMINAL', '$.endTime', ${now}, '$.canceled', json('true'), '$.canceledBy', 'spinnaker',
            '$.cancellationReason', ${reason}, '$.engine.followUps', json('[]'))
          ELSE body END
      WHERE id = ${id} RETURNING id, type, application, config_id AS pipelineConfigId`
    if (row === undefined) return undefined
    return { ...row, pipelineConfigId: row['pipelineConfigId'] ?? undefined } as AbandonedExecution
  }

  /** Counts that the engine has ended before the execution got on; returns how often in a row. */
  countInterruption(id: string): number {
    const row = this.#commits.transact(
      () => this.#sql.get`
        UPDATE orchestration_executions SET interruptions = interruptions + 1 WHERE id = ${id} RETURNING interruptions`,
    )
    return Number(row?.['interruptions'] ?? 0)
  }

  clearInterruptions(id: string): void {
    this.#commits.transact(
      () =>
        this.#sql
          .run`UPDATE orchestration_executions SET interruptions = 0 WHERE id = ${id} AND interruptions > 0`,
    )
  }

  /** The next ones behind one, the oldest first. */
  ended(type: ExecutionType, after: EndedRow | undefined, limit: number): EndedRow[] {
    return this.#db
      .prepare(
        `SELECT id, application, config_id AS configId, build_time AS buildTime FROM orchestration_executions
         WHERE type = '${type}' AND complete = 1 AND next_due IS NULL AND (build_time, id) > (?, ?) ORDER BY build_time, id LIMIT ?`,
      )
      .all(after?.buildTime ?? -1, after?.id ?? '', limit) as unknown as EndedRow[]
  }

  /** Whether there are so many newer ones of the same pipeline, or of the application without one; only those built before a time. */
  hasNewer(
    { configId, application, buildTime, id }: EndedRow,
    type: ExecutionType,
    count: number,
    before = Number.MAX_SAFE_INTEGER,
  ): boolean {
    const same =
      configId === null || type === 'ORCHESTRATION'
        ? 'application = ? AND config_id IS NULL'
        : 'config_id = ?'
    const newer = `SELECT 1 FROM orchestration_executions
      WHERE type = '${type}' AND ${same} AND (build_time, id) > (?, ?) AND build_time < ? LIMIT ?`
    const found = this.#db
      .prepare(`SELECT count(*) AS n FROM (${newer})`)
      .get(configId ?? application, buildTime, id, before, count)
    return Number(found?.['n']) >= count
  }

  isEnded(id: string): boolean {
    return (
      this.#sql
        .get`SELECT 1 FROM orchestration_executions WHERE id = ${id} AND complete = 1 AND next_due IS NULL` !==
      undefined
    )
  }

  /** Whether a run of the same row has not ended, a message about it is to be sent, or no newer one of its pipeline has succeeded. */
  isReferred({ id, configId }: EndedRow): boolean {
    const found = this.#sql.get`
      WITH own AS (SELECT coalesce(lineage_root, id) AS root FROM orchestration_executions WHERE id = ${id})
      SELECT EXISTS (SELECT 1 FROM orchestration_executions, own WHERE complete = 0 AND (lineage_root = root OR id = root))
        OR EXISTS (SELECT 1 FROM orchestration_notices WHERE execution_id = ${id})
        OR ${id} = (SELECT id FROM orchestration_executions
          WHERE config_id = ${configId} AND type = 'PIPELINE' AND status = 'SUCCEEDED' ORDER BY id DESC LIMIT 1) AS is_referred`
    return found?.['is_referred'] === 1
  }

  /** The record as it is stored, without its trigger. */
  textOf(id: string): string | undefined {
    const row = this.#sql.get`
      SELECT body || coalesce((SELECT group_concat(body) FROM orchestration_stages WHERE execution_id = ${id}), '') AS text
      FROM orchestration_executions WHERE id = ${id}`
    return row?.['text'] as string | undefined
  }

  /** Whether one that has not ended has this text in it. */
  isMentioned(text: string): boolean {
    return (
      this.#sql.get`
        SELECT 1 FROM orchestration_executions AS execution WHERE complete = 0 AND (instr(body, ${text}) OR instr(trigger, ${text})
          OR EXISTS (SELECT 1 FROM orchestration_stages WHERE execution_id = execution.id AND instr(body, ${text}))) LIMIT 1` !==
      undefined
    )
  }

  remove(id: string): void {
    this.#sql.run`DELETE FROM orchestration_executions WHERE id = ${id}`
  }

  /** Newest `limit` of one pipeline, newest first. */
  newestOfConfig(
    configId: string,
    limit: number,
    wanted: readonly Status[] | undefined,
  ): ExecutionKey[] {
    const rows = this.#db
      .prepare(
        `SELECT id, iif(complete, coalesce(start_time, build_time), start_time) AS start_time FROM orchestration_executions
         WHERE config_id = ? AND type = 'PIPELINE'${statusCondition(wanted)} ORDER BY ${goOn(wanted) ? '+' : ''}id DESC LIMIT ?`,
      )
      .all(configId, ...(wanted ?? []), limit)
    return rows.map((row) => ({
      id: row['id'] as string,
      startTime: (row['start_time'] ?? undefined) as number | undefined,
    }))
  }

  /** The newest one that has not failed to start: what that received says nothing about the pipeline. */
  newestStarted(
    configId: string,
    { except, statuses }: { except?: string; statuses?: readonly Status[] | undefined } = {},
  ): Execution | undefined {
    return this.newestOfConfig(configId, mostLookedAt, statuses)
      .values()
      .filter(({ id }) => id !== except)
      .map(({ id }) => this.load(id))
      .find((run) => run !== undefined && !hasFailedToStart(run))
  }

  newestRun(configId: string): Execution | undefined {
    const [newest] = this.newestOfConfig(configId, 1, undefined)
    return newest && this.load(newest.id)
  }

  /** Ids of tasks started at or after `startedSince` or not started: not-started first, then newest start first. */
  tasks({ application, startedSince, statuses, limit, offset }: TaskQuery): string[] {
    const rows = this.#db
      .prepare(
        `SELECT id FROM orchestration_executions
         WHERE type = 'ORCHESTRATION'${application === undefined ? '' : ' AND application = ?'}
           AND (start_time IS NULL OR start_time >= ?)${statusCondition(statuses)}
         ORDER BY start_time IS NULL DESC, start_time DESC, id DESC LIMIT ? OFFSET ?`,
      )
      .all(...given(application), startedSince, ...(statuses ?? []), limit, offset)
    return rows.map((row) => row['id'] as string)
  }

  /** The next `limit` pipeline executions of one application, or of all, by build time, also those without the wanted types and terms. */
  searchPage(query: SearchQuery, after: SearchRow | undefined, limit: number): SearchRow[] {
    const { application, from, to, statuses, oldestFirst, types = [], terms = [] } = query
    // Each end of the range once: with two of them, SQLite would not begin where the last page has ended.
    const [first, last] = oldestFirst ? [from, to] : [to, from]
    const start = after === undefined ? [first] : [after.buildTime, after.id]
    const [direction, beyond, within] = oldestFirst ? ['ASC', '>', '<='] : ['DESC', '<', '>=']
    const orderBy = (at: string) =>
      `ORDER BY ${at}build_time ${direction}, ${at}id ${direction} LIMIT ?`
    const [sources, marks] = sourcesOf(query)
    const pages = sources.map(({ table, values, at, column }) => ({
      sql: `
        SELECT run.id, run.build_time, ${searchedCondition(types, terms)} AS matches FROM ${table}
          run.type = 'PIPELINE' AND ${at}.build_time ${within} ? AND
          ${after === undefined ? `${at}.build_time ${beyond}= ?` : `(${at}.build_time, ${at}.id) ${beyond} (?, ?)`}
          ${application === undefined ? '' : `AND ${column} = ?`}${statusCondition(statuses)}
          ${marks.map(() => `AND ${hasMark}`).join(' ')} ${orderBy(`${at}.`)}`,
      values: [
        ...[...types, ...terms, ...values, last, ...start, ...given(application)],
        ...[...(statuses ?? []), ...marks, limit],
      ],
    }))
    const [page] = pages
    const rows =
      page !== undefined && pages.length === 1
        ? this.#db.prepare(page.sql).all(...page.values)
        : this.#db
            .prepare(
              `${pages.map(({ sql }) => `SELECT * FROM (${sql})`).join(' UNION ALL ')} ${orderBy('')}`,
            )
            .all(...pages.flatMap(({ values }) => values), limit)
    return rows.map((row) => ({
      id: row['id'] as string,
      buildTime: Number(row['build_time']),
      matches: row['matches'] === 1,
      trigger: () => this.#triggerOf(row['id'] as string),
    }))
  }

  #triggerOf(id: string): Trigger | undefined {
    const row = this.#sql.get`SELECT trigger FROM orchestration_executions WHERE id = ${id}`
    return row && this.#parseTrigger(id, row['trigger'])
  }

  /** Executions with this correlation id that have not ended, oldest first. */
  correlated(correlationId: string): Pick<Execution, 'id' | 'type' | 'application'>[] {
    return this.#sql.all`
      SELECT id, type, application FROM orchestration_executions
      WHERE correlation_id = ${correlationId} AND complete = 0 ORDER BY id` as unknown as ReturnType<
      this['correlated']
    >
  }

  /** Ids of the pipelines of which an application has runs. */
  configIds(application: string): string[] {
    const rows = this.#sql.all`
      SELECT DISTINCT config_id FROM orchestration_executions
      WHERE application = ${application} AND type = 'PIPELINE' AND config_id IS NOT NULL`
    return rows.map((row) => row['config_id'] as string)
  }

  /** Ids of the executions of a pipeline that have begun and not ended. */
  begun(configId: string): string[] {
    const rows = this.#sql.all`
      SELECT id FROM orchestration_executions
      WHERE complete = 0 AND status IN ('RUNNING', 'PAUSED') AND config_id = ${configId}`
    return rows.map((row) => row['id'] as string)
  }

  /** Ids of the executions of an application that have begun and not ended. The sign keeps SQLite off all that have ended. */
  active(application: string): string[] {
    const rows = this.#sql.all`
      SELECT id FROM orchestration_executions
      WHERE complete = 0 AND status IN ('RUNNING', 'PAUSED') AND +application = ${application}`
    return rows.map((row) => row['id'] as string)
  }

  /** Executions that wait for their turn, with their places in the row. */
  parked(configId: string): { id: string; parkedAt: string }[] {
    return this.#sql.all`
      SELECT id, parked_at AS parkedAt FROM orchestration_executions
      WHERE config_id = ${configId} AND parked_at IS NOT NULL` as unknown as ReturnType<
      this['parked']
    >
  }

  /** Executions that have not ended, by status. */
  countIncomplete(): Partial<Record<Status, number>> {
    const rows = this.#sql
      .all`SELECT status, count(*) AS n FROM orchestration_executions WHERE complete = 0 GROUP BY status`
    return Object.fromEntries(rows.map((row) => [String(row['status']), Number(row['n'])]))
  }

  /** The first of those that wait for their turn; a ULID made when it was parked. */
  firstParked(): string | undefined {
    const row = this.#sql
      .get`SELECT min(parked_at) AS first FROM orchestration_executions WHERE parked_at IS NOT NULL`
    return (row?.['first'] ?? undefined) as string | undefined
  }

  /** What the engine has to look at, with its time. */
  due(): { id: string; due: number }[] {
    return this.#sql.all`
      SELECT id, next_due AS due FROM orchestration_executions
      WHERE next_due IS NOT NULL` as unknown as ReturnType<this['due']>
  }
}

/** @param stages Those without rows; undefined: they have rows, and a list there */
function formatBody(execution: Execution, stages: readonly Stage[] | undefined): string {
  return formatStored({ ...execution, trigger: undefined, stages })
}

/** What `parseJson` may read otherwise than JSON.parse does, in a text that JSON.stringify has written: some keys and numbers. */
const readWithCare = /__proto__|\\u005[fF]|[:[,]-?(?:[\d.]{16}|[\d.]+[eE])/

/** What a service has answered may hold what a request may not; a record stays readable whatever is in it. */
function parseStored(text: string): unknown {
  if (!readWithCare.test(text)) return JSON.parse(text)
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof UnsafeJsonError)) throw error
    return JSON.parse(text, (key, value) => (key === '__proto__' ? undefined : value))
  }
}

/** Few do: they have an index of their own, which SQLite takes where a sign keeps it off the others. */
function goOn(wanted: readonly Status[] | undefined): boolean {
  return wanted !== undefined && !wanted.some(isComplete)
}

function statusCondition(wanted: readonly Status[] | undefined): string {
  if (wanted === undefined) return ''
  return `${goOn(wanted) ? ' AND complete = 0' : ''} AND status IN (${wanted.map(() => '?').join(', ')})`
}

const hasMark = `EXISTS (SELECT 1 FROM orchestration_search_marks AS other WHERE other.application = run.application
  AND other.mark = ? AND other.build_time = run.build_time AND other.id = run.id)`

interface SearchSource {
  readonly table: string
  readonly values: readonly string[]
  /** The table that has the order. */
  readonly at: string
  readonly column: string
}

/** Where a search begins, and the marks that are to be looked for besides. */
function sourcesOf({
  user,
  name,
  eventId,
  statuses,
  types = [],
  terms = [],
  authors = [],
}: SearchQuery): readonly [readonly SearchSource[], readonly string[]] {
  const marks = [
    eventId === undefined ? undefined : searchMarks.event(eventId),
    markOfTerms(terms),
    name === undefined ? undefined : searchMarks.name(name),
  ].filter((mark) => mark !== undefined)
  const [mark] = marks
  const ofUser = user === undefined ? '' : '? IN (run.user, run.trigger_user) AND'
  if (goOn(statuses) && authors.length === 0)
    return [
      [
        {
          table: `orchestration_executions AS run WHERE ${ofUser}`,
          values: given(user),
          at: '+run',
          column: '+run.application',
        },
      ],
      marks,
    ]
  const first =
    authors.length > 0 ? authors : mark === undefined ? types.map(searchMarks.type) : [mark]
  if (first.length > 0) {
    const sources = first.map(
      (one): SearchSource => ({
        table: `orchestration_search_marks AS marked CROSS JOIN orchestration_executions AS run
        WHERE run.id = marked.id AND marked.mark = ? AND ${ofUser}`,
        values: [one, ...given(user)],
        at: 'marked',
        column: 'marked.application',
      }),
    )
    return [sources, authors.length > 0 ? marks : marks.slice(1)]
  }
  const runs = { at: 'run', values: given(user) }
  if (user === undefined)
    return [
      [{ ...runs, table: 'orchestration_executions AS run WHERE', column: 'run.application' }],
      [],
    ]
  const sources = ['user', 'trigger_user'].map((who) => ({
    ...runs,
    table: `orchestration_executions AS run WHERE run.${who} = ? AND`,
    // With the sign, the application's index cannot win over the user's.
    column: '+run.application',
  }))
  return [sources, []]
}

function searchedCondition(types: readonly string[], terms: readonly string[]): string {
  if (types.length + terms.length === 0) return '1'
  const ofTypes =
    types.length === 0 ? '' : ` AND trigger_type IN (${types.map(() => '?').join(', ')})`
  return `EXISTS (SELECT 1 FROM orchestration_searched AS searched WHERE searched.id = run.id${ofTypes}
    ${terms.map(() => "AND instr(lower(run.id || ' ' || run.application) || text, ?) > 0").join(' ')})`
}

function given<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value]
}

/** Members that are null are not stored: missing and null mean the same. Elements of arrays are written as null. */
export function formatStored(value: unknown): string {
  const text = JSON.stringify(value)
  // A replacer makes it three times as slow, and most records hold no null.
  if (!text.includes('null')) return text
  return JSON.stringify(value, (_key, member) => (member === null ? undefined : member))
}
