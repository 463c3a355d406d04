/** Standard output for the log: lines are written together, and a reader that does not read delays nothing. */
import { constants, fstatSync, openSync, writeSync } from 'node:fs'

/** Lines are written together: about a hundred of a busy gateway at once, those of a quiet one soon. */
const batchLength = 32 * 1024
const flushMs = 200
/** Some 13,000 lines. What does not fit is dropped. */
const maxWaiting = 4 * 1024 * 1024
/** How often a full pipe is tried again, and any other output that fails, such as a full disk. */
const retryMs = { EAGAIN: 10, other: 1000 }
/** At the end of the process, for a reader that takes nothing. */
const lastWaitMs = 1000

export class LogOutput {
  readonly #fd = openNonBlocking()
  readonly #onDropped: (lines: number) => void
  #waiting = ''
  #rest: Buffer = Buffer.alloc(0)
  #retry: NodeJS.Timeout | undefined
  #dropped = 0
  #allDropped = 0
  #isClosed = false

  constructor(onDropped: (lines: number) => void) {
    this.#onDropped = onDropped
    setInterval(() => this.#flush(), flushMs).unref()
  }

  get dropped(): number {
    return this.#allDropped
  }

  write(lines: string, count = 1): void {
    if (this.#isClosed || this.#waiting.length + this.#rest.length + lines.length > maxWaiting) {
      this.#dropped += count
      this.#allDropped += count
      return
    }
    this.#waiting += lines
    if (this.#waiting.length >= batchLength) this.#flush()
  }

  /** Writes what waits, at the end of the process. Waits for the reader as long as it reads. */
  end(): void {
    let idleSinceMs = performance.now()
    const pause = new Int32Array(new SharedArrayBuffer(4))
    for (;;) {
      const before = this.#rest.length + this.#waiting.length
      const problem = this.#writeAll()
      if (problem !== 'EAGAIN') return
      if (this.#rest.length + this.#waiting.length < before) idleSinceMs = performance.now()
      if (performance.now() - idleSinceMs > lastWaitMs) return
      Atomics.wait(pause, 0, 0, retryMs.EAGAIN)
    }
  }

  #flush(): void {
    if (this.#retry !== undefined) return
    const problem = this.#writeAll()
    if (problem === 'EPIPE') this.#isClosed = true
    else if (problem !== undefined) {
      const again = () => {
        this.#retry = undefined
        this.#flush()
      }
      this.#retry = setTimeout(again, problem === 'EAGAIN' ? retryMs.EAGAIN : retryMs.other).unref()
    } else if (this.#dropped > 0) {
      const lines = this.#dropped
      this.#dropped = 0
      this.#onDropped(lines)
    }
  }

  #writeAll(): string | undefined {
    try {
      for (;;) {
        if (this.#rest.length === 0) {
          if (this.#waiting === '') return undefined
          this.#rest = Buffer.from(this.#waiting)
          this.#waiting = ''
        }
        this.#rest = this.#rest.subarray(writeSync(this.#fd, this.#rest))
      }
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code)
    }
  }
}

/**
 * Standard output whose writes fail with EAGAIN instead of waiting for a reader. A pipe or terminal is opened again: whether writes
 * wait is a property of the open file, which other programs share and change. A socket cannot be opened; Node's stream makes it so.
 */
function openNonBlocking(): number {
  try {
    const kind = fstatSync(1)
    if (kind.isFIFO() || kind.isCharacterDevice()) {
      return openSync(
        '/proc/self/fd/1',
        constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
      )
    }
    if (kind.isSocket()) void process.stdout
  } catch {
    // It is closed, has no reader, belongs to another user, or the system has no such files.
    void process.stdout
  }
  return 1
}
