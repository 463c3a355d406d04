/** Polls of sources that do not report their changes: one for all triggers that wait for the same source. */
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'
import { within } from '@fairlead/base/concurrency/within.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { digestUuid } from '@fairlead/base/stores/digest-uuid.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import { readTrigger } from '@fairlead/model/pipelines/definition.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { EffectivePipeline, EffectivePipelines } from '../../pipelines/effective-pipelines.ts'
import type { Event } from '../event.ts'
import type { EventLog, WaitingTrigger } from '../event-log.ts'
import type { TriggerSettings } from '../trigger-settings.ts'
import { TriggeredPipelines } from '../triggered-pipelines.ts'
import { PollStates } from './poll-states.ts'
import type { PolledChange, PolledSource, PolledState, PollTurn } from './polled-source.ts'

/** In milliseconds. */
interface PollPauses {
  /** How often it looks for changed triggers and due polls. */
  readonly lookMs: number
  /** Instead of the settings. */
  readonly intervalMs?: number
}

interface PollParts {
  readonly context: BackendContext
  readonly pipelines: EffectivePipelines
  readonly sources: readonly PolledSource[]
  readonly log: EventLog
  /** Stores what an event starts, and calls `advance` in the same transaction. */
  readonly handle: (event: Event, advance: () => void) => Promise<void>
  readonly pauses: PollPauses
}

/** A read that has failed is retried after so many looks. */
const retriedLooks = 5
const longestPauseMs = 10 * 60_000
/** Changes that start something in one turn, and the time for them: other polls wait for a place. */
const mostChanges = 50
/** Polls that began together drift apart. */
const jitter = 0.1

export class Polls {
  readonly #parts: PollParts
  readonly #settings: TriggerSettings
  readonly #states: PollStates
  readonly #triggered: TriggeredPipelines
  readonly #line: ConcurrencyLimit
  readonly #closing = new AbortController()
  #groups: ReadonlyMap<string, PollGroup> = new Map()
  #timer: NodeJS.Timeout | undefined

