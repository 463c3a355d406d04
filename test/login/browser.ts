/** A browser as far as the login is concerned: it keeps cookies, and follows a redirect only when told to. */

export interface Visit {
  readonly status: number
  readonly location: string | null
  readonly cookies: readonly string[]
  readonly headers: Headers
  readonly text: string
}

export class Browser {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #dispatcher: RequestInit['dispatcher']
  readonly #cookies = new Map<string, string>()

  /**
   * @param headers Sent with every request, such as those of a proxy in front.
   * @param dispatcher Makes the connections; one that trusts the certificate of a test.
   */
  constructor(base: string, headers: Readonly<Record<string, string>> = {}, dispatcher?: RequestInit['dispatcher']) {
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

  plant(name: string, value: string): void {
    this.#cookies.set(name, value)
  }

  /** @param to A path of the gateway, or an address. */
  async visit(to: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Visit> {
    const cookie = this.cookie
    const answer = await fetch(to.startsWith('/') ? this.#base + to : to, {
      ...init,
      ...(this.#dispatcher !== undefined && { dispatcher: this.#dispatcher }),
      redirect: 'manual',
      headers: { ...this.#headers, ...(cookie !== '' && { cookie }), ...init.headers },
    })
    const cookies = answer.headers.getSetCookie()
    for (const set of cookies) this.#keep(set)
    return {
      status: answer.status,
      location: answer.headers.get('location'),
      cookies,
      headers: answer.headers,
      text: await answer.text(),
    }
  }

  /** Sends the login form. */
  login(username: string, password: string, headers: Record<string, string> = {}): Promise<Visit> {
    return this.visit('/login', { method: 'POST', body: new URLSearchParams({ username, password }), headers })
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
