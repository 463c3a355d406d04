/** upsertLoadBalancer and deleteLoadBalancer. */

import { randomInt } from 'node:crypto'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { tryPort } from '@fairlead/base/net/try-port.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import { z } from 'zod'
import { type BalancerListener, type Desired, type LocalBalancer, placeKey } from '../desired.ts'
import { claimHosts, releaseHosts } from '../front/ownership.ts'
import { hostsOf, siteFields, toSite } from '../front/site-fields.ts'
import { addressOf, dnsNameOf, isPortWithin, loopback } from '../machine.ts'
import type { Reconciler } from '../reconciler.ts'
import { certificatesOf, type LocalSettings } from '../settings.ts'
import {
  defineOperation,
  flagField,
  type LocalOperations,
  type LocalSubmission,
  numeric,
  optionalField,
  optionalTextPart,
  type Problems,
  placeOf,
  type RunningOperation,
  type TargetPlace,
  textsField,
} from './parts.ts'

const seconds = (otherwise: number) =>
  optionalField(numeric(z.number().min(0.1).max(3600))).transform((value) => value ?? otherwise)
const threshold = (otherwise: number) =>
  optionalField(numeric(z.number().int().min(1).max(100))).transform((value) => value ?? otherwise)
const port = optionalField(
  numeric(
    z
      .number('it must be a port')
      .int('it must be a port')
      .min(0, 'it must be a port')
      .max(65_535, 'it must be a port'),
  ),
)

const protocols = ['HTTP', 'HTTPS', 'TCP', 'SSL'] as const
const protocol = optionalField(
  z
    .string()
    .transform((value) => value.trim().toUpperCase())
    .pipe(z.enum(protocols)),
)

/** Clients have two names for most of them. */
const ListenerFields = z
  .looseObject({
    externalProtocol: protocol,
    protocol: protocol,
    externalPort: port,
    port: port,
    internalProtocol: protocol,
    internalPort: port,
    sslCertificateId: optionalTextPart,
    sslCertificateName: optionalTextPart,
    hosts: z.unknown().optional(),
  })
  .transform(({ internalProtocol, internalPort, ...external }) => ({
    protocol: external.externalProtocol ?? external.protocol ?? 'HTTP',
    port: external.externalPort ?? external.port,
    internalProtocol,
    internalPort,
    certificate: external.sslCertificateId ?? external.sslCertificateName,
    hosts: external.hosts,
  }))

const BalancerFields = z.object({
  name: optionalTextPart,
  loadBalancerName: optionalTextPart,
  clusterName: optionalTextPart,
  vpcId: optionalTextPart,
  listeners: optionalField(z.array(ListenerFields)).transform((value) => value ?? []),
  healthCheck: optionalTextPart,
  healthInterval: seconds(10),
  healthTimeout: seconds(5),
  unhealthyThreshold: threshold(2),
  healthyThreshold: threshold(10),
  isInternal: flagField,
  securityGroups: textsField,
  ...siteFields,
})
type ListenerFields = z.output<typeof ListenerFields>
type BalancerFields = z.output<typeof BalancerFields>

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const openingMs = 10_000
/** The agent of a busy machine takes its time. */
const reportMs = 60_000

const upsertLoadBalancer = defineOperation({
  fields: BalancerFields.shape,
  resources: ({ fields }) => [
    fields.name,
    fields.loadBalancerName,
    fields.clusterName,
    ...(fields.securityGroups ?? []),
  ],
  check: (submission) => {
    const { fields, desired } = submission
    const place = placeOf(submission)
    const name = nameOf(fields)
    if (name === undefined) return ['name: it is missing.']
    return [
      !namePattern.test(name) &&
        `name: "${shorten(name)}" may have letters, digits, ".", "_" and "-" only, 128 at most.`,
      checkListeners(submission, name, place),
      checkHealth(fields.healthCheck),
      (fields.securityGroups ?? [])
        .filter((group) => desired.get('firewalls', placeKey(at(place, group))) === undefined)
        .map(
          (group) =>
            `securityGroups: "${group}" does not exist in ${place.account.name}/${place.region.name}.`,
        ),
    ]
  },
  run: async (running) => {
    const { desired, settings, context, reconciler, run, change } = running
    const balancer = await withPorts(toBalancer(running, placeOf(running)), running)
    const { name, region, listeners } = balancer
    await checkPortsFree(balancer, desired)
    const access = await requireAccess(context, run.user)
    const { front } = placeOf(running).account
    const hosts = hostsOf(balancer.site)
    change(() => {
      run.note(
        `Storing the load balancer ${name}: ${[...hosts, ...listeners.map((each) => `${each.host}:${each.port}`)].join(', ')}.`,
      )
      const claim = { front: front.address, application: parseMoniker(name).app ?? name }
      const before = desired.get('balancers', placeKey(balancer))
      claimHosts(hosts, claim, {
        desired,
        patterns: settings.front.hosts,
        access,
        nowMs: context.now(),
      })
      releaseHosts(hostsOf(before?.site), { balancer, front: front.address, desired })
      desired.put('balancers', balancer)
      run.report({
        loadBalancers: {
          [region]: { name, dnsName: dnsNameOf(listeners[0]?.host ?? front.address) },
        },
      })
    })
    await run.releaseWhile(() => untilOpen(balancer, reconciler))
  },
})

