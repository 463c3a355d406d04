/** The client of undici for one call at a time, without what it would do for several. The package is pinned and bundled. */
import { Client } from 'undici'
import constants from 'undici/lib/core/constants.js'
import symbols from 'undici/lib/core/symbols.js'

const kBusy: typeof symbols.kBusy = symbols.kBusy
const kKeepAliveTimeoutValue: typeof symbols.kKeepAliveTimeoutValue = symbols.kKeepAliveTimeoutValue

/**
 * Its owner gives it one request at a time, and closes it once it has been idle for longer than `maxIdleMs`. undici would look after each
 * request whether it is busy, report that it can take another, and start and clear a timer: 10 % of a request.
 */
export class SingleClient extends Client {
  /** Set while the constructor of undici runs, so it is no field of this class. */
  declare saidIdleMs: number | undefined

  /** Milliseconds for which the service keeps an idle connection, as it has said with its last answer, or as configured. */
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

/** Names that undici need not check and fold for each request. */
export function declareHeaders(names: readonly string[]): void {
  for (const name of names) constants.headerNameLowerCasedRecord[name] = name.toLowerCase()
}
