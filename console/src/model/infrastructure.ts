/** Load balancers and security groups as their forms edit them, and the jobs that store them. */
import type { components } from '../api/schema.d.ts'
import { imagesIn } from './deployments.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf, textsOf } from './read.ts'

type Schemas = components['schemas']

/** What identifies a load balancer. */
export function placeOf(balancer: Schemas['LoadBalancer']) {
  return {
    name: balancer.name ?? textOf(balancer['loadBalancerName']) ?? '',
    account: balancer.account ?? '',
    region: balancer.region ?? '',
    provider: balancer.cloudProvider ?? balancer.type ?? '',
  }
}

export const newListener = { externalProtocol: 'HTTP', externalPort: '', internalProtocol: 'HTTP', certificate: '' }
export const newRule = { source: '', isGroup: false, protocol: 'tcp', startPort: '', endPort: '' }

export type BalancerDraft = ReturnType<typeof toBalancerDraft>
export type SecurityGroupDraft = ReturnType<typeof toSecurityGroupDraft>

function toPlace({ name, account, region }: Json) {
  return { name: textOf(name) ?? '', account: textOf(account) ?? '', region: textOf(region) ?? '' }
}

/** @param record A load balancer, whose check is an object, or the fields of a job that stores one. */
export function toBalancerDraft(record: Json) {
  const check = objectOf(record['healthCheck'])
  const value = (key: string, ofCheck: string, otherwise: string) => textOf(record[key]) ?? textOf(check[ofCheck]) ?? otherwise
  return {
    ...toPlace(record),
    listeners: toListeners(record['listeners']),
    /** `HTTP:/health` or `TCP`. */
    healthCheck: value('healthCheck', 'target', 'HTTP:/health'),
    healthInterval: value('healthInterval', 'interval', '10'),
    healthTimeout: value('healthTimeout', 'timeout', '5'),
    unhealthyThreshold: value('unhealthyThreshold', 'unhealthyThreshold', '2'),
    healthyThreshold: value('healthyThreshold', 'healthyThreshold', '2'),
    isInternal: record['isInternal'] === true,
    securityGroups: textsOf(record['securityGroups']),
  }
}

function toListeners(listeners: unknown): readonly (typeof newListener)[] {
  if (!Array.isArray(listeners)) return [newListener]
  return objectsOf(listeners).map((listener) => ({
    externalProtocol: textOf(listener['externalProtocol']) ?? 'HTTP',
    externalPort: textOf(listener['externalPort']) ?? '',
    internalProtocol: textOf(listener['internalProtocol']) ?? 'HTTP',
    certificate: textOf(listener['sslCertificateId']) ?? textOf(listener['certificate']) ?? '',
  }))
}

export function toBalancerJob({ name, account, listeners, securityGroups, ...draft }: BalancerDraft, cloudProvider: string) {
  return {
    ...{ type: 'upsertLoadBalancer', cloudProvider, credentials: account, account },
    ...draft,
    ...{ name: name.trim(), loadBalancerName: name.trim() },
    listeners: listeners.map(({ certificate, externalPort, ...listener }) => ({
      ...listener,
      externalPort: numberOf(externalPort) ?? externalPort,
      ...(certificate.trim() !== '' && { sslCertificateId: certificate.trim() }),
    })),
    healthCheck: draft.healthCheck.trim(),
    healthInterval: numberOf(draft.healthInterval),
    healthTimeout: numberOf(draft.healthTimeout),
    unhealthyThreshold: numberOf(draft.unhealthyThreshold),
    healthyThreshold: numberOf(draft.healthyThreshold),
    securityGroups: [...securityGroups],
  }
}

/** @param record A security group with its place, or the fields of a job that stores one. */
export function toSecurityGroupDraft(record: Json) {
  const { description, inboundRules, ipIngress, securityGroupIngress } = record
  const ofJob: readonly (typeof newRule)[] = [
    ...objectsOf(ipIngress).map((rule) => ({ ...toPorts(rule), source: textOf(rule['cidr']) ?? '', isGroup: false })),
    ...objectsOf(securityGroupIngress).map((rule) => ({ ...toPorts(rule), source: textOf(rule['name']) ?? '', isGroup: true })),
  ]
  return {
    ...toPlace(record),
    description: textOf(description) ?? '',
    rules: ipIngress === undefined ? objectsOf(inboundRules).flatMap(toRules) : ofJob,
  }
}

function toPorts({ type, startPort, endPort }: Json) {
  return { protocol: textOf(type) ?? 'tcp', startPort: textOf(startPort) ?? '', endPort: textOf(endPort) ?? '' }
}

