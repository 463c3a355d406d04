/** Where the hosts of load balancers are reached, and with which certificate. */
import type { DesiredFronts, FrontSite } from '@fairlead/base/net/agent-protocol.ts'
import type { HostCertificate } from '../certificates/certificates.ts'

/** A rule of a load balancer, as people reach it. */
export interface ServedHost {
  readonly host: string
  readonly path: string
  /** URL, with the port where it is not that of the scheme. */
  readonly address: string
  /** Certificate by ACME. Times in milliseconds since the epoch. */
  readonly certificate?: {
    readonly state: HostCertificate['state']
    readonly cause?: string
    readonly endMs?: number
    readonly nextMs: number
  }
}

/** By the key of the load balancer. */
export function findServedHosts(
  wanted: DesiredFronts | undefined,
  ordered: readonly HostCertificate[],
): ReadonlyMap<string, readonly ServedHost[]> {
  const secure = new Set(wanted?.certificates.flatMap(({ hosts }) => hosts))
  const byHost = new Map(ordered.map((each) => [each.host, each]))
  const toServed =
    ({ httpPort, httpsPort }: { httpPort: number; httpsPort: number }) =>
    ({ host, path }: FrontSite['rules'][number]): ServedHost => {
      const isSecure = secure.has(host) || secure.has(`*${host.slice(host.indexOf('.'))}`)
      const origin = isSecure
        ? `https://${host}${httpsPort === 443 ? '' : `:${httpsPort}`}`
        : `http://${host}${httpPort === 80 ? '' : `:${httpPort}`}`
      return {
        ...{ host, path, address: path === '/' ? origin : origin + path },
        ...toCertificate(byHost.get(host)),
      }
    }
  return new Map(
    (wanted?.fronts ?? []).flatMap((front) =>
      front.sites.map((site) => [site.loadBalancer, site.rules.map(toServed(front))] as const),
    ),
  )
}

function toCertificate(found: HostCertificate | undefined): Pick<ServedHost, 'certificate'> {
  if (found === undefined) return {}
  const { state, cause, nextMs, certificate } = found
  return {
    certificate: {
      ...{ state, nextMs },
      ...(cause !== undefined && { cause }),
      ...(certificate !== undefined && { endMs: certificate.notAfterMs }),
    },
  }
}
