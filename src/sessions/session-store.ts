/** What a store of sessions does. It sees hashes of identifiers and opaque text, so a stolen copy opens no session. */

export interface StoredSession {
  readonly content: string
  /** Milliseconds since the epoch; the store may forget the session from then on. */
  readonly expiresAtMs: number
  /** Key of the user who is logged in; undefined while nobody is. Those are forgotten first when there are too many. */
  readonly owner: string | undefined
}

/** `gone`: a late writer never brings an ended session back. `changed`: somebody else was faster; start again from what is there. */
export type UpdateOutcome = 'written' | 'changed' | 'gone'

/** Every function rejects when the store cannot be asked; the caller turns that into SESSIONS_UNAVAILABLE. */
export interface SessionStore {
  load(key: string): Promise<Omit<StoredSession, 'owner'> | undefined>
  insert(key: string, session: StoredSession): Promise<void>
  /** Writes only where the store still holds `before`, the content from which the writer started. */
  update(key: string, before: string, session: StoredSession): Promise<UpdateOutcome>
  /** Moves the end of a session; false when it is gone. */
  touch(key: string, session: Omit<StoredSession, 'content'>): Promise<boolean>
  remove(key: string, owner: string | undefined): Promise<void>
  /** The sessions of one user, by key. Some may have expired. */
  listOf(owner: string): Promise<ReadonlyMap<string, StoredSession>>
  /** Forgets everybody's session and says how many there were. */
  removeAll(): Promise<number>
  close(): void | Promise<void>
}
