/** One instance: keeps its program running, or runs its command once, and records the events. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatDuration } from '../names/amounts.ts'
import type { DesiredInstance, InstanceEvent, InstancePhase, ObservedInstance, Probe, Program } from '../net/agent-protocol.ts'
import { tryPort } from '../net/try-port.ts'
import { type ContainerIdentity, removeContainer, stopContainer, writtenBytes } from '../sandbox/container-runtime.ts'
import { measureTree, openWayTo } from '../storage/directory-trees.ts'
import { isCutOff } from './console.ts'
import { createGroup, joinGroup, removeGroup } from './control-groups.ts'
import {
  filesOf,
  type InstanceFiles,
  type InstanceRecord,
  type RunRecord,
  readRecord,
  readStatus,
  unstarted,
  writeRecord,
} from './instance-files.ts'
import { endProcesses, findMembers, isOfItsUser, isSameProcess, type ProcessOwner } from './instance-processes.ts'
import type { AgentLog } from './log.ts'
import type { Mark, Marks } from './marks.ts'
import { probe, strangerAnswers, type Unhealthy } from './probe.ts'
import { memoryOf, type ProcessEntry, type ProcessTable } from './processes.ts'
import {
  describeCommand,
  describeDiskExcess,
  describeLostOutput,
  describeMemory,
  describeProgram,
  describeProgramExcess,
  describeRestarts,
  describeSlowStart,
  describeStartFault,
  describeUnansweredRemoval,
  isContentMissing,
  PortTakenError,
} from './reasons.ts'
import { restartPauseMs, stableMs } from './restart-pause.ts'
import { Run, unknownEnd } from './run.ts'
import { StartError, startProgram } from './start-program.ts'
import { describeProgramEnd, endFromShell, type ProgramEnd } from './words.ts'
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
  readonly wentDown: (id: string) => void
  /** The processes belong to another agent from now on. */
  readonly isOver: () => boolean
  /** Everything is to end soon, as far as that can be done now. */
  readonly isStopping: () => boolean
}

const maxEvents = 20
/** Failures in a row after which an instance that was ready is no longer. */
const failuresUntilUnready = 3
/** A probe follows after this pause at first, so that a quick start shows at once. */
const firstProbePauseMs = 25
/** An instance that is not ready after so many intervals has a reason to be looked for. */
const readinessIntervals = 10
const diskIntervalMs = 2_000
/** Until work that failed is tried again, such as a search for processes without a free descriptor, or a call of a daemon that is down. */
const faultPauseMs = 1_000
/** As long may a program that has filled its folder with small files before write unnoticed. */
const longestDiskIntervalMs = 10_000
/** Measuring a folder may take this part of the time, unless the pause would be longer. */
const diskShare = 0.05
const defaultGraceMs = 10_000
const longestDrainMs = 2_000
/** For podman or docker, which kills what does not end within its time. */
const runtimeSlackMs = 10_000
/** Longer timers fire at once. */
const longestTimerMs = 2_147_483_647

export class ProgramInstance {
  readonly id: string
  readonly #context: InstanceContext
  readonly #files: InstanceFiles
  #desired: DesiredInstance | undefined
  #record: InstanceRecord
  #run: Run | undefined
  #abort = new AbortController()
  #life: Promise<void> = Promise.resolve()
  #removal: Promise<void> | undefined
  #mustRefill = false
  /** Its program does not run; one that a former agent has started may. */
  #isDown: boolean
  #phase: InstancePhase = 'starting'
  #reason: string | undefined
  #end: (ProgramEnd & { readonly endedAt: number }) | undefined

