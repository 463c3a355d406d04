/** Operations of the infrastructure as data: validation, affected resources, effect. */
import { type JsonObject, textOf } from '../../json/values.ts'
import { parseMoniker } from '../../moniker.ts'

export interface OperationType {
  /** Everything that is wrong with the description, a sentence each; nothing has run yet. */
  check(description: JsonObject): readonly string[]
  /** Names of server groups, load balancers and the like, whose applications the caller must be allowed to change. */
  resources(description: JsonObject): readonly string[]
  /** Accounts beyond its own whose resources it takes from or changes: the caller must be allowed to change them too. */
  accounts?(description: JsonObject): readonly string[]
  /** Carries it out. It may run again after a crash, unless it has committed. @throws {Error} for people: the task fails */
  run(description: JsonObject, run: OperationRun): Promise<void>
}

export type OperationTypes = Readonly<Record<string, OperationType>>

/** The task as the operation sees it. */
export interface OperationRun {
  /** The caller of the task, for calls to other services. */
  readonly user: string
  readonly identity: Readonly<Record<string, string>>
  /**
   * Waits for something that may take long. Operations of other applications run meanwhile, so that what was read before may be
   * another afterwards.
   */
  aside<T>(wait: () => Promise<T>): Promise<T>
  /** Appends to the history. */
  note(status: string): void
  /** Results for the orchestrator. @see docs/contracts/infrastructure.md#operations */
  report(result: JsonObject): void
  /**
   * Changes the database in one transaction together with the progress of the task: after a crash the operation is found either
   * done or not begun. At most once, and the last thing that the operation does.
   */
  commit(work: () => void): void
}

/** Names of the account in a description: one of three synonyms. */
const accountFields = ['credentials', 'account', 'accountName'] as const

export function accountOf(description: JsonObject): string | undefined {
  return accountFields.map((name) => textOf(description[name])).find((name) => name !== undefined)
}

/** The applications whose resources an operation names. */
export function applicationsOf({ resources }: OperationType, description: JsonObject): string[] {
  const named = [textOf(description['application'])?.trim(), ...resources(description).map((name) => parseMoniker(name).app)]
  return [...new Set(named.filter((name) => typeof name === 'string'))]
}
