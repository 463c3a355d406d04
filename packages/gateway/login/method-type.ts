/**
 * Types of login methods: their keys, their settings, what opens them, and what the doctor checks about them.
 *
 * To add a method, export a `LoginMethodType` from `method.ts` in a folder of its own (`header/` is the smallest example), and list it in
 * `methods.ts`. `toSettings` runs at each start, so `open` and `checks` import what only an active method needs.
 */

import type { Keep } from '@fairlead/base/concurrency/open-parts.ts'
import type { Check, Timeouts } from '@fairlead/base/findings/finding.ts'
import type { Redis } from '@fairlead/base/redis/redis.ts'
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import type { ListenerSettings } from '@fairlead/base/tls/settings.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { z } from 'zod'
import type { OriginSettings } from '../http/origin.ts'
import type { Permissions } from '../permissions/fiat-permissions.ts'
import type { NameSettings } from './check-name-case.ts'
import type { LoginSecrets } from './login-keys.ts'
import type { LoginMethod } from './login-method.ts'
import type { PageOptions } from './login-page.ts'
import type { ObjectionTo, PrepareUser } from './prepare-user.ts'
import type { CertificateTrust } from './x509/verify-certificate.ts'

export interface LoginMethodType<Settings extends MethodSettings = MethodSettings> {
  readonly name: string
  /** Name in messages: `LDAP`, `a trusted header`. */
  readonly title: string
  /** `page` logs users in with a browser, `proxy` believes something in front; at most one of each may be active. */
  readonly kind: MethodKind
  /** Users log in with a password, so wrong ones make them wait. */
  readonly checksPasswords?: true
  readonly keys: z.ZodObject
  toSettings(
    keys: object,
    report: SettingsReport,
    surroundings: LoginSurroundings,
  ): Settings | undefined
  /** In a few words, for `fairlead check`. */
  describe(settings: Settings): string
  open(settings: Settings, context: MethodContext): Promise<LoginMethod>
  /** Opens the files that the settings name, with code that other installations never load. */
  checkFiles?(settings: Settings, report: SettingsReport): Promise<void>
  checks?(settings: Settings, context: CheckContext): Promise<Check[]>
  /** Servers that the method calls. */
  peers?(settings: Settings): Peer[]
  addresses?(settings: Settings, place: PublicPlace): RegisteredAddress[]
  /** Where the identity provider sends browsers back to, as configured, placeholders included. */
  returnTemplates?(settings: Settings): string[]
  /** What the method does in Redis, on an unused name. */
  redisUses?(
    redis: Redis,
    name: string,
    now: () => number,
  ): Promise<[tried: string, attempt: () => Promise<unknown>][]>
}

export type MethodKind = 'page' | 'proxy' | 'certificate'

export interface MethodSettings {
  /** The key that switches the method on. */
  readonly key: string
}

export interface LoginSurroundings {
  /** Every service is embedded; in front of Spinnaker, a difference to Gate is worth a word. */
  readonly standalone: boolean
  readonly profiles: readonly string[]
  readonly listeners: ListenerSettings
  readonly origin: OriginSettings
  readonly sharesRedis: boolean
  readonly anonymous: boolean
  readonly caseInsensitiveNames: boolean | undefined
  /** A method is active that stands before this one in the list. */
  readonly isFollower: boolean
}

export interface MethodContext {
  readonly page: PageOptions
  readonly origin: OriginSettings
  /** Who certifies clients and which certificates were withdrawn; undefined when no port asks for certificates. */
  readonly certificates: CertificateTrust | undefined
  /** No other method is active. */
  readonly isAlone: boolean
  readonly permissions: Permissions
  /** Whether the permission service knows roles only from logins. */
  readonly learnsRolesFromLogins: boolean
  /** Roles of the first administrator: those that the permission service takes for administrators. */
  readonly adminRoles: readonly string[]
  readonly prepareUser: PrepareUser
  readonly objectionTo: ObjectionTo
  /** Undefined without permission checks, or while the names are not known. */
  readonly isServiceAccount: (name: string) => Promise<boolean | undefined>
  readonly secrets: LoginSecrets
  readonly dataDir: string
  readonly redis: Redis | undefined
  readonly log: FastifyBaseLogger
  readonly keep: Keep
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** What to type for `fairlead <words>`. */
  readonly command: (words: string) => string
}

export interface CheckContext {
  readonly timeouts: Timeouts
  readonly baseUrl: string
  readonly names: NameSettings
  /** Milliseconds since the epoch. */
  readonly now: number
}

export interface Peer {
  readonly url: string
  /** How far its clock and ours may be apart before logins fail, in milliseconds; undefined where times do not matter. */
  readonly toleratedMs?: number
}

export interface PublicPlace {
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly contextPath: string
}

export interface RegisteredAddress {
  /** `OAuth 2.0 corp` */
  readonly login: string
  /** `redirect URI` */
  readonly what: string
  readonly url: string
  /** False: answered as well, as by every version of Gate, so registering it does no harm and is not needed. */
  readonly needed: boolean
}

/** An address, and others that are answered as well. */
export function withOthers(
  first: RegisteredAddress,
  others: readonly string[],
): RegisteredAddress[] {
  return [
    first,
    ...others.filter((url) => url !== first.url).map((url) => ({ ...first, url, needed: false })),
  ]
}
