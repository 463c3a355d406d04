/** A call to a service, as operations ask for it. */
import type { Readable } from 'node:stream'
import { formatQuery, type QueryValue } from '../net/encode-path.ts'

export interface CallClass {
  readonly method?: string
  readonly isList?: boolean
  /** A read for the sake of a change: the change is not to wait longer for it than for its own answer. */
  readonly isForChange?: boolean
  /** Instead of the read timeout of the service, for the few calls that take longer than any other. */
  readonly readTimeoutMs?: number
  readonly maxTimeoutMs?: number
}

export interface UpstreamCall extends CallClass {
  /** Encoded path, relative to the base URL of the service; see `pathTo`. */
  path: string
  query?: Readonly<Record<string, QueryValue>>
  /** Sent as JSON. */
  body?: unknown
  rawBody?: string | Buffer | Readable
  headers?: Readonly<Record<string, string>>
  location?: string
  signal?: AbortSignal
}

export function pathOf({ path, query }: UpstreamCall): string {
  return query === undefined ? path : path + formatQuery(query)
}
