/**
 * The client of undici. An import of the whole package also loads its `fetch`, caches, proxies and mocks, which Fairlead does not
 * use: 9 MB and 50 ms of processor time in each process and thread. Types are imported as usual.
 */
import type { Dispatcher } from 'undici'
import request from 'undici/lib/api/api-request.js'
import Request from 'undici/lib/core/request.js'
import symbols from 'undici/lib/core/symbols.js'
import Client from 'undici/lib/dispatcher/client.js'

// As the package does for each of its dispatchers.
Object.assign(Client.prototype, { request })

export { Client }

const kBusy: typeof symbols.kBusy = symbols.kBusy
const kKeepAliveTimeoutValue: typeof symbols.kKeepAliveTimeoutValue = symbols.kKeepAliveTimeoutValue
const kQueue: typeof symbols.kQueue = symbols.kQueue
const kResume: typeof symbols.kResume = symbols.kResume
const kResuming: typeof symbols.kResuming = symbols.kResuming
const kUrl: typeof symbols.kUrl = symbols.kUrl

/** Parts of a client that have no public counterpart. */
interface Inside {
  readonly [kUrl]: URL
  readonly [kQueue]: Request[]
  readonly [kResuming]: number
  readonly [kResume]: (isSynchronous: boolean) => void
}

/**
 * A client with one request at a time, which its owner closes once it has been idle for too long: undici would report after each request that it
 * can take another, and start and clear a timer for each.
 */
export class SingleClient extends Client {
  /** Milliseconds for which the service keeps an idle connection, as it has said with its last answer, or as configured. */
  declare maxIdleMs: number

  get [kKeepAliveTimeoutValue](): number {
    return 0
  }

  set [kKeepAliveTimeoutValue](ms: number) {
    this.maxIdleMs = ms
  }

  get [kBusy](): boolean {
    return false
  }

  /**
   * As `dispatch`.
   *
   * @param options With `accept` instead of headers, they need not be looked through: its value, and further lines, each after CRLF. They are sent
   * as they are. Such a request has no body.
   */
  send(options: Dispatcher.DispatchOptions & { readonly accept: string | undefined }, handler: Dispatcher.DispatchHandler): void {
    if (options.accept === undefined || this.destroyed || this.closed) {
      this.dispatch(options, handler)
      return
    }
    const inside = this as unknown as Inside
    try {
      const request = new Request(inside[kUrl].origin, options, handler)
      request.headers = ['accept', options.accept]
      inside[kQueue].push(request)
      if (inside[kResuming] === 0) inside[kResume](true)
    } catch (error) {
      // As undici reports what is wrong with the options.
      handler.onResponseError?.(null as never, error as Error)
    }
  }
}
