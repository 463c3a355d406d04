/** upsertLoadBalancer and deleteLoadBalancer. */
import { z } from 'zod'
import { type JsonObject, listOf } from '../../../../../json/values.ts'
import { shorten } from '../../../../../names/edit-distance.ts'
import { tryPort } from '../../../../../net/try-port.ts'
import type { OperationTypes } from '../../../operation-type.ts'
import type { BalancerListener, LocalBalancer } from '../desired.ts'
import { placeKey } from '../desired.ts'
import { addressOf, dnsNameOf, loopback } from '../machine.ts'
import { isWithin } from '../port-range.ts'
import {
  commitChange,
  defineOperation,
  flagField,
  numeric,
  type OperationParts,
  optionalTextPart,
  placeOf,
  portField,
  type TargetPlace,
  textsField,
} from './parts.ts'

const seconds = (otherwise: number) =>
  numeric(z.number().min(0.1).max(3600))
    .nullish()
    .transform((value) => value ?? otherwise)
const threshold = (otherwise: number) =>
  numeric(z.number().int().min(1).max(100))
    .nullish()
    .transform((value) => value ?? otherwise)

const protocols = ['HTTP', 'HTTPS', 'TCP', 'SSL'] as const
const protocol = z
  .string()
  .transform((value) => value.trim().toUpperCase())
  .pipe(z.enum(protocols))

const ListenerFields = z.looseObject({
  externalProtocol: protocol.nullish(),
  protocol: protocol.nullish(),
  externalPort: portField.nullish(),
  port: portField.nullish(),
  internalProtocol: protocol.nullish(),
  internalPort: portField.nullish(),
  sslCertificateId: optionalTextPart,
  sslCertificateName: optionalTextPart,
})

const BalancerFields = z.looseObject({
  name: optionalTextPart,
  loadBalancerName: optionalTextPart,
  clusterName: optionalTextPart,
  vpcId: optionalTextPart,
  listeners: z
    .array(ListenerFields)
    .nullish()
    .transform((value) => value ?? []),
  healthCheck: optionalTextPart,
  healthInterval: seconds(10),
  healthTimeout: seconds(5),
  unhealthyThreshold: threshold(2),
  healthyThreshold: threshold(10),
  isInternal: flagField,
  securityGroups: textsField,
})
type BalancerFields = z.output<typeof BalancerFields>

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
/** Longest time that a port may take to open or close. */
const openingMs = 10_000

