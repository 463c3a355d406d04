/** Builds of a job that have been reported: all up to a number, and some after it. */
import type { ListedBuild } from '../listed-build.ts'

/** Reported builds of a job. */
export interface Position {
  /** All builds up to this number have been reported, or are not to be. */
  readonly upTo: number
  /** Reported builds with higher numbers: an older one still runs. */
  readonly sent: readonly number[]
  /** Builds that ran when they were last seen; they hold `upTo` below them, unless they have been reported before and run again. */
  readonly open: readonly number[]
  /** How the newest of the ended builds ended when they were last seen, by number: some servers run a build again under its number. */
  readonly marks: readonly BuildMark[]
}

type BuildMark = readonly [number: number, mark: string]

export interface FirstBuildRules {
  readonly handlesFirstBuilds: boolean
  readonly lookBackMs: number
  readonly nowMs: number
}

/** More are not remembered one by one; `upTo` passes them. */
const mostSent = 500
const mostOpen = 50
const mostMarks = 50

/** Finished builds that are to be reported, oldest first, also once more. Of an unknown job, those that have just ended. */
export function dueBuilds(
  known: Position | undefined,
  builds: readonly ListedBuild[],
  rules: FirstBuildRules,
): ListedBuild[] {
  const finished = builds
    .filter((build) => build.number > 0 && !build.building)
    .toSorted((one, other) => one.number - other.number)
  if (known !== undefined && !isNewJob(known, builds)) {
    const marks = new Map(known.marks)
    const isReported = (number: number) => number <= known.upTo || known.sent.includes(number)
    const hasChanged = (build: ListedBuild) =>
      (marks.get(build.number) ?? markOf(build)) !== markOf(build)
    return finished.filter((build) => !isReported(build.number) || hasChanged(build))
  }
  if (!rules.handlesFirstBuilds) return []
  return finished.filter((build) => endOf(build) >= rules.nowMs - rules.lookBackMs)
}

const nothing: Position = { upTo: 0, sent: [], open: [], marks: [] }

/** The position once all listed builds are reported, save those that run or are `unsent`. */
export function nextPosition(
  known: Position | undefined,
  builds: readonly ListedBuild[],
  unsent: readonly ListedBuild[] = [],
): Position {
  const base = known === undefined || isNewJob(known, builds) ? nothing : known
  const numbered = builds.filter((build) => build.number > 0)
  const listed = new Set(numbered.map(({ number }) => number))
  const running = numbered.filter(({ building }) => building).map(({ number }) => number)
  const open = [...base.open.filter((number) => !listed.has(number)), ...running]
    .toSorted(ascending)
    .slice(-mostOpen)
  const later = new Set([...open, ...unsent.map(({ number }) => number)])
  const held = [...later].filter((number) => number > base.upTo)
  const handled = new Set([...base.sent, ...[...listed].filter((number) => !later.has(number))])
  const limit = held.length > 0 ? Math.min(...held) - 1 : Math.max(base.upTo, 0, ...listed)
  const sent = [...handled].filter((number) => number > limit).toSorted(ascending)
  const passed = sent.length > mostSent ? (sent.at(-mostSent - 1) ?? 0) : 0
  const upTo = Math.max(limit, base.upTo, passed)
  const marks = nextMarks(
    base.marks,
    numbered.filter((build) => !later.has(build.number)),
  )
  const isMarked = (number: number) => marks.some(([each]) => each === number)
  return {
    upTo,
    sent: sent.filter((number) => number > upTo),
    open: open.filter((number) => number > upTo || isMarked(number)),
    marks,
  }
}

function nextMarks(known: Position['marks'], handled: readonly ListedBuild[]): Position['marks'] {
  const marks = new Map([
    ...known,
    ...handled.map((build) => [build.number, markOf(build)] as const),
  ])
  return [...marks].toSorted(([one], [other]) => one - other).slice(-mostMarks)
}

/** Differs when a build that has ended was run again: its attempt, or else its result. */
export function markOf({ attempt, result }: ListedBuild): string {
  return String(attempt ?? result ?? '')
}

/** The newest build that has been seen. */
export function newestIn({ upTo, sent, open }: Position): number {
  return Math.max(upTo, ...sent, ...open)
}

/** A job that was deleted and created again begins with build 1. A list of builds that were running need not be whole. */
function isNewJob({ upTo, open }: Position, builds: readonly ListedBuild[]): boolean {
  const newest = Math.max(0, ...builds.map(({ number }) => number))
  return (
    newest > 0 &&
    newest < upTo &&
    builds.length === newest &&
    !builds.some((build) => open.includes(build.number))
  )
}

export function endOf({ timestamp = '0', duration = 0 }: ListedBuild): number {
  return Number(timestamp) + duration
}

function ascending(one: number, other: number): number {
  return one - other
}
