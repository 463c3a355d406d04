/** Makes a user of what the provider says. */

import { parseIfJson } from '@fairlead/base/json/json.ts'
import { listOf } from '@fairlead/base/json/values.ts'
import { isDistinguishedName } from '@fairlead/base/names/distinguished-name.ts'
import { findNameObjection } from '@fairlead/base/names/user-name.ts'
import type { User } from '../../http/request-state.ts'
import { joinNames, type Trace } from '../trace.ts'
import { createUser } from '../user.ts'
import { LoginFailure } from './login-failure.ts'
import type { UserMapping } from './presets.ts'
import { findAttribute, hasTwoDomains, toText, type UserAttributes } from './requirements.ts'

export const methodName = 'oauth2'

/**
 * The user, without accounts.
 *
 * @throws {LoginFailure} when nothing names the user
 * @see docs/contracts/authentication.md#oauth-20-and-openid-connect
 */
export function claimsToUser(
  attributes: UserAttributes,
  mapping: UserMapping,
  trace?: Trace,
): User {
  const field = (name: string | undefined) =>
    name === undefined ? null : toText(findAttribute(attributes, name))
  trace?.('note', `the provider gives ${joinNames(Object.keys(attributes))}`)
  const email = field(mapping.email)
  const username = field(mapping.username) || email
  if (!username) {
    throw new LoginFailure(
      'refused',
      `the provider names no user: it gives neither ${mapping.username} nor ${mapping.email}`,
    )
  }
  const objection = findNameObjection(username)
  if (objection !== undefined)
    throw new LoginFailure('refused', `the user name that the provider gives ${objection}`)
  const roles = mapping.roles === undefined ? [] : toRoles(findAttribute(attributes, mapping.roles))
  trace?.(
    'note',
    `user name ${username}, from ${field(mapping.username) ? mapping.username : mapping.email}`,
  )
  trace?.(
    'note',
    `e-mail address ${email ?? 'none'}, from ${mapping.email ?? 'nothing: it is not mapped'}`,
  )
  trace?.(
    'note',
    mapping.roles === undefined
      ? 'no roles: userInfoMapping.roles names no attribute'
      : `roles ${joinNames(roles)}, from ${mapping.roles}`,
  )
  if (email !== null && hasTwoDomains(email)) {
    throw new LoginFailure('refused', 'the provider gives an e-mail address with more than one @')
  }
  const names = { firstName: field(mapping.firstName), lastName: field(mapping.lastName) }
  return createUser(methodName, username, { email, ...names, roles })
}

/**
 * A list; a text with commas or blanks; or, as Azure does it, a list of one text that is a list in JSON. A distinguished name is one
 * role, as it is written: its commas and blanks divide it, not roles.
 */
export function toRoles(value: unknown): string[] {
  if (typeof value === 'string')
    return clean(isDistinguishedName(value) ? [value] : value.split(/[,\s]+/))
  if (!Array.isArray(value)) return []
  const [first] = value
  return clean(
    value.length === 1 && typeof first === 'string' && first.startsWith('[')
      ? listOf(parseIfJson(first))
      : value,
  )
}

function clean(roles: readonly unknown[]): string[] {
  const texts = roles.map((role) => toText(role)?.trim() ?? '')
  return [...new Set(texts.filter((role) => role !== '' && !hasControlCharacter(role)))]
}

function hasControlCharacter(text: string): boolean {
  return /\p{Cc}/u.test(text)
}
