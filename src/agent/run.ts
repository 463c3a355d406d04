/** One run of a program: from the start of its process, or its adoption, until its end. */
import { memoryKills } from './control-groups.ts'
import type { RunRecord } from './instance-files.ts'
import { ageMsOf } from './processes.ts'
import type { ProgramEnd } from './words.ts'

/** The end of a process while no agent was its parent. */
export const unknownEnd: ProgramEnd = { exitCode: undefined, signal: undefined }

/** A process that this agent or one before it has started. */
export class Run {
  readonly record: RunRecord
  /** Only the agent that started a process learns how it ended; for others, its absence has to be noticed. */
  readonly isAdopted: boolean
  /** As of the started program; resolves at once for an adopted one. */
  readonly drained: Promise<string | undefined>
  readyAt: number | undefined
  /** Its program, and no other user's, was seen to listen on its port. */
  hasPort = false
  /** Why the agent has ended it. */
  verdict: string | undefined
  /** On which it listens, as of the last search; until this age of the run. */
  readonly ports: { found: readonly number[]; untilMs: number } = { found: [], untilMs: 0 }
  readonly #end = Promise.withResolvers<ProgramEnd>()
  readonly #kernelKills: number
  /** As `performance.now()`. */
  readonly #startedMs: number

  /** @param drained Undefined: it was started by an agent before this one */
  constructor(record: RunRecord, drained?: Promise<string | undefined>) {
    this.record = record
    this.isAdopted = drained === undefined
    this.drained = drained ?? Promise.resolve(undefined)
    this.#kernelKills = this.#countKills()
    this.#startedMs = performance.now() - (ageMsOf(record.start) ?? Math.max(0, Date.now() - record.startedAt))
  }

  /** Resolves when the leader of the group has ended. */
  get ended(): Promise<ProgramEnd> {
    return this.#end.promise
  }

  settle(end: ProgramEnd): void {
    this.#end.resolve(end)
  }

  get ageMs(): number {
    return performance.now() - this.#startedMs
  }

  /** Whether the kernel has ended a process of the run because its memory was used up. */
  get wasKilledForMemory(): boolean {
    return this.#countKills() > this.#kernelKills
  }

  #countKills(): number {
    const { controlGroup } = this.record
    return controlGroup === undefined ? 0 : memoryKills(controlGroup)
  }
}
