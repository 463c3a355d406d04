/** A store of API tokens. It contains hashes only, so a stolen copy opens nothing. */
import { z } from 'zod'

export type PrincipalType = 'USER' | 'SERVICE_ACCOUNT'

/** Whom a token speaks for; found under every spelling of the name that has the same key (`src/names/user-name.ts`). */
export interface Principal {
  readonly type: PrincipalType
  readonly id: string
}

/** What a token may be used for, beyond what its principal may do. Undefined does not limit. */
export interface TokenLimits {
  readonly readOnly: boolean
  /** Lower case. */
  readonly applications: readonly string[] | undefined
  /** Operation ids. */
  readonly operations: readonly string[] | undefined
}

/** Limits as both stores keep them, in JSON. */
export const StoredTokenLimits = z.object({
  readOnly: z.boolean(),
  applications: z.array(z.string()).optional(),
  operations: z.array(z.string()).optional(),
})

/** All times in milliseconds since the epoch. */
export interface StoredToken {
  readonly id: string
  /** Unique among the tokens of one principal. */
  readonly name: string
  readonly principal: Principal
  /** The login method of the user when the token was created; undefined without a login, or in tokens of Gate. */
  readonly method: string | undefined
  /** The era of the user, see `CurrentUser`; undefined for service accounts, and for users that only their provider knows. */
  readonly era: number | undefined
  readonly createdBy: string
  readonly createdAtMs: number
  /** Undefined: never expires. */
  readonly expiresAtMs: number | undefined
  readonly lastUsedAtMs: number | undefined
  readonly limits: TokenLimits
  readonly secret: TokenSecret
}

export interface TokenSecret {
  /** SHA-256 in hexadecimal. */
  readonly hash: string
  readonly sinceMs: number
  /** The secret before the last rotation, accepted until `untilMs`. */
  readonly former: { readonly hash: string; readonly untilMs: number } | undefined
}

/**
 * Every function rejects when the store cannot be asked; the caller turns that into TOKENS_UNAVAILABLE. A removed token is
 * no longer found by any process once `remove` has resolved.
 */
export interface TokenStore {
  /** False when the principal has a token of this name already. */
  insert(token: StoredToken): Promise<boolean>
  /** By the hash of the present or the former secret; whether they still count is for the caller to say. */
  findByHash(hash: string): Promise<StoredToken | undefined>
  find(id: string): Promise<StoredToken | undefined>
  listOf(principal: Principal): Promise<StoredToken[]>
  listAll(type: PrincipalType): Promise<StoredToken[]>
  /** False when the present secret is not `before`: the token is gone, or another request has rotated it. */
  replaceSecret(id: string, before: string, secret: TokenSecret, expiresAtMs: number | undefined): Promise<boolean>
  /** False when there was no such token. */
  remove(id: string): Promise<boolean>
  /** Notes a use; does nothing when the token is gone. */
  recordUse(id: string, atMs: number): Promise<void>
  close(): void | Promise<void>
}
