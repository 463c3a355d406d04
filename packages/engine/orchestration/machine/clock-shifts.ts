/** Shifts of the clock while executions run, and what they mean for them. */
import type { Execution, Jump } from '../model.ts'
import { wakeTasks } from './run-task.ts'

/** A clock that is set by more is noticed; less is the usual correction of a clock. */
const leastMs = 5_000
/** So many jumps are kept, the latest. */
const mostJumps = 50

interface Clocks {
  readonly now: () => number
  /** Milliseconds on a monotonic clock. */
  readonly steady: () => number
}

export class ClockWatch {
  readonly #clocks: Clocks
  /** Forward, as far as they matter to what runs. */
  #jumps: readonly Jump[] = []
  #lastMs = -Infinity
  #lastSteadyMs = 0

  constructor(clocks: Clocks) {
    this.#clocks = clocks
  }

  /** @returns the shift since the last look; undefined: there was none that matters */
  look(): { readonly kind: 'back' | 'forward'; readonly byMs: number } | undefined {
    const [now, steadyMs] = [this.#clocks.now(), this.#clocks.steady()]
    const isFirst = this.#lastMs === -Infinity
    const [backMs, forwardMs] = [
      this.#lastMs - now,
      now - this.#lastMs - (steadyMs - this.#lastSteadyMs),
    ]
    this.#lastMs = now
    this.#lastSteadyMs = steadyMs
    if (backMs > leastMs) {
      this.#jumps = this.#jumps.filter(({ at }) => at <= now)
      return { kind: 'back', byMs: backMs }
    }
    if (isFirst || forwardMs <= leastMs) return undefined
    this.#jumps = [...this.#jumps, { at: now, ms: forwardMs }].slice(-mostJumps)
    return { kind: 'forward', byMs: forwardMs }
  }

  /** What began before a jump has not lasted that much longer. A pause counts as a whole anyway. */
  noteJumps({ engine, startTime = Infinity, paused }: Execution): void {
    const wasPaused = (at: number) =>
      paused !== undefined && at > paused.pauseTime && at <= (paused.resumeTime ?? Infinity)
    const known = engine.jumps ?? []
    const added = this.#jumps.filter(
      ({ at }) => at > startTime && !wasPaused(at) && !known.some((each) => each.at === at),
    )
    if (added.length > 0) engine.jumps = [...known, ...added].slice(-mostJumps)
  }
}

/** After the clock was set back: what was to come soon would come that much later, and what has begun lies in the future. */
export function heedSetBack(execution: Execution, now: number): void {
  wakeTasks(execution, now)
  const { engine, stages } = execution
  engine.jumps = engine.jumps?.filter(({ at }) => at <= now)
  for (const each of engine.followUps) each.dueAt = Math.min(each.dueAt, now)
  if (engine.unfinishedAt !== undefined) engine.unfinishedAt = now
  for (const each of stages.flatMap((stage) => [stage, ...stage.tasks])) {
    if (each.status === 'RUNNING' && each.startTime !== undefined)
      each.startTime = Math.min(each.startTime, now)
  }
}
