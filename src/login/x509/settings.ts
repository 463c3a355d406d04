/** Settings of the login by client certificate. */
import { z } from 'zod'
import type { OriginSettings } from '../../http/origin.ts'
import type { ListenerSettings } from '../../http/tls/settings.ts'
import { parseJavaSearch, type SettingsReport, withoutEffect } from '../../setting.ts'

const searchPattern = z
  .string()
  .transform((text, context) => {
    try {
      const pattern = parseJavaSearch(text, 'i')
      if (new RegExp(`${pattern.source}|`).exec('')?.length !== 2)
        throw new Error('it must have exactly one group in parentheses')
      return pattern
    } catch (error) {
      context.addIssue(`must be a regular expression: ${(error as Error).message}`)
      return z.NEVER
    }
  })
  .meta({ type: 'regular expression' })

export const X509Keys = z.strictObject({
  'x509.enabled': z.boolean().default(false).describe('Login by client certificate.'),
  'security.authn.x509.enabled': z.boolean().default(false).describe('The same, as installers write it.'),
  'security.authn.x509': withoutEffect('`x509` decides.'),
  'x509.subject-principal-regex': searchPattern
    .optional()
    .describe(
      'Regular expression whose group finds the user name in the subject, written as in `EMAILADDRESS=a@example.com, CN=a, ' +
        'O=Acme`. Default: the common name. An e-mail address among the alternative names always takes precedence.',
    ),
  'x509.role-oid': z
    .string()
    .regex(/^[0-2](?:\.\d+)+$/, 'must be dotted numbers such as 1.2.840.10070.8.1')
    .optional()
    .describe('Identifier of the certificate extension with roles, one per line.'),
  'x509.required-roles': z.array(z.string()).default([]).describe('Users need at least one of these roles.'),
  'x509.loginDebounce.enabled': z
    .boolean()
    .default(false)
    .describe('Report users to the permission service periodically instead of with each request.'),
  'x509.loginDebounce.debounceWindowSeconds': z
    .int()
    .min(1)
    .max(86_400)
    .default(300)
    .describe('Seconds between two reports of a user.'),
  'x509.certificateHeader': z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header')
    .optional()
    .describe('Header in which trusted proxies forward the client certificate, as PEM, base64 or X-Forwarded-Client-Cert.'),
})
export type X509Keys = z.infer<typeof X509Keys>

interface X509Surroundings {
  listeners: ListenerSettings
  origin: OriginSettings
  /** Another method logs people in on the main port. */
  companion: boolean
}

export function isX509Enabled(keys: X509Keys): boolean {
  return keys['x509.enabled'] || keys['security.authn.x509.enabled']
}

/** Whether certificates are expected from proxies. */
export function hasCertificateHeader(keys: X509Keys): boolean {
  return isX509Enabled(keys) && keys['x509.certificateHeader'] !== undefined
}

export type X509Settings = NonNullable<ReturnType<typeof toX509Settings>>

/** @see docs/contracts/authentication.md#order-of-a-login: with a port for certificates, the main port leaves them to it */
export function toX509Settings(keys: X509Keys, report: SettingsReport, { listeners, origin, companion }: X509Surroundings) {
  if (!isX509Enabled(keys)) return undefined
  const header = keys['x509.certificateHeader']
  const asked = listeners.clientCertificates !== 'none'
  if (!asked && listeners.apiPort === undefined && header === undefined) {
    report.problem(
      keys['x509.enabled'] ? 'x509.enabled' : 'security.authn.x509.enabled',
      'nothing asks for client certificates: set server.ssl.client-auth: want, or default.apiPort for a port of their own',
    )
  }
  if (header !== undefined) checkProxies(origin, report)
  const mainConnection = asked && (listeners.apiPort === undefined || !companion)
  const proxied = header !== undefined || !companion
  return {
    /** Certificates of connections to the main port count. On a port of their own they always do. */
    mainConnection,
    /** Whether this method guards the ports besides that one. */
    guards: { main: mainConnection || proxied, legacy: proxied || !listeners.legacyLogin },
    header: header?.toLowerCase(),
    principalPattern: keys['x509.subject-principal-regex'],
    roleOid: keys['x509.role-oid'],
    requiredRoles: keys['x509.required-roles'].map((role) => role.trim().toLowerCase()).filter((role) => role !== ''),
    debounceMs: keys['x509.loginDebounce.enabled'] ? keys['x509.loginDebounce.debounceWindowSeconds'] * 1000 : undefined,
  }
}

/** Addresses reserved for documentation, and so of no proxy: a pattern that covers them covers every client. */
const foreignAddresses = ['192.0.2.1', '203.0.113.7', '2001:db8::1']

/** A certificate is not secret: a client that may write the header can act as any user. */
function checkProxies({ trustForwarded, trustedProxies }: OriginSettings, report: SettingsReport): void {
  const named = ['server.tomcat.remoteip.internal-proxies', 'server.tomcat.internalProxies'].some((key) => report.isSet(key))
  const remedy = 'name the addresses of your proxies, and no others, in server.tomcat.remoteip.internal-proxies'
  if (!trustForwarded) {
    report.problem('x509.certificateHeader', `no proxy is trusted: set server.forward-headers-strategy: native, and ${remedy}`)
  } else if (!named || foreignAddresses.some((address) => trustedProxies.test(address))) {
    report.problem('x509.certificateHeader', `a client that may send this header can be any user: ${remedy}`)
  }
}
