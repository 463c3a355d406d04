/** Links to what load balancers serve, as the reader's browser reaches it. */

import { objectsOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { placeOf } from '../model/infrastructure.ts'
import { Icon } from './text.tsx'

type Balancer = Schemas['LoadBalancer']

const maxLinks = 3

export function useBalancers(application: string) {
  return useLive(
    '/applications/{application}/loadBalancers',
    { path: { application } },
    { events: 'infrastructure' },
  )
}

/** Why its ports are closed; empty: they are not. */
export function whyClosed(balancer: Balancer): string {
  return textsOf(balancer['problems']).join(' ')
}

/** Nothing where no load balancer serves HTTP to this browser. */
export function OpenLinks({ balancers }: { balancers: readonly Balancer[] }) {
  const addresses = [...new Set(balancers.flatMap(addressesOf))].slice(0, maxLinks)
  return addresses.map((href) => (
    <a key={href} class="button small" href={href} target="_blank" rel="noreferrer">
      <Icon name="external" /> Open <span class="muted">{new URL(href).host}</span>
      <span class="visually-hidden"> in a new tab</span>
    </a>
  ))
}

interface ApplicationOpenLinksProps {
  readonly application: string
  /** Of load balancers. */
  readonly names: readonly string[]
  /** Theirs; any unless given. */
  readonly accounts?: readonly string[]
}

/** The same of an application whose load balancers the screen does not read, with what is in the way. */
export function ApplicationOpenLinks({ application, names, accounts }: ApplicationOpenLinksProps) {
  const balancers = (useBalancers(application).body ?? []).filter((balancer) => {
    const { name, account } = placeOf(balancer)
    return names.includes(name) && (accounts?.includes(account) ?? true)
  })
  const problems = [...new Set(balancers.map(whyClosed))].filter(Boolean)
  return (
    <>
      <OpenLinks balancers={balancers} />
      {problems.map((text) => (
        <span key={text} class="is-behind">
          {text}
        </span>
      ))}
    </>
  )
}

/** Where it serves HTTP. Its hosts and addresses of providers count; else its listeners do. */
function addressesOf(balancer: Balancer) {
  const listeners = objectsOf(balancer['listeners']).map(
    ({ host, externalProtocol, externalPort }) => {
      return `${scalarOf(externalProtocol)?.toLowerCase()}://${hostFrom(scalarOf(host) ?? '')}:${scalarOf(externalPort)}/`
    },
  )
  const urls = [...servedBy(balancer), ...textsOf(balancer['addresses']), ...listeners].flatMap(
    (text) => URL.parse(text) ?? [],
  )
  return urls
    .filter(({ protocol }) => ['http:', 'https:'].includes(protocol))
    .map(({ href }) => href)
}

/** Its hosts as they are reached. */
export function servedBy(balancer: Balancer): readonly string[] {
  return objectsOf(balancer['served']).flatMap(({ address }) => scalarOf(address) ?? [])
}

const loopback = /^(localhost|\[?::1\]?|127\..*)$/

/** The console's own host stands for every interface. A loopback address is that of the reader's machine only. */
function hostFrom(host: string) {
  if (['', '0.0.0.0', '::'].includes(host)) return location.hostname
  if (loopback.test(host)) return loopback.test(location.hostname) ? location.hostname : ''
  return host.includes(':') ? `[${host}]` : host
}
