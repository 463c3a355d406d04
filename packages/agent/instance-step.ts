/** Life of an instance as a pure step: what an event means for its state, and what has to be done then. */

import { formatDuration } from '@fairlead/base/names/amounts.ts'
import type { DesiredInstance, InstancePhase } from '@fairlead/base/net/agent-protocol.ts'
import type { InstanceRecord, RunRecord, readStatus } from './instance-files.ts'
import { unstarted } from './instance-files.ts'
import type { ProbeResult } from './probe.ts'
import {
  describeCommand,
  describeLostOutput,
  describeMemory,
  describeProgram,
  describeRestarts,
  describeSlowStart,
} from './reasons.ts'
import { restartPauseMs, stableMs } from './restart-pause.ts'
import { unknownEnd } from './run.ts'
import { describeProgramEnd, endFromShell, type ProgramEnd } from './words.ts'

/** A program that runs. */
interface RunningProgram {
  readonly kind: 'running'
  /** An agent before this one has started it. */
  readonly isAdopted: boolean
  readonly readyAt: number | undefined
  /** Failed probes in a row. */
  readonly failures: number
  readonly probePauseMs: number
  /** Why it was started again, soon after its last start. */
  readonly before: string | undefined
  readonly isStopping: boolean
  /** Why the agent ends it. */
  readonly terminationReason: string | undefined
}

interface Exit {
  readonly end: ProgramEnd
  readonly endedAt: number
  readonly ranMs: number
}

type InstanceActivity =
  | { readonly kind: 'idle' | 'inspecting' | 'launching' | 'over' | 'released' }
  /** Ends what a former generation or a former agent has left. */
  | { readonly kind: 'clearing'; readonly renews: boolean }
  | RunningProgram
  /** Its program has ended, and what that left behind is ended. */
  | { readonly kind: 'leaving'; readonly run: RunningProgram; readonly exit: Exit }
  /** Its record is written, and then it waits for the next start or, as a command, has ended. */
  | { readonly kind: 'recording'; readonly isFinal: boolean }
  | { readonly kind: 'pausing'; readonly reason: string; readonly inspects: boolean }

export interface InstanceState {
  readonly activity: InstanceActivity
  readonly desired: DesiredInstance | undefined
  readonly record: InstanceRecord
  readonly isRemoving: boolean
  /** Its program does not run; one that a former agent has started may. */
  readonly isDown: boolean
  readonly phase: InstancePhase
  readonly reason: string | undefined
  readonly end: (ProgramEnd & { readonly endedAt: number }) | undefined
}

export type LifeEvent =
  | { readonly kind: 'desired'; readonly desired: DesiredInstance }
  | { readonly kind: 'unwanted' }
  /** @property hasLeft There is a record of a run, or a process */
  | { readonly kind: 'found'; readonly isRunning: boolean; readonly hasLeft: boolean }
  /** No process of it is left, of which `left` had outlived their program. */
  | ({
      readonly kind: 'cleared'
      readonly left: number
      readonly wasKilledForMemory: boolean
      readonly hasLostPump: boolean
    } & {
      readonly status: ReturnType<typeof readStatus>
    })
  | { readonly kind: 'prepared'; readonly content: string; readonly stopGraceMs: number }
  | { readonly kind: 'spawned'; readonly run: RunRecord }
  | { readonly kind: 'launched' }
  /** Something else was wanted before anything was started. */
  | { readonly kind: 'dropped' }
  | { readonly kind: 'refused'; readonly reason: string; readonly isFinal: boolean }
  /** @property ports On which it listens, where it has not become ready in time */
  | {
      readonly kind: 'probed'
      readonly result: ProbeResult
      readonly ageMs: number
      readonly ports?: readonly number[]
    }
  | { readonly kind: 'stable' }
  | { readonly kind: 'exceeded'; readonly reason: string; readonly graceMs?: number }
  | ({ readonly kind: 'exited' } & Exit)
  | { readonly kind: 'persisted' }
  | { readonly kind: 'waited' }
  | { readonly kind: 'noted'; readonly text: string }
  | { readonly kind: 'stuck'; readonly reason: string }
  | { readonly kind: 'failed'; readonly message: string }

export type InstanceEffect =
  /** Answered by `found`. */
  | { readonly kind: 'inspect' | 'launch' | 'watch' | 'persist' | 'release' | 'onExit' }
  /** Answered by `cleared`. */
  | { readonly kind: 'clear'; readonly graceMs: number }
  /** Answered by `exited`, as is `terminate`. */
  | { readonly kind: 'stop' | 'terminate'; readonly graceMs: number }
  | { readonly kind: 'probe' | 'pause'; readonly ms: number }

