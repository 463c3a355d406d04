/** A call to a service, as operations ask for it. */
import type { Readable } from 'node:stream'
import { formatQuery, type QueryValue } from '@fairlead/base/net/encode-path.ts'

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

const places = { definitions: 0, executions: 1, infrastructure: 2, permissions: 3 } as const

/** Parts of what embedded services store: definitions and everything else, executions and tasks, infrastructure. */
type StatePart = Exclude<keyof typeof places, 'permissions'>

/** Each number grows with every change, so that equal numbers mean equal state. */
export type StateCounts = readonly [definitions: number, executions: number, infrastructure: number]

export function createStateCounts(): SharedArrayBuffer {
  return new SharedArrayBuffer(Object.keys(places).length * Int32Array.BYTES_PER_ELEMENT)
}

export function countStateChange(memory: SharedArrayBuffer, part: keyof typeof places): void {
  Atomics.add(new Int32Array(memory), places[part], 1)
}

export function readStateCount(memory: SharedArrayBuffer, part: keyof typeof places): number {
  return Atomics.load(new Int32Array(memory), places[part])
}

export function readStateCounts(memory: SharedArrayBuffer): StateCounts {
  const counts = new Int32Array(memory)
  return [Atomics.load(counts, 0), Atomics.load(counts, 1), Atomics.load(counts, 2)]
}

export function countOf(counts: StateCounts, part: StatePart): number {
  return counts[places[part]]
}

export function statePartOf(service: string): StatePart {
  if (service === 'orca') return 'executions'
  return service === 'clouddriver' ? 'infrastructure' : 'definitions'
}
