/** Values of KV version 2 of Vault, within the rules of the settings, kept for seconds. */
import { createCache, type ExpiringCache, loadOnce } from '../../caches/expiring-cache.ts'
import { fieldAt, fieldOf, isObject, type JsonObject, numberOf } from '../../json/values.ts'
import { encodeSegments } from '../../net/encode-path.ts'
import { PortError } from '../../ports/port-error.ts'
import { matchesRule, type VaultSettings } from './settings.ts'
import { VaultClient } from './vault-client.ts'

interface VaultDocument {
  readonly data: JsonObject
  readonly version: number
}

const maxKept = 1000

export class VaultSecrets {
  readonly #settings: VaultSettings
  readonly #client: VaultClient
  readonly #cache: ExpiringCache<Promise<VaultDocument>>

  constructor(settings: VaultSettings, steady: () => number) {
    this.#settings = settings
    this.#client = new VaultClient(settings, steady)
    this.#cache = createCache({ maxSize: maxKept, ttlMs: settings.cacheMs, now: steady })
  }

  /** @throws {PortError} 400 naming the reference and the remedy; 503 while Vault is away */
  async read(path: string, key: string, application: string | undefined): Promise<{ value: string; version: number }> {
    const what = `secret:vault:${path}#${key}`
    const rules = this.#settings.rules.map(({ applications, paths }) => ({ applications, patterns: paths }))
    if (!matchesRule(path, application, rules)) {
      const subject = application === undefined ? 'without an application' : `by the application ${application}`
      throw new PortError(400, `${what} may not be used ${subject}; an operator can allow it by secrets.vault.rules.`)
    }
    const load = () => this.#load(path, what)
    const { data, version } = await (this.#settings.cacheMs === 0 ? load() : loadOnce(this.#cache, path, load))
    const value = fieldOf(data, key)
    if (typeof value === 'string' && value !== '') return { value, version }
    if (typeof value === 'number' || typeof value === 'boolean') return { value: String(value), version }
    throw new PortError(400, `${what} has no value: the secret in Vault has no text at the key "${key}". Correct the key.`)
  }

  async #load(path: string, what: string): Promise<VaultDocument> {
    const { mount } = this.#settings
    const { status, body } = await this.#client.get(`${encodeSegments(mount)}/data/${encodeSegments(path)}`)
    const data = fieldAt(body, 'data', 'data')
    if (status === 200 && isObject(data)) {
      return { data, version: numberOf(fieldAt(body, 'data', 'metadata', 'version')) ?? 0 }
    }
    const isAway = status >= 500 || status === 429
    throw new PortError(isAway ? 503 : 400, `${what} cannot be read: ${describeFailure(status, path, mount)}`)
  }
}

function describeFailure(status: number, path: string, mount: string): string {
  if (status === 403) return `Vault denies it. Let the policy of Fairlead read ${mount}/data/${path}, or renew its token.`
  if (status === 404)
    return `there is nothing at ${path} in the mount ${mount}, or its newest version is deleted. Write it, or correct the path.`
  if (status === 503) return 'Vault is sealed. Unseal it.'
  return `Vault answered with ${status}. Check that ${mount} is a KV engine of version 2.`
}
