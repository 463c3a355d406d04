/** One instance: keeps its program running, or runs its command once, and records the events. */
import { randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatDuration } from '@fairlead/base/names/amounts.ts'
import type {
  DesiredInstance,
  ObservedInstance,
  Program,
} from '@fairlead/base/net/agent-protocol.ts'
import { tryPort } from '@fairlead/base/net/try-port.ts'
import {
  type ContainerIdentity,
  removeContainer,
  stopContainer,
  writtenBytes,
} from '@fairlead/base/sandbox/container-runtime.ts'
import { measureTree, openWayTo } from '@fairlead/base/storage/directory-trees.ts'
import { isCutOff } from './console.ts'
import { createGroup, joinGroup, removeGroup } from './control-groups.ts'
import { ExecError, type ProgramSurroundings } from './exec.ts'
import {
  filesOf,
  type InstanceFiles,
  type RunRecord,
  readRecord,
  readStatus,
  writeRecord,
} from './instance-files.ts'
import {
  endProcesses,
  findMembers,
  isOfItsUser,
  isSameProcess,
  type ProcessOwner,
} from './instance-processes.ts'
import {
  firstState,
  type InstanceEffect,
  type InstanceState,
  isStale,
  type LifeEvent,
  next,
  slowStartMs,
} from './instance-step.ts'
import type { AgentLog } from './log.ts'
import type { Marks, ProcessMark } from './marks.ts'
import { OutputTimes } from './output-times.ts'
import { probe, strangerAnswers } from './probe.ts'
import { memoryOf, type ProcessEntry, type ProcessTable } from './processes.ts'
import {
  describeDiskExcess,
  describeLostOutput,
  describeProgramExcess,
  describeStartFault,
  describeUnansweredRemoval,
  isContentMissing,
  PortTakenError,
} from './reasons.ts'
import { stableMs } from './restart-pause.ts'
import { InstanceRun, unknownEnd } from './run.ts'
import { StartError, startProgram } from './start-program.ts'
import { endFromShell } from './words.ts'
import { fillWorkspace, openVolumes, removeInstanceFolder } from './workspace.ts'

export interface InstanceContext {
  readonly dataDir: string
  readonly instancesFolder: string
  readonly marks: Marks
  /** Folder for the groups of instances; undefined where the machine has none. */
  readonly controlGroups: string | undefined
  readonly table: ProcessTable
  readonly log: AgentLog
  /** Called after every change of what `observe` returns. */
  readonly changed: () => void
  /** Called with its id when the program of an instance has ended, whatever else its processes do. */
  readonly onExit: (id: string) => void
  /** The processes belong to another agent from now on. */
  readonly isOver: () => boolean
  /** Everything is to end soon, as far as that can be done now. */
  readonly isStopping: () => boolean
}

const diskIntervalMs = 2_000
/** Until work that failed is tried again, such as a search for processes without a free descriptor, or a call of a daemon that is down. */
const faultPauseMs = 1_000
/** Longest pause, in which a program that had filled its folder with small files may write unnoticed. */
const longestDiskIntervalMs = 10_000
/** Measuring a folder may take this part of the time, unless the pause would be longer. */
const diskShare = 0.05
const longestDrainMs = 2_000
const drainPauseMs = 10
/** For podman or docker, which kills what does not end within its time. */
const runtimeSlackMs = 10_000
/** Longer timers fire at once. */
const longestTimerMs = 2_147_483_647

/** How long a connection to the port of a container stays open: until its program has started, or failed to, and later. */
const heldAtStartMs = 2_000
const heldMs = 250
/** Fields of the state that `observe` shows. */
const observedKeys = ['phase', 'reason', 'record', 'end'] as const

export class ProgramInstance {
  readonly id: string
  readonly #context: InstanceContext
  readonly #files: InstanceFiles
  #state: InstanceState
  /** Set from its start or adoption until none of its processes is left. */
  #run: InstanceRun | undefined
  /** Ends what looks after the run. */
  #over = new AbortController()
  #pause: NodeJS.Timeout | undefined
  #removal: Promise<void> | undefined
  readonly #released = Promise.withResolvers<void>()
  #mustRefill = false
  /** Tells readers of its output: there is more, or there will be no more. */
  readonly output = new EventEmitter<{ grew: []; ended: [] }>()
  readonly times: OutputTimes

