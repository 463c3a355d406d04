/** One run of a program: from the start of its process, or its adoption, until its end. */
import { memoryKills } from './control-groups.ts'
import type { RunRecord } from './instance-files.ts'
import type { ProcessEnd } from './words.ts'

/** A process that this agent or one before it has started. */
export interface Run {
  readonly record: RunRecord
  /** Resolves when the leader of the group has ended. */
  readonly ended: Promise<ProcessEnd>
  readonly settle: (end: ProcessEnd) => void
  /** Only the agent that started a process learns how it ended; for others, its absence has to be noticed. */
  readonly isAdopted: boolean
  readonly kernelKills: number
  readyAt: number | undefined
  /** On which it listens, as of the last search; `untilMs` since the epoch. */
  readonly ports: { found: readonly number[]; untilMs: number }
  /** It was noted that more was written than the console holds. */
  isVerbose: boolean
  /** Why the agent has ended it. */
  verdict: string | undefined
}

/** Of a process that ended while no agent was its parent. */
export const unknownEnd: ProcessEnd = { exitCode: undefined, signal: undefined }

export function createRun(record: RunRecord, isAdopted: boolean): Run {
  const { promise: ended, resolve: settle } = Promise.withResolvers<ProcessEnd>()
  const kernelKills = record.controlGroup === undefined ? 0 : memoryKills(record.controlGroup)
  const ports = { found: [], untilMs: 0 }
  return { record, ended, settle, isAdopted, kernelKills, readyAt: undefined, ports, isVerbose: false, verdict: undefined }
}

/** Whether the kernel has ended a process of the run because its memory was used up. */
export function wasKilledForMemory({ record, kernelKills }: Run): boolean {
  return record.controlGroup !== undefined && memoryKills(record.controlGroup) > kernelKills
}
