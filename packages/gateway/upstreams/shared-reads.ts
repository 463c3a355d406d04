/** Identical reads at the same moment, which share one call to the service. */
import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { UpstreamAnswer } from './answer-form.ts'
import { decidesAnswer, type IdentityHeaders } from './identity.ts'

export interface Read {
  readonly service: ServiceName
  readonly path: string
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly identity: IdentityHeaders
  /** The same for users to whom the service would answer alike; undefined: it may answer each user in another way. */
  readonly rights: string | undefined
}

/** A read joins a call that is at most this old, so that it is never answered by an older state than that. */
const maxJoinMs = 1000

/** Whole answers only: what is streamed to a client has a call of its own. */
export class SharedReads {
  readonly #onShared: (service: ServiceName) => void
  /** By what they ask for. */
  readonly #calls = new Map<string, SharedCall>()

  constructor(onShared: (service: ServiceName) => void) {
    this.#onShared = onShared
  }

  /**
   * Something has changed, and clients that know of it must not be shown what was before: reads join calls that begin from now
   * on only.
   */
  changed(): void {
    this.#calls.clear()
  }

  /**
   * Reads a whole answer by the call of an identical read, or by `ask`.
   *
   * @param signal The client went away; the call ends when no client waits for it.
   * @throws what `ask` throws, for all who wait
   */
  async call(
    read: Read,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<UpstreamAnswer>,
  ): Promise<UpstreamAnswer> {
    const key = formatRead(read)
    const known = this.#calls.get(key)
    if (known !== undefined && performance.now() - known.startedAtMs <= maxJoinMs) {
      const answer = await known.wait(signal)
      if (read.rights !== undefined && isAboutCaller(answer.status)) return ask(signal)
      this.#onShared(read.service)
      return answer
    }
    const call = new SharedCall(ask, performance.now())
    this.#calls.set(key, call)
    try {
      return await call.wait(signal)
    } finally {
      if (this.#calls.get(key) === call) this.#calls.delete(key)
    }
  }
}

/** Users with the same rights count as the same user. */
function formatRead({ service, path, headers, identity, rights }: Read): string {
  const caller = Object.entries(identity).filter(([name]) =>
    decidesAnswer(name, rights !== undefined),
  )
  return JSON.stringify([service, path, rights, caller, headers])
}

/** Such an answer may name the user whom the service was told. */
function isAboutCaller(status: number): boolean {
  return status >= 400 && status < 500
}

class SharedCall {
  readonly startedAtMs: number
  readonly #deserted = new AbortController()
  readonly #answer: Promise<UpstreamAnswer>
  #waiting = 0

  constructor(ask: (signal: AbortSignal) => Promise<UpstreamAnswer>, startedAtMs: number) {
    this.startedAtMs = startedAtMs
    this.#answer = ask(this.#deserted.signal)
  }

  wait(signal: AbortSignal): Promise<UpstreamAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<UpstreamAnswer>()
    this.#waiting++
    const leave = () => {
      reject(signal.reason)
      if (--this.#waiting === 0) this.#deserted.abort(signal.reason)
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    this.#answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    return promise
  }
}