  constructor(parts: PollParts) {
    const { context, pipelines, sources, pauses } = parts
    this.#parts = parts
    const types = [...new Set(sources.map(({ triggerType }) => triggerType))]
    this.#triggered = new TriggeredPipelines({
      context,
      pipelines,
      types,
      retryMs: retriedLooks * pauses.lookMs,
    })
    this.#settings = parts.context.settings.triggers
    this.#states = new PollStates(parts.context.db)
    this.#line = new ConcurrencyLimit(this.#settings.polls.atATime)
  }

  start(): void {
    void this.#look()
  }

  close(): void {
    this.#closing.abort()
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    const changed = await this.#triggered.readChanged()
    if (this.#closing.signal.aborted) return
    if (changed !== undefined) {
      this.#groups = groupTriggers(changed, this.#parts.sources, this.#groups)
      this.#states.keep(new Set(this.#groups.keys()))
    }
    const now = performance.now()
    for (const group of this.#groups.values())
      if (!group.isRunning && group.dueMs <= now) void this.#run(group)
    this.#timer = setTimeout(() => void this.#look(), this.#parts.pauses.lookMs)
  }

  async #run(group: PollGroup): Promise<void> {
    group.isRunning = true
    try {
      await this.#line.run(() => this.#poll(group))
      group.failures = 0
    } catch (error) {
      if (this.#closing.signal.aborted) return
      this.#note(group, error as Error)
      group.failures++
    } finally {
      group.isRunning = false
      group.dueMs = performance.now() + this.#pauseMs(group)
    }
  }

  #pauseMs({ source, waiting: [first], failures, hasMore }: PollGroup): number {
    if (hasMore && failures === 0) return 0
    const { polls } = this.#settings
    const usualMs =
      source.intervalMs?.(first?.trigger ?? {}, this.#settings) ?? polls.intervalS * 1000
    const firstMs = this.#parts.pauses.intervalMs ?? usualMs
    const pauseMs =
      failures === 0
        ? firstMs
        : Math.max(firstMs, backOffMs({ firstMs, longestMs: longestPauseMs }, failures))
    return pauseMs * (1 + jitter * (2 * Math.random() - 1))
  }

  /** Others with the same failure are logged by the event log, once an hour. */
  #note({ source, waiting }: PollGroup, { message }: Error): void {
    const { context, log } = this.#parts
    const [first] = waiting
    if (first === undefined) return
    const summary = source.summaryOf?.(first.trigger) ?? {}
    context.log.info({ ...summary, problem: message }, 'a poll for triggers failed and is retried')
    log.addFailure({ type: source.triggerType, source: 'poll', summary, reason: message, waiting })
  }

  async #poll(group: PollGroup): Promise<void> {
    const { source, waiting, found: last } = group
    const [first] = waiting
    if (first === undefined || this.#closing.signal.aborted) return
    const found = await this.#ask(source, first.trigger, last)
    group.found = found
    // A poll that ends after its triggers are gone must not begin a state again.
    if (
      this.#closing.signal.aborted ||
      found === group.compared ||
      this.#groups.get(group.key) !== group
    )
      return
    group.hasMore = !(await this.#compare(group, found))
    if (!group.hasMore) group.compared = found
  }

  async #ask(
    source: PolledSource,
    trigger: JsonObject,
    last: PolledState | undefined,
  ): Promise<PolledState> {
    const { timeoutS } = this.#settings.polls
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeoutS * 1000)])
    const reading = source.read(trigger, this.#parts.context, signal, last)
    return within(timeoutS * 1000, reading, () => {
      throw new Error(
        `It did not answer within ${timeoutS} s. Check that it is reachable, or raise trigger.polls.timeout-seconds.`,
      )
    })
  }

  /** What is polled for the first time starts nothing. @returns whether all changes are handled */
  async #compare(group: PollGroup, found: PolledState): Promise<boolean> {
    const { key, waiting } = group
    const stored = this.#states.load(key)
    if (stored === undefined) {
      this.#states.begin(key, found)
      return true
    }
    // All of it would be new again as soon as it is back.
    if (found.size === 0 && stored.versions.size > 0)
      throw new Error(
        'Nothing is listed any more. If that is intended, disable the trigger, save it, and enable it again.',
      )
    const settled: PolledChange[] = []
    const turn: PollTurn = { waiting: waiting.map(({ trigger }) => trigger) }
    const endMs = performance.now() + this.#settings.polls.timeoutS * 1000
    let started = 0
    for (const [name, after] of found) {
      const before = stored.versions.get(name)
      if (before === after) continue
      if (started >= mostChanges || performance.now() > endMs) {
        this.#states.settle(key, settled, [])
        return false
      }
      const change = { name, before, after }
      if (await this.#start(group, change, turn)) started++
      else settled.push(change)
      if (this.#closing.signal.aborted) return false
    }
    const gone = [...stored.versions.keys()].filter((name) => !found.has(name))
    this.#states.settle(key, settled, gone)
    return true
  }

  /** @returns whether the change is stored, with what it has started. */
  async #start({ key, source }: PollGroup, change: PolledChange, turn: PollTurn): Promise<boolean> {
    const { context, handle } = this.#parts
    const events = await source.toEvents(turn.waiting[0] ?? {}, change, context, turn)
    for (const [index, event] of events.entries()) {
      const id = eventIdOf(key, this.#states.turnOf(key), change, index)
      const isLast = index === events.length - 1
      try {
        await handle({ ...event, id }, () => isLast && this.#states.advance(key, change))
      } catch (error) {
        // What cannot be matched now will not be matched later: it must not hold up what follows.
        if (!(error instanceof PortError) || error.status >= 500) throw error
        return false
      }
    }
    return events.length > 0
  }
}

/** The same for an event that is sent again after a failure. */
function eventIdOf(
  key: string,
  turn: number,
  { name, before, after }: PolledChange,
  index: number,
): string {
  return digestUuid(JSON.stringify([key, turn, name, before, after, index]))
}

/** What is polled, for the triggers that wait for it. */
interface PollGroup {
  readonly key: string
  readonly source: PolledSource
  waiting: readonly WaitingTrigger[]
  /** On the steady clock. */
  dueMs: number
  isRunning: boolean
  /** Changes that the last turn has left for the next. */
  hasMore: boolean
  /** In a row. */
  failures: number
  /** What the last poll has found. */
  found: PolledState | undefined
  /** What was compared with the stored state last. */
  compared: PolledState | undefined
}

/** By key, of enabled triggers in enabled pipelines. Known groups stay the same objects, since their polls may be running. */
function groupTriggers(
  pipelines: readonly EffectivePipeline[],
  sources: readonly PolledSource[],
  known: ReadonlyMap<string, PollGroup>,
): Map<string, PollGroup> {
  const groups = new Map<string, PollGroup>()
  for (const { source, key, ...one } of pipelines.flatMap((pipeline) =>
    waitingIn(pipeline, sources),
  )) {
    const waiting = [...(groups.get(key)?.waiting ?? []), one]
    const group = groups.get(key) ?? known.get(key) ?? toGroup(key, source)
    group.waiting = waiting
    groups.set(key, group)
  }
  return groups
}

interface KeyedTrigger extends WaitingTrigger {
  readonly key: string
  readonly source: PolledSource
}

function waitingIn(
  { definition: pipeline, isDisabled, triggers }: EffectivePipeline,
  sources: readonly PolledSource[],
): KeyedTrigger[] {
  if (isDisabled) return []
  return triggers
    .filter((trigger) => readTrigger(trigger).isEnabled)
    .flatMap((trigger) => {
      const source = sources.find(({ triggerType }) => triggerType === trigger['type'])
      const key = source?.keyOf(trigger)
      return source === undefined || key === undefined ? [] : [{ pipeline, trigger, source, key }]
    })
}

function toGroup(key: string, source: PolledSource): PollGroup {
  return {
    key,
    source,
    waiting: [],
    dueMs: 0,
    isRunning: false,
    hasMore: false,
    failures: 0,
    found: undefined,
    compared: undefined,
  }
}