  /** Reads what an agent before this one has recorded. */
  constructor(id: string, context: InstanceContext) {
    this.id = id
    this.#context = context
    this.#files = filesOf(context.instancesFolder, id)
    this.#record = readRecord(this.#files.record) ?? {
      generation: 0,
      content: undefined,
      stopGraceMs: defaultGraceMs,
      run: undefined,
      outcome: undefined,
      restarts: 0,
      quickEnds: 0,
      events: [],
    }
    this.#isDown = this.#record.run === undefined
  }

  get isRemoving(): boolean {
    return this.#removal !== undefined
  }

  /** None of its processes listens: what answers on its port is another program. */
  get isDown(): boolean {
    const port = this.#desired?.readiness?.port
    return this.#isDown || (port !== undefined && this.#run?.hasStranger(port, this.#context.table) === true)
  }

  /** What the agent measures is all of it; the rest of a container is the runtime's. */
  get isMeasured(): boolean {
    return !this.#isDown && this.#record.run?.container === undefined
  }

  get consoleFile(): string {
    return this.#files.console
  }

  /** Whether a process with this mark, of an earlier run, was left behind. While the program starts or stops, the instance looks itself. */
  isStray(entry: ProcessEntry, { runId }: Mark): boolean {
    const { run } = this.#record
    return run?.id !== runId && this.#run !== undefined && isOfItsUser(run, this.#context.table, entry)
  }

  /** Starts, adopts or restarts; other changes hold from the next start. */
  desire(desired: DesiredInstance): void {
    const former = this.#desired
    this.#desired = desired
    if (former !== undefined && former.generation === desired.generation) return
    this.#abort.abort()
    this.#abort = new AbortController()
    const { signal } = this.#abort
    this.#life = this.#life.then(() => this.#live(signal)).catch((error: unknown) => this.#report(error, signal))
  }

  /** Stops everything and removes the files. */
  remove(): Promise<void> {
    this.#removal ??= this.#remove()
    return this.#removal
  }

  observe(): ObservedInstance {
    const run = this.#run
    const end = run === undefined ? this.#end : undefined
    return {
      id: this.id,
      generation: this.#record.generation,
      phase: this.#phase,
      pid: run?.record.pid,
      startedAt: this.#record.run?.startedAt,
      endedAt: end?.endedAt,
      exitCode: end?.exitCode,
      signal: end?.signal,
      restarts: this.#record.restarts,
      failedStarts: this.#record.quickEnds,
      reason: this.#reason,
      enforcement: enforcementOf(this.#desired?.program, this.#context.controlGroups !== undefined),
      events: this.#record.events,
    }
  }

  /** Frequent and cheap: notices the end of adopted processes. */
  sweep(): void {
    const run = this.#run
    if (run === undefined) return
    if (run.isAdopted) this.#checkAdopted(run)
    const isStable = run.ageMs >= stableMs
    if (isStable && this.#phase === 'ready') this.#show('ready', undefined)
  }

  #checkAdopted(run: Run): void {
    const hasEnded = !isSameProcess(this.#context.table, run.record)
    if (this.#hasLostPump(run.record)) this.#condemn(run, describeLostOutput())
    if (hasEnded) run.settle(unknownEnd)
  }

  #hasLostPump({ pump }: RunRecord): boolean {
    return !isSameProcess(this.#context.table, pump) && isCutOff(this.#files.console, pump.pid)
  }

  /** Whether `measure` has something to do. */
  get isWatched(): boolean {
    const { limits, container } = this.#desired?.program ?? {}
    const isLimited = limits?.memoryBytes !== undefined || limits?.processes !== undefined
    return this.#run !== undefined && isLimited && container === undefined && this.#context.controlGroups === undefined
  }

  /** The sum over all its processes. */
  memoryBytes(entries: ProcessEntry[]): number {
    const members = findMembers(this.#owner(), this.#context.table, entries)
    return members.reduce((sum, { pid }) => sum + memoryOf(pid), 0)
  }

  /** Ends the program when its processes exceed their limits together. */
  measure(entries: ProcessEntry[]): void {
    const run = this.#run
    const limits = this.#desired?.program.limits
    if (run === undefined || limits === undefined) return
    const members = findMembers(this.#owner(), this.#context.table, entries)
    const verdict = describeProgramExcess(members, limits)
    if (verdict !== undefined) this.#condemn(run, verdict)
  }

  async #remove(): Promise<void> {
    this.#abort.abort()
    this.#show('stopping', undefined)
    await this.#life
    await this.#endAll(this.#record.stopGraceMs)
    const group = this.#record.run?.controlGroup
    if (group !== undefined) removeGroup(group)
    await removeInstanceFolder(this.#files.folder)
  }

  async #live(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    let run = await this.#resume(signal)
    while (!signal.aborted && !this.#context.isOver() && this.#phase !== 'ended' && this.#phase !== 'failed') {
      run ??= await this.#start(signal)
      if (run === undefined) continue
      await this.#watch(run, signal)
      if (this.#context.isOver()) return
      await this.#settle(run, signal)
      run = undefined
    }
  }

  /** Takes over what a former generation or a former agent has left: a process that runs, or the end of a command. */
  async #resume(signal: AbortSignal): Promise<Run | undefined> {
    const desired = this.#desired as DesiredInstance
    const { generation, run, outcome } = this.#record
    if (generation !== desired.generation) {
      if (run !== undefined || this.#findMembers().length > 0) {
        this.#show('stopping', undefined)
        await this.#endAll(this.#record.stopGraceMs)
      }
      this.#end = undefined
      this.#update({ generation: desired.generation, run: undefined, outcome: undefined, restarts: 0, quickEnds: 0 })
      if (!signal.aborted) this.#show('starting', undefined)
      return undefined
    }
    if (run !== undefined && isSameProcess(this.#context.table, run)) {
      this.#note(`Adopted process ${run.pid}, which had been started before.`)
      return new Run(run)
    }
    await this.#endAll(0)
    if (run === undefined) return undefined
    if (desired.restart === 'once') await this.#resumeCommand(run, outcome)
    else {
      this.#update({ restarts: this.#record.restarts + 1 })
      this.#note(this.#hasLostPump(run) ? describeLostOutput() : 'It ended while no agent watched it.')
    }
    return undefined
  }

  async #resumeCommand(run: RunRecord, outcome: InstanceRecord['outcome']): Promise<void> {
    if (outcome !== undefined) {
      this.#end = outcome
      return this.#show('ended', outcome.reason)
    }
    const status = readStatus(this.#files.status)
    if (status === unstarted) return
    const end = status === undefined ? unknownEnd : endFromShell(status.code)
    await this.#finish(end, status?.endedAt ?? Date.now(), describeCommand(end, run, status?.endedAt))
  }

  /** Undefined when it did not start; the phase says whether it is tried again. */
  async #start(signal: AbortSignal): Promise<Run | undefined> {
    const desired = this.#desired as DesiredInstance
    this.#isDown = true
    this.#show('starting', this.#reason)
    try {
      await this.#prepare(desired)
      await this.#checkPort(desired)
      if (signal.aborted) return undefined
      return await this.#launch(desired)
    } catch (error) {
      if (signal.aborted || this.#context.isOver()) return undefined
      const reason = describeStartFault(error as NodeJS.ErrnoException, desired.program)
      this.#note(reason)
      if (error instanceof StartError || isContentMissing(error as NodeJS.ErrnoException, desired.program)) {
        this.#show('failed', reason)
      } else {
        this.#update({ quickEnds: this.#record.quickEnds + 1 })
        await this.#pause(reason, signal)
      }
      return undefined
    }
  }

  async #prepare({ program, generation, stopGraceMs }: DesiredInstance): Promise<void> {
    await mkdir(this.#files.folder, { recursive: true, mode: 0o700 })
    const content = program.content ?? ''
    const isFilled = this.#record.content === content && existsSync(this.#files.work) && !this.#mustRefill
    if (!isFilled) await fillWorkspace(this.#files.work, program)
    this.#mustRefill = false
    await openVolumes(program, this.#context.dataDir)
    if (program.user !== undefined) openWayTo(this.#files.folder, this.#context.dataDir)
    this.#update({ generation, stopGraceMs, content })
  }

  /** A program that has the port would pass for this one. @throws {Error} when another program listens on it */
  async #checkPort({ readiness }: DesiredInstance): Promise<void> {
    if (readiness === undefined || (await tryPort(readiness.host, readiness.port)) !== 'EADDRINUSE') return
    throw new PortTakenError(readiness.port)
  }

  async #launch({ program, restart }: DesiredInstance): Promise<Run> {
    const { controlGroups, table, marks } = this.#context
    const id = randomBytes(6).toString('hex')
    const container = containerOf(program)
    const controlGroup = container === undefined && controlGroups !== undefined ? `${controlGroups}/${this.id}` : undefined
    const mark = marks.format(this.id, id)
    const started = await startProgram({ program, files: this.#files, mark, keepsStatus: restart === 'once' })
    const startedAt = Date.now()
    const identify = (pid: number) => ({ pid, start: table.find(pid)?.start ?? '' })
    const { drained, pumpPid } = started
    const run = new Run(
      { id, ...identify(started.pid), pump: identify(pumpPid), uid: program.user?.uid, startedAt, controlGroup, container },
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
      this.#note(`Started as process ${started.pid}.`)
      this.#update({ run: run.record })
      await this.#persist()
      if (this.#context.isOver()) throw new Error('Another agent starts it.')
    } catch (error) {
      await this.#endAll(0)
      throw error
    }
    this.#isDown = false
    started.begin()
    return run
  }

  /** Resolves when no process of it is left. */
  async #watch(run: Run, signal: AbortSignal): Promise<void> {
    const over = new AbortController()
    this.#run = run
    const { timeLimitMs, restart, program } = this.#desired as DesiredInstance
    const { diskBytes } = program.limits
    const background = [this.#insist(() => this.#watchReadiness(run, over.signal), over.signal)]
    if (diskBytes !== undefined) background.push(this.#insist(() => this.#watchDisk(run, diskBytes, over.signal), over.signal))
    void run.drained.then((pumpEnd) => {
      if (pumpEnd !== undefined && !over.signal.aborted) this.#condemn(run, describeLostOutput(pumpEnd))
    })
    const limit =
      timeLimitMs === undefined || restart === 'always'
        ? undefined
        : setTimeout(() => this.#endLate(run), Math.min(longestTimerMs, Math.max(0, timeLimitMs - run.ageMs)))
    const aborted = signal.aborted ? undefined : once(signal, 'abort', { signal: over.signal }).catch(() => {})
    try {
      await Promise.race([run.ended, aborted])
      if (signal.aborted) await this.#stop(run)
      await run.ended
    } finally {
      over.abort()
      clearTimeout(limit)
      await Promise.all(background)
    }
  }

  async #stop(run: Run): Promise<void> {
    this.#show('stopping', undefined)
    const { stopGraceMs } = this.#desired as DesiredInstance
    await this.#endAll(stopGraceMs)
    if (run.isAdopted) run.settle(unknownEnd)
  }

  #endLate(run: Run): void {
    const { timeLimitMs = 0, stopGraceMs } = this.#desired as DesiredInstance
    this.#condemn(run, `It was ended after its time limit of ${formatDuration(timeLimitMs)}.`, stopGraceMs)
  }

  /** Ends the program for a reason of the agent's own. */
  #condemn(run: Run, verdict: string, graceMs = 0): void {
    if (run.verdict !== undefined || this.#context.isOver()) return
    run.verdict = verdict
    const over = new AbortController()
    void run.ended.then(() => over.abort())
    void this.#insist(() => this.#endAll(graceMs), over.signal)
  }

  /** Does what failed again, until the signal ends it. */
  async #insist(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#context.isOver()) {
      try {
        return await work()
      } catch (err) {
        this.#context.log.error({ err, instance: this.id }, 'an instance cannot be looked after')
      }
      await sleep(faultPauseMs, undefined, { signal }).catch(() => {})
    }
  }

  /** After the leader's end: ends what it left behind, and decides how it goes on. */
  async #settle(run: Run, signal: AbortSignal): Promise<void> {
    const end = await run.ended
    const endedAt = Date.now()
    this.#isDown = true
    this.#context.wentDown(this.id)
    const left = run.record.container === undefined ? this.#findMembers().length : 0
    await this.#endAll(0)
    const { restart } = this.#desired as DesiredInstance
    this.#run = undefined
    const verdict = run.verdict ?? (run.wasKilledForMemory ? describeMemory(this.#desired) : undefined)
    if (signal.aborted) {
      this.#end = { ...end, endedAt }
      return this.#note(verdict ?? `It was stopped: it ${describeProgramEnd(end)}.`)
    }
    if (restart === 'once') return this.#settleCommand(run, end, endedAt, verdict)
    this.#end = { ...end, endedAt }
    const parts = [verdict ?? describeProgram(end, run, endedAt)]
    if (left > 0 && verdict === undefined) {
      parts.push('Processes that it had left behind were ended, too: a program has to stay in the foreground.')
    }
    const ranMs = run.ageMs
    this.#update({ restarts: this.#record.restarts + 1, quickEnds: ranMs >= stableMs ? 0 : this.#record.quickEnds + 1 })
    const reason = parts.join(' ')
    this.#note(reason)
    // Without a process it is not ready, also while its record is written.
    this.#show('waiting', reason)
    await this.#persist()
    await this.#pause(reason, signal)
  }

  async #settleCommand(run: Run, end: ProgramEnd, endedAt: number, verdict: string | undefined): Promise<void> {
    // A process that escaped its end may keep the console open.
    await Promise.race([run.drained, sleep(longestDrainMs, undefined, { ref: false })])
    // An adopted shell left its exit code in the file, and one that was started here passes on that of the command.
    const status = readStatus(this.#files.status)
    const known = typeof status === 'object' ? endFromShell(status.code) : end
    await this.#finish(known, endedAt, verdict ?? describeCommand(known, run.record, endedAt))
  }

  async #finish(end: ProgramEnd, endedAt: number, reason: string): Promise<void> {
    this.#end = { ...end, endedAt }
    this.#update({ outcome: { ...end, endedAt, reason } })
    this.#note(reason)
    await this.#persist()
    this.#show('ended', reason)
  }

  async #pause(reason: string, signal: AbortSignal): Promise<void> {
    const pauseMs = restartPauseMs(this.#record.quickEnds)
    this.#show('waiting', `${reason} It is started again after ${formatDuration(pauseMs)}.`)
    await sleep(pauseMs, undefined, { signal }).catch(() => {})
    this.#reason = reason
  }

  async #watchReadiness(run: Run, signal: AbortSignal): Promise<void> {
    const before = this.#record.quickEnds > 0 ? this.#reason : undefined
    let failures = 0
    if (run.readyAt === undefined) this.#show('starting', before)
    for (let pauseMs = firstProbePauseMs; !signal.aborted; ) {
      const target = this.#desired?.readiness
      if (target === undefined) return this.#becomeReady(run, before)
      const found = await probe(target, signal)
      const result = found.kind === 'healthy' && this.isDown ? strangerAnswers(target.port) : found
      if (result.kind === 'cancelled' || this.#phase === 'stopping') return
      failures = result.kind === 'healthy' ? 0 : failures + 1
      if (result.kind === 'healthy') this.#becomeReady(run, before)
      else if (run.readyAt === undefined) this.#show('starting', this.#explainSlowStart(run, target, result))
      else if (failures >= failuresUntilUnready) this.#show('unready', `It was ready, and now ${result.reason}.`)
      pauseMs = run.readyAt === undefined ? Math.min(pauseMs * 2, target.intervalMs) : target.intervalMs
      await sleep(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  #becomeReady(run: Run, before: string | undefined): void {
    if (run.readyAt === undefined) {
      run.readyAt = Date.now()
      this.#note(run.isAdopted ? 'Ready.' : `Ready after ${formatDuration(run.ageMs)}.`)
    } else if (this.#phase === 'unready') this.#note('Ready again.')
    const isStable = Date.now() - run.record.startedAt >= stableMs
    this.#show('ready', before === undefined || isStable ? undefined : describeRestarts(this.#record.restarts, before))
  }

  #explainSlowStart(run: Run, target: Probe, fault: Unhealthy): string {
    const limitMs = target.intervalMs * readinessIntervals
    if (run.ageMs < limitMs) return `It is not ready yet: ${fault.reason}.`
    const ports = run.portsBy(() => {
      const pids = this.#findMembers(target.intervalMs).map(({ pid }) => pid)
      return this.#context.table.listeningPorts(pids, target.intervalMs)
    })
    return describeSlowStart(fault, limitMs, { target, ports })
  }

  async #watchDisk(run: Run, diskBytes: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startMs = performance.now()
      const { container } = run.record
      const size =
        container === undefined ? await measureTree(this.#files.work) : { bytes: await writtenBytes(container), entries: 0 }
      const verdict = describeDiskExcess(size, diskBytes, container !== undefined)
      if (verdict !== undefined && !signal.aborted) {
        this.#mustRefill = true
        return this.#condemn(run, verdict)
      }
      const restMs = (performance.now() - startMs) / diskShare
      const pauseMs = Math.min(longestDiskIntervalMs, Math.max(diskIntervalMs, restMs))
      await sleep(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  #owner(): ProcessOwner {
    return { marks: this.#context.marks, instanceId: this.id, run: this.#record.run }
  }

  #findMembers(maxAgeMs = 0): ProcessEntry[] {
    const { table } = this.#context
    return findMembers(this.#owner(), table, table.recent(maxAgeMs))
  }

  async #endAll(graceMs: number): Promise<void> {
    const container = this.#record.run?.container
    if (container !== undefined) return this.#endContainer(container, graceMs)
    const { killed, left } = await endProcesses(this.#owner(), this.#context.table, graceMs)
    if (killed > 0 && graceMs > 0) this.#note(`It did not end within ${formatDuration(graceMs)} after SIGTERM, and was killed.`)
    if (left > 0) this.#note(`${left} of its processes cannot be ended: they run as another user, or hang in the kernel.`)
  }

  /** The client of the runtime ends with the container; it is no part of it. */
  async #endContainer(container: ContainerIdentity, graceMs: number): Promise<void> {
    const ask = () => void stopContainer(container, graceMs)
    await endProcesses(this.#owner(), this.#context.table, graceMs === 0 ? 0 : graceMs + runtimeSlackMs, ask)
    for (;;) {
      const problem = await removeContainer(container)
      if (problem === undefined || this.#context.isOver() || this.#context.isStopping()) return
      this.#show(this.#phase === 'stopping' ? 'stopping' : 'waiting', describeUnansweredRemoval(container, problem))
      await sleep(faultPauseMs)
    }
  }

  #show(phase: InstancePhase, reason: string | undefined): void {
    if (this.#phase === phase && this.#reason === reason) return
    this.#phase = phase
    this.#reason = reason
    this.#context.changed()
  }

  #note(text: string): void {
    const events: InstanceEvent[] = [...this.#record.events, { at: Date.now(), text }].slice(-maxEvents)
    this.#update({ events })
  }

  #update(part: Partial<InstanceRecord>): void {
    this.#record = { ...this.#record, ...part }
    this.#context.changed()
  }

  #persist(): Promise<void> {
    return writeRecord(this.#files, this.#record)
  }

  /** A fault of the agent's own, such as a full disk below it. */
  async #report(error: unknown, signal: AbortSignal): Promise<void> {
    const { message } = error as Error
    this.#context.log.error({ err: error, instance: this.id }, 'an instance cannot be kept running')
    this.#run = undefined
    this.#note(`The agent failed: ${message}.`)
    await this.#pause(`The agent failed: ${message}.`, signal)
    if (!signal.aborted) await this.#live(signal).catch((again: unknown) => this.#report(again, signal))
  }
}

function containerOf({ command, container, user }: Program): ContainerIdentity | undefined {
  if (container === undefined) return undefined
  return { name: container.name, runtime: command[0] ?? '', environment: container.runtimeEnvironment, user }
}

function enforcementOf(program: Program | undefined, hasGroups: boolean): ObservedInstance['enforcement'] {
  const { limits, container } = program ?? {}
  const enforced = hasGroups || container !== undefined ? 'cgroup' : 'watched'
  return {
    memory: limits?.memoryBytes === undefined ? 'none' : enforced,
    processes: limits?.processes === undefined ? 'none' : enforced,
    openFiles: limits?.openFiles === undefined ? 'none' : 'prlimit',
    disk: limits?.diskBytes === undefined ? 'none' : 'watched',
  }
}
