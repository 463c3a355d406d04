/** Certificates by ACME for the fronts of this machine. */
import type { DesiredFronts } from '@fairlead/base/net/agent-protocol.ts'
import { createUlids } from '@fairlead/base/storage/ulid.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Desired } from '../desired.ts'
import type { FrontCertificates } from '../front/front-certificates.ts'
import { Certificates } from './certificates.ts'
import type { CertificateFront, CertificateHost } from './front.ts'
import type { AcmeSettings } from './settings.ts'

interface CertificateParts {
  readonly context: BackendContext
  readonly settings: AcmeSettings | undefined
  readonly desired: Desired
  readonly frontCertificates: FrontCertificates
  readonly toFronts: () => DesiredFronts | undefined
}

/** Undefined where no authority is configured. */
export function openCertificates(parts: CertificateParts): Certificates | undefined {
  const { context, settings } = parts
  if (settings === undefined) return undefined
  const newId = createUlids(context.now)
  return new Certificates({ context, settings, front: toFront(parts), newId })
}

function toFront({
  desired,
  frontCertificates: front,
  toFronts,
}: CertificateParts): CertificateFront {
  let known: { readonly revision: number; readonly hosts: readonly CertificateHost[] } | undefined
  return {
    hosts: () => {
      const { revision } = desired
      if (known?.revision !== revision) {
        const fronts = toFronts()
        known = { revision, hosts: fronts === undefined ? [] : certificateHostsOf(fronts) }
      }
      return known.hosts
    },
    serve: (name, certificate) => front.serve(name, certificate),
    withdraw: (name) => front.withdraw(name),
    setHttpChallenge: (token, content) => front.setHttpChallenge(token, content),
    setTlsChallenge: (host, certificate, key) => front.setTlsChallenge(host, certificate, key),
    clearChallenge: (kind, name) => front.clearChallenge(kind, name),
    isTaken: () => front.isTaken(),
  }
}

/** Certificates of the operator's own take precedence: nothing is ordered for what they cover. */
export function certificateHostsOf({
  fronts,
  certificates,
}: Pick<DesiredFronts, 'fronts' | 'certificates'>): CertificateHost[] {
  const own = new Set(certificates.flatMap(({ hosts, isWatched }) => (isWatched ? hosts : [])))
  const isOwn = (host: string) => own.has(host) || own.has(`*${host.slice(host.indexOf('.'))}`)
  const hosts = fronts.flatMap(({ sites }) =>
    sites.flatMap(({ loadBalancer, rules, redirects }) =>
      [...rules, ...redirects].map(({ host }) => [host, loadBalancer] as const),
    ),
  )
  return [...new Map(hosts)]
    .filter(([host]) => !isOwn(host))
    .map(([host, service]) => ({ host, service }))
}
