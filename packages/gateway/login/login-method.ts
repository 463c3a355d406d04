/** Interface of all login methods: form, directory, provider, certificate, token. */

import type { GatewayError } from '@fairlead/base/errors.ts'
import type { LoginReport } from '@fairlead/model/rights/permissions.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ListenerKind, RequestState, User } from '../http/request-state.ts'
import type { FormUsers } from './form/form-users.ts'
import type { PendingLogin } from './login-cookies.ts'
import type { OpenPath } from './open-paths.ts'
import type { LoginCredentials, Trace } from './trace.ts'

/** `unknown`: the identity provider may have a user `mark` and another one `MARK`. */
export type NameCase = 'insensitive' | 'unknown'

/** What a method makes of the credentials in a request. An identity provider that cannot be asked is a GatewayError. */
export type LoginOutcome =
  | {
      kind: 'user'
      user: User
      credentialStamp?: string
      /** How the identity provider compares names; for users who are not prepared yet. */
      nameCase?: NameCase
      /** Whether the same credentials count later on, for requests that go on; by `authenticate` unless given. */
      stillCounts?: () => Promise<boolean>
    }
  | {
      kind: 'refused'
      /** For the log; never shown to the client, and never the credential. */
      reason: string
      /** Whom the credentials name, only if there is such a user. */
      user?: string
      /** Answers protected paths; it says what is wrong with the credentials, as far as their sender may know. */
      error?: GatewayError
      /** Browsers add such credentials by themselves: one that opens a page is sent to the login page all the same. */
      sentByBrowsers?: boolean
      /** Wrong credentials are answered even where none are needed. */
      evenOnOpenPaths?: boolean
    }
  /** @param objection Why credentials of this method do not count; for a program that nothing else lets in */
  | { kind: 'not-mine'; objection?: string }

/** The response of a protected path without login. */
export type EntryPoint =
  | { kind: 'redirect'; location: string }
  | { kind: 'refusal'; error: GatewayError }

export interface Visitor {
  /** A browser opens a page with the cookie of a session that is over. */
  readonly hadSession: boolean
}

export interface CurrentUser {
  readonly user: User
  /** Changes with the roles. */
  readonly stamp: string
  /** API tokens of another era do not count: those of a former user of the same name, and those that were withdrawn. */
  readonly tokenEra?: number
}

export interface LoginMethod {
  /** See `User.method`: `form`, `ldap`, `oauth2`, `saml`, `x509`, `iap`, `header`, `token`. */
  readonly name: string
  /**
   * People log in with a browser, and a session follows. Only one such method may be active. Credentials of the others, such as tokens
   * and certificates, win over a session cookie.
   */
  readonly interactive?: true
  /** Whether the method counts on a port. Default: on the main one, and on the extra one without TLS if that has a login. */
  guards?(listener: ListenerKind): boolean
  readonly challenge?: 'Basic' | 'Bearer'
  /** How a login is reported to the permission service; undefined when that would overwrite what others reported. */
  reportOf(user: User): LoginReport | undefined
  /** Set: users whom the permission service does not know are not sent away (docs/contracts/permissions.md#session-filter). */
  readonly filtered?: false
  /** Paths that are open while this method is active, besides those that always are. */
  readonly openPaths?: readonly OpenPath[]
  /** Finds the user of a request by credentials that the request itself carries. Starts no session. */
  authenticate(request: FastifyRequest): LoginOutcome | Promise<LoginOutcome>
  /**
   * Checks credentials outside of any request, with the code that checks requests, and traces each step. Nothing
   * is used up by it. The user of an interactive method is not prepared yet.
   */
  explain?(credentials: LoginCredentials, trace: Trace): Promise<LoginOutcome>
  /** Whether what a session was opened with still counts; absent when there is nothing to ask. */
  stillValid?(user: User, credentialStamp: string | undefined): boolean | Promise<boolean>
  /** Grows whenever credentials of users may have changed. */
  changes?(): number
  /** Whether the account of a user who logged in once still counts, where only its provider knows. @throws {GatewayError} LOGIN_UNAVAILABLE */
  isActive?(username: string): Promise<boolean>
  /** A user whom this method knows by name, as of now, for credentials that outlive a login. Undefined: it cannot say. */
  currentUser?(username: string): CurrentUser | 'gone' | undefined
  entryPoint(state: RequestState, visitor: Visitor): EntryPoint
  /** Paths whose refusal this method words, whichever other methods there are. */
  claims?(path: string): boolean
  readonly routes?: readonly { method: string; path: string }[]
  mount?(server: FastifyInstance, ending: LoginEnding): void
  prepareStart?(): Promise<StartSteps>
  /** The users that Fairlead keeps for this method; undefined where a directory, a provider or the configuration has them. */
  readonly users?: FormUsers
  /** Forgets the wrong passwords of a user, who need not wait any more. @throws {Error} as SQLite, Redis */
  unlock?(username: string): Promise<void>
}

export interface StartSteps {
  /** The first requests arrive. The start may still fail. */
  readonly listening?: () => void
  /** The start has succeeded. @param address Where browsers find the gateway, as far as that is known. */
  readonly ready?: (address: string) => void
}

export interface CompletedLogin {
  readonly user: User
  readonly credentialStamp?: string
  readonly nameCase?: NameCase
  readonly path?: string
  readonly onSession?: () => Promise<void>
}

/** The common end of every interactive login, and the notes that a login at a provider leaves in the browser meanwhile. */
export interface LoginEnding {
  /**
   * Reports the login, computes the accounts, starts a session under a new identifier, and redirects to where the
   * browser wanted to go.
   *
   * @param login.nameCase Whether the identity provider ignores case in user names; `unknown` unless given
   * @param login.path Where to go instead, below the context path; the login method answers for it
   * @param login.onSession The session has started, and the answer has not been sent
   * @throws {GatewayError} LOGIN_UNAVAILABLE, SESSIONS_UNAVAILABLE; the login has failed then
   */
  complete(request: FastifyRequest, reply: FastifyReply, login: CompletedLogin): Promise<void>
  /** Keeps what has to be compared when the provider sends the browser back. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  remember(request: FastifyRequest, id: string, pending: PendingLogin): Promise<void>
  /** Where the login will lead to, in words for its user; undefined when that is not known. */
  destinationOf(request: FastifyRequest): Promise<string | undefined>
  /** Takes it out again. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  take(request: FastifyRequest, id: string): Promise<PendingLogin | undefined>
}
