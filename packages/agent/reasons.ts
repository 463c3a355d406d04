/** Why an instance is as it is, in sentences for people. */
import { basename } from 'node:path'
import { formatBytes, formatDuration } from '@fairlead/base/names/amounts.ts'
import type {
  DesiredInstance,
  Probe,
  Program,
  ProgramLimits,
} from '@fairlead/base/net/agent-protocol.ts'
import type { ContainerIdentity } from '@fairlead/base/sandbox/container-runtime.ts'
import type { TreeSize } from '@fairlead/base/storage/directory-trees.ts'
import type { RunRecord } from './instance-files.ts'
import type { Unhealthy } from './probe.ts'
import { memoryOf, type ProcessEntry } from './processes.ts'
import { StartError } from './start-program.ts'
import { describeProgramEnd, type ProgramEnd } from './words.ts'

/** The port of an instance belongs to a program that is none of its own. */
export class PortTakenError extends Error {
  constructor(port: number) {
    super(
      `Another program listens on port ${port}, which is the port of this instance. ` +
        'Stop that program, or terminate the instance: the next one gets another port.',
    )
  }
}

export function isContentMissing(
  { code, path }: NodeJS.ErrnoException,
  { content }: Program,
): boolean {
  return code === 'ENOENT' && content !== undefined && path === content
}

/** What ends once the machine has room again. */
const machineFaults: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk of the data directory is full; free some space',
  EDQUOT: 'the disk quota of the data directory is used up; free some space',
  EAGAIN: 'this machine allows no further process (ulimit -u, or the control group of Fairlead)',
  EMFILE: 'the agent has too many files open (ulimit -n)',
  ENFILE: 'this machine has too many files open',
  ENOMEM: 'this machine has too little memory',
}

export function describeStartFault(error: NodeJS.ErrnoException, program: Program): string {
  if (error instanceof StartError || error instanceof PortTakenError) return error.message
  if (isContentMissing(error, program))
    return `The folder of its content, ${program.content}, does not exist.`
  return `It cannot be started: ${machineFaults[error.code ?? ''] ?? error.message}.`
}

/** Exit code of podman and docker when they fail themselves. */
const runtimeFailure = 125
/** Exit codes of podman and docker when they cannot start a container, or its program. */
const runtimeFailures: ReadonlySet<number | undefined> = new Set([runtimeFailure, 126, 127])

export function describeProgram(
  end: ProgramEnd,
  { container, startedAt }: RunRecord,
  endedAt: number,
  wasReady: boolean,
): string {
  if (container !== undefined && runtimeFailures.has(end.exitCode)) {
    return `${basename(container.runtime)} could not run its container; the output of the instance says why.`
  }
  const ran = `${formatDuration(endedAt - startedAt)} after its start`
  return `It ${describeProgramEnd(end)}, ${ran}${wasReady ? '' : ' and before it was ready'}.`
}

/** While the daemon of Docker is down. @param problem In its words */
export function describeUnansweredRemoval({ runtime }: ContainerIdentity, problem: string): string {
  const program = basename(runtime)
  return `${program} does not answer, or does not remove the container, which may run on. Start ${program === 'docker' ? 'Docker' : program}; the instance goes on by itself. It reports: ${problem}`
}

export function describeCommand(
  end: ProgramEnd,
  { container, startedAt }: RunRecord,
  endedAt: number | undefined,
): string {
  const reason =
    container !== undefined && end.exitCode === runtimeFailure
      ? `: ${basename(container.runtime)} could not run its container, and its output says why`
      : ''
  const ran =
    endedAt === undefined ? '' : `, ${formatDuration(endedAt - startedAt)} after its start`
  return `It ${describeProgramEnd(end)}${ran}${reason}.`
}

interface SlowStart {
  readonly target: Probe
  /** Ports on which it listens. */
  readonly ports: readonly number[]
}

export function describeSlowStart(
  { reason, refused }: Unhealthy,
  limitMs: number,
  { target, ports }: SlowStart,
): string {
  const others = ports.filter((port) => port !== target.port)
  const isElsewhere = refused && ports.includes(target.port)
  const address = isElsewhere
    ? `; it listens there on another address than ${target.host}, the value of HOST`
    : ''
  const instead =
    others.length === 0 ? address : `; it listens on port ${others.join(', ')} instead`
  return `It did not become ready within ${formatDuration(limitMs)}: ${reason}${instead}.`
}

export function describeRestarts(restarts: number, reason: string): string {
  return `It was started again ${restarts === 1 ? 'once' : `${restarts} times`}. ${reason}`
}

export function describeMemory(desired: DesiredInstance | undefined): string {
  const limit = desired?.program.limits.memoryBytes
  return `It needed more memory than its limit${limit === undefined ? '' : ` of ${formatBytes(limit)}`}, and the system ended it.`
}

export function describeProgramExcess(
  members: readonly ProcessEntry[],
  { processes, memoryBytes }: ProgramLimits,
): string | undefined {
  if (processes !== undefined && members.length > processes) {
    return `It had ${members.length} processes, more than its limit of ${processes}, and was ended.`
  }
  if (memoryBytes === undefined) return undefined
  const bytes = members.reduce((sum, { pid }) => sum + memoryOf(pid), 0)
  if (bytes <= memoryBytes) return undefined
  return `It used ${formatBytes(bytes)} of memory, more than its limit of ${formatBytes(memoryBytes)}, and was ended.`
}

/** What an empty file counts for at least: a block, as one with a single byte takes. */
const bytesPerEntry = 4096

export function describeDiskExcess(
  { bytes, entries }: TreeSize,
  diskBytes: number,
  isContainer: boolean,
): string | undefined {
  const limit = `Its ${isContainer ? 'container' : 'working directory'} exceeded its limit of ${formatBytes(diskBytes)}`
  if (bytes > diskBytes) return `${limit}, and it was ended.`
  if (entries * bytesPerEntry <= diskBytes) return undefined
  return `${limit} with ${entries} files, each of which counts for 4 KiB at least, and it was ended.`
}

/** @param pumpEnd How the process ended, such as `SIGKILL`; only the agent that started it knows */
export function describeLostOutput(pumpEnd?: string): string {
  const end = pumpEnd === undefined ? '' : ` with ${pumpEnd}`
  return `It was ended, because the process that stores its output was ended${end}.`
}
