/** Pauses between the end of a program and its next start. */

/** A program that ran this long is started again as if it had never ended. */
export const stableMs = 60_000
const firstPauseMs = 100
const longestPauseMs = 30_000

/** @param quickEnds Ends in a row, each sooner than `stableMs` after its start, the latest included. */
export function restartPauseMs(quickEnds: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.max(0, quickEnds - 1))
}
