/** Rejects ambiguous paths before routing and before rules about open paths. */
import { GatewayError } from '../errors.ts'

const encodedForms = /%(?:2f|5c|2e|3b|25|[01][0-9a-f]|7f)/i
/** What a URL path may not contain unencoded, plus `;`, which some servers read as the start of parameters. */
const rawForms = /[^\x21-\x7e]|[;\\"<>[\]^`{|}#]/
/** What nearly every path consists of: none of the above, and no segment that begins with a dot. */
const plain = /^(?:\/[\w-][\w.-]*)+$/
const dotSegments = /(?:^|\/)\.{1,2}(?:\/|$)/

/**
 * @param path The path of the request line, without the query.
 * @throws {GatewayError} PATH_REFUSED
 * @see docs/contracts/authentication.md#rejected-paths
 */
export function checkPath(path: string): void {
  if (plain.test(path)) return
  if (!path.startsWith('/')) throw refused('it does not start with a slash')
  if (path.includes('//')) throw refused('it has two slashes in a row')
  if (rawForms.test(path)) throw refused('it has a character that must be percent-encoded, or ";" or "\\"')
  if (encodedForms.test(path)) {
    throw refused(
      'it has an encoded slash, dot, semicolon, backslash, percent or control character, or is not percent-encoded UTF-8',
      unfitName,
    )
  }
  if (dotSegments.test(path)) throw refused('it has a "." or ".." segment')
  if (path.includes('%') && !isDecodable(path)) throw refused('its percent-encoding is not valid UTF-8')
}

const encodeNames = 'Send each name as one percent-encoded segment.'
const unfitName = 'What has such a name is reached by its id.'

function refused(reason: string, advice = encodeNames): GatewayError {
  return new GatewayError('PATH_REFUSED', `The path is refused because ${reason}. ${advice}`)
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
