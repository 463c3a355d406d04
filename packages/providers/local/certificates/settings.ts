/** Settings of the certificates that an ACME authority issues for the hosts of the front. */
import { isIP } from 'node:net'
import {
  inSeconds,
  type SettingsReport,
  type SettingValues,
  setting,
} from '@fairlead/base/settings/setting.ts'
import { readAuthorities } from '@fairlead/base/tls/read-authorities.ts'
import { z } from 'zod'

/** Names of directories. Production is the default; staging issues certificates that no browser trusts. */
const directories: Readonly<Record<string, string>> = {
  letsencrypt: 'https://acme-v02.api.letsencrypt.org/directory',
  'letsencrypt-staging': 'https://acme-staging-v02.api.letsencrypt.org/directory',
  zerossl: 'https://acme.zerossl.com/v2/DV90',
}

export const challengeTypes = ['tls-alpn-01', 'http-01', 'dns-01'] as const
export type ChallengeType = (typeof challengeTypes)[number]

const directory = z
  .string()
  .transform((text, context) => {
    const url = directories[text] ?? text
    if (!URL.canParse(url) || new URL(url).protocol !== 'https:')
      context.addIssue(`must be ${Object.keys(directories).join(', ')}, or an https URL`)
    return url
  })
  .meta({ type: 'name or URL' })

const address = z.string().refine((text) => isIP(text) > 0, 'must be an IP address')

export const acmeKeys = {
  directory: setting('local.front.acme.directory', directory.optional()).describe(
    'Authority that issues certificates for the hosts of the front: `letsencrypt`, `letsencrypt-staging`, `zerossl`, or the URL of a directory. Setting it, or the email, accepts its terms. Default: `letsencrypt` with an email, else no certificates are ordered.',
  ),
  email: setting('local.front.acme.email', z.email().meta({ type: 'address' }).optional()).describe(
    'Address that the authority may write to.',
  ),
  caFile: setting('local.front.acme.ca-file', z.string().min(1).optional()).describe(
    'PEM file with the roots of the certificate of the authority’s own server. Default: those of Node.',
  ),
  bindingKid: setting('local.front.acme.binding.kid', z.string().min(1).optional()).describe(
    'Key identifier of the external account binding, where the authority needs one, as ZeroSSL does.',
  ),
  bindingHmac: setting(
    'local.front.acme.binding.hmac',
    z
      .string()
      .regex(/^[A-Za-z0-9_+/-]+=*$/, 'must be base64url, as the authority shows it')
      .optional(),
  ).describe('Its HMAC key, base64url.'),
  challenge: setting('local.front.acme.challenge', z.enum(challengeTypes).optional()).describe(
    'The only challenge that is used. Default: TLS-ALPN-01, then HTTP-01; DNS-01 for wildcards.',
  ),
  dnsHook: setting('local.front.acme.dns.hook', z.string().startsWith('/').optional()).describe(
    'Program that sets and clears TXT records for DNS-01: it is called with `set` or `clear`, the name and the value.',
  ),
  dnsHookMs: setting(
    'local.front.acme.dns.hook-seconds',
    inSeconds(z.number().min(1).max(3600).default(120)),
  ).describe('Seconds after which the hook is stopped.'),
  profile: setting('local.front.acme.profile', z.string().min(1).optional()).describe(
    'Profile of the certificates, such as `shortlived`, where the authority offers several.',
  ),
  addresses: setting('local.front.acme.addresses', z.array(address).default([])).describe(
    'Addresses of this machine beside those of its interfaces, such as that of a router or load balancer before it.',
  ),
  resolvers: setting('local.front.acme.resolvers', z.array(z.string()).default([])).describe(
    'Name servers, with or without a port, that are asked for the addresses of hosts. Default: those of this machine.',
  ),
}

export interface AcmeSettings {
  /** URL of the directory. */
  readonly directory: string
  readonly email?: string
  /** PEM of the authorities that its own server certificate chains to. Undefined: those of Node. */
  readonly roots?: string
  readonly binding?: { readonly kid: string; readonly hmac: string } | undefined
  readonly challenge?: ChallengeType
  readonly dnsHook?: string
  readonly dnsHookMs: number
  readonly profile?: string
  readonly addresses: readonly string[]
  readonly resolvers: readonly string[]
}

/** Undefined where no authority is configured. */
export function toAcmeSettings(
  { directory: chosen, caFile, bindingKid, bindingHmac, ...rest }: SettingValues<typeof acmeKeys>,
  report: SettingsReport,
): AcmeSettings | undefined {
  if ((bindingKid === undefined) !== (bindingHmac === undefined))
    report.problem(
      'local.front.acme.binding',
      'kid and hmac belong together; set both, as the authority shows them',
    )
  if (rest.challenge === 'dns-01' && rest.dnsHook === undefined)
    report.problem('local.front.acme.dns.hook', 'is needed for the challenge dns-01')
  const directory = chosen ?? (rest.email && directories['letsencrypt'])
  if (directory === undefined) return undefined
  return {
    ...rest,
    directory,
    roots: readAuthorities(caFile, 'local.front.acme.ca-file', report),
    binding:
      bindingKid === undefined || bindingHmac === undefined
        ? undefined
        : { kid: bindingKid, hmac: bindingHmac },
  }
}
