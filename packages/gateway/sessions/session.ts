/**
 * A session, and its text form in a store: JSON with a version, validated on reading. Gateways of two versions
 * may share a store: a session is written once, by the login, so each reads what it understands.
 */
import { z } from 'zod'
import type { User } from '../http/request-state.ts'

const UserContent = z.object({
  username: z.string().min(1),
  email: z.string().nullable(),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  roles: z.array(z.string()),
  allowedAccounts: z.array(z.string()),
  method: z.string().min(1),
}) satisfies z.ZodType<User>

const SessionContent = z.object({
  user: UserContent,
  /** Milliseconds since the epoch; the absolute limit counts from here. */
  loggedInAtMs: z.number().optional(),
  loginOrigin: z.object({ address: z.string(), userAgent: z.string().optional() }).optional(),
  /** What the login method said about the credential; once it says otherwise, the session is over. */
  credentialStamp: z.string().optional(),
})
export type SessionContent = z.infer<typeof SessionContent>

/** The format that this version writes. It grows with every field that is added. */
const ownVersion = 1
/** The oldest version that understands what this one writes: all of them, as long as fields are only added. */
const oldestReader = 1

const keyLength = 16

const Versions = z.object({
  /** The format of the gateway that started the session. */
  version: z.int().min(1),
  /** The oldest version that understands the content; absent: only those from `version` on. */
  readableFrom: z.int().min(1).optional(),
  /** Beginning of its key: a store that answers with another session must not give its user to this one. */
  of: z.string().optional(),
})

export interface Session {
  /** SHA-256 of the identifier in hexadecimal: the name of the session in the store. */
  readonly key: string
  readonly content: SessionContent
  readonly expiresAtMs: number
}

export function formatSession(key: string, content: SessionContent): string {
  const readers = oldestReader < ownVersion ? { readableFrom: oldestReader } : {}
  return JSON.stringify({
    version: ownVersion,
    of: key.slice(0, keyLength),
    ...readers,
    ...content,
  })
}

export function parseSession(key: string, text: string): SessionContent | undefined {
  try {
    const stored: unknown = JSON.parse(text)
    const { version, readableFrom = version, of } = Versions.parse(stored)
    if (of !== undefined && !key.startsWith(of)) return undefined
    return readableFrom <= ownVersion ? SessionContent.parse(stored) : undefined
  } catch {
    return undefined
  }
}
