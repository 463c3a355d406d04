/** A browser as far as the login is concerned: it opens pages, keeps cookies, and follows a redirect only when told to. */
import { type Dispatcher, request } from 'undici'

export interface Visit {
  readonly status: number
  readonly location: string | null
  readonly cookies: readonly string[]
  readonly headers: Headers
  readonly text: string
}

/** What browsers accept when they open a page. */
export const pageAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const opensPage = { accept: pageAccept, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

export interface VisitInit {
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array<ArrayBuffer> | URLSearchParams
}

export class Browser {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #dispatcher: Dispatcher | undefined
  readonly #cookies = new Map<string, string>()

  /**
   * @param headers Sent with every request, such as those of a proxy in front.
   * @param dispatcher Makes the connections; one that trusts the certificate of a test.
   */
  constructor(
    base: string,
    headers: Readonly<Record<string, string>> = {},
    dispatcher?: Dispatcher,
  ) {
    this.#base = base
    this.#headers = headers
    this.#dispatcher = dispatcher
  }

  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** Value of the session cookie. */
  get session(): string | undefined {
    return this.#cookies.get('SESSION')
  }

  /** Has the cookies of another one, too: the same browser at another address. */
  resume(other: Browser): void {
    for (const [name, value] of other.#cookies) this.#cookies.set(name, value)
  }

  /** Of a cookie. */
  valueOf(name: string): string | undefined {
    return this.#cookies.get(name)
  }

  /** Names of its cookies. */
  get cookieNames(): string[] {
    return [...this.#cookies.keys()]
  }

  plant(name: string, value: string): void {
    this.#cookies.set(name, value)
  }

  /** `fetch` would say in each request that a script sends it. @param to A path of the gateway, or an address. */
  async visit(to: string, init: VisitInit = {}): Promise<Visit> {
    const cookie = this.cookie
    const carried = new Response(init.body)
    const type = carried.headers.get('content-type')
    const answer = await request(new URL(to.startsWith('/') ? this.#base + to : to), {
      method: init.method ?? 'GET',
      body: init.body === undefined ? null : Buffer.from(await carried.arrayBuffer()),
      ...(this.#dispatcher !== undefined && { dispatcher: this.#dispatcher }),
      headers: {
        ...opensPage,
        ...(type !== null && { 'content-type': type }),
        ...this.#headers,
        ...(cookie !== '' && { cookie }),
        ...init.headers,
      },
    })
    const headers = new Headers()
    for (const [name, value] of Object.entries(answer.headers)) {
      for (const one of [value ?? []].flat()) headers.append(name, one)
    }
    const cookies = headers.getSetCookie()
    for (const set of cookies) this.#keep(set)
    return {
      status: answer.statusCode,
      location: headers.get('location'),
      cookies,
      headers,
      text: await answer.body.text(),
    }
  }

  /** Asks as a program does: errors are JSON. */
  ask(path: string, init: VisitInit = {}): Promise<Visit> {
    return this.visit(path, { ...init, headers: { accept: 'application/json', ...init.headers } })
  }

  /** Sends the login form. */
  login(username: string, password: string, headers: Record<string, string> = {}): Promise<Visit> {
    return this.visit('/login', {
      method: 'POST',
      body: new URLSearchParams({ username, password }),
      headers,
    })
  }

  /** The identity object; undefined when nobody is logged in. */
  async user(): Promise<Record<string, unknown> | undefined> {
    const { status, text } = await this.visit('/auth/user')
    if (status !== 200) throw new Error(`GET /auth/user answered ${status}: ${text}`)
    return text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>)
  }

  #keep(set: string): void {
    const [pair = ''] = set.split(';')
    const equals = pair.indexOf('=')
    const name = pair.slice(0, equals)
    if (/;\s*Max-Age=0/i.test(set)) this.#cookies.delete(name)
    else this.#cookies.set(name, pair.slice(equals + 1))
  }
}
