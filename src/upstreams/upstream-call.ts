/** A call to a service, as operations ask for it. */
import type { Readable } from 'node:stream'
import { formatQuery, type QueryValue } from '../net/encode-path.ts'

/** Which timeout a call has. */
export interface CallClass {
  readonly method?: string
  /** A list over everything, which takes a service longer than other reads. */
  readonly isList?: boolean
  /** A read for the sake of a change: the change is not to wait longer for it than for its own answer. */
  readonly isForChange?: boolean
  /** Instead of the read timeout of the service, for the few calls that take longer than any other. */
  readonly readTimeoutMs?: number
  /** Bounds each of the above, for what can be done without. */
  readonly maxTimeoutMs?: number
}

export interface UpstreamCall extends CallClass {
  /** Encoded path, relative to the base URL of the service; see `pathTo`. */
  path: string
  query?: Readonly<Record<string, QueryValue>>
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is, instead of `body`. */
  rawBody?: string | Buffer | Readable
  headers?: Readonly<Record<string, string>>
  /** Region, where instances are chosen by it. */
  location?: string
  /** Cancels the call before its response, when no request waits for it. */
  signal?: AbortSignal
}

/** Relative to the base URL of the service. */
export function pathOf({ path, query }: UpstreamCall): string {
  return query === undefined ? path : path + formatQuery(query)
}