export function localLoadBalancerOperations(parts: OperationParts): OperationTypes {
  const { desired, settings, reconciler } = parts

  const upsertLoadBalancer = defineOperation({
    fields: BalancerFields,
    resources: ({ name, loadBalancerName, clusterName, securityGroups }: JsonObject) => [
      name,
      loadBalancerName,
      clusterName,
      ...listOf(securityGroups),
    ],
    check: (fields, description) => {
      const place = placeOf(description, settings)
      const name = nameOf(fields)
      if (name === undefined) return ['name: it is missing.']
      return [
        ...(namePattern.test(name)
          ? []
          : [`name: "${shorten(name)}" may have letters, digits, ".", "_" and "-" only, 128 at most.`]),
        ...checkListeners(fields, name, place, parts),
        ...checkHealth(fields.healthCheck),
        ...(fields.securityGroups ?? [])
          .filter((group) => desired.get('firewalls', placeKey(at(place, group))) === undefined)
          .map((group) => `securityGroups: "${group}" does not exist in ${place.account.name}/${place.region.name}.`),
      ]
    },
    run: async (fields, run, description) => {
      const place = placeOf(description, settings)
      const balancer = toBalancer(fields, place, parts)
      await checkPortsFree(balancer, parts)
      commitChange(parts, run, () => {
        run.note(
          `Storing the load balancer ${balancer.name}: ${balancer.listeners.map((each) => `${each.host}:${each.port}`).join(', ')}.`,
        )
        desired.put('balancers', balancer)
        run.report({
          loadBalancers: { [balancer.region]: { name: balancer.name, dnsName: dnsNameOf(balancer.listeners[0]?.host ?? '') } },
        })
      })
      await run.aside(() => untilOpen(balancer))
    },
  })

  const deleteLoadBalancer = defineOperation({
    fields: z.looseObject({
      loadBalancerName: optionalTextPart,
      name: optionalTextPart,
      regions: textsField,
      region: optionalTextPart,
    }),
    resources: ({ loadBalancerName, name }: JsonObject) => [loadBalancerName, name],
    check: ({ loadBalancerName, name }) => ((loadBalancerName ?? name) === undefined ? ['loadBalancerName: it is missing.'] : []),
    run: async (fields, run, description) => {
      const name = fields.loadBalancerName ?? fields.name ?? ''
      const regions = fields.regions ?? (fields.region === undefined ? [] : [fields.region])
      const { account } = placeOf({ ...description, region: regions[0] ?? description['region'] }, settings)
      const found = regions.flatMap((region) => desired.get('balancers', placeKey({ account: account.name, region, name })) ?? [])
      if (found.length === 0) return run.note(`The load balancer ${name} does not exist: nothing is to be done.`)
      commitChange(parts, run, () => {
        for (const balancer of found) remove(balancer)
        run.note(`Deleting the load balancer ${name} in ${regions.join(', ')}.`)
      })
      await run.aside(() => reconciler.reaches(() => true, openingMs))
    },
  })

  /** A client that was told of the port finds it open. @throws {Error} when it is not */
  async function untilOpen(balancer: LocalBalancer): Promise<void> {
    const closed = () => reconciler.observation.closed.get(placeKey(balancer))
    if (await reconciler.reaches(() => closed()?.length === 0, openingMs)) return
    const reason = closed()?.join('; ') || 'the agent has not reported it yet'
    throw new Error(
      `The load balancer ${balancer.name} is stored, and is not open: ${reason}. It opens as soon as that is mended; or delete it.`,
    )
  }

  /** Server groups and instances forget it, so that a later one of that name starts empty. */
  function remove(balancer: LocalBalancer): void {
    const isHere = ({ account, region }: { account: string; region: string }) =>
      account === balancer.account && region === balancer.region
    const others = (names: readonly string[]) => names.filter((name) => name !== balancer.name)
    desired.remove('balancers', balancer)
    for (const group of [...desired.all('groups')].filter(isHere)) {
      if (group.loadBalancers.includes(balancer.name))
        desired.put('groups', { ...group, loadBalancers: others(group.loadBalancers) })
    }
    for (const instance of [...desired.all('instances')].filter(isHere)) {
      if (![...instance.registered, ...instance.deregistered].includes(balancer.name)) continue
      desired.put('instances', {
        ...instance,
        registered: others(instance.registered),
        deregistered: others(instance.deregistered),
      })
    }
  }

  return { upsertLoadBalancer, deleteLoadBalancer }
}

function nameOf({ name, loadBalancerName, clusterName }: BalancerFields): string | undefined {
  return name ?? loadBalancerName ?? (clusterName === undefined ? undefined : `${clusterName}-frontend`)
}

function at({ account, region }: TargetPlace, name: string) {
  return { account: account.name, region: region.name, name }
}

function portOf({ externalPort, port: other }: BalancerFields['listeners'][number]): number | undefined {
  return externalPort ?? other ?? undefined
}

function protocolOf({ externalProtocol, protocol: other }: BalancerFields['listeners'][number]): (typeof protocols)[number] {
  return externalProtocol ?? other ?? 'HTTP'
}

/** Each is a server of the agent, and every change compares all of them. */
const maxListeners = 100

