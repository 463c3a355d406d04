/** Makes a user of an accepted assertion: names from attributes, roles from values that may hold several, or whole DNs. */
import type { User } from '../../http/request-state.ts'
import { findNameObjection } from '../../user-name.ts'
import { listOf, type Trace } from '../trace.ts'
import { refuseUnless } from './refusal.ts'
import type { AcceptedAssertion } from './response.ts'

/** @see authentication contract, section 2.2: common keys */
export interface IdentityMapping {
  attributes: { firstName: string; lastName: string; roles: string; username: string | undefined; email: string | undefined }
  rolesDelimiter: RegExp
  lowercaseRoles: boolean
  sortRoles: boolean
  /** At least one of them, unless there are none. */
  requiredRoles: readonly string[]
}

/**
 * @param onSkipped Told about a value that looks like a distinguished name and is none
 * @throws {SamlRefused} when no user name can be made of it, or a required role is missing
 */
export function toUser(
  assertion: AcceptedAssertion,
  mapping: IdentityMapping,
  onSkipped: (value: string) => void,
  trace?: Trace,
): User {
  const { attributes, nameId } = assertion
  const first = (name: string | undefined) =>
    name === undefined ? undefined : attributes.get(name)?.find((value) => value !== '')
  const username = first(mapping.attributes.username) ?? nameId
  const email = first(mapping.attributes.email) ?? nameId
  const source = (name: string | undefined) => (first(name) === undefined ? 'NameID' : `the attribute ${name}`)
  trace?.('note', `the assertion has NameID ${nameId} and the attributes ${listOf([...attributes.keys()])}`)
  trace?.('note', `user name ${username}, from ${source(mapping.attributes.username)}`)
  trace?.('note', `e-mail address ${email}, from ${source(mapping.attributes.email)}`)
  const objection = findNameObjection(username)
  refuseUnless(objection === undefined, `the user name ${objection}`)
  const roles = toRoles(attributes.get(mapping.attributes.roles) ?? [], mapping, onSkipped)
  const { requiredRoles } = mapping
  const values = attributes.get(mapping.attributes.roles) ?? []
  trace?.('note', `roles ${listOf(roles)}, from ${values.length} values of the attribute ${mapping.attributes.roles}`)
  if (requiredRoles.length > 0) {
    const held = requiredRoles.filter((role) => roles.includes(role))
    trace?.(held.length > 0 ? 'yes' : 'no', `one of the roles in saml.requiredRoles (${listOf(requiredRoles)}): ${listOf(held)}`)
  }
  refuseUnless(
    requiredRoles.length === 0 || requiredRoles.some((role) => roles.includes(role)),
    'the user has none of the roles in saml.requiredRoles',
  )
  return {
    username,
    email,
    firstName: first(mapping.attributes.firstName) ?? null,
    lastName: first(mapping.attributes.lastName) ?? null,
    roles,
    allowedAccounts: [],
    method: 'saml',
  }
}

function toRoles(values: readonly string[], mapping: IdentityMapping, onSkipped: (value: string) => void): string[] {
  const names: string[] = []
  for (const part of values.flatMap((value) => value.split(mapping.rolesDelimiter)).map((one) => (one ?? '').trim())) {
    const name = /CN=/.test(part) ? parseCommonName(part) : part
    if (name === undefined) onSkipped(part)
    else if (name !== '') names.push(mapping.lowercaseRoles ? name.toLowerCase() : name)
  }
  const unique = [...new Set(names)]
  return mapping.sortRoles ? unique.sort() : unique
}

const escaped = String.raw`\\(?:[0-9a-fA-F]{2}|.)`
const assignment = new RegExp(
  String.raw`\s*([A-Za-z][\w.-]*|\d[\d.]*)\s*=\s*("(?:[^"\\]|${escaped})*"|(?:[^,;+"\\]|${escaped})*)\s*([,;+]|$)`,
  'ys',
)

/** The first CN of a distinguished name (RFC 4514, with the blanks and quotes of older ones); undefined when it is none. */
function parseCommonName(text: string): string | undefined {
  let found: string | undefined
  assignment.lastIndex = 0
  while (assignment.lastIndex < text.length) {
    const match = assignment.exec(text)
    if (match === null) return undefined
    if (found === undefined && match[1]?.toUpperCase() === 'CN') found = unescapeValue((match[2] ?? '').trim())
    if (match[3] === '') break
  }
  return found
}

function unescapeValue(value: string): string {
  const bare = value.startsWith('"') ? value.slice(1, -1) : value
  // Neighbouring escaped bytes belong to one character.
  return bare.replace(/(?:\\[0-9a-fA-F]{2})+|\\./gs, (run) =>
    /^\\[0-9a-fA-F]{2}/.test(run) ? Buffer.from(run.replaceAll('\\', ''), 'hex').toString('utf8') : run.slice(1),
  )
}
