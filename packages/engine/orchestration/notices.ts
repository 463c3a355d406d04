/**
 * Outbox of what notifications may follow from: stored with the change of the execution, then handed to the event service until it
 * takes it. A repetition carries the same id.
 *
 * @see docs/contracts/events.md#notifications
 */

import type { DatabaseSync, SQLTagStore } from 'node:sqlite'
import { BackOff } from '@fairlead/base/concurrency/back-off.ts'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { isPassing } from '@fairlead/base/port-error.ts'
import { timeOfUlid } from '@fairlead/base/storage/ulid.ts'
import { distinctAuthors } from '@fairlead/model/environments/commit-authors.ts'
import { singleRollbackTypes } from '@fairlead/model/environments/delivery.ts'
import { type Caller, itself } from '@fairlead/ports/caller.ts'
import type { Announcement } from '@fairlead/ports/events.ts'
import type { EngineOptions } from './engine-parts.ts'
import type { LifeCycleEvent } from './machine/turn.ts'
import { type Execution, notify } from './model.ts'
import {
  announcementsOf,
  type Notification,
  notificationsOf,
  rollbackBy,
} from './notice-content.ts'
import { rolledBackRuns } from './rolled-back.ts'
import { isComplete } from './statuses.ts'

export const noticeMigrations = [
  `
  CREATE TABLE orchestration_notices (
    id           TEXT PRIMARY KEY,
    execution_id TEXT NOT NULL,
    notice       TEXT NOT NULL
  ) STRICT;
  `,
]

interface NoticeOptions
  extends Pick<EngineOptions, 'commits' | 'store' | 'log' | 'now' | 'nextId' | 'ports'> {
  readonly db: DatabaseSync
}

/** What the event service has not taken by then is dropped: the message would come too late. */
const maxAgeMs = 24 * 60 * 60_000
const batch = 50
const pauses = { firstMs: 500, longestMs: 60_000 }

export class Notices {
  readonly #options: NoticeOptions
  readonly #sql: SQLTagStore
  readonly #backOff = new BackOff(pauses)
  #isRunning = false
  #isSending = false
  #hasMore = false

  constructor(options: NoticeOptions) {
    this.#options = options
    this.#sql = options.db.createTagStore()
  }

  start(): void {
    this.#isRunning = true
    this.#hasMore = true
    this.send()
  }

  stop(): void {
    this.#isRunning = false
    this.#backOff.cancel()
  }

  /** Called in the transaction in which the events happen. @returns other runs that it has changed */
  note(events: readonly LifeCycleEvent[]): Execution[] {
    const changed: Execution[] = []
    const { ports, nextId } = this.#options
    const known = new Map<string, JsonObject[] | undefined>()
    for (const event of events) {
      const { application } = event.execution
      for (const notice of noticesOf(event, !ports.events.takesLifeCycle)) {
        const told = this.#tellAuthors(event, notice, changed)
        if (!known.has(application))
          known.set(application, ports.definitions.notificationsAtHand(application))
        const records = known.get(application)
        if (records !== undefined && notificationsOf(event.execution, notice, records).length === 0)
          continue
        this.#sql
          .run`INSERT INTO orchestration_notices VALUES (${nextId()}, ${event.execution.id}, ${formatJson(told)})`
        this.#hasMore = true
      }
    }
    return changed
  }

