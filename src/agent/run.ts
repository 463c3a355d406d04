/** One run of a program: from the start of its process, or its adoption, until its end. */
import { memoryKills } from './control-groups.ts'
import type { RunRecord } from './instance-files.ts'
import { ageMsOf } from './processes.ts'
import type { ProgramEnd } from './words.ts'

/** A process that this agent or one before it has started. */
export interface Run {
  readonly record: RunRecord
  /** Resolves when the leader of the group has ended. */
  readonly ended: Promise<ProgramEnd>
  readonly settle: (end: ProgramEnd) => void
  /** Only the agent that started a process learns how it ended; for others, its absence has to be noticed. */
  readonly isAdopted: boolean
  readonly kernelKills: number
  /** Start of its process, as `performance.now()`. */
  readonly startedMs: number
  readyAt: number | undefined
  /** On which it listens, as of the last search; until this age of the run. */
  readonly ports: { found: readonly number[]; untilMs: number }
  /** As of the started program; resolves at once for an adopted one. */
  readonly drained: Promise<string | undefined>
  /** Why the agent has ended it. */
  verdict: string | undefined
}

/** The end of a process while no agent was its parent. */
export const unknownEnd: ProgramEnd = { exitCode: undefined, signal: undefined }

/** @param drained Undefined: it was started by an agent before this one */
export function createRun(record: RunRecord, drained?: Promise<string | undefined>): Run {
  const { promise: ended, resolve: settle } = Promise.withResolvers<ProgramEnd>()
  const kernelKills = record.controlGroup === undefined ? 0 : memoryKills(record.controlGroup)
  const ports = { found: [], untilMs: 0 }
  return {
    record,
    ended,
    settle,
    isAdopted: drained === undefined,
    drained: drained ?? Promise.resolve(undefined),
    kernelKills,
    startedMs: performance.now() - (ageMsOf(record.start) ?? Math.max(0, Date.now() - record.startedAt)),
    readyAt: undefined,
    ports,
    verdict: undefined,
  }
}

/** Milliseconds that it has lasted. */
export function ageOf({ startedMs }: Run): number {
  return performance.now() - startedMs
}

/** Whether the kernel has ended a process of the run because its memory was used up. */
export function wasKilledForMemory({ record, kernelKills }: Run): boolean {
  return record.controlGroup !== undefined && memoryKills(record.controlGroup) > kernelKills
}
