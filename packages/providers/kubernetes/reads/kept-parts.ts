/** Parts of kept objects: health of pods, addresses of services and ingresses, rules of network policies. */
import { fieldAt, isTrue, type JsonObject, numberOf, objectOf, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { HealthRecord, HealthState } from '../../infrastructure/model.ts'
import type { KubeObject } from '../objects.ts'

const stateOfPhase: Readonly<Record<string, HealthState>> = { Pending: 'Down', Running: 'Up' }
const healthClass = 'platform'

/** A record for the pod, and for each of its containers. */
export function healthOf(pod: JsonObject): HealthRecord[] {
  const phase = textOf(fieldAt(pod, 'status', 'phase')) ?? ''
  const statuses = objectsOf(fieldAt(pod, 'status', 'containerStatuses'))
  const containers = objectsOf(fieldAt(pod, 'spec', 'containers')).flatMap(({ name }) => textOf(name) ?? [])
  return [
    { type: 'kubernetes/pod', source: 'Pod', healthClass, state: stateOfPhase[phase] ?? 'Unknown' },
    ...containers.map((container) =>
      toContainerRecord(
        container,
        statuses.find(({ name }) => name === container),
      ),
    ),
  ]
}

/** With the reason where it waits or has ended, such as `CrashLoopBackOff`. */
function toContainerRecord(name: string, status: JsonObject | undefined): HealthRecord {
  const { waiting, terminated } = objectOf(status?.['state'])
  const description = textOf(fieldAt(waiting ?? terminated, 'reason'))
  return {
    type: 'kubernetes/container',
    source: `Container ${name}`,
    healthClass,
    state: isTrue(status?.['ready']) ? 'Up' : 'Down',
    ...(description !== undefined && { description }),
  }
}

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

export function inboundRulesOf(object: JsonObject): JsonObject[] {
  return rulesOf(fieldAt(object, 'spec', 'ingress'))
}

export function outboundRulesOf(object: JsonObject): JsonObject[] {
  return rulesOf(fieldAt(object, 'spec', 'egress'))
}

/** One for each port of each rule, by number or name; peers are not shown. */
function rulesOf(listed: unknown): JsonObject[] {
  return objectsOf(listed)
    .flatMap((rule) => objectsOf(rule['ports']))
    .map((port) => ({ protocol: textOf(port['protocol']) ?? 'TCP', portRanges: [toRange(port)] }))
}

function toRange({ port, endPort }: JsonObject): JsonObject {
  const startPort = typeof port === 'string' ? undefined : numberOf(port)
  if (startPort !== undefined) return { startPort, endPort: numberOf(endPort) ?? startPort }
  const name = textOf(port)
  return name === undefined ? { startPort: 0, endPort: 65_535 } : { startPortName: name, endPortName: name }
}
