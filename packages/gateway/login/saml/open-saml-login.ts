/** Opens the SAML login: loads keys and metadata, reports all errors at once. */
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import type { MethodContext } from '../method-type.ts'
import { loadIdentityProvider, openIdentityProviderSource } from './identity-provider-source.ts'
import type { IdentityProvider } from './idp-metadata.ts'
import { type KeyPair, readKeyStore, readPemKeyPair } from './key-store.ts'
import { RelyingParty } from './relying-party.ts'
import { SamlLogin } from './saml-login.ts'
import { isAddress, type SamlRegistration, type SamlSettings } from './settings.ts'
import { openUsedAssertions } from './used-assertions.ts'

interface RegistrationKeyPairs {
  readonly signing: readonly KeyPair[]
  readonly decryption: readonly KeyPair[]
}

/** Reports each value that cannot be used. @param key The setting that names it */
type ReportProblem = (key: string, message: string) => void

/** @throws {Error} naming every key store, key pair and metadata that cannot be used */
export async function openSamlLogin(
  settings: SamlSettings,
  context: MethodContext,
): Promise<SamlLogin> {
  const { page: site, log, keep, now, dataDir } = context
  const { hash, processingPath, metadataRefreshMs: refreshMs } = settings
  const problems: string[] = []
  const { contextPath } = site
  const load: LoadRegistration = async (registration, keys) => {
    const source = keep(await openIdentityProviderSource(registration, { dataDir, refreshMs, log }))
    const opened = new RelyingParty({
      settings: registration,
      source,
      ...keys,
      hash,
      processingPath,
      contextPath,
    })
    return { identityProvider: source.current(), opened }
  }
  const found = await readMaterial(settings, load, (key, message) =>
    problems.push(`${key}: ${message}`),
  )
  if (problems.length > 0)
    throw new Error(['the login by SAML cannot be used:', ...problems].join('\n  '))
  const registrations = found.flatMap(({ opened }) => opened ?? [])
  const usedAssertions = keep(openUsedAssertions(context))
  return new SamlLogin({ settings, registrations, usedAssertions, site, log, now })
}

/** Says what is wrong with key stores, key pairs and metadata, as far as they are files: no identity provider is asked. */
export async function checkSamlFiles(
  settings: SamlSettings,
  report: SettingsReport,
): Promise<void> {
  const load: LoadRegistration = async (registration) => {
    const { identityProvider } = registration
    const isRemote = identityProvider.kind === 'metadata' && isAddress(identityProvider.location)
    return { identityProvider: isRemote ? undefined : await loadIdentityProvider(registration) }
  }
  await readMaterial(settings, load, (key, message) => report.problem(key, message))
}

interface LoadedRegistration {
  identityProvider: IdentityProvider | undefined
  opened?: RelyingParty
}

/** @throws {Error} when there is no usable metadata */
type LoadRegistration = (
  registration: SamlRegistration,
  keys: RegistrationKeyPairs,
) => Promise<LoadedRegistration>

async function readMaterial(
  { keyStore, registrations }: SamlSettings,
  load: LoadRegistration,
  report: ReportProblem,
): Promise<LoadedRegistration[]> {
  const store = keyStore && attempt(report, 'saml.keyStore', () => readKeyStore(keyStore))
  const found: LoadedRegistration[] = []
  for (const registration of registrations) {
    const keys = readKeys(registration, store, report)
    try {
      const loaded = await load(registration, keys)
      found.push(loaded)
      checkSigning(registration, keys, loaded.identityProvider, report)
    } catch (error) {
      report(registration.identityProvider.key, (error as Error).message)
    }
  }
  return found
}

function readKeys(
  { signing, decryption }: SamlRegistration,
  store: KeyPair | undefined,
  report: ReportProblem,
): RegistrationKeyPairs {
  const read = (pairs: SamlRegistration['signing']) =>
    pairs.flatMap(
      ({ privateKey, certificate, key }) =>
        attempt(report, key, () => readPemKeyPair(privateKey, certificate)) ?? [],
    )
  const own = { signing: read(signing), decryption: read(decryption) }
  const fallback = store === undefined ? [] : [store]
  return {
    signing: own.signing.length > 0 ? own.signing : fallback,
    decryption: [...own.decryption, ...fallback],
  }
}

function checkSigning(
  { id, signRequests }: SamlRegistration,
  { signing }: RegistrationKeyPairs,
  identityProvider: IdentityProvider | undefined,
  report: ReportProblem,
): void {
  if (signing.length > 0) return
  if (signRequests === true) {
    report(
      'saml.signRequests',
      `requests shall be signed, and there is no key for ${id}: set saml.signingCredentials or saml.keyStore`,
    )
  } else if (signRequests === undefined && identityProvider?.wantsSignedRequests) {
    report(
      'saml.signingCredentials',
      `the identity provider of ${id} wants signed requests, and there is no key: set saml.signingCredentials or ` +
        'saml.keyStore, or saml.signRequests: false if it takes others too',
    )
  }
}

function attempt<T>(report: ReportProblem, key: string, run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    report(key, (error as Error).message)
    return undefined
  }
}
