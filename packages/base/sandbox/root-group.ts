/**
 * The control group of all sandboxes of root: the kernel bounds how many processes a user has, but never those of root, and who only
 * watches them comes too late for a program that multiplies.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Processes and threads of all sandboxes together. */
const maxTasks = 1024
/** Version 1, and version 2. */
const parents = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup']

/** @returns the file that a process writes itself into; undefined where this process may make no group */
export function openRootGroup(): string | undefined {
  return parents.map(createGroup).find((file) => file !== undefined)
}

function createGroup(parent: string): string | undefined {
  const group = join(parent, 'fairlead-sandbox')
  try {
    if (parent === '/sys/fs/cgroup') writeFileSync(join(parent, 'cgroup.subtree_control'), '+pids')
    mkdirSync(group, { recursive: true })
    writeFileSync(join(group, 'pids.max'), String(maxTasks))
    return join(group, 'cgroup.procs')
  } catch {
    // There is no such controller, or it is read-only, as in most containers.
    return undefined
  }
}

/** The command, as a member of the group. */
export function inGroup(file: string | undefined, command: readonly string[]): string[] {
  if (file === undefined) return [...command]
  return ['/bin/sh', '-c', 'echo $$ >"$0"; exec "$@"', file, ...command]
}
