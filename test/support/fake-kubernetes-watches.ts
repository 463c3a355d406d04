/** The watches that clients of the fake API server have open. */
import type { ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { JsonObject } from '../../packages/base/json/values.ts'
import type { FakeRequest } from './fake-kubernetes.ts'
import { isSelected, parsePath, statusBody, toPartial } from './fake-kubernetes-answers.ts'
import {
  apiVersionOf,
  type Change,
  type FakeObjects,
  type ServedKind,
} from './fake-kubernetes-objects.ts'

interface OpenWatch {
  readonly kind: ServedKind
  readonly request: FakeRequest
  readonly write: (line: string) => void
  readonly end: () => void
}

export class FakeWatches {
  readonly #objects: FakeObjects
  readonly #open = new Set<OpenWatch>()

  constructor(objects: FakeObjects) {
    this.#objects = objects
    objects.listen((change) => {
      for (const watch of this.#open) this.#tell(watch, change)
    })
  }

  get size(): number {
    return this.#open.size
  }

  /** A bookmark on each. */
  bookmark(): void {
    for (const { kind, write } of this.#open) {
      const metadata = { resourceVersion: String(this.#objects.version) }
      write(toLine('BOOKMARK', { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata }))
    }
  }

  /** They end as if their time were over. */
  end(): void {
    for (const { end } of this.#open) end()
  }

  /** All have expired. */
  expire(): void {
    for (const { write, end } of this.#open) {
      write(expired())
      end()
    }
  }

  /** Writes a line as it is. */
  write(line: string): void {
    for (const watch of this.#open) watch.write(line)
  }

  /** Forgets them: their connections are gone. */
  drop(): void {
    this.end()
    this.#open.clear()
  }

  open(request: FakeRequest, response: ServerResponse | Http2ServerResponse): void {
    const place = parsePath(this.#objects, request.path)
    if (place === undefined) throw new Error(`no watch at ${request.path}`)
    const { writeHead, write } = response as ServerResponse
    writeHead.call(response, 200, { 'content-type': 'application/json' })
    // Else the head waits for the first event.
    ;(response as ServerResponse).flushHeaders?.()
    const watch: OpenWatch = {
      kind: place.kind,
      request,
      write: (line) => void write.call(response, line, 'utf8'),
      end: () => response.end(),
    }
    const since = Number(request.query.get('resourceVersion') ?? 0)
    if (since < this.#objects.oldest) {
      watch.write(expired())
      watch.end()
      return
    }
    this.#open.add(watch)
    response.on('close', () => this.#open.delete(watch))
    for (const change of this.#objects.changes)
      if (change.version > since) this.#tell(watch, change)
  }

  #tell({ kind, request, write }: OpenWatch, { type, kind: changed, object }: Change): void {
    if (
      changed.group !== kind.group ||
      changed.plural !== kind.plural ||
      !isSelected(this.#objects, request, object)
    )
      return
    const isPartial = request.headers.accept?.includes('as=PartialObjectMetadata') === true
    write(toLine(type, isPartial ? toPartial(object) : object))
  }
}

function toLine(type: string, object: JsonObject): string {
  return `${JSON.stringify({ type, object })}\n`
}

function expired(): string {
  return toLine('ERROR', statusBody(410, 'Expired', 'too old resource version'))
}
