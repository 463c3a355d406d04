/** A build as lists and polls have it. */
import type { JsonObject } from '@fairlead/base/json/values.ts'

/** What polls read of a build; servers add fields. docs/contracts/builds.md. */
export type ListedBuild = JsonObject & {
  readonly number: number
  readonly building: boolean
  readonly result?: string
  /** Counts runs of one build. */
  readonly attempt?: number
  /** Milliseconds since the epoch. */
  readonly timestamp?: string
  /** Milliseconds. */
  readonly duration?: number
}
