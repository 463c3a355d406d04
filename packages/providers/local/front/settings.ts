/** Settings of the fronts: where they listen, who may claim which hosts, and own certificates. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readHost } from '@fairlead/base/names/host-name.ts'
import { type SettingsReport, setting } from '@fairlead/base/settings/setting.ts'
import { loadCertificate } from '@fairlead/base/tls/listener-certificate.ts'
import { z } from 'zod'

const port = z.int().min(1).max(65_535)

export const AccountFront = z.strictObject({
  http: port
    .optional()
    .describe('Port for HTTP. Default: 80 where this user may listen on it, else 8080.'),
  https: port.optional().describe('Port for HTTPS. Default: 443, or 8443 in the same way.'),
  address: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Address that it listens on, `0.0.0.0` for all of this machine. Default: `address` of the account. Accounts of one address share the front.',
    ),
})

export interface FrontPlace {
  readonly address: string
  readonly httpPort: number
  readonly httpsPort: number
}

export function toFrontPlace(
  { http, https, address }: z.infer<typeof AccountFront>,
  accountAddress: string,
): FrontPlace {
  const isLow = mayListenBelow1024()
  return {
    address: address ?? accountAddress,
    httpPort: http ?? (isLow ? 80 : 8080),
    httpsPort: https ?? (isLow ? 443 : 8443),
  }
}

const netBindService = 10

function mayListenBelow1024(): boolean {
  if (process.getuid?.() === 0) return true
  try {
    const first = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))
    const [, rights = '0'] =
      /^CapEff:\s*([\da-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    return first <= 80 || ((BigInt(`0x${rights}`) >> BigInt(netBindService)) & 1n) === 1n
  } catch {
    return false
  }
}

const pattern = z.string().transform((text, context) => {
  const host = readHost(text)
  if (typeof host !== 'string') return host.name
  context.addIssue(`"${text}" ${host}`)
  return z.NEVER
})

const exactHost = pattern.refine((name) => !name.startsWith('*.'), 'it must be one host')

const HostPattern = z.strictObject({
  pattern: pattern.describe(
    'A host, or `*.example.com` for all below it. Of several that match, the longest decides.',
  ),
  applications: z.array(z.string()).optional().describe('Applications that may have the host.'),
  roles: z
    .array(z.string())
    .optional()
    .describe(
      'Roles whose users may claim it for any application. Without `applications` and `roles`, it is reserved.',
    ),
})
export type HostPattern = z.infer<typeof HostPattern>

const OwnCertificate = z
  .strictObject({
    certificate: z.string().min(1).describe('PEM file with the certificate and its chain.'),
    key: z.string().min(1).describe('PEM file with the private key.'),
  })
  .transform(({ certificate, key }) => ({ certificateFile: certificate, keyFile: key }))
export type OwnCertificate = z.output<typeof OwnCertificate>

export const frontKeys = {
  hosts: setting('local.front.hosts', z.array(HostPattern).default([])).describe(
    'Who may claim hosts of the fronts. Default: a host belongs to the first application that claims it, wildcards to none, and names of this machine only to what administrators deploy.',
  ),
  instanceHost: setting('local.front.instance-host', exactHost.optional()).describe(
    'Host of Fairlead itself, on the front of the first account: it gets a certificate as others do, and no application can have it. ' +
      '`server.port` has to speak HTTP, and `server.forward-headers-strategy: native` lets it know the address that clients use.',
  ),
  certificates: setting('local.front.certificates', z.array(OwnCertificate).default([])).describe(
    'Own certificates of the fronts, for the names that they contain; read again when the files change. They take precedence.',
  ),
}

export function reportFronts(
  accounts: readonly { readonly name: string; readonly front: FrontPlace }[],
  certificates: readonly OwnCertificate[],
  report: SettingsReport,
): void {
  for (const [index, { name, front }] of accounts.entries()) {
    const other = accounts.slice(0, index).find((one) => one.front.address === front.address)
    if (front.httpPort === front.httpsPort)
      report.problem(
        'local.accounts',
        `the account "${name}": front.http and front.https are the same`,
      )
    if (
      other !== undefined &&
      (other.front.httpPort !== front.httpPort || other.front.httpsPort !== front.httpsPort)
    )
      report.problem(
        'local.accounts',
        `the accounts "${other.name}" and "${name}" share the address ${front.address}, so their fronts need the same ports`,
      )
  }
  for (const files of certificates) {
    try {
      loadCertificate(files)
      hostsOfCertificate(files)
    } catch (error) {
      report.problem('local.front.certificates', (error as Error).message)
    }
  }
}

/** Names in a certificate. @throws {Error} when it has none, or cannot be read */
export function hostsOfCertificate({ certificateFile }: OwnCertificate): string[] {
  const { subjectAltName = '' } = new X509Certificate(readFileSync(certificateFile))
  const hosts = subjectAltName
    .split(', ')
    .flatMap((name) => (name.startsWith('DNS:') ? [name.slice(4).toLowerCase()] : []))
  if (hosts.length === 0)
    throw new Error(`${certificateFile} names no host (subjectAltName); issue it for its hosts`)
  return hosts
}