/** A rule has several ranges of ports; the form has a row for each. */
function toRules({ protocol, range, securityGroup, portRanges }: Json): readonly (typeof newRule)[] {
  const { ip, cidr } = objectOf(range)
  const group = textOf(objectOf(securityGroup)['name']) ?? ''
  const source = textOf(ip) === undefined ? group : `${textOf(ip)}${textOf(cidr) ?? ''}`
  const ranges = objectsOf(portRanges)
  return (ranges.length === 0 ? [{}] : ranges).map(({ startPort, endPort }: Json) => {
    const isAll = numberOf(startPort) === 0 && numberOf(endPort) === 65_535
    return { source, isGroup: textOf(ip) === undefined, ...toPorts({ type: protocol, ...(!isAll && { startPort, endPort }) }) }
  })
}

export function toSecurityGroupJob({ name, account, region, description, rules }: SecurityGroupDraft, cloudProvider: string) {
  const ports = ({ protocol, startPort, endPort }: typeof newRule) => ({
    type: protocol,
    ...(startPort.trim() !== '' && {
      startPort: numberOf(startPort) ?? startPort,
      endPort: numberOf(endPort) ?? numberOf(startPort) ?? endPort,
    }),
  })
  return {
    ...{ type: 'upsertSecurityGroup', cloudProvider, credentials: account, account, region, regions: [region] },
    ...{ name: name.trim(), securityGroupName: name.trim(), description },
    ipIngress: rules.filter(({ isGroup }) => !isGroup).map((rule) => ({ cidr: rule.source.trim(), ...ports(rule) })),
    securityGroupIngress: rules.filter(({ isGroup }) => isGroup).map((rule) => ({ name: rule.source.trim(), ...ports(rule) })),
  }
}

/** @param byAccount By account, provider and region. */
export function securityGroupsOf(byAccount: unknown) {
  return Object.entries(objectOf(byAccount)).flatMap(([account, byProvider]) =>
    Object.entries(objectOf(byProvider)).flatMap(([provider, byRegion]) =>
      Object.entries(objectOf(byRegion)).flatMap(([region, groups]) =>
        objectsOf(groups).flatMap((group) => {
          const name = textOf(group['name'])
          if (name === undefined) return []
          // Providers write no owner to most summaries: names begin with it.
          const owner = textOf(group['application']) ?? textOf(objectOf(group['moniker'])['app']) ?? applicationOf(name)
          return [{ provider, account, region, name, application: owner }]
        }),
      ),
    ),
  )
}

/** The names of groups and load balancers begin with that of their application. */
export function applicationOf(name: string): string {
  return name.trim().split('-')[0] ?? ''
}

/**
 * Pipelines that deploy an image of this name: as it stands, or with the version in a parameter.
 *
 * @param isThere Whether an account is one of those that matter
 */
export function pipelinesThatDeploy(
  imageId: string,
  pipelines: readonly Schemas['Pipeline'][],
  isThere: (account: string) => boolean = () => true,
) {
  const at = imageId.lastIndexOf(':')
  const [image, version] = at === -1 ? [imageId, ''] : [imageId.slice(0, at), imageId.slice(at + 1)]
  return pipelines.flatMap(({ id, name, application, stages }) => {
    const wanted = objectsOf(stages)
      .flatMap((stage) => [...objectsOf(stage['clusters']), stage])
      .filter(({ account, credentials }) => isThere(textOf(account) ?? textOf(credentials) ?? ''))
      .flatMap(({ imageId: image, manifests }) => [textOf(image) ?? [], imagesIn(manifests)].flat())
    for (const text of wanted) {
      const parameters = parametersFor(text, image, version, imageId)
      if (parameters !== undefined && id !== undefined) return [{ id, name, application, parameters }]
    }
    return []
  })
}

const parameterOf = /\$\{\s*(?:trigger\.)?parameters(?:\.([\w-]+)|\[['"]([^'"]+)['"]\])\s*\}/

function parametersFor(text: string, image: string, version: string, whole: string): Record<string, string> | undefined {
  const found = parameterOf.exec(text)
  const parameter = found?.[1] ?? found?.[2]
  if (found === null || parameter === undefined) return text === whole ? {} : undefined
  if (text === found[0]) return { [parameter]: whole }
  return text === `${image}:${found[0]}` ? { [parameter]: version } : undefined
}

/** The log of a bake. The API wraps it for browsers that show it as a page. */
export function toBakeLog(answer: unknown): string {
  const text = textOf(objectOf(answer)['logsContent']) ?? textOf(answer) ?? ''
  return /^<pre>([\s\S]*)<\/pre>\s*$/.exec(text)?.[1] ?? text
}
