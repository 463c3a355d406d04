/** Executions, as other capabilities start and read them. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Caller } from './caller.ts'

export interface Executions {
  /** Whether it may run stages of types that Fairlead has no description of. */
  readonly runsOtherStages: boolean
  /**
   * Starts a pipeline under the `executionId` of the definition; a repetition is the same execution.
   *
   * @param stored Called in the transaction that stores the execution, where this process stores it
   * @throws {PortError}
   */
  start(definition: JsonObject, stored: () => void, as: Caller): Promise<void>
  /** Keeps a failed execution with the reason, unless its `executionId` is taken. @throws {PortError} */
  recordFailure(
    definition: JsonObject,
    problem: string,
    stored: () => void,
    as: Caller,
  ): Promise<void>
  /** The definition with its template and evaluated expressions. @throws {PortError} */
  plan(definition: JsonObject, as: Caller): Promise<JsonObject>
  /** Whether an execution of this process still runs. */
  isRunning(id: string): boolean
  /** Tells readers of an execution that something they see has changed elsewhere. */
  noteChange(id: string): void
}
