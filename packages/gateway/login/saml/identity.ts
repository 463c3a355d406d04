/** User of an accepted assertion: name from attributes, roles from values or DNs. */

import {
  commonNameOf,
  isDistinguishedName,
  maskEscapes,
  parseName,
} from '@fairlead/base/names/distinguished-name.ts'
import { findNameObjection } from '@fairlead/base/names/user-name.ts'
import type { User } from '../../http/request-state.ts'
import { joinNames, type Trace } from '../trace.ts'
import { createUser, hasRequiredRole } from '../user.ts'
import { refuseUnless } from './refusal.ts'
import type { AcceptedAssertion } from './response.ts'
import type { SamlSettings } from './settings.ts'

type IdentityMapping = SamlSettings['mapping']

export interface RoleNotes {
  /** A value that looks like a distinguished name and is none. */
  skipped(value: string): void
  /** One of several values holds the delimiter: the name of a group, rather than a list, may bring the roles. */
  split(value: string): void
}

/**
 * @throws {SamlRefused} when no user name can be made of it, or a required role is missing
 */
export function assertionToUser(
  { attributes, nameId }: AcceptedAssertion,
  mapping: IdentityMapping,
  notes: RoleNotes,
  trace?: Trace,
): User {
  const first = (name: string | undefined) =>
    name === undefined ? undefined : attributes.get(name)?.find((value) => value !== '')
  const username = first(mapping.attributes.username) ?? nameId
  const email = first(mapping.attributes.email) ?? nameId
  const source = (name: string | undefined) =>
    first(name) === undefined ? 'NameID' : `the attribute ${name}`
  trace?.(
    'note',
    `the assertion has NameID ${nameId} and the attributes ${joinNames([...attributes.keys()])}`,
  )
  trace?.('note', `user name ${username}, from ${source(mapping.attributes.username)}`)
  trace?.('note', `e-mail address ${email}, from ${source(mapping.attributes.email)}`)
  const objection = findNameObjection(username)
  refuseUnless(objection === undefined, `the user name ${objection}`)
  const values = attributes.get(mapping.attributes.roles) ?? []
  const roles = toRoles(values, mapping, notes)
  trace?.(
    'note',
    `roles ${joinNames(roles)}, from ${values.length} values of the attribute ${mapping.attributes.roles}`,
  )
  const isAdmitted = hasRequiredRole(mapping.requiredRoles, roles, 'saml.requiredRoles', trace)
  refuseUnless(isAdmitted, 'the user has none of the roles in saml.requiredRoles')
  const firstName = first(mapping.attributes.firstName) ?? null
  const lastName = first(mapping.attributes.lastName) ?? null
  return createUser('saml', username, { email, firstName, lastName, roles })
}

/** Longer values are no lists of groups, and a pattern of an operator may take its time with them. */
const maxValueLength = 65_536

function toRoles(values: readonly string[], mapping: IdentityMapping, notes: RoleNotes): string[] {
  const names: string[] = []
  for (const value of values) {
    if (value.length > maxValueLength) {
      notes.skipped(value)
      continue
    }
    const parts = splitRoles(value, mapping.attributes.rolesDelimiter)
    if (values.length > 1 && parts.length > 1) notes.split(value)
    for (const part of parts) {
      const name = part.includes('CN=') ? firstCommonName(part) : part
      if (name === undefined) notes.skipped(part)
      else if (name !== '') names.push(mapping.lowercaseRoles ? name.toLowerCase() : name)
    }
  }
  const unique = [...new Set(names)]
  return mapping.sortRoles ? unique.sort() : unique
}

/**
 * The delimiter counts where it stands between names: what is escaped or quoted in a distinguished name belongs to it, and so does
 * the comma between its parts.
 */
function splitRoles(value: string, delimiter: RegExp): string[] {
  if (isDistinguishedName(value)) return [value.trim()]
  const masked = value.includes('=') ? maskEscapes(value) : value
  const parts: string[] = []
  let start = 0
  for (const { 0: match, index } of masked.matchAll(delimiter)) {
    if (match === '') continue
    parts.push(value.slice(start, index))
    start = index + match.length
  }
  return [...parts, value.slice(start)].map((part) => part.trim()).filter((part) => part !== '')
}

function firstCommonName(text: string): string | undefined {
  const name = parseName(text)
  return name && (commonNameOf(name) ?? '')
}