  /** Reads what an agent before this one has recorded. */
  constructor(id: string, context: InstanceContext) {
    this.id = id
    this.#context = context
    this.#files = filesOf(context.instancesFolder, id)
    this.#state = firstState(readRecord(this.#files.record))
    this.output.setMaxListeners(0)
    this.times = new OutputTimes(this.#files.console, () => this.output.emit('grew'))
  }

  get isRemoving(): boolean {
    return this.#removal !== undefined
  }

  /** None of its processes listens: what answers on its port is another program. */
  get isDown(): boolean {
    const port = this.#state.desired?.readiness?.port
    return (
      this.#state.isDown ||
      (port !== undefined && this.#run?.hasStranger(port, this.#context.table) === true)
    )
  }

  /** What the agent measures is all of it; the rest of a container is the runtime's. */
  get isMeasured(): boolean {
    return !this.#state.isDown && this.#state.record.run?.container === undefined
  }

  get consoleFile(): string {
    return this.#files.console
  }

  /** What a program beside its own has to share with it. @throws {ExecError} while it does not run */
  get surroundings(): ProgramSurroundings {
    const { desired, record } = this.#state
    const { run } = record
    if (this.#run === undefined || run === undefined || desired === undefined)
      throw new ExecError(125, `The instance ${this.id} does not run at the moment.`)
    return {
      program: desired.program,
      work: this.#files.work,
      mark: this.#context.marks.format(this.id, run.id),
      controlGroup: run.controlGroup,
      table: this.#context.table,
    }
  }

  /** Whether a process with this mark, of an earlier run, was left behind. While the program starts or stops, the instance looks itself. */
  isStray(entry: ProcessEntry, { runId }: ProcessMark): boolean {
    const { run } = this.#state.record
    return (
      run?.id !== runId && this.#run !== undefined && isOfItsUser(run, this.#context.table, entry)
    )
  }

  /** Starts, adopts or restarts; other changes hold from the next start. */
  desire(desired: DesiredInstance): void {
    this.#feed({ kind: 'desired', desired })
  }

  /** Stops everything and removes the files. */
  remove(): Promise<void> {
    this.#removal ??= this.#remove()
    return this.#removal
  }

  observe(): ObservedInstance {
    const { desired, record, phase, reason, end } = this.#state
    const run = this.#run
    const { endedAt, exitCode, signal } = (run === undefined ? end : undefined) ?? {}
    return {
      id: this.id,
      generation: record.generation,
      phase,
      pid: run?.record.pid,
      startedAt: record.run?.startedAt,
      endedAt,
      exitCode,
      signal,
      restarts: record.restarts,
      failedStarts: record.quickEnds,
      reason,
      enforcement: enforcementOf(desired?.program, this.#context.controlGroups !== undefined),
      events: record.events,
    }
  }

  /** Frequent and cheap: notices the end of adopted processes. */
  sweep(): void {
    const run = this.#run
    if (run === undefined) return
    if (run.isAdopted) {
      const hasEnded = !isSameProcess(this.#context.table, run.record)
      if (this.#hasLostPump(run.record))
        this.#feed({ kind: 'exceeded', reason: describeLostOutput() })
      if (hasEnded) run.settle(unknownEnd)
    }
    if (this.#state.reason !== undefined && run.ageMs >= stableMs) this.#feed({ kind: 'stable' })
  }

  #hasLostPump({ pump }: RunRecord): boolean {
    return !isSameProcess(this.#context.table, pump) && isCutOff(this.#files.console, pump.pid)
  }

  /** Whether `measure` has something to do. */
  get isWatched(): boolean {
    const { limits, container } = this.#state.desired?.program ?? {}
    const isLimited = limits?.memoryBytes !== undefined || limits?.processes !== undefined
    return (
      this.#run !== undefined &&
      isLimited &&
      container === undefined &&
      this.#context.controlGroups === undefined
    )
  }

  /** The sum over all its processes. */
  memoryBytes(entries: ProcessEntry[]): number {
    const members = findMembers(this.#owner(), this.#context.table, entries)
    return members.reduce((sum, { pid }) => sum + memoryOf(pid), 0)
  }

  /** Ends the program when its processes exceed their limits together. */
  measure(entries: ProcessEntry[]): void {
    const run = this.#run
    const limits = this.#state.desired?.program.limits
    if (run === undefined || limits === undefined) return
    const members = findMembers(this.#owner(), this.#context.table, entries)
    const reason = describeProgramExcess(members, limits)
    if (reason !== undefined) this.#feed({ kind: 'exceeded', reason })
  }

  async #remove(): Promise<void> {
    this.#feed({ kind: 'unwanted' })
    await this.#released.promise
    await this.#endAll(this.#state.record.stopGraceMs)
    await this.#drain()
    const group = this.#state.record.run?.controlGroup
    if (group !== undefined) removeGroup(group)
    await removeInstanceFolder(this.#files.folder)
  }

  /** Readers get the end of what it has written before that is removed. */
  async #drain(): Promise<void> {
    const pump = this.#state.record.run?.pump
    for (let waitedMs = 0; waitedMs < longestDrainMs; waitedMs += drainPauseMs) {
      if (pump === undefined || !isSameProcess(this.#context.table, pump)) break
      await sleep(drainPauseMs)
    }
    this.times.look()
    this.times.close()
    this.output.emit('ended')
  }

  #feed(event: LifeEvent): void {
    const before = this.#state
    const { state, effects } = next(before, event, Date.now())
    this.#state = state
    if (observedKeys.some((key) => state[key] !== before[key])) this.#context.changed()
    if (this.#context.isOver()) this.#released.resolve()
    else for (const effect of effects) this.#perform(effect)
  }

  #perform(effect: InstanceEffect): void {
    switch (effect.kind) {
      case 'inspect':
        return void this.#attempt(() => this.#inspect())
      case 'clear':
        return void this.#attempt(() => this.#clear(effect.graceMs))
      case 'launch':
        return void this.#attempt(() => this.#launch())
      case 'watch':
        return void this.#watch()
      case 'probe':
        return void this.#retry(() => this.#probe(effect.ms))
      case 'stop':
        return void this.#attempt(() => this.#stop(effect.graceMs))
      case 'terminate':
        return void this.#retry(() => this.#endAll(effect.graceMs))
      case 'onExit':
        return void this.#context.onExit(this.id)
      case 'persist':
        return void this.#attempt(() => this.#persist())
      case 'pause':
        this.#pause = setTimeout(() => this.#feed({ kind: 'waited' }), effect.ms)
        return
      case 'release':
        clearTimeout(this.#pause)
        return void this.#released.resolve()
    }
  }

  /** What fails is a fault of the agent's own, such as a full disk below it. */
  #attempt(work: () => void | Promise<void>): void {
    Promise.try(work).catch((err: Error) => {
      this.#context.log.error({ err, instance: this.id }, 'an instance cannot be kept running')
      this.#over.abort()
      this.#run = undefined
      this.#feed({ kind: 'failed', message: err.message })
    })
  }

  /** Does what failed again, until the run is over. */
  #retry(work: () => Promise<void>): void {
    const { signal } = this.#over
    if (signal.aborted || this.#context.isOver()) return
    Promise.try(work).catch((err: unknown) => {
      this.#context.log.error({ err, instance: this.id }, 'an instance cannot be looked after')
      sleep(faultPauseMs, undefined, { signal }).then(
        () => this.#retry(work),
        () => {},
      )
    })
  }

  #inspect(): void {
    clearTimeout(this.#pause)
    const { run } = this.#state.record
    const isRunning = run !== undefined && isSameProcess(this.#context.table, run)
    const hasLeft = run !== undefined || this.#findMembers().length > 0
    if (isRunning && !isStale(this.#state)) this.#begin(new InstanceRun(run))
    this.#feed({ kind: 'found', isRunning, hasLeft })
  }

  #begin(run: InstanceRun): void {
    this.#run = run
    this.#over = new AbortController()
    this.times.follow()
  }

  async #clear(graceMs: number): Promise<void> {
    const { record, desired } = this.#state
    const run = this.#run
    const left =
      run === undefined || run.record.container !== undefined ? 0 : this.#findMembers().length
    await this.#endAll(graceMs)
    this.#run = undefined
    if (run !== undefined && desired?.restart === 'once' && !isStale(this.#state)) {
      // A process that escaped its end may keep the console open.
      await Promise.race([run.drained, sleep(longestDrainMs, undefined, { ref: false })])
    }
    this.#feed({
      kind: 'cleared',
      left,
      wasKilledForMemory: run?.wasKilledForMemory === true,
      hasLostPump: run === undefined && record.run !== undefined && this.#hasLostPump(record.run),
      status: readStatus(this.#files.status),
    })
  }

  async #launch(): Promise<void> {
    const desired = this.#state.desired as DesiredInstance
    const { program } = desired
    try {
      await this.#prepare(desired)
      await this.#checkPort(desired)
      if (isStale(this.#state)) return this.#feed({ kind: 'dropped' })
      this.#begin(await this.#spawn(desired))
    } catch (error) {
      const isFinal =
        error instanceof StartError || isContentMissing(error as NodeJS.ErrnoException, program)
      const reason = describeStartFault(error as NodeJS.ErrnoException, program)
      return this.#feed({ kind: 'refused', reason, isFinal })
    }
    this.#feed({ kind: 'launched' })
  }

  async #prepare({ program, stopGraceMs }: DesiredInstance): Promise<void> {
    await mkdir(this.#files.folder, { recursive: true, mode: 0o700 })
    const content = program.content ?? ''
    const isFilled =
      this.#state.record.content === content && existsSync(this.#files.work) && !this.#mustRefill
    if (!isFilled) await fillWorkspace(this.#files.work, program)
    this.#mustRefill = false
    await openVolumes(program, this.#context.dataDir)
    if (program.user !== undefined) openWayTo(this.#files.folder, this.#context.dataDir)
    this.#feed({ kind: 'prepared', content, stopGraceMs })
  }

  /** A program that has the port would pass for this one. @throws {Error} when another program listens on it */
  async #checkPort({ readiness }: DesiredInstance): Promise<void> {
    if (readiness === undefined || (await tryPort(readiness.host, readiness.port)) !== 'EADDRINUSE')
      return
    throw new PortTakenError(readiness.port)
  }

  async #spawn({ program, restart }: DesiredInstance): Promise<InstanceRun> {
    const { controlGroups, table, marks } = this.#context
    const id = randomBytes(6).toString('hex')
    const container = containerOf(program)
    const controlGroup =
      container === undefined && controlGroups !== undefined
        ? `${controlGroups}/${this.id}`
        : undefined
    const mark = marks.format(this.id, id)
    this.times.startRun()
    const started = await startProgram({
      program,
      files: this.#files,
      mark,
      keepsStatus: restart === 'once',
    })
    const startedAt = Date.now()
    const identify = (pid: number) => ({ pid, start: table.find(pid)?.start ?? '' })
    const { drained, pumpPid } = started
    const run = new InstanceRun(
      {
        id,
        ...identify(started.pid),
        pump: identify(pumpPid),
        uid: program.user?.uid,
        startedAt,
        controlGroup,
        container,
      },
      drained,
    )
    started.child.once('exit', (exitCode, endSignal) => {
      const end = { exitCode: exitCode ?? undefined, signal: endSignal ?? undefined }
      // Runtimes report a signal as a shell does.
      run.settle(container !== undefined && exitCode !== null ? endFromShell(exitCode) : end)
    })
    try {
      if (controlGroup !== undefined) {
        createGroup(controlGroup, program.limits)
        joinGroup(controlGroup, started.pid)
      }
      this.#feed({ kind: 'spawned', run: run.record })
      await writeRecord(this.#files, this.#state.record)
      if (this.#context.isOver()) throw new Error('Another agent starts it.')
    } catch (error) {
      await this.#endAll(0)
      throw error
    }
    started.begin()
    return run
  }

  #watch(): void {
    const run = this.#run as InstanceRun
    const { signal } = this.#over
    const { timeLimitMs, restart, program } = this.#state.desired as DesiredInstance
    const { diskBytes } = program.limits
    if (diskBytes !== undefined) this.#retry(() => this.#watchDisk(run, diskBytes, signal))
    void run.drained.then((pumpEnd) => {
      if (pumpEnd !== undefined && !signal.aborted)
        this.#feed({ kind: 'exceeded', reason: describeLostOutput(pumpEnd) })
    })
    if (timeLimitMs !== undefined && restart === 'once') {
      const leftMs = Math.min(longestTimerMs, Math.max(0, timeLimitMs - run.ageMs))
      sleep(leftMs, undefined, { signal }).then(
        () => this.#endLate(),
        () => {},
      )
    }
    void run.ended.then((end) => {
      if (signal.aborted) return
      this.#over.abort()
      this.#feed({ kind: 'exited', end, endedAt: Date.now(), ranMs: run.ageMs })
    })
  }

  #endLate(): void {
    const { timeLimitMs = 0, stopGraceMs } = this.#state.desired as DesiredInstance
    const reason = `It was ended after its time limit of ${formatDuration(timeLimitMs)}.`
    this.#feed({ kind: 'exceeded', reason, graceMs: stopGraceMs })
  }

  async #stop(graceMs: number): Promise<void> {
    const run = this.#run
    await this.#endAll(graceMs)
    if (run?.isAdopted) run.settle(unknownEnd)
  }

  async #probe(afterMs: number): Promise<void> {
    const { signal } = this.#over
    const run = this.#run as InstanceRun
    if (afterMs > 0) await sleep(afterMs, undefined, { signal }).catch(() => {})
    const { desired: { readiness: target } = {}, activity: before } = this.#state
    const isFirst = before.kind === 'running' && before.readyAt === undefined
    const stays = run.record.container === undefined ? 0 : isFirst ? heldAtStartMs : heldMs
    if (target === undefined && isFirst && stays > 0)
      await sleep(stays, undefined, { signal }).catch(() => {})
    const found =
      target === undefined ? ({ kind: 'healthy' } as const) : await probe(target, signal, stays)
    if (signal.aborted) return
    const result =
      target !== undefined && found.kind === 'healthy' && this.isDown
        ? strangerAnswers(target.port)
        : found
    const { ageMs } = run
    const { activity } = this.#state
    const isSlow =
      result.kind === 'unhealthy' && activity.kind === 'running' && activity.readyAt === undefined
    const ports =
      isSlow && ageMs >= slowStartMs(this.#state)
        ? this.#portsOf(run, target?.intervalMs ?? 0)
        : undefined
    this.#feed({ kind: 'probed', result, ageMs, ports })
  }

  /** Ports on which the program listens, searched for at most every `maxAgeMs`. */
  #portsOf(run: InstanceRun, maxAgeMs: number): readonly number[] {
    return run.portsBy(() => {
      const pids = this.#findMembers(maxAgeMs).map(({ pid }) => pid)
      return this.#context.table.listeningPorts(pids, maxAgeMs)
    })
  }

  async #watchDisk(run: InstanceRun, diskBytes: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startMs = performance.now()
      const { container } = run.record
      const size =
        container === undefined
          ? await measureTree(this.#files.work)
          : { bytes: await writtenBytes(container), entries: 0 }
      const reason = describeDiskExcess(size, diskBytes, container !== undefined)
      if (reason !== undefined && !signal.aborted) {
        this.#mustRefill = true
        return this.#feed({ kind: 'exceeded', reason })
      }
      const restMs = (performance.now() - startMs) / diskShare
      const pauseMs = Math.min(longestDiskIntervalMs, Math.max(diskIntervalMs, restMs))
      await sleep(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  #owner(): ProcessOwner {
    return { marks: this.#context.marks, instanceId: this.id, run: this.#state.record.run }
  }

  #findMembers(maxAgeMs = 0): ProcessEntry[] {
    const { table } = this.#context
    return findMembers(this.#owner(), table, table.recent(maxAgeMs))
  }

  async #endAll(graceMs: number): Promise<void> {
    const container = this.#state.record.run?.container
    if (container !== undefined) return this.#endContainer(container, graceMs)
    const { killed, left } = await endProcesses(this.#owner(), this.#context.table, graceMs)
    if (killed > 0 && graceMs > 0)
      this.#note(`It did not end within ${formatDuration(graceMs)} after SIGTERM, and was killed.`)
    if (left > 0)
      this.#note(
        `${left} of its processes cannot be ended: they run as another user, or hang in the kernel.`,
      )
  }

  /** The client of the runtime ends with the container; it is no part of it. */
  async #endContainer(container: ContainerIdentity, graceMs: number): Promise<void> {
    const ask = () => void stopContainer(container, graceMs)
    await endProcesses(
      this.#owner(),
      this.#context.table,
      graceMs === 0 ? 0 : graceMs + runtimeSlackMs,
      ask,
    )
    for (;;) {
      const problem = await removeContainer(container)
      if (problem === undefined || this.#context.isOver() || this.#context.isStopping()) return
      this.#feed({ kind: 'stuck', reason: describeUnansweredRemoval(container, problem) })
      await sleep(faultPauseMs)
    }
  }

  #note(text: string): void {
    this.#feed({ kind: 'noted', text })
  }

  async #persist(): Promise<void> {
    await writeRecord(this.#files, this.#state.record)
    this.#feed({ kind: 'persisted' })
  }
}

function containerOf({ command, container, user }: Program): ContainerIdentity | undefined {
  if (container === undefined) return undefined
  return {
    name: container.name,
    runtime: command[0] ?? '',
    environment: container.runtimeEnvironment,
    user,
  }
}

function enforcementOf(
  program: Program | undefined,
  hasGroups: boolean,
): ObservedInstance['enforcement'] {
  const { limits, container } = program ?? {}
  const enforced = hasGroups || container !== undefined ? 'cgroup' : 'watched'
  return {
    memory: limits?.memoryBytes === undefined ? 'none' : enforced,
    processes: limits?.processes === undefined ? 'none' : enforced,
    openFiles: limits?.openFiles === undefined ? 'none' : 'prlimit',
    disk: limits?.diskBytes === undefined ? 'none' : 'watched',
  }
}
