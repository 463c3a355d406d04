/** Delivery of notifications: at least once, with back-off, a few at a time and one for each recipient. */
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'
import { createOutsideCalls } from '@fairlead/base/outside/call-outside.ts'
import type { OutsideAccount } from '@fairlead/base/outside/outside-account.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import { type AccountAccess, openAccountAccess } from '@fairlead/ports/rights/account-use.ts'
import { type ChannelTools, DeliveryError, type NoticeChannel } from './notification-type.ts'
import {
  type DeliveryOutcome,
  type NoticeDelivery,
  Outbox,
  shownAddress,
  type WaitingDelivery,
} from './outbox.ts'
import { notificationTypeOf, notificationTypes } from './types/all.ts'

/** In milliseconds. */
export interface DeliveryPauses {
  /** Before the second attempt; doubled after each further one. */
  readonly firstMs: number
  readonly longestMs: number
  /** Age at which a delivery has failed. */
  readonly maxAgeMs: number
  /** Longest time of one HTTP request. */
  readonly timeoutMs: number
}

export const usualPauses: DeliveryPauses = {
  firstMs: 5_000,
  longestMs: 10 * 60_000,
  maxAgeMs: 24 * 60 * 60_000,
  timeoutMs: 10_000,
}

const kind = 'kind of notification'
const maxSending = 8
const maxWaiting = 10_000
const maxOfExecution = 200
const maxAnswerBytes = 64 * 1024
const keptMs = 14 * 24 * 60 * 60_000
const pruneEveryMs = 60 * 60_000
const longestTimerMs = 60_000
const writeRetryMs = 1_000

export class Notifier {
  readonly #context: BackendContext
  readonly #pauses: DeliveryPauses
  readonly #outbox: Outbox
  readonly #channels = new Map<string, NoticeChannel>()
  /** Recipients to whom something is being sent. */
  readonly #busy = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #prunedMs = Number.NEGATIVE_INFINITY
  #isRunning = false

  constructor(context: BackendContext, pauses: DeliveryPauses) {
    this.#context = context
    this.#pauses = pauses
    this.#outbox = new Outbox(context.db)
    const { types } = context.settings.notifications
    for (const type of notificationTypes) {
      const settings = types[type.id]
      if (settings !== undefined)
        this.#channels.set(type.id, type.open(settings, toTools(context, pauses.timeoutMs)))
    }
  }

  start(): void {
    this.#isRunning = true
    this.#sendDue()
  }

