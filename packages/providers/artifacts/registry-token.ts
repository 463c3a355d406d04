/** Access to registries: what a registry asks for in its first answer, and the tokens for it. */

import { parseJson } from '@fairlead/base/json/json.ts'
import { fieldOf, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { authorizationHeader, type SourceLogin } from '@fairlead/base/outside/account-credentials.ts'
import { addressFrom, operatorAddress } from '@fairlead/base/outside/call-outside.ts'
import { type SourceGet, shownAddress } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { LRUCache } from 'lru-cache'

export interface Challenge {
  readonly scheme: 'basic' | 'bearer'
  readonly realm: string | undefined
  readonly service: string | undefined
  readonly scope: string | undefined
}

const maxChallengeLength = 2000

/** @param header Value of `WWW-Authenticate` */
export function parseChallenge(header: string): Challenge | undefined {
  const [, scheme = '', rest = ''] = /^(basic|bearer)\s+(.*)$/is.exec(header.trim().slice(0, maxChallengeLength)) ?? []
  if (scheme === '') return undefined
  const pairs = [...rest.matchAll(/(\w+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))/g)]
  const values = new Map(pairs.map(([, name = '', quoted, plain]) => [name.toLowerCase(), quoted ?? plain]))
  return {
    scheme: scheme.toLowerCase() as Challenge['scheme'],
    realm: values.get('realm'),
    service: values.get('service'),
    scope: values.get('scope'),
  }
}

interface Token {
  readonly text: string
  /** By the monotonic clock. */
  readonly endMs: number
}

const mostTokens = 200
const maxLifetimeS = 3600
/** As the protocol has it, for tokens that do not say how long they live. */
const defaultLifetimeS = 60
/** A token is used no more this short before its end. */
const reserveS = 10

/** Tokens of one account, by their scope. */
export class RegistryTokens {
  readonly #tokens = new LRUCache<string, Token>({ max: mostTokens })
  readonly #address: string

  /** @param address Of the registry */
  constructor(address: string) {
    this.#address = address
  }

  /** @returns undefined when there is none, or it has ended */
  find(scope: string): string | undefined {
    const token = this.#tokens.get(scope)
    return token === undefined || token.endMs <= performance.now() ? undefined : token.text
  }

  forget(scope: string): void {
    this.#tokens.delete(scope)
  }

  /** @throws {PortError} 502 when the registry asks for it at a place that must not get credentials, or there is no token */
  async load(scope: string, { realm, service, scope: asked }: Challenge, login: SourceLogin, get: SourceGet): Promise<string> {
    const url = realm === undefined ? null : URL.parse(realm)
    const isSafe = url?.protocol === 'https:' || url?.origin === new URL(this.#address).origin
    if (url === null || !isSafe)
      throw new PortError(502, `${shownAddress(this.#address)} asks for a token of "${realm}", which is no https address.`)
    if (service !== undefined) url.searchParams.set('service', service)
    url.searchParams.set('scope', asked ?? scope)
    const answer = await get(addressFrom(url.href, [operatorAddress(this.#address)]), { credentials: authorizationHeader(login) })
    const { text, lifetimeS } = readToken(answer.text)
    if (text === undefined) throw new PortError(502, `${shownAddress(url.href)} answered without a token.`)
    const usedS = Math.min(lifetimeS, maxLifetimeS) - reserveS
    if (usedS > 0) this.#tokens.set(scope, { text, endMs: performance.now() + usedS * 1000 })
    return text
  }
}

function readToken(text: string): { readonly text: string | undefined; readonly lifetimeS: number } {
  try {
    const body = parseJson(text)
    const token = textOf(fieldOf(body, 'token')) ?? textOf(fieldOf(body, 'access_token'))
    return { text: token, lifetimeS: numberOf(fieldOf(body, 'expires_in')) ?? defaultLifetimeS }
  } catch {
    return { text: undefined, lifetimeS: 0 }
  }
}
