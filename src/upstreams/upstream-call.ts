/** A call to a service, as operations ask for it. */
import type { Readable } from 'node:stream'
import { formatQuery, type QueryValue } from '../http/encode-path.ts'
import type { CallClass } from './endpoint.ts'

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
