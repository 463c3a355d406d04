/** Login by a header of a trusted proxy, on each request. */
import type { IncomingMessage } from 'node:http'
import { createCache, type ExpiringCache } from '@fairlead/base/caches/expiring-cache.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { findNameObjection } from '@fairlead/base/names/user-name.ts'
import type { LoginReport } from '@fairlead/model/rights/permissions.ts'
import type { FastifyRequest } from 'fastify'
import { isTrustedPeer } from '../../http/origin.ts'
import type { User } from '../../http/request-state.ts'
import type { EntryPoint, LoginMethod, LoginOutcome } from '../login-method.ts'
import type { MethodContext } from '../method-type.ts'
import { createPreparedUsers, type PrepareOnce } from '../prepare-user.ts'
import type { LoginCredentials, Trace } from '../trace.ts'
import { createUser } from '../user.ts'
import type { HeaderSettings } from './settings.ts'

interface HeaderLoginOptions
  extends Pick<MethodContext, 'origin' | 'prepareUser' | 'isServiceAccount' | 'now'> {
  settings: HeaderSettings
}

const headerName = 'x-spinnaker-user'
const printable = /^[\x20-\x7e]*$/
const maxCachedNames = 10_000

export class HeaderLogin implements LoginMethod {
  readonly name = 'header'
  readonly #options: HeaderLoginOptions
  readonly #prepareOnce: PrepareOnce
  readonly #serviceAccounts: ExpiringCache<{ isOne: boolean }>

  constructor(options: HeaderLoginOptions) {
    this.#options = options
    this.#prepareOnce = createPreparedUsers(options.now)
    const { serviceAccountsMs } = options.settings
    this.#serviceAccounts = createCache({
      maxSize: maxCachedNames,
      ttlMs: serviceAccountsMs,
      now: options.now,
    })
  }

  reportOf(): LoginReport {
    return { call: 'roles-if-any', attempts: 5 }
  }

  /** @throws {GatewayError} LOGIN_UNAVAILABLE when the permission service is unavailable */
  async authenticate({ raw }: FastifyRequest): Promise<LoginOutcome> {
    const names = readHeaders(raw, headerName)
    const [name] = names
    if (name === undefined) return { kind: 'not-mine' }
    // The trusted proxies count whether or not their forwarded addresses are believed.
    if (!isTrustedPeer(raw, { ...this.#options.origin, trustForwarded: true })) {
      return refusal(
        `X-SPINNAKER-USER came from ${raw.socket.remoteAddress}, which is no trusted proxy`,
        'The header X-SPINNAKER-USER is believed only when a trusted proxy sends it (server.tomcat.remoteip.internal-proxies).',
      )
    }
    const objection = names.length > 1 ? 'X-SPINNAKER-USER is repeated' : findObjection(name)
    if (objection !== undefined)
      return refusal(objection, `The login by header is refused: ${objection}.`)
    return { kind: 'user', user: await this.#prepareOnce(name, () => this.#prepare(name)) }
  }

  /** A password has no part in it: the proxy says who it is. */
  async explain(credentials: LoginCredentials, trace: Trace): Promise<LoginOutcome> {
    if (credentials.kind !== 'password') return { kind: 'not-mine' }
    const { username } = credentials
    const objection = findObjection(username)
    if (objection !== undefined) return { kind: 'refused', reason: objection }
    trace(
      'yes',
      `a trusted proxy that sends X-SPINNAKER-USER: ${username} is believed, and no other client is`,
    )
    trace('note', 'the header brings no roles; the permission service knows them')
    return { kind: 'user', user: await this.#prepare(username) }
  }

  entryPoint(): EntryPoint {
    const message = 'The proxy in front of this gateway has not said who you are.'
    return { kind: 'refusal', error: new GatewayError('LOGIN_REQUIRED', message) }
  }

  /** @see docs/contracts/authentication.md#trusted-header */
  async #prepare(name: string): Promise<User> {
    const report = (await this.#isServiceAccount(name)) ? undefined : this.reportOf()
    return this.#options.prepareUser(createUser('header', name, { email: name }), report)
  }

  /** An answer counts for a while; that there was none does not. */
  async #isServiceAccount(name: string): Promise<boolean> {
    const known = this.#serviceAccounts.get(name)
    if (known !== undefined) return known.isOne
    const isOne = await this.#options.isServiceAccount(name)
    if (isOne === undefined) return false
    this.#serviceAccounts.set(name, { isOne })
    return isOne
  }
}

/** The encoding of other characters is not known. */
function findObjection(name: string): string | undefined {
  if (!printable.test(name)) return 'X-SPINNAKER-USER holds more than printable ASCII'
  const objection = findNameObjection(name)
  return objection && `the user name in X-SPINNAKER-USER ${objection}`
}

function refusal(reason: string, message: string): LoginOutcome {
  return { kind: 'refused', reason, error: new GatewayError('CREDENTIALS_REFUSED', message) }
}

/** Unparsed headers: this one was dropped from the parsed ones, as it would be forged elsewhere. */
function readHeaders({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === name) values.push((rawHeaders[index + 1] ?? '').trim())
  }
  return values.length === 1 && values[0] === '' ? [] : values
}
