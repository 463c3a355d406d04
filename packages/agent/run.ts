/** One run of a program: from the start of its process, or its adoption, until its end. */
import { memoryKills } from './control-groups.ts'
import type { RunRecord } from './instance-files.ts'
import { ageMsOf, type ProcessTable } from './processes.ts'
import type { ProgramEnd } from './words.ts'

/** A reading of who listens may be as old, unless the program is younger. */
const portAgeMs = 1_000

/** The end of a process while no agent was its parent. */
export const unknownEnd: ProgramEnd = { exitCode: undefined, signal: undefined }

/** A process that this agent or one before it has started. */
export class InstanceRun {
  readonly record: RunRecord
  /** Only the agent that started a process learns how it ended; for others, its absence has to be noticed. */
  readonly isAdopted: boolean
  /** `drained` of the started program; resolves at once for an adopted one. */
  readonly drained: Promise<string | undefined>
  /** Its program, and no other user's, was seen to listen on its port. */
  #hasPort = false
  /** Ports of the last search, and the age of the run until which they count. */
  #ports: { readonly found: readonly number[]; readonly untilMs: number } = {
    found: [],
    untilMs: 0,
  }
  readonly #end = Promise.withResolvers<ProgramEnd>()
  readonly #kernelKills: number
  /** By `performance.now()`. */
  readonly #startedMs: number

  /** @param drained Undefined: it was started by an agent before this one */
  constructor(record: RunRecord, drained?: Promise<string | undefined>) {
    this.record = record
    this.isAdopted = drained === undefined
    this.drained = drained ?? Promise.resolve(undefined)
    this.#kernelKills = this.#countKills()
    this.#startedMs =
      performance.now() - (ageMsOf(record.start) ?? Math.max(0, Date.now() - record.startedAt))
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

  /** Whether another user's program took the port after the start of the program, which does not listen yet. */
  hasStranger(port: number, table: ProcessTable): boolean {
    if (this.#hasPort) return false
    const known = table.usersOnPort(port, Math.min(this.ageMs, portAgeMs))
    const users = known.length > 0 ? known : table.usersOnPort(port, 0)
    // Root may listen for a container.
    this.#hasPort =
      users.some((user) => [0, process.getuid?.(), this.record.uid].includes(user)) ||
      (users.length > 0 && this.#listensItself(port, table))
    return !this.#hasPort && users.length > 0
  }

  /** Whether a process of its group listens: a program of root may have given up its rights. */
  #listensItself(port: number, table: ProcessTable): boolean {
    const { pid } = this.record
    const own = table.recent(0).filter(({ group }) => group === pid)
    return table
      .listeningPorts(
        own.map((each) => each.pid),
        0,
      )
      .includes(port)
  }

  /** Where it listens. The older the run, the longer a search is valid: it reads all connections of the system. */
  portsBy(search: () => readonly number[]): readonly number[] {
    const { ageMs } = this
    if (this.#ports.untilMs <= ageMs) this.#ports = { found: search(), untilMs: 2 * ageMs }
    return this.#ports.found
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
