/** Synchronisation of roles: at most one at a time. */
import type { FastifyBaseLogger } from 'fastify'
import { within } from '../concurrency/within.ts'

interface RoleSyncOptions {
  /** Has the permission service read all roles again; ends early when the signal fires. Throws what its answer means. */
  synchronise: (signal: AbortSignal) => Promise<void>
  /** The synchronisation has ended. */
  onEnd: (outcome: 'done' | 'failed') => void
  log: FastifyBaseLogger
}

/** Those who start it learn its outcome if it is known this soon. */
const answerWithinMs = 700

export class RoleSync {
  readonly #options: RoleSyncOptions
  readonly #closing = new AbortController()
  #running: Promise<void> | undefined

  constructor(options: RoleSyncOptions) {
    this.#options = options
  }

  /**
   * Starts a synchronisation, or joins the one that runs. Returns when it is over, or within a second while it goes on.
   *
   * @throws what the synchronisation throws within that time
   */
  async run(): Promise<void> {
    this.#running ??= this.#start()
    await within(answerWithinMs, this.#running)
  }

  close(): void {
    this.#closing.abort()
  }

  #start(): Promise<void> {
    const { synchronise, onEnd, log } = this.#options
    const startedAtMs = performance.now()
    const running = synchronise(this.#closing.signal)
      .then(
        () => {
          log.info({ durationMs: Math.round(performance.now() - startedAtMs) }, 'the roles are synchronised')
          onEnd('done')
        },
        (error: unknown) => {
          log.warn({ err: error, durationMs: Math.round(performance.now() - startedAtMs) }, 'the roles could not be synchronised')
          onEnd('failed')
          throw error
        },
      )
      .finally(() => {
        this.#running = undefined
      })
    // The waiting request may have ended before it failed.
    running.catch(() => {})
    return running
  }
}
