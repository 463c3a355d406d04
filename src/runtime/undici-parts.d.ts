/** Parts of undici, which has types for the whole package only. */

declare module 'undici/lib/core/symbols.js' {
  const kBusy: unique symbol
  const kKeepAliveTimeoutValue: unique symbol
  const symbols: { readonly kBusy: typeof kBusy; readonly kKeepAliveTimeoutValue: typeof kKeepAliveTimeoutValue }
  export default symbols
}

declare module 'undici/lib/core/constants.js' {
  const constants: { readonly headerNameLowerCasedRecord: Record<string, string> }
  export default constants
}
