/** Operations of the infrastructure as data: validation, affected resources, effect. */
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'

export interface OperationType {
  /** Everything that is wrong with the description, a sentence each; nothing has run yet. */
  check(description: JsonObject): readonly string[]
  /** Applications that own what it changes: the caller must be allowed to change them. */
  applications(description: JsonObject): readonly string[]
  /**
   * What it waits for: operations that share a name run one after the other. Undefined: the applications, as above. None: it waits
   * for nothing, and nothing waits for it, so that it may take long.
   */
  order?(description: JsonObject): readonly string[]
  /** Accounts beyond its own whose resources it takes from or changes: the caller must be allowed to change them too. */
  accounts?(description: JsonObject): readonly string[]
  /** It puts values of secrets in place of references itself, where they are needed; others are given the values. */
  readonly keepsReferences?: true
  /** Carries it out. It may run again after a crash, unless it has committed. @throws {Error} for people: the task fails */
  run(description: JsonObject, run: OperationRun): Promise<void>
}

export type OperationTypes = Readonly<Record<string, OperationType>>

export interface OperationRun {
  /** The same when it runs again after a crash, and unique among all operations. */
  readonly id: string
  /** The caller of the task, for calls to other services. */
  readonly user: string
  readonly identity: Readonly<Record<string, string>>
  /**
   * Waits for something that may take long. Operations of other applications run meanwhile, so that what was read before may be
   * another afterwards.
   */
  releaseWhile<T>(wait: () => Promise<T>): Promise<T>
  /** Aborted when Fairlead stops: an operation that then fails with an `AbortError` runs again after the next start. */
  readonly signal: AbortSignal
  /** Aborted when the operation is cancelled: its waits end with an `AbortError`, what it does is done. */
  readonly cancellation?: AbortSignal
  note(status: string): void
  /** Results for the orchestrator. @see docs/contracts/infrastructure.md#operations */
  report(result: JsonObject): void
  /**
   * Changes the database in one transaction together with the progress of the task, for state that is kept in it: after a crash the
   * operation is found either done or not begun. At most once, and the last thing that the operation does.
   */
  commit(work: () => void): void
}

/** The application that an operation names, and those whose resources it changes. */
export function applicationsOf(type: OperationType, description: JsonObject): string[] {
  const named = textOf(description['application'])?.trim()
  return [...new Set([...(named === undefined ? [] : [named]), ...type.applications(description)])]
}
