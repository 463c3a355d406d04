/** Records that a gateway keeps by key, in a file of its own or in the Redis of all replicas: sessions, tokens, marks, keys. */

export interface StoredRecord {
  readonly content: string
  /** Until when the store has it. Undefined: for ever. */
  readonly endsAtMs?: number
}

export interface NewRecord extends StoredRecord {
  /** Key of the list that contains it, such as a user. */
  readonly owner?: string
}

/**
 * Every function rejects when the store cannot be asked. What is confirmed survives the end of the process, and all
 * processes that share the store see it at once.
 */
export interface Records {
  get(key: string): Promise<StoredRecord | undefined>
  /**
   * Writes a record in one step.
   *
   * @param before Its content so far, null when there must be none; undefined where that does not matter
   * @returns false when another content was found, and nothing is written
   */
  put(key: string, record: NewRecord, before?: string | null): Promise<boolean>
  /** Moves the end of a record; false when it is gone. Such a sign of life may be lost with the machine. */
  extend(key: string, end: { readonly endsAtMs: number; readonly owner: string }): Promise<boolean>
  /** @returns how many there were */
  remove(keys: readonly string[], owner?: string): Promise<number>
  /** Keys in the list of an owner, the one that ends last first. Some may have ended. */
  keysOf(owner: string, offset: number, limit: number): Promise<string[]>
  /** Owners whose name begins so. */
  owners(beginning: string): Promise<string[]>
  /** @returns how many there were */
  removeAll(): Promise<number>
  /** How many are live; undefined where counting them is no cheap question. */
  count(): number | undefined
  close(): void
}
