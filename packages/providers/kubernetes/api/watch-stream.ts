/** One watch of an API server: the events of a resource from a version on. */

import { asGiven, or, shape } from '@fairlead/base/json/shape.ts'
import { numberOf, textOf } from '@fairlead/base/json/values.ts'
import type { KubeObject } from '../objects.ts'
import { toApiError } from './api-error.ts'
import { type ApiResource, collectionPath } from './cluster-api.ts'
import { toObject } from './lists.ts'
import type { ApiRequests } from './requests.ts'
import { parseLoosely } from './transport.ts'

export interface WatchQuery {
  readonly resource: ApiResource
  readonly namespace?: string | undefined
  readonly metadataOnly?: boolean
  readonly resourceVersion: string
  /** The server ends it after this time. */
  readonly timeoutSeconds: number
}

export interface WatchListener {
  opened(): void
  changed(type: 'set' | 'deleted', object: KubeObject): void
  /** Everything up to this version has been reported. */
  reached(resourceVersion: string): void
}

const maxLineBytes = 16 * 1024 * 1024
const metadataOnlyWatch =
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
/** A server that does not end a watch in time has forgotten it. */
const overdueMs = 30_000

/** Resolves when the server has ended it as usual. @throws {ApiError} 410: the version has expired */
export async function watch(
  requests: ApiRequests,
  { resource, namespace, metadataOnly, resourceVersion, timeoutSeconds }: WatchQuery,
  listener: WatchListener,
  signal: AbortSignal,
): Promise<void> {
  const path = collectionPath(resource, namespace, {
    watch: true,
    allowWatchBookmarks: true,
    resourceVersion,
    timeoutSeconds,
  })
  const accept = metadataOnly === true ? metadataOnlyWatch : 'application/json'
  const lines = new LineSplitter(maxLineBytes)
  const end = new AbortController()
  const overdue = setTimeout(() => end.abort(), timeoutSeconds * 1000 + overdueMs).unref()
  const handler = {
    start: () => listener.opened(),
    data: (piece: Buffer) => lines.push(piece, (line) => report(line, resource, listener)),
  }
  try {
    await requests.stream(
      { method: 'GET', path, headers: { accept } },
      handler,
      AbortSignal.any([signal, end.signal]),
    )
  } catch (error) {
    if (!end.signal.aborted) throw error
  } finally {
    clearTimeout(overdue)
  }
}

/** @throws {ApiError} for an event of the type ERROR */
function report(line: string, resource: ApiResource, listener: WatchListener): void {
  const { type, object, head } = readEvent(line)
  if (type === 'ERROR') throw toApiError(head.code, object)
  const version = head.metadata.resourceVersion
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
    const changed = toObject(object, resource)
    if (changed !== undefined) listener.changed(type === 'DELETED' ? 'deleted' : 'set', changed)
  } else if (type !== 'BOOKMARK') return
  if (version !== undefined) listener.reached(version)
}

const toEvent = shape({
  type: textOf,
  object: asGiven,
  head: [
    shape({ code: or(numberOf, 500), metadata: shape({ resourceVersion: textOf }) }),
    'object',
  ],
})

/** What cannot be read is left out: a later list corrects it. */
function readEvent(line: string) {
  try {
    return toEvent(parseLoosely(line))
  } catch {
    return toEvent({})
  }
}

const lineFeed = 0x0a

/** Lines of a stream that arrives in pieces. Each piece is looked at once, and joined with others only where a line is complete. */
class LineSplitter {
  readonly #maxBytes: number
  #parts: Buffer[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Calls `take` for each line that is complete now, empty ones excepted. @throws {Error} when a line is too long */
  push(piece: Buffer, take: (line: string) => void): void {
    let from = 0
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, from)) {
      const line = this.#complete(piece.subarray(from, end))
      from = end + 1
      if (line !== '') take(line)
    }
    if (from === piece.length) return
    // A copy: the piece may be part of a larger buffer, which would be kept.
    const rest = Buffer.from(piece.subarray(from))
    this.#parts.push(rest)
    this.#bytes += rest.length
    if (this.#bytes > this.#maxBytes)
      throw new Error(`a line has more than ${this.#maxBytes} bytes`)
  }

  #complete(last: Buffer): string {
    if (this.#parts.length === 0) return last.toString('utf8')
    const line = Buffer.concat([...this.#parts, last]).toString('utf8')
    this.#parts = []
    this.#bytes = 0
    return line
  }
}
