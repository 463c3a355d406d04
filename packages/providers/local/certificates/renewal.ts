/** Renewal information of an authority (ARI, RFC 9773). */
import { isObject } from '@fairlead/base/json/values.ts'
import { readCertificate } from '@fairlead/base/tls/certificate.ts'
import { childAt, derTag, readChildren, readDer } from '@fairlead/base/tls/der.ts'
import { type AcmeAuthority, AcmeProblem } from './acme-authority.ts'
import type { RenewalWindow } from './certificate-store.ts'

const authorityKeyIdentifier = '2.5.29.35'
const keyIdentifier = 0x80

/** Names a certificate to its authority; undefined where it has no key identifier. @see RFC 9773, section 4.1 */
export function certificateIdOf(chain: string): string | undefined {
  const { x509, extensions } = readCertificate(chain)
  const extension = extensions.get(authorityKeyIdentifier)
  if (extension === undefined) return undefined
  const issuer = readChildren(readDer(extension), derTag.sequence).find(
    ({ tag }) => tag === keyIdentifier,
  )
  if (issuer === undefined) return undefined
  const serial = serialOf(x509.raw)
  return `${issuer.content.toString('base64url')}.${serial.toString('base64url')}`
}

const version = 0xa0

/** The content of the DER integer, with a leading zero where it has one. */
function serialOf(raw: Buffer): Buffer {
  const signed = childAt(readChildren(readDer(raw), derTag.sequence), 0, derTag.sequence)
  const fields = readChildren(signed)
  return childAt(fields, fields[0]?.tag === version ? 1 : 0, derTag.integer).content
}

interface RenewalInformation {
  readonly window: RenewalWindow
  readonly retryAtMs: number | undefined
}

/** Undefined where the authority gives none for it. @throws {AcmeProblem} */
export async function loadRenewalInformation(
  authority: AcmeAuthority,
  chain: string,
): Promise<RenewalInformation | undefined> {
  const { renewalInfo } = await authority.directory()
  const id = certificateIdOf(chain)
  if (renewalInfo === undefined || id === undefined) return undefined
  const { body, retryAtMs } = await authority.get(`${renewalInfo}/${id}`)
  const { suggestedWindow, explanationURL } = body
  const { start, end } = isObject(suggestedWindow) ? suggestedWindow : {}
  const [startMs, endMs] = [Date.parse(String(start)), Date.parse(String(end))]
  if (!(startMs <= endMs))
    throw new AcmeProblem('The authority’s renewal information has no window of time.', {
      type: 'malformed',
    })
  const explanation = typeof explanationURL === 'string' ? explanationURL : undefined
  return { window: { startMs, endMs, explanation }, retryAtMs }
}
