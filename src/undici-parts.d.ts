/** Parts of undici, which has types for the whole package only. */

declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici'
  export default Client
}

declare module 'undici/lib/api/api-request.js' {
  import { Dispatcher } from 'undici'

  const request: Dispatcher['request']
  export default request
}

declare module 'undici/lib/core/request.js' {
  import { Dispatcher } from 'undici'

  export default class Request {
    /** Names and values in turn. */
    headers: string[]

    /** @throws what the options are wrong in */
    constructor(origin: string, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler)
  }
}

declare module 'undici/lib/core/symbols.js' {
  const kBusy: unique symbol
  const kKeepAliveTimeoutValue: unique symbol
  const kQueue: unique symbol
  const kResume: unique symbol
  const kResuming: unique symbol
  const kUrl: unique symbol
  const symbols: {
    readonly kBusy: typeof kBusy
    readonly kKeepAliveTimeoutValue: typeof kKeepAliveTimeoutValue
    readonly kQueue: typeof kQueue
    readonly kResume: typeof kResume
    readonly kResuming: typeof kResuming
    readonly kUrl: typeof kUrl
  }
  export default symbols
}
