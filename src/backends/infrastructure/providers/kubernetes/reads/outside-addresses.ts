/** Addresses where clients outside of the cluster reach services and ingresses. */
import { fieldAt, numberOf, objectsOf, textOf, textsOf } from '../../../../../json/values.ts'
import type { KubeObject } from '../objects.ts'

const httpsPorts = new Set([443, 8443])

/** Empty until its load balancer has an address, and for ports that are not TCP. */
export function addressesOfService(object: KubeObject): string[] {
  const ports = objectsOf(fieldAt(object, 'spec', 'ports')).filter(({ protocol = 'TCP' }) => protocol === 'TCP')
  return balancerHosts(object).flatMap((host) =>
    ports.map((port) => {
      const number = numberOf(port['port']) ?? 80
      const isHttps = httpsPorts.has(number) || String(port['name'] ?? '').startsWith('https')
      return `${isHttps ? 'https' : 'http'}://${host}:${number}/`
    }),
  )
}

/** By the hosts of its rules; where these have none, by the address of its load balancer. */
export function addressesOfIngress(object: KubeObject): string[] {
  const entries = objectsOf(fieldAt(object, 'spec', 'tls'))
  const secured = new Set(entries.flatMap(({ hosts }) => textsOf(hosts)))
  const named = objectsOf(fieldAt(object, 'spec', 'rules')).flatMap(({ host }) => textOf(host) ?? [])
  const hosts = named.filter((host) => !host.includes('*'))
  return [...new Set(hosts.length > 0 ? hosts : balancerHosts(object))].map(
    (host) => `${secured.has(host) || (hosts.length === 0 && entries.length > 0) ? 'https' : 'http'}://${host}/`,
  )
}

function balancerHosts(object: KubeObject): string[] {
  return objectsOf(fieldAt(object, 'status', 'loadBalancer', 'ingress')).flatMap(({ hostname, ip }) => {
    const host = textOf(hostname) ?? textOf(ip)
    return host === undefined ? [] : host.includes(':') ? `[${host}]` : host
  })
}
