/** The login as other parts use it: request steps and `/auth` operations. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { ListenerKind, RequestState, RequestStep } from '../http/request-state.ts'
import type { SessionRange } from '../sessions/session-store.ts'
import type { UserSession } from '../sessions/sessions.ts'
import type { FormUsers } from './form/form-users.ts'
import type { StartSteps } from './login-method.ts'
import type { Tokens } from './tokens/tokens.ts'

export interface Login {
  /** False when all requests are served as the user anonymous. */
  readonly active: boolean
  /** Names of the methods that guard a port, for the start-up line; none: all requests are served as the user anonymous. */
  methodsOf(listener: ListenerKind): readonly string[]
  /**
   * Steps, in order, that find the user of a request and refuse protected paths without one. A step that answers the
   * request itself, with a redirect to the login, has sent the reply when it returns.
   */
  readonly steps: readonly RequestStep[]
  /** What `mount` adds, for the index of methods. */
  readonly routes: readonly { method: string; path: string; login: string }[]
  /**
   * Whether the login of a request that goes on still counts. A session is not prolonged by that. Credentials that every request
   * brings anew, other than tokens, count until the request ends.
   *
   * @throws {GatewayError} SESSIONS_UNAVAILABLE, TOKENS_UNAVAILABLE
   */
  stillCounts(state: RequestState): Promise<boolean>
  /** Changes whenever sessions or tokens end by a request to this process, or to one that shares its data directory. */
  version(): number
  /** Adds the login page and callbacks, as routes below the context path. */
  mount(server: FastifyInstance): void
  /**
   * Ends the session that the headers name, tells the permission service, and has the answer clear the cookie.
   *
   * @throws {GatewayError} SESSIONS_UNAVAILABLE
   */
  logout(state: RequestState, headers: IncomingHttpHeaders): Promise<void>
  /** API tokens; undefined while they are switched off. */
  readonly tokens: Tokens | undefined
  /** Users of the login form that Fairlead keeps; undefined where users come from elsewhere. */
  readonly users: FormUsers | undefined
  /**
   * Forgets the wrong passwords of a user, who need not wait any more.
   *
   * @throws {GatewayError} NOT_FOUND without a login with passwords, SESSIONS_UNAVAILABLE
   */
  unlock(username: string): Promise<void>
  /** Sessions of a user, the one used last first; `next` is where others follow. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  sessionsOf(username: string, range: SessionRange): Promise<{ sessions: UserSession[]; next?: number }>
  /** Ends a session of a user, by its id; false when there is none. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  endSessionOf(username: string, id: string): Promise<boolean>
  /** Ends the sessions of a user but the one with that key, and says how many. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  endOtherSessionsOf(username: string, exceptKey: string | undefined): Promise<number>
  /** The session that a request belongs to, by its key; undefined for credentials that need none. */
  sessionKeyOf(state: RequestState): string | undefined
  /** Logs all users out and returns the number of their sessions. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  endAllSessions(): Promise<number>
  /** Before the gateway listens. @throws {GatewayError} BAD_ARGUMENT for the first administrator */
  prepareStart(): Promise<Required<StartSteps>>
}
