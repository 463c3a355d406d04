/** What a watch of objects needs: its cluster, its resource, and how long it waits. */

import type { BackOffLimits } from '@fairlead/base/concurrency/back-off.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { KubeObject } from '../objects.ts'
import type { ApiResource, ListQuery } from './cluster-api.ts'
import type { ObjectPage } from './lists.ts'
import type { Recovery } from './recovery.ts'
import type { WatchListener, WatchQuery } from './watch-stream.ts'

/** `away`: what is kept may be out of date. `forbidden`: the API server refuses, or does not serve the kind. */
export type WatchState = 'loading' | 'current' | 'away' | 'forbidden'

export interface WatchSource {
  readonly recovery: Recovery
  readonly now: () => number
  readonly logger?: FastifyBaseLogger | undefined
  pages(resource: ApiResource, query: ListQuery, take: (page: ObjectPage) => void): Promise<void>
  watch(query: WatchQuery, listener: WatchListener, signal: AbortSignal): Promise<void>
}

export interface WatchTimings {
  /** Between attempts that fail. */
  readonly backOff: BackOffLimits
  /** A watch that was open for so long begins again with the first pause. */
  readonly healthyMs: number
  /** Between attempts that are refused; the last one for ever. */
  readonly refusedMs: readonly number[]
  /** How long the server is asked to keep a watch open, at least; up to twice as long. */
  readonly openSeconds: number
  /** An expired version is reported within this time after the watch has opened. */
  readonly expiryMs: number
}

export const usualTimings: WatchTimings = {
  backOff: { firstMs: 200, longestMs: 30_000 },
  healthyMs: 60_000,
  refusedMs: [5000, 30_000, 300_000],
  openSeconds: 300,
  expiryMs: 500,
}

export interface ObjectWatchOptions<Entry> {
  readonly source: WatchSource
  readonly resource: ApiResource
  /** Undefined: all. */
  readonly namespace?: string | undefined
  /** Objects come without spec, status and data. */
  readonly metadataOnly?: boolean
  /** Called at once for each object, so that only entries are kept; undefined: the object is left out. */
  readonly toEntry: (object: KubeObject) => Entry | undefined
  /** Called for each entry that is there no more, before `onChange`. */
  readonly onGone?: (entry: Entry) => void
  readonly onChange?: () => void
  readonly timings?: Partial<WatchTimings>
}
