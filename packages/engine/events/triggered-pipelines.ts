/** The pipelines with triggers of some types, read again as their definitions change. */
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { EffectivePipeline, EffectivePipelines } from '../pipelines/effective-pipelines.ts'
import { loadTriggeredPipelines } from './pipelines.ts'

interface TriggeredPipelinesParts {
  readonly context: BackendContext
  readonly pipelines: EffectivePipelines
  readonly types: readonly string[]
  /** Pause after a read that has failed. */
  readonly retryMs: number
}

/** Definitions in another process are read this often; of the own process, whenever they have changed. */
const readEveryMs = 30_000
/** Reading all definitions may take one part in this many of the time, however often they are written. */
const readShare = 50

export class TriggeredPipelines {
  readonly #parts: TriggeredPipelinesParts
  #seenVersion: string | undefined
  #readAtMs = Number.NEGATIVE_INFINITY
  #tookMs = 0
  #hasFailed = false

  constructor(parts: TriggeredPipelinesParts) {
    this.#parts = parts
  }

  /** Undefined: they stay what they were. That holds too when the definitions cannot be read: they are not deleted ones. */
  async readChanged(): Promise<readonly EffectivePipeline[] | undefined> {
    if (!this.#mustRead()) return undefined
    const { context, pipelines, types } = this.#parts
    const begunMs = performance.now()
    this.#seenVersion = context.ports.definitions.version('pipelines')
    try {
      const read = await loadTriggeredPipelines(context.ports.definitions, pipelines, {
        types,
      })
      this.#hasFailed = false
      return read
    } catch (error) {
      this.#hasFailed = true
      context.log.warn(
        { err: error, types },
        'the definitions cannot be read; triggers stay unchanged',
      )
      return undefined
    } finally {
      this.#readAtMs = performance.now()
      this.#tookMs = this.#readAtMs - begunMs
    }
  }

  #mustRead(): boolean {
    const sinceMs = performance.now() - this.#readAtMs
    if (sinceMs >= readEveryMs) return true
    const { context, retryMs } = this.#parts
    const isStale = this.#hasFailed
      ? sinceMs >= retryMs
      : context.ports.definitions.version('pipelines') !== this.#seenVersion
    return isStale && sinceMs >= this.#tookMs * readShare
  }
}
