/** Control groups (version 2) of Linux: limits for all processes of an instance together. */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { ProgramLimits } from '@fairlead/base/net/agent-protocol.ts'

/** Creates the folder in which each instance gets a group; undefined where the machine has none that may be written. */
export function openControlGroups(name: string): string | undefined {
  if (process.platform !== 'linux') return undefined
  const own = findOwnGroup()
  if (own === undefined) return undefined
  // The group of a unit that delegates holds no process itself: the agent is in one below it.
  const isUnit = /\.(service|scope|slice)$/.test(basename(own))
  return [own, ...(isUnit ? [] : [dirname(own)])]
    .map((group) => createParent(group, name))
    .find((folder) => folder !== undefined)
}

/** @see cgroups(7), proc_pid_mountinfo(5) */
function findOwnGroup(): string | undefined {
  try {
    const path = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
    const mountPoint = mounts.find((line) => line.includes(' - cgroup2 '))?.split(' ')[4]
    return path === undefined || mountPoint === undefined ? undefined : join(mountPoint, path)
  } catch {
    return undefined
  }
}

const controllers = '+memory +pids'

function createParent(group: string, name: string): string | undefined {
  const folder = join(group, name)
  try {
    const offered = readFileSync(join(group, 'cgroup.controllers'), 'utf8').split(/\s+/)
    if (!offered.includes('memory') || !offered.includes('pids')) return undefined
    writeFileSync(join(group, 'cgroup.subtree_control'), controllers)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'cgroup.subtree_control'), controllers)
    return folder
  } catch {
    // Read-only, of another user, or with processes in it.
    return undefined
  }
}

/** @throws as the file system does */
export function createGroup(group: string, { memoryBytes, processes }: ProgramLimits): void {
  mkdirSync(group, { recursive: true })
  writeFileSync(join(group, 'memory.max'), String(memoryBytes ?? 'max'))
  writeFileSync(join(group, 'memory.oom.group'), '1')
  writeFileSync(join(group, 'pids.max'), String(processes ?? 'max'))
}

export function joinGroup(group: string, pid: number): void {
  writeFileSync(join(group, 'cgroup.procs'), String(pid))
}

export function membersOfGroup(group: string): number[] {
  return readEntry(group, 'cgroup.procs').split('\n').filter(Boolean).map(Number)
}

/** How often the kernel has ended processes of the group because its memory was used up. */
export function memoryKills(group: string): number {
  return Number(/^oom_kill (\d+)$/m.exec(readEntry(group, 'memory.events'))?.[1] ?? 0)
}

export function listGroups(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? join(folder, entry.name) : [],
    )
  } catch {
    return []
  }
}

/** A group with processes stays. */
export function removeGroup(group: string): void {
  try {
    rmdirSync(group)
  } catch {
    // It is gone, or a process that is being ended is still in it: the next sweep removes it.
  }
}

function readEntry(group: string, name: string): string {
  try {
    return readFileSync(join(group, name), 'utf8')
  } catch {
    return ''
  }
}
