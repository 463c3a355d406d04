/** Changes that count in every process of a data directory before their request is answered. */

export type Change =
  /** A session has ended; by its key. */
  | { readonly kind: 'session'; readonly key: string }
  | { readonly kind: 'all-sessions' }
  /** A token was revoked, or got another secret. */
  | { readonly kind: 'tokens' }
  /** Rights may have changed in an embedded service. */
  | { readonly kind: 'permissions'; readonly version: number }
  /** Rights may have changed in an external service; without a user, those of all. */
  | { readonly kind: 'rights'; readonly userKey: string | undefined }

/** The other processes of the data directory. */
export interface Changes {
  /** Resolves when all of them have noted the change. Never fails, and waits for none of them longer than a second. */
  publish(change: Change): Promise<void>
  /** Calls the listener for each change that another process makes. */
  follow(listener: (change: Change) => void): void
}
