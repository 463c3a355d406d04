/** The queue of builds: fair among applications, so that many builds of one delay those of another by one at most. */
import type { StoredBuild } from './build-store.ts'

interface QueueState {
  /** Oldest first. */
  readonly queued: readonly StoredBuild[]
  readonly running: readonly StoredBuild[]
  readonly maxRunning: number
  /** When each application last had a build started: greater is later. */
  readonly turns: ReadonlyMap<string, number>
}

/**
 * The build that is to start next: the oldest of the application that has fewest running, and among these of the one that has waited
 * longest for its turn. Undefined while there is no room.
 */
export function nextBuild({
  queued,
  running,
  maxRunning,
  turns,
}: QueueState): StoredBuild | undefined {
  if (running.length >= maxRunning) return undefined
  const busyJobs = new Set(running.map(({ job }) => job))
  const counts = new Map<string, number>()
  for (const { application } of running) counts.set(application, (counts.get(application) ?? 0) + 1)
  const candidates = new Map<string, StoredBuild>()
  for (const build of queued) {
    if (candidates.has(build.application)) continue
    if (build.isExclusive !== true || !busyJobs.has(build.job))
      candidates.set(build.application, build)
  }
  const rank = ({ application }: StoredBuild) =>
    [counts.get(application) ?? 0, turns.get(application) ?? 0] as const
  return [...candidates.values()].sort((one, other) => {
    const [oneCount, oneTurn] = rank(one)
    const [otherCount, otherTurn] = rank(other)
    return oneCount - otherCount || oneTurn - otherTurn || one.item - other.item
  })[0]
}
