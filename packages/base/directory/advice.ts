/** Advice for operators on errors of a directory; keys are those below `ldap`. */

/** A domain controller that wants a token for the channel refuses every bind over TLS like this, right passwords included. */
export function wantsChannelBinding(message: string): boolean {
  return /\bdata 80090346\b/.test(message)
}

/** What to do when a directory answers a search or the manager's bind with an error. */
const adviceByCode: Readonly<Record<number, string>> = {
  1: 'it wants a bind before a search: set ldap.managerDn and ldap.managerPassword',
  4: 'the search has more results than the directory gives at once; narrow ldap.groupSearchBase or the filter',
  8: 'it wants TLS: write ldaps:// in ldap.url, or set ldap.startTls: true',
  10: 'it refers to another server, which is not followed; write the address of that server in ldap.url',
  13: 'it wants TLS: write ldaps:// in ldap.url, or set ldap.startTls: true',
  32: 'the base of the search does not exist, or may not be seen: check the root in ldap.url and the search bases',
  34: 'a base of a search is no name: check the root in ldap.url and the search bases',
  49: 'it refuses the manager: check ldap.managerDn and ldap.managerPassword',
  50: 'it does not let the manager search: check the rights of ldap.managerDn',
}

export function adviseOn({ code, message }: { code: number; message: string }): string | undefined {
  if (wantsChannelBinding(message)) {
    return 'it requires LDAP channel binding, which is not supported: set LdapEnforceChannelBinding to 1 at the domain controller'
  }
  return adviceByCode[code]
}

/** What to do when a server cannot be asked at all. @param cause Of the failure, with the code that Node or OpenSSL gave it */
export function adviseOnConnection(cause: unknown): string | undefined {
  const code = (cause as { code?: unknown } | undefined)?.code
  const isCertificate = typeof code === 'string' && /CERT|SIGNATURE|ISSUER|ALTNAME/.test(code)
  return isCertificate
    ? 'check the certificate of the server, its name in ldap.url, and ldap.caFile'
    : undefined
}