  close(): void {
    this.#isRunning = false
    clearTimeout(this.#timer)
    for (const channel of this.#channels.values()) channel.close?.()
  }

  /** Stores all before any is sent: what was answered with 200 is delivered, also after a crash. */
  async accept(deliveries: readonly NoticeDelivery[], user: string | undefined): Promise<void> {
    const { db, now } = this.#context
    const access = await this.#accessFor(deliveries, user)
    const added = inTransaction(db, () =>
      deliveries.filter((each) => this.#add(each, now(), access)),
    )
    this.#reportChange(added)
    if (added.length > 0) this.#sendDue()
  }

  deliveriesOf(executionId: string) {
    return this.#outbox.deliveriesOf(executionId)
  }

  /** Sends at once and once. @returns why it was not delivered @throws {PortError} 403 */
  async test(delivery: NoticeDelivery, user: string | undefined): Promise<string | undefined> {
    const { type, notice } = delivery
    ;(await this.#accessFor([delivery], user))?.check(this.#accountOf(type), kind)
    const channel = this.#channelOf(type)
    if (channel === undefined) return describeUndelivered(type)
    try {
      await channel.send(notice)
      return undefined
    } catch (error) {
      return reasonOf(error)
    }
  }

  /** Undefined: all users may use them, and nothing has to be asked. @throws {PortError} 503 */
  async #accessFor(
    deliveries: readonly Pick<NoticeDelivery, 'type'>[],
    user: string | undefined,
  ): Promise<AccountAccess | undefined> {
    const isRestricted = deliveries.some(({ type }) => this.#accountOf(type).use !== undefined)
    return isRestricted ? openAccountAccess(this.#context, user) : undefined
  }

  /** A kind that names no roles sends whatever a run that began may send. */
  #accountOf(type: string): { readonly use?: OutsideAccount } {
    const { id = type } = notificationTypeOf(type) ?? {}
    const { permissions } = (this.#context.settings.notifications.types[id] ?? {}) as Pick<
      OutsideAccount,
      'permissions'
    >
    return permissions === undefined ? {} : { use: { name: id, permissions } }
  }

  #add(delivery: NoticeDelivery, now: number, access: AccountAccess | undefined): boolean {
    const { type, notice } = delivery
    const count =
      notice.execution === undefined ? 0 : this.#outbox.countOfExecution(notice.execution.id)
    if (count > maxOfExecution) return false
    return this.#outbox.add(
      delivery,
      now,
      refusalOf(access, this.#accountOf(type)) ?? this.#obstacleTo(type, notice.address, count),
    )
  }

  #obstacleTo(type: string, address: string, count: number): string | undefined {
    const known = notificationTypeOf(type)
    if (this.#channelOf(type) === undefined) return describeUndelivered(type)
    if (address.trim() === '' && known?.address.isOptional !== true)
      return 'The notification has no address.'
    if (count === maxOfExecution)
      return `An execution sends at most ${maxOfExecution} notifications; this one and later ones are not sent.`
    if (this.#outbox.countWaiting() >= maxWaiting)
      return `${maxWaiting} notifications wait already; this one is not sent.`
    return undefined
  }

  #channelOf(type: string): NoticeChannel | undefined {
    return this.#channels.get(notificationTypeOf(type)?.id ?? '')
  }

  #sendDue(): void {
    if (!this.#isRunning) return
    try {
      const now = this.#context.now()
      this.#prune(now)
      for (const { id, recipient } of this.#outbox.due(now)) {
        if (this.#busy.size >= maxSending) break
        if (!this.#busy.has(recipient)) void this.#deliver(id, recipient)
      }
      this.#arm((this.#outbox.nextDue(now) ?? now + longestTimerMs) - now)
    } catch (error) {
      this.#context.log.error(
        { err: error },
        'notifications that wait cannot be read; they are read again',
      )
      this.#arm(writeRetryMs)
    }
  }

  #arm(afterMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(
      () => this.#sendDue(),
      Math.min(Math.max(1, afterMs), longestTimerMs),
    ).unref()
  }

  async #deliver(id: string, recipient: string): Promise<void> {
    const delivery = this.#outbox.load(id)
    if (delivery === undefined) return
    this.#busy.add(recipient)
    const outcome = await this.#attempt(delivery)
    await this.#settle(delivery, outcome)
    this.#busy.delete(recipient)
    this.#sendDue()
  }

  async #attempt(delivery: WaitingDelivery): Promise<DeliveryOutcome> {
    const { type, notice } = delivery
    const channel = this.#channelOf(type)
    if (channel === undefined) return { status: 'failed', reason: describeUndelivered(type) }
    try {
      await channel.send(notice)
      return { status: 'delivered' }
    } catch (error) {
      return this.#toOutcome(delivery, error)
    }
  }

  #toOutcome({ attempts, acceptedMs }: WaitingDelivery, error: unknown): DeliveryOutcome {
    const reason = reasonOf(error)
    if (error instanceof DeliveryError && error.isFinal) return { status: 'failed', reason }
    const now = this.#context.now()
    const pauseMs = backOffMs(this.#pauses, attempts)
    const retryAfterMs = error instanceof DeliveryError ? (error.retryAfterMs ?? 0) : 0
    const dueMs = now + Math.max(pauseMs, retryAfterMs)
    if (dueMs - acceptedMs <= this.#pauses.maxAgeMs) return { status: 'waiting', reason, dueMs }
    return { status: 'failed', reason: `${reason} It was given up after ${attempts + 1} attempts.` }
  }

  /** Goes on until the store, whose disk may be full, takes it: else it would be sent again at once. */
  async #settle(delivery: WaitingDelivery, outcome: DeliveryOutcome): Promise<void> {
    const { type, notice } = delivery
    const { log, now, db } = this.#context
    const facts = {
      notification: notice.id,
      type,
      to: notice.shownAs ?? shownAddress(notice.address),
      execution: notice.execution?.id,
    }
    if (outcome.status !== 'delivered')
      log.warn(
        { ...facts, status: outcome.status, reason: outcome.reason },
        'a notification was not delivered',
      )
    while (this.#isRunning) {
      try {
        inTransaction(db, () => this.#outbox.settle(delivery, outcome, now()))
        this.#reportChange([delivery])
        return
      } catch (error) {
        log.error(
          { ...facts, err: error },
          'what became of a notification could not be stored and is tried again',
        )
        await new Promise((resolve) => setTimeout(resolve, writeRetryMs).unref())
      }
    }
  }

  /** Readers of the execution see it. */
  #reportChange(deliveries: readonly NoticeDelivery[]): void {
    const executions = new Set(deliveries.flatMap(({ notice }) => notice.execution?.id ?? []))
    for (const id of executions) this.#context.ports.executions.noteChange(id)
  }

  #prune(now: number): void {
    if (now - this.#prunedMs < pruneEveryMs) return
    this.#prunedMs = now
    this.#outbox.prune(now - keptMs)
  }
}

/** Why nothing delivers a kind, and what to do. */
export function describeUndelivered(type: string): string {
  const known = notificationTypeOf(type)
  if (known !== undefined)
    return `Nothing delivers notifications of the kind "${known.id}". Switch them on with ${known.enabledBy}.`
  const ids = notificationTypes.map(({ id }) => id).join(', ')
  return `Nothing delivers notifications of the kind "${type.slice(0, 60)}". Use one of ${ids}.`
}

function refusalOf(
  access: AccountAccess | undefined,
  account: { readonly use?: OutsideAccount },
): string | undefined {
  try {
    access?.check(account, kind)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function toTools({ settings, ports }: BackendContext, timeoutMs: number): ChannelTools {
  const outside = settings.outside
  return {
    call: createOutsideCalls(outside, { maxAnswerBytes, timeoutMs, caller: 'Notifications' }),
    async declaredRepository(application) {
      const declared = await ports.definitions.application(application, itself).catch(() => {
        throw new DeliveryError(
          'The definition store cannot be asked which repository the application declares.',
        )
      })
      const { repoType: host, repoProjectKey: project, repoSlug: slug } = declared ?? {}
      return project === undefined || slug === undefined
        ? undefined
        : { name: `${project}/${slug}`, host }
    },
  }
}

/** Other errors may name what they were given. */
function reasonOf(error: unknown): string {
  return error instanceof DeliveryError
    ? error.message
    : 'The message could not be sent, by an error of Fairlead.'
}
