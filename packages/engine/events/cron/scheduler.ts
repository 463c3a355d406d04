/** Scheduler of cron triggers: it follows the definitions and stores each start exactly once. */

import { randomUUID } from 'node:crypto'
import type { SQLTagStore } from 'node:sqlite'
import { definedOf, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import { readPipeline, readTrigger } from '@fairlead/model/pipelines/definition.ts'
import { type CronExpression, parseCron } from '@fairlead/model/schedules/cron-expression.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { type EventRecord, toOutcome } from '@fairlead/ports/event-record.ts'
import { loadAccess } from '@fairlead/ports/rights/access.ts'
import type { EffectivePipeline, EffectivePipelines } from '../../pipelines/effective-pipelines.ts'
import type { EventLog } from '../event-log.ts'
import { describeForbiddenStart, toIdentity } from '../identity.ts'
import { loadFreshPipeline } from '../pipelines.ts'
import { describeQuiet } from '../quiet-period.ts'
import type { Start } from '../start.ts'
import type { Starts } from '../starts.ts'
import { TriggeredPipelines } from '../triggered-pipelines.ts'
import { nextTime } from './next-time.ts'
import { withoutSpread } from './spread.ts'

export const cronMigrations = [
  `CREATE TABLE events_cron (
     trigger_key TEXT PRIMARY KEY,
     fired_ms INTEGER NOT NULL
   ) STRICT`,
]

interface ScheduleEntry {
  key: string
  pipeline: JsonObject
  trigger: JsonObject
  cron: CronExpression
  /** Milliseconds since the epoch; undefined when it never fires again. */
  dueMs: number | undefined
}

/** Later than this a time counts as missed while the service was down, and is not made up for. */
const maxLateMs = 60_000

/** A read that has failed is retried after so many looks. */
const retriedLooks = 5

interface CronParts {
  context: BackendContext
  starts: Starts
  pipelines: EffectivePipelines
  log: EventLog
  /** How often it looks for changed definitions, and at the clock at least. */
  lookEveryMs: number
}

export class CronScheduler {
  readonly #context: BackendContext
  readonly #starts: Starts
  readonly #pipelines: EffectivePipelines
  readonly #log: EventLog
  readonly #triggered: TriggeredPipelines
  readonly #lookEveryMs: number
  readonly #sql: SQLTagStore
  /** Triggers that the latest definitions have and that are ignored. */
  #warned: ReadonlySet<string> = new Set()
  #schedule = new Map<string, ScheduleEntry>()
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #lookedAtMs = Number.NEGATIVE_INFINITY

  constructor({ context, starts, pipelines, log, lookEveryMs }: CronParts) {
    this.#context = context
    this.#starts = starts
    this.#pipelines = pipelines
    this.#log = log
    this.#triggered = new TriggeredPipelines({
      context,
      pipelines,
      types: ['cron'],
      retryMs: retriedLooks * lookEveryMs,
    })
    this.#lookEveryMs = lookEveryMs
    this.#sql = context.db.createTagStore()
  }

  start(): void {
    // What fired long ago cannot fire again: its time is missed by now.
    this.#sql.run`DELETE FROM events_cron WHERE fired_ms < ${this.#context.now() - 60 * maxLateMs}`
    void this.#look()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    const failed = await this.#mayFail(async () => {
      this.#heedClock()
      const changed = await this.#triggered.readChanged()
      if (this.#closed) return false
      if (changed !== undefined) this.#follow(changed)
      return this.#fireDue()
    })
    if (this.#closed) return
    const waitMs = failed
      ? this.#lookEveryMs
      : Math.min(this.#nextMs() - this.#context.now(), this.#lookEveryMs)
    this.#timer = setTimeout(() => void this.#look(), Math.max(1, waitMs))
  }

  /** Times that were computed before the clock was set back would come that much later. */
  #heedClock(): void {
    const now = this.#context.now()
    if (now < this.#lookedAtMs - maxLateMs) {
      for (const entry of this.#schedule.values()) entry.dueMs = this.#nextDue(entry)
    }
    this.#lookedAtMs = now
  }

  #nextMs(): number {
    let nextMs = Number.POSITIVE_INFINITY
    for (const { dueMs = nextMs } of this.#schedule.values()) nextMs = Math.min(nextMs, dueMs)
    return nextMs
  }

  /** @returns whether it has failed, or says so itself. */
  async #mayFail(work: () => Promise<boolean>, pipeline?: unknown): Promise<boolean> {
    try {
      return await work()
    } catch (error) {
      this.#context.log.error({ err: error, pipeline }, 'cron triggers failed and are retried')
      return true
    }
  }

  #follow(pipelines: readonly EffectivePipeline[]): void {
    const warned = new Set<string>()
    const entries = pipelines.flatMap((pipeline) => this.#entriesOf(pipeline, warned))
    this.#warned = warned
    this.#schedule = new Map(entries.map((entry) => [entry.key, entry]))
  }

  /** @param warned Takes the keys of triggers that are ignored. */
  #entriesOf(
    { definition: pipeline, isDisabled, triggers }: EffectivePipeline,
    warned: Set<string>,
  ): ScheduleEntry[] {
    if (isDisabled) return []
    const ignore = (key: string, expression: string, reason: string) => {
      if (!this.#warned.has(key) && !warned.has(key)) {
        this.#context.log.warn(
          { pipeline: pipeline['id'], expression, reason },
          'A cron trigger is ignored.',
        )
      }
      warned.add(key)
    }
    return triggers.flatMap((trigger): ScheduleEntry[] => {
      if (!isActive(trigger)) return []
      const expression = String(trigger['cronExpression'] ?? '')
      const { id = '', timeZone } = readTrigger(trigger)
      const key = JSON.stringify([pipeline['id'], trigger['id'], expression].concat(timeZone ?? []))
      const known = this.#schedule.get(key)
      if (known !== undefined) return [{ ...known, pipeline, trigger }]
      try {
        const cron = parseCron(withoutSpread(expression, id))
        const dueMs = this.#nextDue({ cron, key, trigger })
        if (dueMs === undefined) ignore(key, expression, 'it never comes true')
        return [{ key, pipeline, trigger, cron, dueMs }]
      } catch (error) {
        ignore(key, expression, (error as Error).message)
        return []
      }
    })
  }

  /** In the time zone of the trigger, if it has one. */
  #nextDue({
    cron,
    key,
    trigger,
  }: Pick<ScheduleEntry, 'cron' | 'key' | 'trigger'>): number | undefined {
    const now = this.#context.now()
    const row = this.#sql.get`SELECT fired_ms FROM events_cron WHERE trigger_key = ${key}`
    const fired = Number(row?.['fired_ms'] ?? 0)
    // A clock that was corrected does not fire again; what lies further ahead is from before it was set back.
    return nextTime(
      cron,
      fired > now + maxLateMs ? now : Math.max(now, fired),
      readTrigger(trigger).timeZone ?? this.#context.settings.timeZone,
    )
  }

  /** One that fails stays due and does not keep the others back. @returns whether any has failed. */
  async #fireDue(): Promise<boolean> {
    const now = this.#context.now()
    const due = [...this.#schedule.values()].filter(
      ({ dueMs }) => dueMs !== undefined && dueMs <= now,
    )
    const failures = await callInTurns(due, (entry) =>
      this.#mayFail(async () => {
        await this.#fire(entry, entry.dueMs as number, now)
        return false
      }, entry.pipeline['id']),
    )
    return failures.includes(true)
  }

  async #fire(entry: ScheduleEntry, dueMs: number, now: number): Promise<void> {
    const missed = now - dueMs > maxLateMs
    const start = missed ? undefined : await this.#toStart(entry)
    if (this.#closed) return
    if (missed) {
      this.#context.log.warn(
        { pipeline: entry.pipeline['id'], dueMs },
        'A cron trigger was missed and is not made up for.',
      )
      this.#log.add(
        toRecord(entry, {
          reason: `It was missed, as it was due at ${new Date(dueMs).toISOString()}.`,
        }),
      )
    }
    if (start !== undefined) this.#carryOut(entry, dueMs, start)
    const current = this.#schedule.get(entry.key)
    if (current !== undefined) current.dueMs = this.#nextDue(entry)
  }

  /** @param start Or why there is none */
  #carryOut(entry: ScheduleEntry, dueMs: number, start: Start | string): void {
    const reason = typeof start === 'string' ? start : describeQuiet(this.#context, start)
    if (typeof start === 'string' || reason !== undefined) {
      this.#log.add(toRecord(entry, { reason: String(reason) }))
      return
    }
    const stored = inTransaction(this.#context.db, () => {
      this.#sql.run`INSERT OR REPLACE INTO events_cron VALUES (${entry.key}, ${dueMs})`
      const one = this.#starts.store(start)
      this.#log.write({
        ...toRecord(entry, { executionId: one.id }),
        id: textOf(start.trigger['eventId']),
      })
      return one
    })
    this.#starts.send(stored)
  }

  /** The definition as it is now decides: what was disabled a moment ago does not fire. */
  async #toStart({
    pipeline: listed,
    trigger: { id, cronExpression },
  }: ScheduleEntry): Promise<Start | string | undefined> {
    const pipeline = await loadFreshPipeline(this.#context.ports.definitions, listed)
    if (pipeline === undefined || readPipeline(pipeline).isDisabled) return undefined
    const isSame = (trigger: JsonObject) =>
      trigger['id'] === id && trigger['cronExpression'] === cronExpression
    const { triggers } = await this.#pipelines.of(pipeline)
    const current = triggers.find((trigger) => isActive(trigger) && isSame(trigger))
    if (current === undefined) return undefined
    const { parameters, rebake, runAsUser, onOverlap } = current
    const trigger = {
      type: 'cron',
      id,
      enabled: true,
      cronExpression,
      parameters,
      rebake,
      runAsUser,
      eventId: randomUUID(),
      ...definedOf({ onOverlap }),
    }
    const starter = await toIdentity(loadAccess, this.#context, pipeline, trigger)
    return (
      describeForbiddenStart(starter, pipeline) ?? {
        pipeline,
        trigger,
        artifacts: [],
        identity: starter.identity,
      }
    )
  }
}

/** Schedules fire often: they have a part of the log. */
function toRecord(
  { pipeline, trigger }: ScheduleEntry,
  what: { executionId: string } | { reason: string },
): EventRecord {
  const summary = { expression: trigger['cronExpression'] }
  return { type: 'cron', summary, share: 'cron', triggers: [toOutcome(pipeline, trigger, what)] }
}

function isActive(trigger: JsonObject): boolean {
  return trigger['type'] === 'cron' && readTrigger(trigger).isEnabled
}
