/** A kind of records that are deleted once they are old and many. */
/** What is deleted has this age and so many newer ones. */
export interface RetentionRule {
  /** Undefined: any age. */
  readonly days: number | undefined
  readonly kept: number
  /** Whether only those of this age count among the kept, as in Orca. */
  readonly countsOldOnly?: boolean
  /** Days of applications, by name. */
  readonly exceptions?: Readonly<Record<string, number>>
}

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
