/** Selection of the executions that a list shows. @see docs/contracts/orchestration.md#lists-of-executions */
import type { ExecutionKey } from './store.ts'

/** How far back lists reach. */
export const historyMs = 14 * 24 * 3600 * 1000
/** What is shown of a pipeline that has not run for longer. */
const oldOnesShown = 2

/** @param executions Those of one pipeline, newest first. */
export function withinHistory(executions: readonly ExecutionKey[], now: number): ExecutionKey[] {
  const recent = executions.filter(({ startTime }) => startTime === undefined || startTime >= now - historyMs)
  return recent.length > 0 ? recent : executions.slice(0, oldOnesShown)
}

/** Not-started first, then by start time; ties by id, newest first. */
export function byStartTime(one: ExecutionKey, other: ExecutionKey): number {
  const difference = (one.startTime ?? 0) - (other.startTime ?? 0)
  if (difference !== 0) return difference
  return one.id < other.id ? 1 : one.id > other.id ? -1 : 0
}