interface InstanceStep {
  readonly state: InstanceState
  readonly effects: readonly InstanceEffect[]
}

const maxEvents = 20
/** Failures in a row after which an instance that was ready is no longer. */
const failuresUntilUnready = 3
/** A probe follows after this pause at first, so that a quick start shows at once. */
const firstProbePauseMs = 25
/** An instance that is not ready after so many intervals has a reason to be looked for. */
const readinessIntervals = 10
const defaultGraceMs = 10_000

/** @param known As an agent before this one has recorded it */
export function firstState(known: InstanceRecord | undefined): InstanceState {
  const record = known ?? {
    generation: 0,
    content: undefined,
    stopGraceMs: defaultGraceMs,
    run: undefined,
    outcome: undefined,
    restarts: 0,
    quickEnds: 0,
    events: [],
  }
  const isDown = record.run === undefined
  const rest = { desired: undefined, isRemoving: false, end: undefined, reason: undefined }
  return { activity: { kind: 'idle' }, record, isDown, phase: 'starting', ...rest }
}

/** Whether what goes on is for another generation than the one that is wanted, or nothing is. */
export function isStale({ isRemoving, desired, record }: InstanceState): boolean {
  return isRemoving || desired?.generation !== record.generation
}

/** How long a program may take to become ready before the agent looks for a reason. */
export function slowStartMs({ desired }: InstanceState): number {
  return (desired?.readiness?.intervalMs ?? 0) * readinessIntervals
}

export function next(state: InstanceState, event: LifeEvent, now: number): InstanceStep {
  const { activity, record } = state
  switch (event.kind) {
    case 'desired': {
      const isSame = state.desired?.generation === event.desired.generation
      const known = { ...state, desired: event.desired }
      return isSame ? step(known) : interrupt(known)
    }
    case 'unwanted':
      return interrupt({ ...state, isRemoving: true, ...shown('stopping') })
    case 'found':
      return resume(state, event, now)
    case 'prepared':
      return step(recorded(state, { content: event.content, stopGraceMs: event.stopGraceMs }))
    case 'spawned':
      return step(
        noted(recorded(state, { run: event.run }), `Started as process ${event.run.pid}.`, now),
      )
    case 'launched':
      return run(state, false)
    case 'dropped':
      return begin(state)
    case 'refused': {
      if (isStale(state)) return begin(state)
      const known = noted(state, event.reason, now)
      if (event.isFinal)
        return step({ ...known, activity: { kind: 'over' }, ...shown('failed', event.reason) })
      return pause(recorded(known, { quickEnds: record.quickEnds + 1 }), event.reason)
    }
    case 'probed':
      return activity.kind === 'running' && !activity.isStopping
        ? evaluateProbe(state, activity, event, now)
        : step(state)
    case 'stable':
      return step(state.phase === 'ready' ? { ...state, ...shown('ready') } : state)
    case 'exceeded': {
      if (activity.kind !== 'running' || activity.terminationReason !== undefined)
        return step(state)
      const terminated = { ...state, activity: { ...activity, terminationReason: event.reason } }
      return step(terminated, { kind: 'terminate', graceMs: event.graceMs ?? 0 })
    }
    case 'exited': {
      if (activity.kind !== 'running') return step(state)
      const { end, endedAt, ranMs } = event
      const left = {
        ...state,
        isDown: true,
        activity: { kind: 'leaving', run: activity, exit: { end, endedAt, ranMs } },
      } as const
      return step(left, { kind: 'onExit' }, { kind: 'clear', graceMs: 0 })
    }
    case 'cleared':
      if (activity.kind === 'leaving') return settle(state, activity, event, now)
      return activity.kind === 'clearing' ? goOn(state, activity, event, now) : step(state)
    case 'persisted':
      if (activity.kind !== 'recording') return step(state)
      if (!activity.isFinal) return isStale(state) ? begin(state) : pause(state, state.reason ?? '')
      return over({ ...state, ...shown('ended', record.outcome?.reason) })
    case 'waited':
      if (activity.kind !== 'pausing') return step(state)
      return activity.inspects ? begin(state) : launch({ ...state, reason: activity.reason })
    case 'noted':
      return step(noted(state, event.text, now))
    case 'stuck':
      return step({
        ...state,
        ...shown(state.phase === 'stopping' ? 'stopping' : 'waiting', event.reason),
      })
    case 'failed': {
      const reason = `The agent failed: ${event.message}.`
      const known = noted(state, reason, now)
      return state.isRemoving ? begin(known) : pause(known, reason, true)
    }
  }
}

