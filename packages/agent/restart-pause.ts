/** Pauses between the end of a program, or of the agent, and its next start. */
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'

/** A program that ran this long is started again as if it had never ended. */
export const stableMs = 60_000
const programPauses = { firstMs: 100, longestMs: 30_000 }
const agentPauses = { firstMs: 100, longestMs: 5_000 }

/** @param quickEnds Ends in a row, each sooner than `stableMs` after its start, the latest included. */
export function restartPauseMs(quickEnds: number): number {
  return backOffMs(programPauses, quickEnds - 1)
}

/** Until an agent may be followed by another one. @param quickEnds As of a program; without any, there is no pause. */
export function agentPauseMs(quickEnds: number): number {
  return quickEnds === 0 ? 0 : backOffMs(agentPauses, quickEnds - 1)
}