/** Waits until the ports are open, so that clients can use them at once. @throws {Error} when they are not */
async function untilOpen(balancer: LocalBalancer, reconciler: Reconciler): Promise<void> {
  const closed = () => reconciler.closedOf(balancer)
  await reconciler.reaches(() => closed() !== undefined, reportMs)
  if (await reconciler.reaches(() => closed()?.length === 0, openingMs)) return
  const reason = closed()?.join(' ') || 'The agent has not reported it yet.'
  throw new Error(
    `The load balancer ${balancer.name} is stored, and is not open. ${reason} It opens as soon as that is mended; or delete it.`,
  )
}

const deleteLoadBalancer = defineOperation({
  fields: {
    loadBalancerName: optionalTextPart,
    name: optionalTextPart,
    regions: textsField,
    region: optionalTextPart,
  },
  resources: ({ fields: { loadBalancerName, name } }) => [loadBalancerName, name],
  check: ({ fields }) => [
    (fields.loadBalancerName ?? fields.name) === undefined && 'loadBalancerName: it is missing.',
  ],
  run: async ({ fields, description, settings, desired, reconciler, run, change }) => {
    const name = fields.loadBalancerName ?? fields.name ?? ''
    const regions = fields.regions ?? (fields.region === undefined ? [] : [fields.region])
    const { account } = placeOf({
      description: { ...description, region: regions[0] ?? description['region'] },
      settings,
    })
    const found = regions.flatMap(
      (region) => desired.get('balancers', placeKey({ account: account.name, region, name })) ?? [],
    )
    if (found.length === 0)
      return run.note(`The load balancer ${name} does not exist: nothing is to be done.`)
    change(() => {
      for (const balancer of found) {
        remove(balancer, desired)
        releaseHosts(hostsOf(balancer.site), { front: account.front.address, desired })
      }
      run.note(`Deleting the load balancer ${name} in ${regions.join(', ')}.`)
    })
    await run.releaseWhile(() => reconciler.reaches(() => true, openingMs))
  },
})

/** Server groups and instances forget it, so that a later one of that name starts empty; hosts that users have added to it go. */
function remove(balancer: LocalBalancer, desired: Desired): void {
  const isHere = ({ account, region }: { account: string; region: string }) =>
    account === balancer.account && region === balancer.region
  const others = (names: readonly string[]) => names.filter((name) => name !== balancer.name)
  desired.remove('balancers', balancer)
  for (const host of [...desired.all('hosts')])
    if (host.loadBalancer !== undefined && placeKey(host.loadBalancer) === placeKey(balancer))
      desired.remove('hosts', host)
  for (const group of [...desired.all('groups')].filter(isHere)) {
    if (group.loadBalancers.includes(balancer.name))
      desired.put('groups', { ...group, loadBalancers: others(group.loadBalancers) })
  }
  for (const instance of [...desired.all('instances')].filter(isHere)) {
    const { registered, deregistered } = instance
    if (![...registered, ...deregistered].includes(balancer.name)) continue
    desired.put('instances', {
      ...instance,
      registered: others(registered),
      deregistered: others(deregistered),
    })
  }
}

