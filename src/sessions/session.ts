/**
 * What a session holds, and its text form in a store: JSON with a version, checked when it is read. Gateways of two versions
 * may share a store: what a newer one has added is kept when an older one writes the session again.
 */
import { z } from 'zod'
import type { User } from '../http/request-state.ts'

const maxPendingLogins = 10

const UserContent = z.object({
  username: z.string().min(1),
  email: z.string().nullable(),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  roles: z.array(z.string()),
  allowedAccounts: z.array(z.string()),
  method: z.string().min(1),
})

/** A login that was started at an identity provider and has not come back yet; never a token. */
const PendingLogin = z.object({
  method: z.string(),
  startedAtMs: z.number(),
  values: z.record(z.string(), z.string()),
})
export type PendingLogin = z.infer<typeof PendingLogin>

const LoginOrigin = z.object({ address: z.string(), userAgent: z.string().optional() })

/** Of what this version writes. It grows with every field that is added. */
const ownVersion = 1
/** The oldest version that understands what this one writes: all of them, as long as fields are only added. */
const oldestReader = 1

const SessionContent = z.object({
  /** Of the gateway that started the session. */
  version: z.int().min(1),
  /** The oldest version that understands the content; absent: only those from `version` on. */
  readableFrom: z.int().min(1).optional(),
  user: UserContent.optional(),
  /** Milliseconds since the epoch; the absolute limit counts from here. */
  loggedInAtMs: z.number().optional(),
  /** From where the user logged in, for the list of one's sessions. */
  loginOrigin: LoginOrigin.optional(),
  /** What the login method said about the credential; once it says otherwise, the session is over. */
  credentialStamp: z.string().optional(),
  /** Path and query that the browser asked for before the login, without context path. */
  savedPath: z.string().startsWith('/').optional(),
  /** By the `state` or request id that comes back from the provider. */
  pendingLogins: z.record(z.string(), PendingLogin).optional(),
})
export type SessionContent = z.infer<typeof SessionContent>

/** The same, with the fields that a newer version has added at every level. */
const StoredContent = SessionContent.extend({
  user: UserContent.loose().optional(),
  loginOrigin: LoginOrigin.loose().optional(),
  pendingLogins: z.record(z.string(), PendingLogin.loose()).optional(),
})
  .loose()
  .refine(({ version, readableFrom = version }) => readableFrom <= ownVersion)

export interface Session {
  /** SHA-256 of the identifier in hexadecimal: the name of the session in the store. */
  readonly key: string
  readonly content: SessionContent
  /** The content as the store holds it, by which a change is recognised that somebody else made meanwhile. */
  readonly text: string
  readonly expiresAtMs: number
}

export const emptySession: SessionContent = { version: ownVersion, readableFrom: oldestReader }

/** A session of a newer version stays one, whoever writes it. */
export function formatSession(content: SessionContent): string {
  const version = Math.max(content.version, ownVersion)
  const readableFrom = Math.max(content.readableFrom ?? content.version, oldestReader)
  return JSON.stringify({ ...content, version, readableFrom: readableFrom === version ? undefined : readableFrom })
}

/** Undefined for whatever this version cannot read: such a session is no session. */
export function parseSession(text: string): SessionContent | undefined {
  try {
    return StoredContent.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** Who is logged in, without what a newer version may have noted about the user. */
export function userOf({ user }: SessionContent): User | undefined {
  return user && UserContent.parse(user)
}

/** Adds a started login; the oldest give way, so that tabs that were left alone do not add up. */
export function withPendingLogin(content: SessionContent, id: string, pending: PendingLogin): SessionContent {
  const all = Object.entries(content.pendingLogins ?? {}).filter(([other]) => other !== id)
  const newest = all.sort(([, a], [, b]) => a.startedAtMs - b.startedAtMs).slice(-(maxPendingLogins - 1))
  return { ...content, pendingLogins: Object.fromEntries([...newest, [id, pending]]) }
}

/** A started login may be completed once: whoever asks for it takes it out. */
export function withoutPendingLogin(content: SessionContent, id: string): SessionContent {
  return {
    ...content,
    pendingLogins: Object.fromEntries(Object.entries(content.pendingLogins ?? {}).filter(([other]) => other !== id)),
  }
}
