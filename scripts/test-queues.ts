/** The order of the test files: those that share a costly program follow each other in one process. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { costs, nameOf } from './test-costs.ts'

interface Queue {
  /** Files that have not begun. */
  readonly files: string[]
  /** Processes that take from it. */
  readonly processes: Set<object>
  /** A second process would start the program again. */
  readonly isShared: boolean
}

const root = resolve(import.meta.dirname, '..')
/** Each starts a program at the first test of a process, and ends it with the process. */
const sharedPrograms = ['test/support/kubernetes.ts', 'test/support/chromium.ts']
export class TestQueues {
  readonly #queues: readonly Queue[]

  constructor(files: readonly string[]) {
    const imports = new Map<string, ReadonlySet<string>>()
    const ordered = inOrder(files)
    const groups = Map.groupBy(ordered, (file) =>
      sharedPrograms.find((program) => reachable(file, imports).has(program)),
    )
    this.#queues = [...sharedPrograms, undefined].map((program) => ({
      files: groups.get(program) ?? [],
      processes: new Set(),
      isShared: program !== undefined,
    }))
  }

  /** How many files have not begun. */
  get size(): number {
    return this.#queues.reduce((sum, { files }) => sum + files.length, 0)
  }

  /** @returns undefined: the process ends, and with it what it shares; another one may take from another queue */
  next(process: object): string | undefined {
    const queue = this.#queues.find(({ processes }) => processes.has(process)) ?? this.#choose()
    queue?.processes.add(process)
    return queue?.files.shift()
  }

  /** The process has ended. */
  leave(process: object): void {
    for (const { processes } of this.#queues) processes.delete(process)
  }

  /** At the end processes help each other. */
  #choose(): Queue | undefined {
    const waiting = this.#queues.filter(({ files }) => files.length > 0)
    return (
      waiting.find(({ isShared, processes }) => !isShared || processes.size === 0) ?? waiting[0]
    )
  }
}

/** What takes long first, and so no process runs alone at the end; of what `costs` does not name, the largest files do, as a rule. */
function inOrder(files: readonly string[]): string[] {
  const weighed = files.map((file) => ({
    file,
    seconds: costs[nameOf(file)] ?? 0,
    size: statSync(join(root, file)).size,
  }))
  return weighed
    .toSorted((a, b) => b.seconds - a.seconds || b.size - a.size)
    .map(({ file }) => file)
}

/** The files of the tests that a file loads, itself among them. */
function reachable(file: string, known: Map<string, ReadonlySet<string>>): ReadonlySet<string> {
  const before = known.get(file)
  if (before !== undefined) return before
  const found = new Set([file])
  known.set(file, found)
  const text = existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : ''
  for (const [, path = ''] of text.matchAll(/^(?:import|export|\}) .*'(\.[^']+\.ts)'$/gm)) {
    const target = join(dirname(file), path)
    if (!target.startsWith('test/')) continue
    for (const each of reachable(target, known)) found.add(each)
  }
  return found
}