function nameOf({ name, loadBalancerName, clusterName }: BalancerFields): string | undefined {
  return (
    name ?? loadBalancerName ?? (clusterName === undefined ? undefined : `${clusterName}-frontend`)
  )
}

function at({ account, region }: TargetPlace, name: string) {
  return { account: account.name, region: region.name, name }
}

/** Each is a server of the agent, and every change compares all of them. */
const maxListeners = 100

function checkListeners(
  { fields, desired, settings }: LocalSubmission<BalancerFields>,
  name: string,
  place: TargetPlace,
): Problems {
  const { listeners, vpcId, isInternal } = fields
  const hasHosts = toSite(fields) !== undefined
  if (listeners.length === 0 && !hasHosts) return ['listeners: it is missing or empty.']
  if (listeners.length > maxListeners) {
    return [
      `listeners: it has ${listeners.length} entries; ${maxListeners} are allowed. Create another load balancer for the others.`,
    ]
  }
  if (vpcId !== undefined && !isInternal && addressOf(vpcId) === undefined) {
    return [`vpcId: this machine has no interface "${vpcId}".`]
  }
  const own = placeKey(at(place, name))
  const others = [...desired.all('balancers')].filter((other) => placeKey(other) !== own)
  const range = place.account.loadBalancerPorts
  const fronts =
    hasHosts || isFrontOpen(desired, settings) ? settings.accounts.map(({ front }) => front) : []
  return listeners.map((listener, index) => {
    const number = listener.port
    if (number === undefined) return 'listeners: a listener has no externalPort.'
    if (number === anyPort) return undefined
    const taker = others.find((other) => other.listeners.some((each) => each.port === number))
    const owner = settings.accounts.find(({ ports }) => isPortWithin(number, ports))
    return [
      listeners.findIndex((each) => each.port === number) < index &&
        `listeners: the port ${number} is listed twice.`,
      taker &&
        `listeners: the port ${number} belongs to the load balancer ${taker.name}. Choose another port, or give this one "hosts" of its own: hosts share the ports of the front.`,
      listener.hosts !== undefined &&
        'listeners: hosts belong to the load balancer itself: move "hosts" out of the listener.',
      settings.ownPorts.includes(number) && `listeners: the port ${number} belongs to Fairlead.`,
      fronts.some(({ httpPort, httpsPort }) => [httpPort, httpsPort].includes(number)) &&
        `listeners: the port ${number} belongs to the front; give the load balancer hosts instead, or another port.`,
      owner &&
        `listeners: the port ${number} belongs to the instances of the account ${owner.name}.`,
      !isPortWithin(number, range) &&
        `listeners: the account ${place.account.name} may use the ports ${range.first}-${range.last}, and ${number} is none of them.`,
      checkProtocol(listener, certificatesOf(settings, place.account.name)),
    ]
  })
}

/** A port of a front is free for others while no load balancer has a host. */
function isFrontOpen(desired: Desired, { front }: LocalSettings): boolean {
  if (front.instanceHost !== undefined) return true
  return [...desired.all('balancers')].some(({ site }) => site !== undefined)
}

function checkProtocol(
  { protocol: external, internalProtocol: internal, certificate = '' }: ListenerFields,
  certificates: readonly { readonly name: string }[],
): string | undefined {
  if (external === 'SSL')
    return 'listeners: SSL is not offered; use HTTPS, or TCP where instances encrypt themselves.'
  if ((internal === 'HTTPS' || internal === 'SSL') && external !== 'TCP') {
    return 'listeners: requests go to instances unencrypted, on the loopback address: use internalProtocol HTTP or TCP.'
  }
  const known = certificates.map(({ name }) => name)
  if (external !== 'HTTPS' || known.includes(certificate)) return undefined
  return `listeners: HTTPS needs sslCertificateId, one of ${known.join(', ') || 'local.certificates, which has none for this account'}.`
}

/** `HTTP:7001/path`, `HTTP:/path`, `TCP:7001`; the port is the instance's own, whatever is written. */
const healthPattern = /^(HTTPS?|TCP|SSL)(?::\d*)?(\/[!-~]*)?$/i

function checkHealth(healthCheck: string | undefined): string | undefined {
  if (healthCheck === undefined || healthPattern.test(healthCheck)) return undefined
  return `healthCheck: "${healthCheck}" has not the form HTTP:8080/health or TCP:8080.`
}