function step(state: InstanceState, ...effects: InstanceEffect[]): InstanceStep {
  return { state, effects }
}

function shown(phase: InstancePhase, reason?: string): Pick<InstanceState, 'phase' | 'reason'> {
  return { phase, reason }
}

function recorded(state: InstanceState, part: Partial<InstanceRecord>): InstanceState {
  return { ...state, record: { ...state.record, ...part } }
}

function noted(state: InstanceState, text: string, at: number): InstanceState {
  return recorded(state, { events: [...state.record.events, { at, text }].slice(-maxEvents) })
}

/** Something else is wanted from now on. What cannot be broken off asks for it when it is done. */
function interrupt(state: InstanceState): InstanceStep {
  const { activity } = state
  if (activity.kind === 'running') return stop(state, activity)
  return ['idle', 'pausing', 'over'].includes(activity.kind) ? begin(state) : step(state)
}

function begin(state: InstanceState): InstanceStep {
  if (state.isRemoving)
    return step({ ...state, activity: { kind: 'released' } }, { kind: 'release' })
  return step({ ...state, activity: { kind: 'inspecting' } }, { kind: 'inspect' })
}

/** Takes over what a former generation or a former agent has left: a process that runs, or the end of a command. */
function resume(
  state: InstanceState,
  { isRunning, hasLeft }: LifeEvent & { kind: 'found' },
  now: number,
): InstanceStep {
  const { record } = state
  if (isStale(state)) {
    if (!hasLeft) return renew(state)
    const activity = { kind: 'clearing', renews: true } as const
    return step(
      { ...state, ...shown('stopping'), activity },
      { kind: 'clear', graceMs: record.stopGraceMs },
    )
  }
  if (isRunning)
    return run(
      noted(state, `Adopted process ${record.run?.pid}, which had been started before.`, now),
      true,
    )
  return step(
    { ...state, activity: { kind: 'clearing', renews: false } },
    { kind: 'clear', graceMs: 0 },
  )
}

/** Repeats the first start of a generation. */
function renew(state: InstanceState): InstanceStep {
  if (state.isRemoving) return begin(state)
  const generation = state.desired?.generation ?? 0
  const fresh = { generation, run: undefined, outcome: undefined, restarts: 0, quickEnds: 0 }
  return launch({ ...recorded(state, fresh), end: undefined, reason: undefined })
}

function goOn(
  state: InstanceState,
  { renews }: { readonly renews: boolean },
  cleared: LifeEvent & { kind: 'cleared' },
  now: number,
): InstanceStep {
  if (renews) return renew(state)
  const { desired, record } = state
  if (isStale(state)) return begin(state)
  if (record.run === undefined) return launch(state)
  if (desired?.restart === 'always') {
    const reason = cleared.hasLostPump
      ? describeLostOutput()
      : 'It ended while no agent watched it.'
    return launch(noted(recorded(state, { restarts: record.restarts + 1 }), reason, now))
  }
  if (record.outcome !== undefined)
    return over({ ...state, end: record.outcome, ...shown('ended', record.outcome.reason) })
  const { status } = cleared
  if (status === unstarted) return launch(state)
  const end = status === undefined ? unknownEnd : endFromShell(status.code)
  return finish(
    state,
    {
      ...end,
      endedAt: status?.endedAt ?? now,
      reason: describeCommand(end, record.run, status?.endedAt),
    },
    now,
  )
}

function launch(state: InstanceState): InstanceStep {
  return step(
    { ...state, activity: { kind: 'launching' }, isDown: true, phase: 'starting' },
    { kind: 'launch' },
  )
}

function run(state: InstanceState, isAdopted: boolean): InstanceStep {
  const before = state.record.quickEnds > 0 ? state.reason : undefined
  const activity: RunningProgram = {
    kind: 'running',
    isAdopted,
    readyAt: undefined,
    failures: 0,
    probePauseMs: firstProbePauseMs,
    before,
    isStopping: false,
    terminationReason: undefined,
  }
  const running = { ...state, activity, isDown: false, ...shown('starting', before) }
  const { state: final, effects } = isStale(running)
    ? stop(running, activity)
    : step(running, { kind: 'probe', ms: 0 })
  return step(final, { kind: 'watch' }, ...effects)
}

function stop(state: InstanceState, activity: RunningProgram): InstanceStep {
  if (activity.isStopping) return step(state)
  const stopping = { ...state, activity: { ...activity, isStopping: true }, ...shown('stopping') }
  return step(stopping, { kind: 'stop', graceMs: state.desired?.stopGraceMs ?? 0 })
}

