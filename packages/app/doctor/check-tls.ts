/** The encrypted listeners: certificate and its host name, trusted authorities, revocation lists. */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { blocksOf, checkExpiry } from '@fairlead/base/findings/expiry.ts'
import { type Check, type Finding, findingsOn } from '@fairlead/base/findings/finding.ts'
import { formatJavaName } from '@fairlead/base/names/distinguished-name.ts'
import { crlKey, loadTlsMaterial, type TlsMaterial } from '@fairlead/base/tls/tls-material.ts'
import type { HttpSettings } from '@fairlead/gateway/http/settings.ts'

const subject = 'Certificates of the listeners'
const hourMs = 3_600_000

export function checkTls(
  { tls, listeners }: HttpSettings,
  publicUrl: string | undefined,
  now: number,
): Check[] {
  if (tls === undefined) return []
  const host =
    listeners.mainTls && publicUrl !== undefined ? new URL(publicUrl).hostname : undefined
  const run = () => {
    const material = loadTlsMaterial(tls)
    return [
      ...checkIdentity(material, host, now),
      ...checkAuthorities(material, now),
      ...checkRevocations(material, now),
    ]
  }
  return [{ subject, run }]
}

function checkIdentity(
  { identity }: TlsMaterial,
  host: string | undefined,
  now: number,
): Finding[] {
  if (identity === undefined) return []
  const report = findingsOn(subject)
  const advice = 'replace the file; a running gateway reads it within two seconds'
  const chain = blocksOf(identity.certificates).map((pem) => new X509Certificate(pem))
  const dates = chain.map((certificate, index) => {
    const what =
      index === 0 ? 'the certificate that clients see' : 'an authority that is sent along with it'
    return checkExpiry(report, { what, certificate, advice }, now)
  })
  if (host === undefined) return dates
  const tried = `compare its names with the public host ${host}`
  const address = host.replace(/^\[|\]$/g, '')
  const fits =
    (isIP(address) === 0 ? identity.leaf.checkHost(host) : identity.leaf.checkIP(address)) !==
    undefined
  const names = identity.leaf.subjectAltName ?? 'no names'
  return [
    ...dates,
    fits
      ? report.ok(tried, 'it is for this host')
      : report.warning(
          tried,
          `it has ${names}`,
          'where browsers connect to the gateway itself, get a certificate for this host',
        ),
  ]
}

function checkAuthorities({ authorities }: TlsMaterial, now: number): Finding[] {
  const report = findingsOn('Trusted authorities of clients')
  const advice =
    'add the authority that follows it to the trust store; certificates that this one issued are refused'
  return authorities.map(({ x509 }) =>
    checkExpiry(report, { what: 'a trusted authority', certificate: x509, advice }, now),
  )
}

function checkRevocations({ revocations, authorities }: TlsMaterial, now: number): Finding[] {
  const report = findingsOn('Revocation lists')
  const { lists } = revocations
  if (lists.length === 0) return []
  const fresh = lists.map(({ issuerKey, nextUpdateMs }) => {
    const tried = `read the list of ${issuerKey}`
    if (nextUpdateMs === undefined)
      return report.ok(tried, 'it does not say when the next one is due')
    const due = new Date(nextUpdateMs).toISOString()
    const advice = `put a new list into the file that ${crlKey} names`
    if (nextUpdateMs <= now) {
      return report.problem(
        tried,
        `it was due to be replaced at ${due}; certificates of this issuer are rejected`,
        advice,
      )
    }
    if (nextUpdateMs <= now + hourMs)
      return report.warning(tried, `the next one is due at ${due}`, advice)
    return report.ok(tried, `the next one is due at ${due}`)
  })
  // An unverifiable certificate is rejected, so an authority without a list admits no client.
  const without = authorities.filter(({ subject: name, x509 }) => {
    const own = lists.filter((list) => list.isSignedBy(x509.publicKey))
    return own.length === 0 && x509.ca && name.length > 0
  })
  return [
    ...fresh,
    ...without.map(({ subject: name }) =>
      report.problem(
        `look for a list of ${formatJavaName(name).text}`,
        'there is none, so certificates that it issued are refused',
        `add its list to the file that ${crlKey} names`,
      ),
    ),
  ]
}
