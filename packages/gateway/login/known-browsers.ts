/**
 * Recognises browsers of earlier logins by a signed cookie that outlives sessions. It opens nothing:
 * wrong passwords of strangers are counted apart from those in such a browser, so they cannot lock its user out.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import type { FastifyBaseLogger } from 'fastify'
import { setCookie } from '../http/cookies.ts'
import type { RequestState } from '../http/request-state.ts'
import { deriveKey, type LoginSecrets } from './login-keys.ts'

interface KnownBrowsersOptions {
  keys: LoginSecrets
  /** Empty, or a prefix such as `/api/v1`. */
  contextPath: string
  log: FastifyBaseLogger
  now: () => number
}

const cookieName = 'LOGIN_BROWSER'
/** Identifier, end in seconds in base 36, signature. */
const cookieForm = new RegExp(
  `(?:^|;\\s*)${cookieName}=([A-Za-z0-9_-]{22})\\.([0-9a-z]{1,8})\\.([A-Za-z0-9_-]{43})(?:;|$)`,
)
const lifetimeSeconds = 180 * 86_400

export class KnownBrowsers {
  readonly #options: KnownBrowsersOptions

  constructor(options: KnownBrowsersOptions) {
    this.#options = options
  }

  /** The identifier of the browser; undefined unless this very user has logged in with it. */
  async find(cookieHeader: string | undefined, username: string): Promise<string | undefined> {
    const [, id, end, signature] = cookieForm.exec(cookieHeader ?? '') ?? []
    if (id === undefined || end === undefined || signature === undefined) return undefined
    if (Number.parseInt(end, 36) * 1000 <= this.#options.now()) return undefined
    const key = await this.#loadKey()
    const isOurs =
      key !== undefined &&
      timingSafeEqual(sign(key, id, end, username), Buffer.from(signature, 'base64url'))
    return isOurs ? id : undefined
  }

  async remember(state: RequestState, username: string): Promise<void> {
    const key = await this.#loadKey()
    if (key === undefined) return
    const { contextPath, now } = this.#options
    const id = randomBytes(16).toString('base64url')
    const end = (Math.floor(now() / 1000) + lifetimeSeconds).toString(36)
    const value = `${id}.${end}.${sign(key, id, end, username).toString('base64url')}`
    const secure = state.scheme === 'https' ? '; Secure' : ''
    const attributes = `Max-Age=${lifetimeSeconds}; Path=${contextPath}/login; HttpOnly; SameSite=Strict${secure}`
    setCookie(state, `${cookieName}=${value}; ${attributes}`)
  }

  /** Undefined while it cannot be had: every browser is a stranger's then, and logins go on. */
  async #loadKey(): Promise<Buffer | undefined> {
    const { keys, log } = this.#options
    try {
      return deriveKey(await keys.current(), 'known browsers')
    } catch (error) {
      log.warn(
        { err: error },
        'browsers of users cannot be recognised, because the key of their cookies cannot be had',
      )
      return undefined
    }
  }
}

function sign(key: Buffer, id: string, end: string, username: string): Buffer {
  return createHmac('sha256', key)
    .update(`${id} ${end} ${toUserKey(username)}`)
    .digest()
}