function toBalancer(
  { fields, desired, context }: RunningOperation<BalancerFields>,
  place: TargetPlace,
): LocalBalancer {
  const name = nameOf(fields) ?? ''
  const before = desired.get('balancers', placeKey(at(place, name)))
  const host = fields.isInternal
    ? loopback
    : ((fields.vpcId && addressOf(fields.vpcId)) ?? place.account.address)
  const [, kind = 'TCP', path] = healthPattern.exec(fields.healthCheck ?? 'TCP') ?? []
  return {
    ...at(place, name),
    createdMs: before?.createdMs ?? context.now(),
    listeners: fields.listeners.map(
      ({ protocol: external, port: number, certificate, internalProtocol, internalPort }) => ({
        protocol: toProtocol(external),
        port: number as number,
        host,
        certificate: external === 'HTTPS' ? certificate : undefined,
        internalProtocol: internalProtocol ?? (external === 'TCP' ? 'TCP' : 'HTTP'),
        internalPort,
      }),
    ),
    health: {
      kind: kind.toUpperCase().startsWith('HTTP') ? 'http' : 'tcp',
      path: path ?? '/',
      intervalMs: fields.healthInterval * 1000,
      timeoutMs: fields.healthTimeout * 1000,
      unhealthyThreshold: fields.unhealthyThreshold,
      healthyThreshold: fields.healthyThreshold,
    },
    isInternal: fields.isInternal,
    vpcId: fields.vpcId,
    securityGroups: fields.securityGroups ?? before?.securityGroups ?? [],
    site: toSite(fields),
  }
}

function toProtocol(external: ListenerFields['protocol']): BalancerListener['protocol'] {
  return external === 'TCP' ? 'tcp' : external === 'HTTPS' ? 'https' : 'http'
}

/** Stands for a free port, which the load balancer then keeps. */
const anyPort = 0
/** Range below the ports that systems give to clients. */
const anyPorts = { first: 10_000, last: 32_000 }
const portTries = 200

/** @throws {Error} where no port is found */
async function withPorts(balancer: LocalBalancer, parts: RunningOperation): Promise<LocalBalancer> {
  const { desired, settings } = parts
  const before = desired.get('balancers', placeKey(balancer))
  const taken = [...desired.all('balancers')].flatMap((each) => each.listeners)
  const range = placeOf(parts).account.loadBalancerPorts
  const first = Math.max(range.first, Math.min(anyPorts.first, range.last))
  const last = Math.max(first, Math.min(range.last, anyPorts.last))
  const isFree = async (host: string, number: number) =>
    !settings.ownPorts.includes(number) &&
    settings.accounts.every(
      ({ ports, front }) =>
        !isPortWithin(number, ports) && ![front.httpPort, front.httpsPort].includes(number),
    ) &&
    taken.every((each) => each.port !== number) &&
    (await tryPort(host, number)) === undefined
  const find = async (host: string) => {
    for (let attempt = 0; attempt < portTries; attempt++) {
      const number = randomInt(first, last + 1)
      if (await isFree(host, number)) return number
    }
    throw new Error(
      `No port for ${balancer.name} is free in ${first}-${last}: widen local.accounts[].load-balancer-ports.`,
    )
  }
  const listeners: BalancerListener[] = []
  for (const [index, listener] of balancer.listeners.entries()) {
    const kept = before?.listeners[index]?.port
    const number = listener.port === anyPort ? (kept ?? (await find(listener.host))) : listener.port
    listeners.push({ ...listener, port: number })
  }
  return { ...balancer, listeners }
}

/** A port that the load balancer has already is its own. @throws {Error} when another process listens */
async function checkPortsFree(balancer: LocalBalancer, desired: Desired): Promise<void> {
  const before = desired.get('balancers', placeKey(balancer))?.listeners ?? []
  for (const { host, port: number } of balancer.listeners) {
    if (before.some((listener) => listener.port === number)) continue
    if (number >= 1024 && (await tryPort(host, number)) !== undefined) {
      throw new Error(
        `Another program of this machine listens on ${host}:${number}. Choose another port, or stop it.`,
      )
    }
  }
}

export const localLoadBalancerOperations: LocalOperations = {
  upsertLoadBalancer,
  deleteLoadBalancer,
}
