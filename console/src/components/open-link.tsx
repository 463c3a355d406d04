/** Links to what load balancers serve, as the reader's browser reaches it. */
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { placeOf } from '../model/infrastructure.ts'
import { objectsOf, textOf, textsOf } from '../model/read.ts'
import { Icon } from './icon.tsx'

type Balancer = Schemas['LoadBalancer']

const webProtocols = new Set(['http', 'https'])
const everywhere = new Set(['', '0.0.0.0', '::'])
const maxLinks = 3

interface OpenLinksProps {
  readonly balancers: readonly Balancer[]
  /** Only these. */
  readonly names?: readonly string[]
  readonly class?: string
}

/** Nothing where no load balancer serves HTTP to this browser. */
export function OpenLinks({ balancers, names, class: more = 'button small' }: OpenLinksProps) {
  const shown = balancers.filter((balancer) => names === undefined || names.includes(placeOf(balancer).name))
  const addresses = [...new Set(shown.flatMap(addressesOf))].slice(0, maxLinks)
  return (
    <>
      {addresses.map((url) => (
        <a key={url.href} class={`${more} open-link`} href={url.href} target="_blank" rel="noreferrer">
          <Icon name="external" /> Open <span class="muted">{url.host}</span>
          <span class="visually-hidden"> in a new tab</span>
        </a>
      ))}
    </>
  )
}

/** The same of an application whose load balancers the screen does not read. @param names Of load balancers; undefined: all. */
export function ApplicationOpenLinks({ application, ...links }: Omit<OpenLinksProps, 'balancers'> & { application: string }) {
  const events = applicationEvents(application, 'infrastructure')
  const live = useLive('/applications/{application}/loadBalancers', { path: { application } }, { refresh: 'steady', events })
  return <OpenLinks balancers={live.reading.value.body ?? []} {...links} />
}

/** Where it serves HTTP. Addresses of providers count; else its listeners do. */
export function addressesOf(balancer: Balancer): readonly URL[] {
  const listeners = objectsOf(balancer['listeners']).flatMap((listener) => {
    const host = hostFrom(textOf(listener['host']) ?? '')
    const protocol = textOf(listener['externalProtocol'])?.toLowerCase() ?? ''
    return host === undefined || !webProtocols.has(protocol) ? [] : `${protocol}://${host}:${textOf(listener['externalPort'])}/`
  })
  return [...textsOf(balancer['addresses']), ...listeners].flatMap((text) => {
    const url = URL.parse(text)
    return url !== null && webProtocols.has(url.protocol.slice(0, -1)) ? url : []
  })
}

/** The console's own host stands for every interface. A loopback address is that of the reader's machine only. */
function hostFrom(host: string): string | undefined {
  if (everywhere.has(host)) return location.hostname
  if (isLoopback(host)) return isLoopback(location.hostname) ? location.hostname : undefined
  return host.includes(':') ? `[${host}]` : host
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || host.startsWith('127.')
}