  /** Runs whose versions a rollback has taken out of service say so. */
  #tellAuthors(
    { execution, stage }: LifeCycleEvent,
    notice: Notification,
    changed: Execution[],
  ): Notification {
    if (stage === undefined || notice.kind !== 'event' || notice.level !== 'rollback') return notice
    const { store, now } = this.#options
    const { from = '', to, account, user, reason } = rollbackBy(execution, stage)
    const runs = rolledBackRuns(store, execution.application, { from, to })
    const place = `${to === undefined ? '' : ` to ${to}`}${account === undefined ? '' : ` in ${account}`}`
    const by = `${user === undefined ? '' : ` by ${user}`}${reason === undefined ? '' : `: ${reason}`}`
    for (const run of runs) {
      if (run.id === execution.id || !isComplete(run.status)) continue
      notify(run, `${from} was rolled back${place}${by}`, now(), 'rollback')
      store.save(run, undefined)
      changed.push(run)
    }
    return {
      ...notice,
      authors: distinctAuthors(runs.flatMap(({ engine }) => engine.authors ?? [])),
    }
  }

  /** Hands over what is stored, in the background. */
  send(): void {
    if (!this.#isRunning || this.#isSending || !this.#hasMore) return
    this.#isSending = true
    let hasFailed = false
    this.#sendAll()
      .then(
        () => this.#backOff.reset(),
        (error: unknown) => {
          hasFailed = true
          this.#hasMore = true
          const pauseMs = this.#backOff.startLater(() => this.send())
          this.#options.log.warn(
            { err: error, pauseMs },
            'notifications could not be handed to the event service',
          )
        },
      )
      .finally(() => {
        this.#isSending = false
        if (!hasFailed) this.send()
      })
  }

  async #sendAll(): Promise<void> {
    while (this.#isRunning && this.#hasMore) {
      this.#hasMore = false
      const rows = this.#sql.all`SELECT * FROM orchestration_notices ORDER BY id LIMIT ${batch}`
      await this.#options.commits.stored()
      if (!this.#isRunning) return
      const done: string[] = []
      try {
        for (const row of rows) {
          await this.#sendOne(
            String(row['id']),
            String(row['execution_id']),
            parseJson(String(row['notice'])) as Notification,
          )
          done.push(String(row['id']))
        }
      } finally {
        this.#remove(done)
      }
      if (rows.length === batch) this.#hasMore = true
    }
  }

  #remove(ids: readonly string[]): void {
    if (ids.length === 0) return
    this.#options.commits.transact(() => {
      for (const id of ids) this.#sql.run`DELETE FROM orchestration_notices WHERE id = ${id}`
    })
  }

  /** @throws {Error} when it has to be sent again */
  async #sendOne(id: string, executionId: string, notice: Notification): Promise<void> {
    const { store, now, log, ports } = this.#options
    const execution = store.load(executionId)
    if (execution === undefined) return
    if (now() - (timeOfUlid(id) ?? 0) > maxAgeMs) {
      log.error(
        { execution: executionId, ...notice },
        'a notification is dropped: the event service has not taken it for a day',
      )
      return
    }
    const { definitions } = ports
    const records =
      definitions.notificationsAtHand(execution.application) ??
      (await Promise.all(
        [execution.application, undefined].map((each) => definitions.notificationsOf(each, itself)),
      ))
    for (const { told, as } of announcementsOf(execution, { id, notice, records, now: now() })) {
      await this.#announce(told, as, executionId)
    }
  }

  async #announce(told: Announcement, as: Caller, execution: string): Promise<void> {
    try {
      await this.#options.ports.events.announce(told, as)
    } catch (error) {
      if (isPassing(error)) throw error
      this.#options.log.error({ execution, err: error }, 'the event service refused a notification')
    }
  }
}

/**
 * What may be notified of an event: the event itself, a judgment that begins, or one that is given.
 *
 * @param withEvents Else only judgments: events are reported anyway
 */
function noticesOf(event: LifeCycleEvent, withEvents: boolean): Notification[] {
  const { execution, stage, task, phase } = event
  if (execution.canceled || phase === 'skipped') return []
  const isJudgment = stage?.type === 'manualJudgment'
  if (task !== undefined) {
    return isJudgment && task.name === 'waitForJudgment' && phase === 'starting'
      ? [{ kind: 'judgment', occasion: 'manualJudgment', stageId: stage.id }]
      : []
  }
  if (stage === undefined) {
    return withEvents && execution.type === 'PIPELINE'
      ? [{ kind: 'event', level: 'pipeline', phase }]
      : []
  }
  if (withEvents && phase === 'complete' && singleRollbackTypes.includes(stage.type))
    return [{ kind: 'event', level: 'rollback', phase, stageId: stage.id }]
  if (stage.parentStageId !== undefined || stage.status === 'CANCELED') return []
  const judged = isJudgment && phase !== 'starting' ? judgmentOccasion(stage.context) : undefined
  return [
    ...(judged === undefined
      ? []
      : [{ kind: 'judgment' as const, occasion: judged, stageId: stage.id }]),
    ...(withEvents
      ? [{ kind: 'event' as const, level: 'stage' as const, phase, stageId: stage.id }]
      : []),
  ]
}

function judgmentOccasion({ judgmentStatus }: JsonObject): string | undefined {
  const word = String(judgmentStatus ?? '').toLowerCase()
  if (word === 'continue') return 'manualJudgmentContinue'
  return word === 'stop' ? 'manualJudgmentStop' : undefined
}
