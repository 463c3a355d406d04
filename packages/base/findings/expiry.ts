/** Checks certificates by the time that they are still valid. */
import type { X509Certificate } from 'node:crypto'
import { certificateLabel, pemBlocks } from '../tls/pem.ts'
import type { Finding, Reporter } from './finding.ts'

const dayMs = 86_400_000
const soonMs = 14 * dayMs

interface ExpiringCertificate {
  /** `the certificate of the main port` */
  readonly what: string
  readonly certificate: X509Certificate
  /** What to do when it runs out. */
  readonly advice: string
  /** Logins and connections go on after its end, because the peer does not look at dates. */
  readonly endIsHarmless?: true
}

/** @param now Milliseconds since the epoch */
export function checkExpiry(
  report: Reporter,
  { what, certificate, advice, endIsHarmless }: ExpiringCertificate,
  now: number,
): Finding {
  const endMs = certificate.validToDate.getTime()
  const startMs = certificate.validFromDate.getTime()
  const tried = `read ${what} (${nameOf(certificate)})`
  const bad = endIsHarmless ? report.warning : report.problem
  if (startMs > now)
    return bad(
      tried,
      `it counts from ${toDay(startMs)} only`,
      'check the clock of this machine, or wait',
    )
  if (endMs <= now) return bad(tried, `it expired on ${toDay(endMs)}`, advice)
  if (endMs <= now + soonMs) {
    return report.warning(
      tried,
      `it expires on ${toDay(endMs)}, in ${Math.floor((endMs - now) / dayMs)} days`,
      advice,
    )
  }
  return report.ok(tried, `it is valid until ${toDay(endMs)}`)
}

/** All certificates of a PEM text. */
export function blocksOf(pem: string): string[] {
  return pemBlocks(pem, certificateLabel)
}

export function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function nameOf({ subject }: X509Certificate): string {
  return subject.replaceAll('\n', ', ')
}
