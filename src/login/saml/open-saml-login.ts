/** Opens the login by SAML: reads keys and metadata, and says everything that is wrong with them at once. */
import type { FastifyBaseLogger } from 'fastify'
import type { Redis } from '../../redis/redis.ts'
import { openIdentityProviderSource } from './identity-provider-source.ts'
import { type KeyPair, readKeyStore, readPemKeyPair } from './key-store.ts'
import { Registration } from './registration.ts'
import { SamlLogin } from './saml-login.ts'
import type { SamlRegistration, SamlSettings } from './settings.ts'
import { createRedisUsedAssertions, openUsedAssertions } from './used-assertions.ts'

export interface OpenSamlOptions {
  settings: SamlSettings
  /** Keeps `saml.db` and copies of metadata. */
  dataDir: string
  contextPath: string
  log: FastifyBaseLogger
  /** Milliseconds since the epoch. */
  now: () => number
  /** Shared by replicas; without it, a file of this one remembers which assertions have been used. */
  redis: Redis | undefined
}

/** @throws {Error} naming every key store, key pair and metadata that cannot be used */
export async function openSamlLogin(options: OpenSamlOptions): Promise<SamlLogin> {
  const { settings, contextPath, log, now } = options
  const problems: string[] = []
  const store = settings.keyStore && attempt(problems, 'saml.keyStore', () => readStore(settings))
  const registrations: Registration[] = []
  for (const registration of settings.registrations) {
    const opened = await openRegistration(registration, store, options, problems)
    if (opened !== undefined) registrations.push(opened)
  }
  if (problems.length > 0) {
    for (const registration of registrations) registration.close()
    throw new Error(['the login by SAML cannot be used:', ...problems].join('\n  '))
  }
  const { redis, dataDir } = options
  const usedAssertions = redis === undefined ? openUsedAssertions(dataDir, now) : createRedisUsedAssertions(redis, now)
  return new SamlLogin({ settings, registrations, usedAssertions, contextPath, log, now })
}

function readStore({ keyStore }: SamlSettings): KeyPair | undefined {
  return keyStore && readKeyStore(keyStore.location, keyStore.password)
}

async function openRegistration(
  registration: SamlRegistration,
  store: KeyPair | undefined,
  { settings, dataDir, contextPath, log }: OpenSamlOptions,
  problems: string[],
): Promise<Registration | undefined> {
  const { hash, processingPath, metadataRefreshMs: refreshMs } = settings
  const ownSigning = readPairs(registration.signing, `${registration.id}, signing`, problems)
  const ownDecryption = readPairs(registration.decryption, `${registration.id}, decryption`, problems)
  const fallback = store === undefined ? [] : [store]
  const signing = ownSigning.length > 0 ? ownSigning : fallback
  const decryption = [...ownDecryption, ...fallback]
  const { key } = registration.identityProvider
  try {
    const source = await openIdentityProviderSource(registration, { dataDir, refreshMs, log })
    const opened = new Registration({ settings: registration, source, signing, decryption, hash, processingPath, contextPath })
    if (signing.length === 0 && registration.signRequests === true) {
      problems.push(
        `${registration.id}: requests shall be signed, and there is no key: set saml.signingCredentials or saml.keyStore`,
      )
    } else if (signing.length === 0 && registration.signRequests === undefined && source.current().wantsSignedRequests) {
      problems.push(
        `${registration.id}: the identity provider wants signed requests, and there is no key: set saml.signingCredentials or ` +
          'saml.keyStore, or saml.signRequests: false if it takes others too',
      )
    }
    return opened
  } catch (error) {
    problems.push(`${key}: ${(error as Error).message}`)
    return undefined
  }
}

function readPairs(locations: SamlRegistration['signing'], what: string, problems: string[]): KeyPair[] {
  return locations.flatMap(
    ({ privateKey, certificate }) => attempt(problems, what, () => readPemKeyPair(privateKey, certificate)) ?? [],
  )
}

function attempt<T>(problems: string[], what: string, run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    problems.push(`${what}: ${(error as Error).message}`)
    return undefined
  }
}
