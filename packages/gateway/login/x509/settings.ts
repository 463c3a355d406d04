/** Settings of the login by client certificate. */

import {
  inSeconds,
  off,
  parseJavaSearch,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  texts,
  whole,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import { namesProxies, type OriginSettings, trustsEveryAddress } from '../../http/origin.ts'
import type { ListenerKind } from '../../http/request-state.ts'
import type { LoginSurroundings } from '../method-type.ts'

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

export const x509Keys = settings(
  {
    enabled: setting('x509.enabled', off).describe('Login by client certificate.'),
    olderForm: setting('security.authn.x509.enabled', off).describe(
      'The same, as installers write it.',
    ),
    principalPattern: setting('x509.subject-principal-regex', searchPattern.optional()).describe(
      'Regular expression whose group finds the user name in the subject, written as in `EMAILADDRESS=a@example.com, CN=a, ' +
        'O=Acme`. Default: the common name. An e-mail address among the alternative names always takes precedence.',
    ),
    roleOid: setting(
      'x509.role-oid',
      z
        .string()
        .regex(/^[0-2](?:\.\d+)+$/, 'must be dotted numbers such as 1.2.840.10070.8.1')
        .optional(),
    ).describe('Identifier of the certificate extension with roles, one per line.'),
    requiredRoles: setting(
      'x509.required-roles',
      texts.transform((roles) =>
        roles.map((role) => role.trim().toLowerCase()).filter((role) => role !== ''),
      ),
    ).describe('Users need at least one of these roles.'),
    debounces: setting('x509.loginDebounce.enabled', off).describe(
      'Report users to the permission service periodically instead of with each request.',
    ),
    debounceMs: setting(
      'x509.loginDebounce.debounceWindowSeconds',
      inSeconds(whole(1, 86_400).default(300)),
    ).describe('Seconds between two reports of a user.'),
    header: setting(
      'x509.certificateHeader',
      z
        .string()
        .regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header')
        .transform((name) => name.toLowerCase())
        .optional(),
    ).describe(
      'Header in which trusted proxies forward the client certificate, as PEM, base64 or X-Forwarded-Client-Cert.',
    ),
  },
  { 'security.authn.x509': '`x509` decides.' },
)
type X509Values = SettingsOf<typeof x509Keys>

export function hasCertificateHeader({ enabled, olderForm, header }: X509Values): boolean {
  return (enabled || olderForm) && header !== undefined
}

export type X509Settings = NonNullable<ReturnType<typeof toX509Settings>>

export function toX509Settings(
  keys: object,
  report: SettingsReport,
  { listeners, origin }: LoginSurroundings,
) {
  const { enabled, olderForm, debounces, debounceMs, ...settings } = x509Keys.read(keys)
  if (!enabled && !olderForm) return undefined
  const key = enabled ? 'x509.enabled' : 'security.authn.x509.enabled'
  const asked = listeners.clientCertificates !== 'none'
  if (!asked && listeners.apiPort === undefined && settings.header === undefined) {
    const remedy = report.isSet('default.apiPort')
      ? 'the port of default.apiPort needs TLS; set server.ssl.enabled, and name a certificate or key store in server.ssl'
      : 'set server.ssl.client-auth: want, or default.apiPort for a port of their own'
    report.problem(key, `nothing asks for client certificates: ${remedy}`)
  }
  if (settings.header !== undefined) checkProxies(origin, report)
  return {
    ...settings,
    key,
    /** The main port asks for certificates. */
    asksOnMain: asked,
    hasOwnPort: listeners.apiPort !== undefined,
    legacyLogin: listeners.legacyLogin,
    debounceMs: debounces ? debounceMs : undefined,
  }
}

interface CertificatePorts {
  /** Certificates of connections to the main port count. On a port of their own they always do. */
  readonly mainConnection: boolean
  readonly guards: Readonly<Record<ListenerKind, boolean>>
}

/**
 * @param isAlone No other method logs users in on the main port
 * @see docs/contracts/authentication.md#order-of-a-login: with a port for certificates, the main port leaves them to it
 */
export function toPorts(
  { asksOnMain, hasOwnPort, legacyLogin, header }: X509Settings,
  isAlone: boolean,
): CertificatePorts {
  const mainConnection = asksOnMain && (!hasOwnPort || isAlone)
  const isProxied = header !== undefined || isAlone
  return {
    mainConnection,
    guards: { main: mainConnection || isProxied, legacy: isProxied || !legacyLogin, api: true },
  }
}

/** A certificate is not secret: a client that may write the header can act as any user. */
function checkProxies(origin: OriginSettings, report: SettingsReport): void {
  const remedy =
    'name the addresses of your proxies, and no others, in server.tomcat.remoteip.internal-proxies'
  if (!origin.trustForwarded) {
    report.problem(
      'x509.certificateHeader',
      `no proxy is trusted: set server.forward-headers-strategy: native, and ${remedy}`,
    )
  } else if (!namesProxies(report) || trustsEveryAddress(origin)) {
    report.problem(
      'x509.certificateHeader',
      `a client that may send this header can be any user: ${remedy}`,
    )
  }
}
