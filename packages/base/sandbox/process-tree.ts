/** What a program uses together with all that it has started. */
import { readdirSync, readFileSync } from 'node:fs'

interface TreeUse {
  /** Processes and threads. */
  readonly tasks: number
  readonly memoryBytes: number
}

/**
 * In a sandbox nothing leaves the tree: what loses its parent becomes a child of the first process there.
 *
 * @param most Tasks after which it stops to look
 * @returns nothing where the system does not tell, or the program has ended
 */
export function measureProcesses(pid: number, most: number): TreeUse {
  let [tasks, memoryBytes] = [0, 0]
  const left = [String(pid)]
  for (let next = left.pop(); next !== undefined && tasks <= most; next = left.pop()) {
    const folder = `/proc/${next}`
    const threads = attempt(() => readdirSync(`${folder}/task`), [])
    tasks += threads.length
    memoryBytes += memoryIn(attempt(() => readFileSync(`${folder}/status`, 'utf8'), ''))
    for (const thread of threads)
      left.push(
        ...attempt(
          () =>
            readFileSync(`${folder}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
          [],
        ),
      )
  }
  return { tasks, memoryBytes }
}

/** What belongs to the process alone, and what it shares without a file behind it. @see proc_pid_status(5) */
function memoryIn(status: string): number {
  const kilobytes = [...status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB/gm)].map(([, count]) =>
    Number(count),
  )
  return kilobytes.reduce((sum, count) => sum + count, 0) * 1024
}

function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
