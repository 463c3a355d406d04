/** Reasons of a directory for refusing a password, for log and form. */
import { wantsChannelBinding } from '@fairlead/base/directory/advice.ts'

/** `expired`: the password has to be changed first. `restricted`: the password is right, and the account may not sign in. */
type RefusalNotice = 'expired' | 'restricted'

export interface Refusal {
  readonly reason: string
  /** Only if the directory reports it after a correct password. */
  readonly notice?: RefusalNotice
}

/** OpenLDAP takes the password of such an account. */
export const mustChange: Refusal = {
  reason: 'the password has to be changed before the first login',
  notice: 'expired',
}

/**
 * The codes in `80090308: LdapErr: …, data 52e, v4563`. Active Directory gives all but 525, 52e, 568 and 775 only when the
 * password was right, so telling them gives nothing away; an account that is locked looks like a wrong password.
 */
const activeDirectoryCodes: Readonly<Record<string, Refusal>> = {
  '525': { reason: 'the user is unknown' },
  '52e': { reason: 'the password is wrong' },
  '52f': { reason: 'the account is restricted', notice: 'restricted' },
  '530': { reason: 'the account may not sign in at this time of day', notice: 'restricted' },
  '531': { reason: 'the account may not sign in from this machine', notice: 'restricted' },
  '532': { reason: 'the password has expired', notice: 'expired' },
  '533': { reason: 'the account is disabled', notice: 'restricted' },
  '568': { reason: 'the user is in too many groups' },
  '701': { reason: 'the account has expired', notice: 'restricted' },
  '773': mustChange,
  '775': { reason: 'the account is locked after too many wrong passwords' },
}

/** OpenLDAP then rejects all but a change of the password: "Operations are restricted to bind/unbind/abandon/StartTLS/modify password". */
export function hasToChangePassword({ code, message }: { code: number; message: string }): boolean {
  const [, allowed = ''] = message.toLowerCase().split('restricted to ')
  return code === 50 && allowed.includes('modify password')
}

/** What a bind may be answered with besides success; RFC 4511, section 4.1.9. Other codes are trouble of the directory. */
const bindCodes: Readonly<Record<number, string>> = {
  10: 'the directory refers to another server, which is not followed; write the address of the server that holds the user',
  19: 'the account is locked, or its password may not be used',
  32: 'the user is unknown',
  34: 'the user name does not fit into a name of the directory',
  48: 'the entry of the user has no password',
  49: 'the password is wrong or the user is unknown',
  50: 'the account may not sign in, or it is locked',
  53: 'the directory is unwilling to check this account',
}

/** Undefined when the code says that the directory is in trouble rather than that the password is wrong. */
export function explainRefusal(code: number, message: string): Refusal | undefined {
  const reason = bindCodes[code]
  if (reason === undefined || wantsChannelBinding(message)) return undefined
  const sub = /\bdata ([0-9a-f]{3})\b/i.exec(message)?.[1]?.toLowerCase()
  const known = sub === undefined || code !== 49 ? undefined : activeDirectoryCodes[sub]
  if (known !== undefined) return { ...known, reason: `${known.reason} (data ${sub})` }
  return { reason: sub === undefined ? reason : `${reason} (data ${sub})` }
}
