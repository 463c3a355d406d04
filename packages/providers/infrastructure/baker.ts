/** Bakes of a provider as the embedded bakery has them. */
import type { JsonObject } from '@fairlead/base/json/values.ts'

export interface Baker {
  /** As bake options have them. */
  readonly baseImages: readonly JsonObject[]
  /**
   * Starts a bake, or finds the one that does the same.
   *
   * @throws {PortError} 400 also with the log of a builder that failed at once; 403
   * @see docs/contracts/bakery.md#bakes
   */
  request(query: BakeQuery): Promise<BakeView>
  get(id: string): BakeView | undefined
  /** @throws {PortError} 400 unless it runs */
  cancel(id: string): Promise<void>
  /** Secrets are masked. Undefined while nothing is logged. */
  log(id: string): Promise<string | undefined>
  start(): void
  close(): Promise<void>
}

export interface BakeQuery {
  readonly region: string
  readonly body: unknown
  readonly user: string
  readonly execution: string | undefined
  /** The application of the execution, whose secrets may be used. */
  readonly application?: string | undefined
  readonly isRebake: boolean
}

export interface BakeView {
  readonly id: string
  readonly state: 'RUNNING' | 'COMPLETED' | 'CANCELED'
  /** Whose user runs it. */
  readonly account: string
  /** Secrets in it are masked. */
  readonly request: JsonObject
  /** `NAME:VERSION` of the finished image. */
  readonly image: string | undefined
  readonly imageName: string | undefined
}
