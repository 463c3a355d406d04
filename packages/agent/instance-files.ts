/** Files of one instance: working directory, console, exit status, record for the next agent. */
import { closeSync, constants, openSync, readFileSync, statSync } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { InstanceEvent } from '@fairlead/base/net/agent-protocol.ts'
import type { ContainerIdentity } from '@fairlead/base/sandbox/container-runtime.ts'
import type { ProgramEnd } from './words.ts'

export interface InstanceFiles {
  readonly folder: string
  readonly work: string
  readonly console: string
  readonly record: string
  /** A shell writes the exit code of the command into it. */
  readonly status: string
}

/** State of an instance across agents. */
export interface InstanceRecord {
  readonly generation: number
  /** Content of the working directory; undefined: none was filled. */
  readonly content: string | undefined
  readonly stopGraceMs: number
  readonly run: RunRecord | undefined
  readonly outcome: (ProgramEnd & { readonly endedAt: number; readonly reason: string }) | undefined
  readonly restarts: number
  /** Ends in a row, each soon after its start. */
  readonly quickEnds: number
  readonly events: readonly InstanceEvent[]
}

export interface ProcessIdentity {
  readonly pid: number
  /** Same form as `ProcessEntry.start`. */
  readonly start: string
}

export interface RunRecord extends ProcessIdentity {
  readonly id: string
  /** Moves its output. */
  readonly pump: ProcessIdentity
  /** User of the account; undefined: the agent's own. */
  readonly uid?: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly controlGroup: string | undefined
  /** Its process is the client of a container runtime. */
  readonly container?: ContainerIdentity
}

export function filesOf(instancesFolder: string, id: string): InstanceFiles {
  const folder = join(instancesFolder, id)
  return {
    folder,
    work: join(folder, 'work'),
    console: join(folder, 'console'),
    record: join(folder, 'record.json'),
    status: join(folder, 'status'),
  }
}

/**
 * Undefined also when it is damaged, as after a crash of the machine, whose processes are gone.
 *
 * @throws as the file system does: a record that cannot be read for the moment may name a running process
 */
export function readRecord(file: string): InstanceRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as InstanceRecord
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (error instanceof SyntaxError || ['ENOENT', 'ENOTDIR'].includes(code)) return undefined
    throw error
  }
}

/** Writes in one step, and to disk before it returns. */
export async function writeRecord(
  { folder, record }: InstanceFiles,
  content: InstanceRecord,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = await open(`${record}.new`, 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify(content))
    await file.datasync()
  } finally {
    await file.close()
  }
  await rename(`${record}.new`, record)
}

/** Empty, for a shell that writes into it; the caller closes it. */
export function openStatus(file: string): number {
  return openSync(
    file,
    constants.O_WRONLY | constants.O_TRUNC | constants.O_CREAT | constants.O_APPEND,
    0o600,
  )
}

/** Content of a status file whose command did not begin. */
export const unstarted = 'unstarted'

/** Exit code as the shell reports it; undefined when it was killed before it could write one. */
export function readStatus(
  file: string,
): { readonly code: number; readonly endedAt: number } | typeof unstarted | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim()
    if (text === unstarted) return unstarted
    return /^\d+$/.test(text) ? { code: Number(text), endedAt: statSync(file).mtimeMs } : undefined
  } catch {
    return undefined
  }
}

export function closeAll(descriptors: readonly number[]): void {
  for (const descriptor of descriptors) closeSync(descriptor)
}