function evaluateProbe(
  state: InstanceState,
  running: RunningProgram,
  { result, ageMs, ports }: LifeEvent & { kind: 'probed' },
  now: number,
): InstanceStep {
  if (result.kind === 'cancelled') return step(state)
  const target = state.desired?.readiness
  const isReady = result.kind === 'healthy'
  const failures = isReady ? 0 : running.failures + 1
  const readyAt = running.readyAt ?? (isReady ? now : undefined)
  const intervalMs = target?.intervalMs ?? 0
  const probePauseMs =
    readyAt === undefined ? Math.min(running.probePauseMs * 2, intervalMs) : intervalMs
  let known: InstanceState = { ...state, activity: { ...running, failures, readyAt, probePauseMs } }
  if (isReady) known = ready(known, running, ageMs, now)
  else if (readyAt !== undefined) {
    if (failures >= failuresUntilUnready)
      known = { ...known, ...shown('unready', `It was ready, and now ${result.reason}.`) }
  } else {
    const reason =
      target === undefined || ports === undefined
        ? `It is not ready yet: ${result.reason}.`
        : describeSlowStart(result, slowStartMs(state), { target, ports })
    known = { ...known, ...shown('starting', reason) }
  }
  return target === undefined ? step(known) : step(known, { kind: 'probe', ms: probePauseMs })
}

function ready(
  state: InstanceState,
  { readyAt, isAdopted, before }: RunningProgram,
  ageMs: number,
  now: number,
): InstanceState {
  const { record } = state
  const isFirst = readyAt === undefined
  const text = isFirst
    ? isAdopted
      ? 'Ready.'
      : `Ready after ${formatDuration(ageMs)}.`
    : 'Ready again.'
  const known = isFirst || state.phase === 'unready' ? noted(state, text, now) : state
  const isStable = now - (record.run?.startedAt ?? now) >= stableMs
  return {
    ...known,
    ...shown(
      'ready',
      before === undefined || isStable ? undefined : describeRestarts(record.restarts, before),
    ),
  }
}

/** Decides how it goes on after its end and that of what it left behind. */
function settle(
  state: InstanceState,
  { run: running, exit }: InstanceActivity & { kind: 'leaving' },
  { left, wasKilledForMemory, status }: LifeEvent & { kind: 'cleared' },
  now: number,
): InstanceStep {
  const { desired, record } = state
  const { end, endedAt, ranMs } = exit
  const started = record.run as RunRecord
  const terminated =
    running.terminationReason ?? (wasKilledForMemory ? describeMemory(desired) : undefined)
  const ended = { ...state, end: { ...end, endedAt } }
  if (isStale(state))
    return begin(noted(ended, terminated ?? `It was stopped: it ${describeProgramEnd(end)}.`, now))
  if (desired?.restart === 'once') {
    // An adopted shell left its exit code in the file, and one that was started here passes on that of the command.
    const known = typeof status === 'object' ? endFromShell(status.code) : end
    return finish(
      state,
      { ...known, endedAt, reason: terminated ?? describeCommand(known, started, endedAt) },
      now,
    )
  }
  const remains =
    'Processes that it had left behind were ended, too: a program has to stay in the foreground.'
  const described = describeProgram(end, started, endedAt, running.readyAt !== undefined)
  const reason = terminated ?? (left > 0 ? `${described} ${remains}` : described)
  const quickEnds = ranMs >= stableMs ? 0 : record.quickEnds + 1
  const known = noted(recorded(ended, { restarts: record.restarts + 1, quickEnds }), reason, now)
  // Without a process it is not ready, also while its record is written.
  return persist({ ...known, ...shown('waiting', reason) }, false)
}

function finish(
  state: InstanceState,
  outcome: NonNullable<InstanceRecord['outcome']>,
  now: number,
): InstanceStep {
  const { reason, ...end } = outcome
  return persist(noted(recorded({ ...state, end }, { outcome }), reason, now), true)
}

function persist(state: InstanceState, isFinal: boolean): InstanceStep {
  return step({ ...state, activity: { kind: 'recording', isFinal } }, { kind: 'persist' })
}

function over(state: InstanceState): InstanceStep {
  return isStale(state) ? begin(state) : step({ ...state, activity: { kind: 'over' } })
}

function pause(state: InstanceState, reason: string, inspects = false): InstanceStep {
  const ms = restartPauseMs(state.record.quickEnds)
  const waiting = shown('waiting', `${reason} It is started again after ${formatDuration(ms)}.`)
  return step(
    { ...state, ...waiting, activity: { kind: 'pausing', reason, inspects } },
    { kind: 'pause', ms },
  )
}
