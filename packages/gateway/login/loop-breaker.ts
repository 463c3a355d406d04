/**
 * Detects browsers in a loop of logins. The logins of the last minute are in a cookie of the browser; for browsers that do not
 * send it back, a bounded list of completed logins is kept.
 */
import { hash } from 'node:crypto'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { elapsedMs } from '@fairlead/base/settings/time-span.ts'
import type { FastifyRequest } from 'fastify'
import { setCookie } from '../http/cookies.ts'
import { queryOf } from '../http/request-target.ts'

/**
 * What seems to be wrong. `cookie`: logins succeed, and the browser sends no cookie back. `session`: logins succeed, and the
 * next request is a stranger's. `return`: the browser is sent to the provider, and no login comes of it.
 */
type Loop = 'cookie' | 'session' | 'return'

interface LoopBreakerOptions {
  contextPath: string
  now: () => number
}

/** When a browser was sent to the provider, and when a login was completed; milliseconds since the epoch, oldest first. */
interface Rounds {
  readonly sent: readonly number[]
  readonly completed: readonly number[]
}

const cookieName = 'LOGIN_ROUNDS'
const cookieForm = new RegExp(`(?:^|;\\s*)${cookieName}=([0-9a-z._]{1,120})(?:;|$)`)
const windowMs = 60_000
/** The third round is one too many. */
const enough = 2
/** Tabs that are restored together start their logins together; that is no round. */
const togetherMs = 3000
const maxClients = 5000
const none: Rounds = { sent: [], completed: [] }

/** Where logins begin, as far as no provider sends the browser there. */
const startPath = /^\/(login|oauth2\/authorization\/[^/]+|saml2\/authenticate(\/[^/]+)?)$/
const answerParameters = ['code', 'state', 'error', 'logout']

export class LoopBreaker {
  readonly #options: LoopBreakerOptions
  /** Logins completed by requests without the cookie, by client. */
  readonly #withoutCookie = new BoundedMap<string, readonly number[]>(maxClients)
  /** Requests whose history is ignored, because the user chose to try again. */
  readonly #forgiven = new WeakSet<FastifyRequest>()

  constructor(options: LoopBreakerOptions) {
    this.#options = options
  }

  /** Called when a login is about to begin; undefined: it may. */
  check(request: FastifyRequest): Loop | undefined {
    if (!startPath.test(request.state.path)) return undefined
    const query = queryOf(request.url)
    if (answerParameters.some((name) => query.has(name))) return undefined
    if (query.has('again')) {
      this.#forgive(request)
      return undefined
    }
    const rounds = this.#read(request)
    if (rounds === undefined)
      return this.#completedBy(request).length >= enough ? 'cookie' : undefined
    if (rounds.completed.length >= enough) return 'session'
    return rounds.sent.length >= enough && !this.#isTogether(rounds) ? 'return' : undefined
  }

  sent(request: FastifyRequest): void {
    const rounds = this.#read(request) ?? none
    if (!this.#isTogether(rounds))
      this.#write(request, { ...rounds, sent: [...rounds.sent, this.#options.now()] })
  }

  /** A login was completed; whether the browser keeps it shows with the next request. */
  completed(request: FastifyRequest): void {
    const rounds = this.#read(request)
    if (rounds === undefined)
      this.#remember(request, [...this.#completedBy(request), this.#options.now()])
    this.#write(request, {
      sent: rounds?.sent ?? [],
      completed: [...(rounds?.completed ?? []), this.#options.now()],
    })
  }

