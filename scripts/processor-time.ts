/** What a process and everything that it has started have cost, on Linux. */
import { globSync, readFileSync } from 'node:fs'

interface Process {
  pid: number
  parent: number
  /** Of itself, and of its children that have ended. */
  ms: number
}

/**
 * Milliseconds of processor time so far. What has left its parent to run on its own, as the agent does, is not counted.
 *
 * @returns 0 on other systems
 */
export function processorMs(root: number | undefined): number {
  if (process.platform !== 'linux' || root === undefined) return 0
  const all = globSync('/proc/[0-9]*/stat').flatMap(readProcess)
  const children = Map.groupBy(all, ({ parent }) => parent)
  const sum = ({ pid, ms }: Process): number =>
    (children.get(pid) ?? []).reduce((total, child) => total + sum(child), ms)
  return all.filter(({ pid }) => pid === root).reduce((total, one) => total + sum(one), 0)
}

/**
 * None when it has ended meanwhile.
 *
 * @see proc_pid_stat(5): ppid, and utime, stime, cutime and cstime in hundredths of a second
 */
function readProcess(file: string): Process[] {
  try {
    const [head = '', tail = ''] = readFileSync(file, 'utf8').split(/\) (?!.*\) )/s)
    const fields = tail.split(' ')
    const ms = 10 * fields.slice(11, 15).reduce((total, field) => total + Number(field), 0)
    return [{ pid: Number.parseInt(head, 10), parent: Number(fields[1]), ms }]
  } catch {
    return []
  }
}
