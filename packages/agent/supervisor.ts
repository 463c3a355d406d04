/** Brings processes in line with the desired state; adopts those of an earlier agent. */
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { instancesFolderName } from '@fairlead/base/names/agent-files.ts'
import type {
  ConsolePart,
  ConsoleWish,
  DesiredInstance,
  ObservedInstance,
} from '@fairlead/base/net/agent-protocol.ts'
import { readConsolePart } from './console.ts'
import { listGroups, openControlGroups, removeGroup } from './control-groups.ts'
import { type InstanceContext, ProgramInstance } from './instance.ts'
import type { AgentLog } from './log.ts'
import { openMarks } from './marks.ts'
import { openProcessTable, type ProcessTable, signalProcess } from './processes.ts'

interface SupervisorOptions {
  readonly dataDir: string
  readonly log: AgentLog
  readonly onChange: () => void
  /** The program of an instance has ended. */
  readonly onDown?: (instanceId: string) => void
  /** By default the processes of this machine. */
  readonly table?: ProcessTable
}

/** How often ends of adopted processes are looked for. */
const sweepMs = 250
/** Every how many sweeps memory is measured, and processes are searched that belong to nothing. */
const measureEvery = 8
const searchEvery = 120
/** A process that an agent was about to start when it died may appear a moment after the first search. */
const secondSearch = 4

export class Supervisor {
  readonly #context: InstanceContext
  readonly #instances = new Map<string, ProgramInstance>()
  #desired = new Map<string, DesiredInstance>()
  #timer: NodeJS.Timeout | undefined
  #sweeps = 0
  #isOver = false
  #isStopping = false

  constructor({
    dataDir,
    log,
    onChange,
    onDown = () => {},
    table = openProcessTable(),
  }: SupervisorOptions) {
    const marks = openMarks(dataDir)
    this.#context = {
      dataDir,
      instancesFolder: join(dataDir, instancesFolderName),
      marks,
      controlGroups: openControlGroups(`fairlead-${marks.agentMark}`),
      table,
      log,
      changed: onChange,
      onExit: onDown,
      isOver: () => this.#isOver,
      isStopping: () => this.#isStopping,
    }
  }

  apply(instances: readonly DesiredInstance[]): void {
    this.#desired = new Map(instances.map((instance) => [instance.id, instance]))
    if (this.#timer === undefined) this.#begin()
    this.#reconcile()
  }

  observe(): ObservedInstance[] {
    return [...this.#instances.values()].map((instance) => instance.observe())
  }

  /** Whether an instance has no process that could listen. */
  isDown(id: string): boolean {
    return this.#instances.get(id)?.isDown === true
  }

  /** A part of what an instance wrote; undefined when there is no such instance, or it was never started. */
  consolePart(id: string, wish: ConsoleWish, maxBytes: number): ConsolePart | undefined {
    const instance = this.#instances.get(id)
    return instance && readConsolePart(instance.consoleFile, wish, maxBytes)
  }

  /** Undefined when there is no such instance. */
  find(id: string): ProgramInstance | undefined {
    return this.#instances.get(id)
  }

  /** Bytes by the id of an instance that runs; none where the system has no `/proc`. */
  measureMemory(): Map<string, number> {
    if (process.platform !== 'linux' || this.#instances.size === 0) return new Map()
    const entries = this.#context.table.list()
    return new Map(
      [...this.#instances].flatMap(([id, each]) =>
        !each.isMeasured ? [] : [[id, each.memoryBytes(entries)] as const],
      ),
    )
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    this.apply([])
    await Promise.all([...this.#instances.values()].map((instance) => instance.remove()))
    if (this.#context.controlGroups !== undefined) removeGroup(this.#context.controlGroups)
    this.close()
  }

  /** Leaves the processes to the next agent. */
  close(): void {
    this.#isOver = true
    clearInterval(this.#timer)
  }

  #begin(): void {
    mkdirSync(this.#context.instancesFolder, { recursive: true, mode: 0o700 })
    for (const id of this.#findLeftIds()) {
      if (!this.#desired.has(id)) this.#instances.set(id, new ProgramInstance(id, this.#context))
    }
    this.#timer = setInterval(() => this.#sweep(), sweepMs)
  }

  /** Instances that agents before this one have left: by their folders, control groups and processes. */
  #findLeftIds(): Set<string> {
    const { controlGroups, instancesFolder, table, marks } = this.#context
    const found = table.list().flatMap((entry) => marks.check(table.markOf(entry)) ?? [])
    for (const group of controlGroups === undefined ? [] : listGroups(controlGroups))
      removeGroup(group)
    return new Set([...readdirSync(instancesFolder), ...found.map(({ instanceId }) => instanceId)])
  }

  #reconcile(): void {
    for (const [id, desired] of this.#desired) {
      const instance = this.#instances.get(id) ?? new ProgramInstance(id, this.#context)
      this.#instances.set(id, instance)
      if (!instance.isRemoving) instance.desire(desired)
    }
    for (const [id, instance] of this.#instances) {
      if (!this.#desired.has(id) && !instance.isRemoving) this.#remove(id, instance)
    }
    this.#context.changed()
  }

  #remove(id: string, instance: ProgramInstance): void {
    const { log } = this.#context
    instance
      .remove()
      .catch((err: unknown) =>
        log.error({ err, instance: id }, 'the files of an instance cannot be removed'),
      )
      .finally(() => {
        this.#instances.delete(id)
        this.#reconcile()
      })
  }

  #sweep(): void {
    this.#sweeps += 1
    for (const instance of this.#instances.values()) this.#attempt(() => instance.sweep(), instance)
    if (this.#sweeps % measureEvery === 0) this.#attempt(() => this.#measure())
    if (this.#sweeps % searchEvery === 0 || this.#sweeps === secondSearch)
      this.#attempt(() => this.#endStrangers())
  }

  /** A fault, such as a full disk or too many open files, reaches neither other instances nor the agent. */
  #attempt(work: () => void, instance?: ProgramInstance): void {
    try {
      work()
    } catch (err) {
      if (instance === undefined)
        this.#context.log.error({ err }, 'the processes of instances cannot be checked')
      else
        this.#context.log.error(
          { err, instance: instance.id },
          'an instance cannot be looked after',
        )
    }
  }

  #measure(): void {
    const watched = [...this.#instances.values()].filter(({ isWatched }) => isWatched)
    if (watched.length === 0) return
    const entries = this.#context.table.list()
    for (const instance of watched) this.#attempt(() => instance.measure(entries), instance)
  }

  /** Ends marked processes that belong to no run of an instance. */
  #endStrangers(): void {
    const { table, marks, log } = this.#context
    for (const entry of table.list()) {
      const mark = marks.check(table.markOf(entry))
      if (
        mark === undefined ||
        this.#instances.get(mark.instanceId)?.isStray(entry, mark) === false
      )
        continue
      log.warn(
        { pid: entry.pid, instance: mark.instanceId },
        'a process that belongs to no instance is ended',
      )
      signalProcess(entry.pid, 'SIGKILL')
    }
  }
}
