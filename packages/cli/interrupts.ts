/** Ctrl C and SIGTERM: they end the process, unless a command that follows a run handles them. */
import { exitCodes } from './failure.ts'

type Handler = (signal: 'SIGINT' | 'SIGTERM') => void

export class Interrupts {
  #handlers: Handler[] = []
  #cleanups = new Set<() => void>()

  listen(): void {
    process.on('SIGINT', () => this.#deliver('SIGINT'))
    process.on('SIGTERM', () => this.#deliver('SIGTERM'))
  }

  /** The latest handler gets the signal instead of the process. @returns what takes it off again */
  handle(handler: Handler): () => void {
    this.#handlers.push(handler)
    return () => {
      this.#handlers = this.#handlers.filter((each) => each !== handler)
    }
  }

  /** Called when a signal ends the process, for what a terminal must not keep. @returns what takes it off again */
  beforeEnd(cleanup: () => void): () => void {
    this.#cleanups.add(cleanup)
    return () => this.#cleanups.delete(cleanup)
  }

  #deliver(signal: 'SIGINT' | 'SIGTERM'): void {
    const handler = this.#handlers.at(-1)
    if (handler !== undefined) {
      handler(signal)
      return
    }
    for (const cleanup of this.#cleanups) cleanup()
    process.exit(signal === 'SIGINT' ? exitCodes.interrupted : exitCodes.terminated)
  }
}
