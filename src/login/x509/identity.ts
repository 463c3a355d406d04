/** User name and roles of a certificate. */
import { commonNameOf, formatJavaName } from '../../names/distinguished-name.ts'
import type { Certificate } from '../../tls/certificate.ts'
import { DerError, readDer, readText } from '../../tls/der.ts'

const maxSubjectLength = 4096
const controlCharacter = /\p{Cc}/u

/**
 * The e-mail address of the certificate; else what the pattern finds in the name of the owner, where one is configured,
 * or the common name. Undefined when there is nothing that could name a user: a pattern that finds nothing rejects the certificate.
 *
 * @param pattern Searched in the name as Java writes it; its first group is the identity
 * @see docs/contracts/authentication.md#client-certificates
 */
export function certificateIdentity(certificate: Certificate, pattern: RegExp | undefined): string | undefined {
  return (
    certificate.emails[0] ?? (pattern === undefined ? commonNameOf(certificate.subject) : findByPattern(certificate, pattern))
  )
}

/**
 * The search does not see structure inside a value: an organisation named `x, CN=admin` is not taken for the name `admin`.
 * What was found is then read from the name as it is.
 */
function findByPattern({ subject }: Certificate, pattern: RegExp): string | undefined {
  const { text, masked } = formatJavaName(subject)
  if (text.length > maxSubjectLength) return undefined
  const range = new RegExp(pattern.source, `${pattern.flags}d`).exec(masked)?.indices?.[1]
  return range && text.slice(range[0], range[1])
}

/** The roles of an extension, one in each line. @throws {DerError} when the extension holds no text */
export function rolesOf({ extensions }: Certificate, roleOid: string | undefined): string[] {
  const value = roleOid === undefined ? undefined : extensions.get(roleOid)
  if (value === undefined) return []
  const text = readText(readDer(value))
  if (text === undefined) throw new DerError('the extension with the roles holds no text')
  return text
    .split(/\r?\n/)
    .map((role) => role.trim().toLowerCase())
    .filter((role) => role !== '' && !controlCharacter.test(role))
}
