/** A kind of records that are deleted once they are old and many. */
import type { RetentionRule } from './settings.ts'

export interface Sweep {
  /** Lets requests have their turn; to be awaited between two small transactions. @throws {Error} when the sweep has to end */
  readonly turn: () => Promise<void>
  /** Records that one transaction deletes. */
  readonly chunkSize: number
  /** What a rule says for an application. */
  readonly ruleFor: (rule: RetentionRule, application: string) => RetentionRule
  /** Whether a definition, or an execution that has not ended, has this text in it. */
  readonly isMentioned: (text: string) => boolean
}

export interface RetainedKind {
  readonly kind: 'executions' | 'tasks' | 'images' | 'infrastructure-tasks'
  /** @param rule Undefined for a kind whose rule is fixed. @returns how many records are deleted */
  sweep(sweep: Sweep, rule: RetentionRule | undefined): Promise<number>
}

/** What a kind that no operator sets is swept by, also in data from before. */
export const fixedKinds: ReadonlySet<string> = new Set(['infrastructure-tasks'])
