/** Checks SAML: metadata, certificates, addresses, own keys. */
import { X509Certificate } from 'node:crypto'
import { checkExpiry, toDay } from '@fairlead/base/findings/expiry.ts'
import {
  type Check,
  createCheck,
  type Finding,
  type Reporter,
} from '@fairlead/base/findings/finding.ts'
import { showAddress } from '../address-template.ts'
import { checkNameCase } from '../check-name-case.ts'
import type { CheckContext } from '../method-type.ts'
import { describeLocation, loadIdentityProvider } from './identity-provider-source.ts'
import { type IdentityProvider, nameCaseOfIdentityProvider } from './idp-metadata.ts'
import { readKeyStore, readPemKeyPair } from './key-store.ts'
import type { SamlRegistration, SamlSettings } from './settings.ts'

export function checkSaml(settings: SamlSettings, context: CheckContext): Check[] {
  const providers = settings.registrations.map((registration) =>
    createCheck(`SAML ${registration.id}`, (report) =>
      checkProvider(registration, settings, { ...context, report }),
    ),
  )
  return [...providers, ...checkOwnKeys(settings, context.now)]
}

interface Means extends CheckContext {
  readonly report: Reporter
}

async function checkProvider(
  registration: SamlRegistration,
  settings: SamlSettings,
  means: Means,
): Promise<Finding[]> {
  const { report, now } = means
  const { identityProvider } = registration
  const tried =
    identityProvider.kind === 'configured'
      ? 'read the certificates of the identity provider'
      : `read the metadata ${describeLocation(identityProvider.location)}`
  let provider: IdentityProvider
  try {
    provider = await loadIdentityProvider(registration)
  } catch (error) {
    return [
      report.problem(
        tried,
        (error as Error).message,
        `correct ${identityProvider.key}, or have the identity provider answer`,
      ),
    ]
  }
  // They are not looked at in a login; identity providers that follow their own rules replace them before their end.
  const advice =
    'ask for the new certificate of the identity provider; logins fail when it signs with another key'
  return [
    report.ok(tried, `the identity provider is called ${provider.entityId}`),
    checkNameCase(report, nameCaseOfIdentityProvider(provider.entityId), means.names),
    ...provider.certificates.map((certificate) =>
      checkExpiry(
        report,
        {
          what: 'a certificate of the identity provider',
          certificate,
          advice,
          endIsHarmless: true,
        },
        now,
      ),
    ),
    ...checkEnd(provider, report, now),
    ...checkSigning(provider, registration, settings, report),
    await trySignOn(provider, means),
  ]
}

function checkEnd({ validUntilMs }: IdentityProvider, report: Reporter, now: number): Finding[] {
  if (validUntilMs === undefined) return []
  const tried = 'look how long the metadata counts'
  if (validUntilMs > now) return [report.ok(tried, `until ${toDay(validUntilMs)}`)]
  return [
    report.warning(
      tried,
      `it ended on ${toDay(validUntilMs)}`,
      'get the current metadata of the identity provider',
    ),
  ]
}

function checkSigning(
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
  return [
    report.problem(
      tried,
      found,
      'set saml.signingCredentials or saml.keyStore, or saml.signRequests: false',
    ),
  ]
}

/** Without a request, identity providers answer with an error page, which shows that they are there. */
async function trySignOn(
  { signOn }: IdentityProvider,
  { report, timeouts: { answerMs } }: Means,
): Promise<Finding> {
  const url = signOn.redirect ?? (signOn.post as string)
  const tried = `GET the address for logins ${showAddress(url)}`
  try {
    const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(answerMs) })
    await answer.body?.cancel().catch(() => {})
    return report.ok(tried, `it is there (${answer.status})`)
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string }
    const advice =
      'browsers have to reach it, this machine need not; check the metadata if they do not'
    return report.warning(tried, `no answer (${code ?? (error as Error).name})`, advice)
  }
}

function checkOwnKeys({ keyStore, registrations }: SamlSettings, now: number): Check[] {
  const advice = 'replace it, and give the identity provider our new metadata'
  const checkPair = (subject: string, what: string, read: () => string): Check =>
    createCheck(subject, (report) => [
      checkExpiry(
        report,
        { what, certificate: new X509Certificate(read()), advice, endIsHarmless: true },
        now,
      ),
    ])
  const pairs = registrations.flatMap(({ id, signing, decryption }) =>
    [...signing, ...decryption].map(({ privateKey, certificate }) =>
      checkPair(
        `SAML ${id}, our keys`,
        'our certificate',
        () => readPemKeyPair(privateKey, certificate).certificate,
      ),
    ),
  )
  if (keyStore === undefined) return pairs
  return [
    checkPair(
      'SAML, saml.keyStore',
      'our certificate in the key store',
      () => readKeyStore(keyStore).certificate,
    ),
    ...pairs,
  ]
}
