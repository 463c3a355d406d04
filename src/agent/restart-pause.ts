/** Pauses between the end of a program, or of the agent, and its next start. */

/** A program that ran this long is started again as if it had never ended. */
export const stableMs = 60_000
const firstPauseMs = 100
const longestPauseMs = 30_000
const longestAgentPauseMs = 5_000

/** @param quickEnds Ends in a row, each sooner than `stableMs` after its start, the latest included. */
export function restartPauseMs(quickEnds: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.max(0, quickEnds - 1))
}

/** Until an agent may be followed by another one. @param quickEnds As of a program; without any, there is no pause. */
export function agentPauseMs(quickEnds: number): number {
  return quickEnds === 0 ? 0 : Math.min(longestAgentPauseMs, restartPauseMs(quickEnds))
}
