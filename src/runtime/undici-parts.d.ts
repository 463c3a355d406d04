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

declare module 'undici/lib/core/symbols.js' {
  const kBusy: unique symbol
  const kKeepAliveTimeoutValue: unique symbol
  const symbols: { readonly kBusy: typeof kBusy; readonly kKeepAliveTimeoutValue: typeof kKeepAliveTimeoutValue }
  export default symbols
}

declare module 'undici/lib/core/constants.js' {
  const constants: { readonly headerNameLowerCasedRecord?: Record<string, string> }
  export default constants
}
