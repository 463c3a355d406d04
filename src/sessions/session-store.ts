/** A store of sessions: hashes of identifiers and opaque text. A stolen copy opens no session. */
import { GatewayError } from '../errors.ts'

export interface StoredSession {
  readonly content: string
  /** Milliseconds since the epoch; the store may forget the session from then on. */
  readonly expiresAtMs: number
  /** Key of the user who is logged in. */
  readonly owner: string
}

/** How many of a list, from which position on. */
export interface SessionRange {
  readonly offset: number
  readonly limit: number
}

/** Sessions that a store removes in one step, as requests wait meanwhile. */
export const removedAtOnce = 500

/** Every function rejects when the store cannot be asked; the caller turns that into SESSIONS_UNAVAILABLE. */
export interface SessionStore {
  load(key: string): Promise<Omit<StoredSession, 'owner'> | undefined>
  insert(key: string, session: StoredSession): Promise<void>
  /** Moves the end of a session; false when it is gone. */
  touch(key: string, session: Omit<StoredSession, 'content'>): Promise<boolean>
  remove(key: string, owner: string): Promise<void>
  /** A part of the sessions of one user by key, the one that ends last first. Some may have expired. */
  listOf(owner: string, part: SessionRange): Promise<ReadonlyMap<string, StoredSession>>
  /** The key of a user's session that begins so. */
  findKey(owner: string, beginning: string): Promise<string | undefined>
  /**
   * Removes at most 500 sessions of one user, all but those that end last, among which `key` counts.
   *
   * @returns their keys; none are left to remove when it is empty
   */
  removeOf(owner: string, kept: { newest: number; key: string | undefined }): Promise<string[]>
  /** Removes all sessions and returns their number. */
  removeAll(): Promise<number>
  /** How many are live; undefined where counting them is no cheap question. */
  count?(): number
  close(): void | Promise<void>
}

/** What the store answers. @throws {GatewayError} SESSIONS_UNAVAILABLE when it cannot be asked */
export async function askStore<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (cause) {
    throw new GatewayError('SESSIONS_UNAVAILABLE', 'The session store does not answer. Try again in a moment.', { cause })
  }
}
