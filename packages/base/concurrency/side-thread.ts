/** A thread for work that would delay other requests: one job at a time, started on demand, ended when idle. */
import { constants, setPriority } from 'node:os'
import { parentPort, Worker } from 'node:worker_threads'

interface SideThreadOptions {
  name: string
  /** Program of the thread, which calls `serveJobs`. */
  file: URL
  maxOldGenerationSizeMb: number
  /** For one job; what takes longer ends the thread. */
  maxJobMs: number
  /** Jobs that wait, of each rank. */
  maxWaiting: number
}

/** `full`: too many jobs wait. `time` and `failed` end the thread: it took too long, or too much memory. */
export class SideThreadError extends Error {
  readonly reason: 'full' | 'time' | 'failed'

  constructor(reason: SideThreadError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SideThreadError'
    this.reason = reason
  }
}

/** Jobs of the first rank go before all others that wait. */
type Rank = 'first' | 'second'

interface WaitingJob<Job, Reply> extends PromiseWithResolvers<Reply> {
  readonly job: Job
}

/** A thread costs some megabytes and tens of milliseconds to start. */
const idleMs = 10_000
/** Otherwise that of the main thread, 48 MB, which one large document fills; jobs take as long with this. */
const maxYoungGenerationSizeMb = 16
/** Below the main thread, where the system knows priorities of threads. */
const priority = constants.priority.PRIORITY_BELOW_NORMAL / 2

export class SideThread<Job, Reply> {
  readonly #options: SideThreadOptions
  readonly #waiting: Record<Rank, WaitingJob<Job, Reply>[]> = { first: [], second: [] }
  #running: WaitingJob<Job, Reply> | undefined
  #thread: Worker | undefined
  #limit: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(options: SideThreadOptions) {
    this.#options = options
  }

  /** @throws {SideThreadError} */
  run(job: Job, rank: Rank = 'first'): Promise<Reply> {
    const { maxWaiting, name } = this.#options
    const waiting = this.#waiting[rank]
    if (waiting.length >= maxWaiting)
      throw new SideThreadError('full', `more than ${maxWaiting} jobs wait for thread "${name}"`)
    const waitingJob = { job, ...Promise.withResolvers<Reply>() }
    waiting.push(waitingJob)
    this.#startNext()
    return waitingJob.promise
  }

  #startNext(): void {
    if (this.#running !== undefined) return
    const next = this.#waiting.first.shift() ?? this.#waiting.second.shift()
    if (next === undefined) {
      this.#endWhenIdle()
      return
    }
    clearTimeout(this.#idle)
    this.#running = next
    this.#thread ??= this.#start()
    this.#limit = setTimeout(
      () => this.#giveUp('time', 'it takes too long'),
      this.#options.maxJobMs,
    )
    this.#thread.postMessage(next.job)
  }

  #start(): Worker {
    const { file, name, maxOldGenerationSizeMb } = this.#options
    const thread = new Worker(file, {
      name,
      resourceLimits: { maxOldGenerationSizeMb, maxYoungGenerationSizeMb },
    })
    thread.on('message', (reply: Reply) => {
      if (thread === this.#thread) this.#finish()?.resolve(reply)
    })
    thread.on('error', (cause: NodeJS.ErrnoException) => {
      if (thread !== this.#thread) return
      if (!cause.code?.endsWith('MODULE_NOT_FOUND'))
        return this.#giveUp('failed', 'it takes too much memory', cause)
      const what = `The program of the thread "${name}" is gone: the files of Fairlead were replaced while it runs. Restart it.`
      this.#end(new Error(what, { cause }))
    })
    // A listener for messages would count again as work to wait for.
    thread.unref()
    return thread
  }

  #finish(): WaitingJob<Job, Reply> | undefined {
    clearTimeout(this.#limit)
    const finished = this.#running
    this.#running = undefined
    this.#startNext()
    return finished
  }

  #giveUp(reason: SideThreadError['reason'], message: string, cause?: unknown): void {
    this.#end(new SideThreadError(reason, message, { cause }))
  }

  #end(error: Error): void {
    void this.#thread?.terminate()
    this.#thread = undefined
    this.#finish()?.reject(error)
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle)
    if (this.#running !== undefined || this.#thread === undefined) return
    this.#idle = setTimeout(() => {
      void this.#thread?.terminate()
      this.#thread = undefined
    }, idleMs).unref()
  }
}

/** The other side, called once by the program of a thread: answers one job after the other. */
export function serveJobs<Job, Reply>(
  answer: (job: Job) => { reply: Reply; transfer: ArrayBuffer[] },
): void {
  // Elsewhere this would slow the whole process.
  if (process.platform === 'linux') setPriority(priority)
  parentPort?.on('message', (job: Job) => {
    const { reply, transfer } = answer(job)
    parentPort?.postMessage(reply, transfer)
  })
}
