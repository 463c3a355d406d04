/** Receiver of events: it stores the starts that each causes, and logs what became of it. */
import { textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { type EventRecord, toOutcome } from '@fairlead/ports/event-record.ts'
import type { EffectivePipelines } from '../pipelines/effective-pipelines.ts'
import type { Event } from './event.ts'
import type { EventLog } from './event-log.ts'
import { excerptOf, summarize } from './event-summary.ts'
import { triggerKinds } from './kinds/all.ts'
import { isSigned } from './kinds/signature.ts'
import { toManualStart } from './manual.ts'
import { type Candidate, type Matching, matchTriggers, noName } from './matching.ts'
import { describeQuiet } from './quiet-period.ts'
import type { StartMarks } from './start-marks.ts'
import type { Starts } from './starts.ts'

/** Events that are looked at together; each may be compared with thousands of triggers. */
const maxEvents = 4

interface ReceiverParts {
  readonly context: BackendContext
  readonly starts: Starts
  readonly marks: StartMarks
  readonly pipelines: EffectivePipelines
  readonly log: EventLog
}

export class EventReceiver {
  readonly #parts: ReceiverParts
  readonly #line = new ConcurrencyLimit(maxEvents)
  /** Events ask other services; a user who starts a pipeline does not wait for those. */
  readonly #manualLine = new ConcurrencyLimit(maxEvents)

  constructor(parts: ReceiverParts) {
    this.#parts = parts
  }

  /**
   * Stores all starts at once before any is sent, and resolves once they are on disk: what was answered with 200 happens, also after a crash.
   *
   * @param caller Undefined: Fairlead has observed the event itself
   * @param alongside Stores what belongs to the event, in the same transaction
   * @returns why no trigger waits for it, as far as its sender may know
   * @throws {PortError} when the event was not accepted
   */
  async handle(
    event: Event,
    caller: Caller | undefined,
    alongside?: () => void,
  ): Promise<string | undefined> {
    const reason =
      event.type === 'manual'
        ? await this.#manualLine.run(() => this.#startByHand(event, caller))
        : await this.#match(event, caller, alongside)
    await this.#parts.context.commits.stored()
    return isKnown(caller) || reason === noName ? reason : undefined
  }

  async #match(
    event: Event,
    caller: Caller | undefined,
    alongside: (() => void) | undefined,
  ): Promise<string | undefined> {
    const { context, pipelines, log } = this.#parts
    try {
      this.#checkSender(event, caller)
      const matching = await this.#line.run(() => matchTriggers(context, pipelines, event))
      this.#carryOut(event, caller, matching, alongside)
      return matching.candidates.length === 0 ? matching.reason : undefined
    } catch (error) {
      const { message } = error as Error
      const reason =
        error instanceof PortError
          ? message
          : 'The event could not be matched, by an error of Fairlead.'
      const record = toRecord(event, caller)
      // A poll comes back with the same event.
      if (caller === undefined)
        log.addFailure({ ...record, source: event.source, reason, waiting: [] })
      else log.add({ ...record, reason, hasFailed: true })
      throw error
    }
  }

  async #startByHand(event: Event, caller: Caller | undefined): Promise<undefined> {
    if (caller === undefined) return
    const { context, starts } = this.#parts
    const start = await toManualStart(context, event, caller)
    if (start === undefined || describeQuiet(context, start) !== undefined) return
    starts.send(context.commits.transact(() => starts.store(start)))
  }

  #carryOut(
    event: Event,
    caller: Caller | undefined,
    { candidates, reason }: Matching,
    alongside?: () => void,
  ): void {
    const { context, starts, marks, log } = this.#parts
    if (!isLogged(event)) return
    const record = { ...toRecord(event, caller, candidates), reason }
    const isStarting = candidates.some(({ result }) => typeof result !== 'string')
    if (!isStarting && alongside === undefined) {
      log.add(record)
      return
    }
    const stored = context.commits.transact(() => {
      const all = candidates.map(({ pipeline, trigger, result }) => {
        const problem = typeof result === 'string' ? result : marks.take(event, pipeline, trigger)
        const start =
          typeof result === 'string' || problem !== undefined ? undefined : starts.store(result)
        const what = start === undefined ? { reason: String(problem) } : { executionId: start.id }
        return { start, outcome: toOutcome(pipeline, trigger, what) }
      })
      log.write({ ...record, triggers: all.map(({ outcome }) => outcome) })
      alongside?.()
      return all.flatMap(({ start }) => start ?? [])
    })
    for (const one of stored) starts.send(one)
  }

  /**
   * With authorization, triggers lend the rights of their `runAsUser`: a sender without login must not pass for a build server.
   * Triggers without a secret refuse what is signed, so that a signature may take the place of a login.
   *
   * @throws {PortError} 403
   */
  #checkSender(event: Event, caller: Caller | undefined): void {
    const { settings } = this.#parts.context
    if (settings.authorization !== true || isKnown(caller) || event.raw === undefined) return
    const kind = triggerKinds.find(({ eventType }) => eventType === event.type)
    if (kind?.reportedByServices !== true || (kind.checksSignature === true && isSigned(event)))
      return
    const signed = kind.checksSignature ? 'sign them with the secret of the trigger, ' : ''
    const message = `Events of the type ${event.type} are taken only from known senders. Send them with an API token, ${signed}or use a webhook trigger.`
    throw new PortError(403, message)
  }
}

/** Whether a user, or Fairlead itself, stands behind an event. */
function isKnown(caller: Caller | undefined): boolean {
  return caller === undefined || (caller.user ?? 'anonymous') !== 'anonymous'
}

/** What an orchestrator reports about its runs is no event of triggers. */
function isLogged({ type }: Event): boolean {
  return type !== '' && !type.startsWith('orca:')
}

function toRecord(
  event: Event,
  caller: Caller | undefined,
  candidates: readonly Candidate[] = [],
): EventRecord {
  return {
    id: event.id,
    type: event.type,
    source: event.source,
    summary: summarize(event),
    payload: excerptOf(event),
    share: shareOf(event, isKnown(caller), candidates.length > 0),
    triggers: candidates.map(({ pipeline, trigger, result }) =>
      toOutcome(pipeline, trigger, { reason: String(result) }),
    ),
  }
}

/** Their sources are names that triggers wait for; elsewhere a sender could make up many. */
const typesWithSources: ReadonlySet<string> = new Set(['webhook', 'cdevents'])

/** Anyone may send webhooks or push: those of one source have a part of the log, as have events that concern nothing. */
function shareOf(
  { type, source, content, raw, isObserved }: Event,
  isSenderKnown: boolean,
  isAwaited: boolean,
): string | undefined {
  if (isObserved)
    return `polls of ${textOf(content['pollKey']) ?? `${type} ${textOf(content['account']) ?? ''}`}`
  const isAnonymous = !isSenderKnown && raw !== undefined
  // Senders without login could make up types.
  if (!isAwaited) return isAnonymous ? 'unknown' : `unknown ${type}`
  if (!isAnonymous) return undefined
  return typesWithSources.has(type)
    ? `${type} from ${source.slice(0, 200).toLowerCase()}`
    : `${type} by webhook`
}
