/** User name of a refused login, in a sealed cookie for the next page. */
import type { FastifyBaseLogger } from 'fastify'
import { readCookies, setCookie } from '../http/cookies.ts'
import type { RequestState } from '../http/request-state.ts'
import type { LoginSecrets } from './login-keys.ts'
import { seal, unseal } from './seal.ts'

interface TypedNameOptions {
  keys: LoginSecrets
  /** Empty, or a prefix such as `/api/v1`. */
  contextPath: string
  log: FastifyBaseLogger
}

const cookieName = 'LOGIN_NAME'
const lifetimeSeconds = 120
const maxLength = 256

export class TypedName {
  readonly #options: TypedNameOptions

  constructor(options: TypedNameOptions) {
    this.#options = options
  }

  async keep(state: RequestState, name: string): Promise<void> {
    if (name === '' || name.length > maxLength) return
    const value = await this.#tryTo(() => seal(this.#options.keys, cookieName, name))
    if (value !== undefined) this.#set(state, value, lifetimeSeconds)
  }

  /** The name, once: the answer clears the cookie. */
  async take(state: RequestState, cookieHeader: string | undefined): Promise<string | undefined> {
    const [cookie] = readCookies(cookieHeader, (name) => name === cookieName)
    if (cookie === undefined) return undefined
    this.#set(state, '', 0)
    return this.#tryTo(() => unseal(this.#options.keys, cookieName, cookie.value))
  }

  /** Without the key, users type the name again. */
  async #tryTo<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#options.log.warn(
        { err: error },
        'the login page cannot keep user names, because the key of its cookies cannot be had',
      )
      return undefined
    }
  }

  #set(state: RequestState, value: string, maxAgeSeconds: number): void {
    const secure = state.scheme === 'https' ? '; Secure' : ''
    const attributes = `Max-Age=${maxAgeSeconds}; Path=${this.#options.contextPath}/login; HttpOnly; SameSite=Strict${secure}`
    setCookie(state, `${cookieName}=${value}; ${attributes}`)
  }
}