  /** A request has a user, so the login does not loop. */
  settled(request: FastifyRequest): void {
    if (this.#read(request) === undefined) return
    setCookie(request.state, this.#format(request, '', 0))
    this.#remember(request, this.#completedBy(request).slice(1))
  }

  #forgive(request: FastifyRequest): void {
    if (this.#read(request) !== undefined) setCookie(request.state, this.#format(request, '', 0))
    this.#forgiven.add(request)
    this.#withoutCookie.delete(toClient(request))
  }

  #isTogether({ sent, completed }: Rounds): boolean {
    const [last, lastCompleted] = [sent.at(-1) ?? 0, completed.at(-1) ?? 0]
    return last > lastCompleted && elapsedMs(this.#options.now(), last) < togetherMs
  }

  #read(request: FastifyRequest): Rounds | undefined {
    const { cookie } = request.headers
    if (cookie?.includes(cookieName) !== true || this.#forgiven.has(request)) return undefined
    const value = cookieForm.exec(cookie)?.[1]
    if (value === undefined) return undefined
    const [sent, completed, ...more] = value
      .split('_')
      .map((list) => this.#recent(list.split('.').map(parseTime)))
    return sent === undefined || completed === undefined || more.length > 0
      ? undefined
      : { sent, completed }
  }

  #write(request: FastifyRequest, { sent, completed }: Rounds): void {
    const lists = [sent, completed].map((times) =>
      times.slice(-enough).map((time) => time.toString(36)),
    )
    setCookie(
      request.state,
      this.#format(request, lists.map((list) => list.join('.')).join('_'), windowMs / 1000),
    )
  }

  #format({ state }: FastifyRequest, value: string, maxAgeSeconds: number): string {
    const secure = state.scheme === 'https' ? '; Secure' : ''
    return `${cookieName}=${value}; Max-Age=${maxAgeSeconds}; Path=${this.#options.contextPath}/${secure}; HttpOnly`
  }

  #completedBy(request: FastifyRequest): number[] {
    return this.#recent(this.#withoutCookie.get(toClient(request)) ?? [])
  }

  #remember(request: FastifyRequest, times: readonly number[]): void {
    const client = toClient(request)
    if (times.length === 0) this.#withoutCookie.delete(client)
    else this.#withoutCookie.set(client, times.slice(-enough))
  }

  #recent(times: readonly number[]): number[] {
    const nowMs = this.#options.now()
    return times.filter((time) => time <= nowMs && nowMs - time < windowMs)
  }
}

function parseTime(text: string): number {
  return /^[0-9a-z]{1,10}$/.test(text) ? Number.parseInt(text, 36) : 0
}

/** Browsers of one kind at one address are taken for one. */
function toClient({ state, headers }: FastifyRequest): string {
  return hash('sha256', `${state.clientAddress} ${headers['user-agent'] ?? ''}`, 'base64url').slice(
    0,
    22,
  )
}

interface LoopOptions {
  readonly loop: Loop
  readonly baseUrl: string
}

interface LoopExplanation {
  readonly seen: string
  readonly causes: (options: LoopOptions) => readonly string[]
}

const explanations: Readonly<Record<Loop, LoopExplanation>> = {
  cookie: {
    seen: 'You were signed in each time, but your browser does not send back the cookie that keeps you signed in.',
    causes: ({ baseUrl }) => [
      `Cookies are blocked: allow them for ${hostOf(baseUrl)}.`,
      `The gateway has more than one address: open it by the one that it gives itself, ${baseUrl}.`,
      'For administrators: domain, path and “secure” of the cookie fit that address (server.servlet.session.cookie), and the proxy in front sends X-Forwarded-Proto.',
    ],
  },
  session: {
    seen: 'You were signed in each time, but the next request was that of a stranger again.',
    causes: ({ baseUrl }) => [
      `Your browser keeps some cookies of ${hostOf(baseUrl)} and drops others: delete them all, then try again.`,
      'The permission service does not know you although Fairlead reported your login. Ask an administrator.',
      'For administrators: several replicas run and do not share their sessions, or the session cookie does not fit the address.',
    ],
  },
  return: {
    seen: 'You were sent to the identity provider each time, but no sign-in came of it.',
    causes: ({ baseUrl }) => [
      'The identity provider repeats a confirmation that is too old: sign out there, then try again.',
      `For administrators: the redirect address registered at the identity provider belongs to this gateway, ${baseUrl}.`,
      'For administrators: the clocks of gateway and identity provider agree.',
    ],
  },
}

/** The response to a browser that is no longer redirected; 401. */
export function createLoopError(options: LoopOptions): GatewayError {
  const { seen, causes } = explanations[options.loop]
  return new GatewayError('LOGIN_REQUIRED', seen, {
    page: {
      heading: 'Sign-in goes in circles',
      advice: [
        'This browser came back to sign in a third time within a minute, so it is not sent on any more. What may be wrong:',
      ],
      causes: causes(options),
      action: { label: 'Try again', path: '/login?again' },
    },
  })
}

function hostOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.host ?? baseUrl
}