function checkListeners(
  fields: BalancerFields,
  name: string,
  place: TargetPlace,
  { desired, settings }: OperationParts,
): string[] {
  const { listeners, vpcId, isInternal } = fields
  if (listeners.length === 0) return ['listeners: it is missing or empty.']
  if (listeners.length > maxListeners) {
    return [
      `listeners: it has ${listeners.length} entries; ${maxListeners} are allowed. Create another load balancer for the others.`,
    ]
  }
  if (vpcId !== undefined && !isInternal && addressOf(vpcId) === undefined) {
    return [`vpcId: this machine has no interface "${vpcId}".`]
  }
  const own = placeKey(at(place, name))
  const taken = new Map<number, string>()
  for (const other of desired.all('balancers')) {
    if (placeKey(other) !== own) for (const each of other.listeners) taken.set(each.port, `the load balancer ${other.name}`)
  }
  const seen = new Set<number>()
  return listeners.flatMap((listener) => {
    const number = portOf(listener)
    if (number === undefined) return ['listeners: a listener has no externalPort.']
    const owner = settings.accounts.find(({ ports }) => isWithin(number, ports))
    const problems = [
      ...(seen.has(number) ? [`listeners: the port ${number} is listed twice.`] : []),
      ...(taken.has(number) ? [`listeners: the port ${number} belongs to ${taken.get(number)}.`] : []),
      ...(settings.ownPorts.includes(number) ? [`listeners: the port ${number} belongs to Fairlead.`] : []),
      ...(owner === undefined ? [] : [`listeners: the port ${number} belongs to the instances of the account ${owner.name}.`]),
      ...(isWithin(number, place.account.loadBalancerPorts)
        ? []
        : [
            `listeners: the account ${place.account.name} may use the ports ${place.account.loadBalancerPorts.first}-` +
              `${place.account.loadBalancerPorts.last}, and ${number} is none of them.`,
          ]),
      ...checkProtocol(listener, settings.certificates),
    ]
    seen.add(number)
    return problems
  })
}

function checkProtocol(
  listener: BalancerFields['listeners'][number],
  certificates: readonly { readonly name: string }[],
): string[] {
  const external = protocolOf(listener)
  const internal = listener.internalProtocol ?? 'HTTP'
  if (external === 'SSL') return ['listeners: SSL is not offered; use HTTPS, or TCP where instances encrypt themselves.']
  if (internal === 'HTTPS' || internal === 'SSL') {
    if (external !== 'TCP')
      return ['listeners: requests go to instances unencrypted, on the loopback address: use internalProtocol HTTP or TCP.']
  }
  if (external !== 'HTTPS') return []
  const wanted = listener.sslCertificateId ?? listener.sslCertificateName
  const known = certificates.map(({ name }) => name)
  if (wanted !== undefined && known.includes(wanted)) return []
  return [
    `listeners: HTTPS needs sslCertificateId, one of ${known.join(', ') || 'the certificates of local.certificates, which is empty'}.`,
  ]
}

/** `HTTP:7001/path`, `HTTP:/path`, `TCP:7001`; the port is the instance's own, whatever is written. */
const healthPattern = /^(HTTPS?|TCP|SSL)(?::\d*)?(\/[!-~]*)?$/i

function checkHealth(healthCheck: string | undefined): string[] {
  if (healthCheck === undefined || healthPattern.test(healthCheck)) return []
  return [`healthCheck: "${healthCheck}" has not the form HTTP:8080/health or TCP:8080.`]
}

function toBalancer(fields: BalancerFields, place: TargetPlace, { desired, context }: OperationParts): LocalBalancer {
  const name = nameOf(fields) ?? ''
  const before = desired.get('balancers', placeKey(at(place, name)))
  const host = fields.isInternal ? loopback : ((fields.vpcId && addressOf(fields.vpcId)) ?? place.account.address)
  const [, kind = 'TCP', path] = healthPattern.exec(fields.healthCheck ?? 'TCP') ?? []
  return {
    ...at(place, name),
    createdMs: before?.createdMs ?? context.now(),
    listeners: fields.listeners.map((listener): BalancerListener => {
      const external = protocolOf(listener)
      const isPlain = external === 'TCP' || external === 'SSL'
      return {
        protocol: isPlain ? 'tcp' : external === 'HTTPS' ? 'https' : 'http',
        port: portOf(listener) as number,
        host,
        certificate: external === 'HTTPS' ? (listener.sslCertificateId ?? listener.sslCertificateName) : undefined,
        internalProtocol: listener.internalProtocol ?? (isPlain ? 'TCP' : 'HTTP'),
        internalPort: listener.internalPort ?? undefined,
      }
    }),
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
  }
}

/** A port that the load balancer has already is its own. @throws {Error} when another process listens */
async function checkPortsFree(balancer: LocalBalancer, { desired }: OperationParts): Promise<void> {
  const before = desired.get('balancers', placeKey(balancer))?.listeners ?? []
  for (const { host, port: number } of balancer.listeners) {
    if (before.some((listener) => listener.port === number)) continue
    if (number >= 1024 && (await tryPort(host, number)) !== undefined) {
      throw new Error(`Another program of this machine listens on ${host}:${number}. Choose another port, or stop it.`)
    }
  }
}
