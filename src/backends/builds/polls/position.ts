/** Which builds of a job have been reported: all up to a number, and some after it. */
import { type JsonObject, numberOf } from '../../../json/values.ts'

/** Reported builds of a job. */
export interface Position {
  /** All builds up to this number have been reported, or are not to be. */
  readonly upTo: number
  /** Reported builds with higher numbers: an older one still runs. */
  readonly sent: readonly number[]
  /** Builds that ran when they were last seen; they hold `upTo` below them. */
  readonly open: readonly number[]
}

export interface FirstBuildRules {
  readonly handlesFirstBuilds: boolean
  readonly lookBackMs: number
  readonly nowMs: number
}

/** More are not remembered one by one; `upTo` passes them. */
const mostSent = 500
const mostOpen = 50

/** Finished builds that are to be reported, oldest first. Of an unknown job, those that have just ended. */
export function dueBuilds(known: Position | undefined, builds: readonly JsonObject[], rules: FirstBuildRules): JsonObject[] {
  const finished = builds
    .filter((build) => numberIn(build) > 0 && !isRunning(build))
    .toSorted((one, other) => numberIn(one) - numberIn(other))
  if (known !== undefined && !isNewJob(known, builds))
    return finished.filter((build) => numberIn(build) > known.upTo && !known.sent.includes(numberIn(build)))
  if (!rules.handlesFirstBuilds) return []
  return finished.filter((build) => endOf(build) >= rules.nowMs - rules.lookBackMs)
}

/** The position once all listed builds are reported, save those that run or are `unsent`. */
export function nextPosition(
  known: Position | undefined,
  builds: readonly JsonObject[],
  unsent: readonly JsonObject[] = [],
): Position {
  const base = known === undefined || isNewJob(known, builds) ? { upTo: 0, sent: [], open: [] } : known
  const numbered = builds.filter((build) => numberIn(build) > 0)
  const listed = new Set(numbered.map(numberIn))
  const running = numbered.filter(isRunning).map(numberIn)
  const open = [...base.open.filter((number) => !listed.has(number)), ...running].toSorted(ascending).slice(-mostOpen)
  const held = [...open, ...unsent.map(numberIn)]
  const handled = new Set([...base.sent, ...[...listed].filter((number) => !held.includes(number))])
  const limit = held.length > 0 ? Math.min(...held) - 1 : Math.max(base.upTo, 0, ...listed)
  const sent = [...handled].filter((number) => number > limit).toSorted(ascending)
  const passed = sent.length > mostSent ? (sent.at(-mostSent - 1) ?? 0) : 0
  const upTo = Math.max(limit, base.upTo, passed)
  return { upTo, sent: sent.filter((number) => number > upTo), open: open.filter((number) => number > upTo) }
}

/** A job that was deleted and created again begins with build 1. */
function isNewJob({ upTo }: Position, builds: readonly JsonObject[]): boolean {
  const newest = Math.max(0, ...builds.map(numberIn))
  return newest > 0 && newest < upTo && builds.length === newest
}

export function numberIn(build: JsonObject): number {
  return numberOf(build['number']) ?? 0
}

function isRunning(build: JsonObject): boolean {
  return build['building'] === true
}

function endOf({ timestamp, duration }: JsonObject): number {
  return (numberOf(timestamp) ?? 0) + (numberOf(duration) ?? 0)
}

function ascending(one: number, other: number): number {
  return one - other
}
