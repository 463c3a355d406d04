/** Checks SAML: metadata, certificates, addresses, own keys. */
import { X509Certificate } from 'node:crypto'
import { nameCaseOfIdentityProvider } from '../login/name-case.ts'
import { loadIdentityProvider, nameOf } from '../login/saml/identity-provider-source.ts'
import type { IdentityProvider } from '../login/saml/idp-metadata.ts'
import { readKeyStore, readPemKeyPair } from '../login/saml/key-store.ts'
import type { SamlRegistration, SamlSettings } from '../login/saml/settings.ts'
import { judgeNames, type NameSettings } from './check-names.ts'
import { judgeExpiry, toDay } from './expiry.ts'
import { type Check, type Finding, findingsOn, type Reporter, type Timeouts } from './finding.ts'

interface SamlSurroundings {
  readonly timeouts: Timeouts
  readonly names: NameSettings
  /** Milliseconds since the epoch. */
  readonly now: number
}

export function checkSaml(settings: SamlSettings, { timeouts: { answerMs }, names, now }: SamlSurroundings): Check[] {
  const providers = settings.registrations.map((registration): Check => {
    const subject = `SAML ${registration.id}`
    return { subject, run: () => checkProvider(registration, settings, { report: findingsOn(subject), names, answerMs, now }) }
  })
  return [...providers, ...checkOwnKeys(settings, now)]
}

interface Means {
  readonly report: Reporter
  readonly names: NameSettings
  readonly answerMs: number
  readonly now: number
}

async function checkProvider(registration: SamlRegistration, settings: SamlSettings, means: Means): Promise<Finding[]> {
  const { report, now } = means
  const { identityProvider } = registration
  const tried =
    identityProvider.kind === 'configured'
      ? 'read the certificates of the identity provider'
      : `read the metadata ${nameOf(identityProvider.location)}`
  let provider: IdentityProvider
  try {
    provider = await loadIdentityProvider(registration)
  } catch (error) {
    return [
      report.problem(tried, (error as Error).message, `correct ${identityProvider.key}, or have the identity provider answer`),
    ]
  }
  // They are not looked at in a login; identity providers that follow their own rules replace them before their end.
  const advice = 'ask for the new certificate of the identity provider; logins fail when it signs with another key'
  return [
    report.ok(tried, `the identity provider is called ${provider.entityId}`),
    judgeNames(report, nameCaseOfIdentityProvider(provider.entityId), means.names),
    ...provider.certificates.map((certificate) =>
      judgeExpiry(report, { what: 'a certificate of the identity provider', certificate, advice, endIsHarmless: true }, now),
    ),
    ...judgeEnd(provider, report, now),
    ...judgeSigning(provider, registration, settings, report),
    await trySignOn(provider, means),
  ]
}

function judgeEnd({ validUntilMs }: IdentityProvider, report: Reporter, now: number): Finding[] {
  if (validUntilMs === undefined) return []
  const tried = 'look how long the metadata counts'
  if (validUntilMs > now) return [report.ok(tried, `until ${toDay(validUntilMs)}`)]
  return [report.warning(tried, `it ended on ${toDay(validUntilMs)}`, 'get the current metadata of the identity provider')]
}

function judgeSigning(
  { wantsSignedRequests }: IdentityProvider,
  { signRequests, signing }: SamlRegistration,
  { keyStore }: SamlSettings,
  report: Reporter,
): Finding[] {
  const hasKey = signing.length > 0 || keyStore !== undefined
  if (!(signRequests ?? wantsSignedRequests)) return []
  const tried = 'look whether requests can be signed'
  if (hasKey) return [report.ok(tried, 'there is a key')]
  const found =
    signRequests === true
      ? 'requests shall be signed, and there is no key'
      : 'the identity provider wants signed requests, and there is no key'
  return [report.problem(tried, found, 'set saml.signingCredentials or saml.keyStore, or saml.signRequests: false')]
}

/** Without a request, identity providers answer with an error page, which shows that they are there. */
async function trySignOn({ signOn }: IdentityProvider, { report, answerMs }: Means): Promise<Finding> {
  const url = signOn.redirect ?? (signOn.post as string)
  const tried = `GET the address for logins ${url.replace(/\?.*/s, '')}`
  try {
    const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(answerMs) })
    await answer.body?.cancel().catch(() => {})
    return report.ok(tried, `it is there (${answer.status})`)
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string }
    const advice = 'browsers have to reach it, this machine need not; check the metadata if they do not'
    return report.warning(tried, `no answer (${code ?? (error as Error).name})`, advice)
  }
}

function checkOwnKeys({ keyStore, registrations }: SamlSettings, now: number): Check[] {
  const advice = 'replace it, and give the identity provider our new metadata'
  const judge = (subject: string, what: string, read: () => string): Check => ({
    subject,
    run: () => [
      judgeExpiry(findingsOn(subject), { what, certificate: new X509Certificate(read()), advice, endIsHarmless: true }, now),
    ],
  })
  const pairs = registrations.flatMap(({ id, signing, decryption }) =>
    [...signing, ...decryption].map(({ privateKey, certificate }) =>
      judge(`SAML ${id}, our keys`, 'our certificate', () => readPemKeyPair(privateKey, certificate).certificate),
    ),
  )
  if (keyStore === undefined) return pairs
  return [judge('SAML, saml.keyStore', 'our certificate in the key store', () => readKeyStore(keyStore).certificate), ...pairs]
}
