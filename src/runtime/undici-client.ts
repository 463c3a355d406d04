/** The client of undici for one call at a time, without what it would do for several. The package is pinned and bundled. */
import { Client } from 'undici'
import constants from 'undici/lib/core/constants.js'
import symbols from 'undici/lib/core/symbols.js'
import { isOn } from './without.ts'

const kBusy: typeof symbols.kBusy = symbols.kBusy
const kKeepAliveTimeoutValue: typeof symbols.kKeepAliveTimeoutValue = symbols.kKeepAliveTimeoutValue

/** Its owner gives it one request at a time, and closes it once it has been idle for longer than `maxIdleMs`. */
export interface SingleClient extends Client {
  /** Milliseconds for which the service keeps an idle connection, as it has said with its last answer, or as configured. */
  readonly maxIdleMs: number
}

/**
 * undici would look after each request whether it is busy, report that it can take another, and start and clear a timer. Where it no longer
 * has these symbols, it does so, ends idle connections itself, and opens another one for the next request.
 */
class UntimedClient extends Client implements SingleClient {
  /** Set while the constructor of undici runs, so it is no field of this class. */
  declare saidIdleMs: number | undefined

  get maxIdleMs(): number {
    return this.saidIdleMs ?? Number.POSITIVE_INFINITY
  }

  get [kKeepAliveTimeoutValue](): number {
    return 0
  }

  set [kKeepAliveTimeoutValue](ms: number) {
    this.saidIdleMs = ms
  }

  get [kBusy](): boolean {
    return false
  }
}

class TimedClient extends Client implements SingleClient {
  readonly maxIdleMs = Number.POSITIVE_INFINITY
}

export const SingleClient: new (origin: string, options: Client.Options) => SingleClient = isOn('undici-timers')
  ? UntimedClient
  : TimedClient

/** Names that undici need not check and fold for each request; without its table, it does. */
export function declareHeaders(names: readonly string[]): void {
  const known = isOn('undici-timers') ? constants.headerNameLowerCasedRecord : undefined
  if (known !== undefined) for (const name of names) known[name] = name.toLowerCase()
}
