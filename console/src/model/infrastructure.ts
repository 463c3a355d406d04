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

export interface ListenerDraft {
  readonly externalProtocol: string
  readonly externalPort: string
  readonly internalProtocol: string
  /** The certificate of HTTPS. */
  readonly certificate: string
}

export interface BalancerDraft {
  readonly name: string
  readonly account: string
  readonly region: string
  readonly listeners: readonly ListenerDraft[]
  /** `HTTP:/health` or `TCP`. */
  readonly healthCheck: string
  /** In seconds. */
  readonly healthInterval: string
  readonly healthTimeout: string
  readonly unhealthyThreshold: string
  readonly healthyThreshold: string
  readonly isInternal: boolean
  readonly securityGroups: readonly string[]
}

export const newListener: ListenerDraft = {
  externalProtocol: 'HTTP',
  externalPort: '',
  internalProtocol: 'HTTP',
  certificate: '',
}

export function toBalancerDraft(balancer: Schemas['LoadBalancer'] | undefined, account = '', region = ''): BalancerDraft {
  const check = objectOf(balancer?.['healthCheck'])
  const value = (key: string, otherwise: string) => textOf(check[key]) ?? otherwise
  return {
    name: balancer?.name ?? '',
    account: balancer?.account ?? account,
    region: balancer?.region ?? region,
    listeners: balancer === undefined ? [newListener] : toListeners(balancer['listeners']),
    healthCheck: value('target', 'HTTP:/health'),
    healthInterval: value('interval', '10'),
    healthTimeout: value('timeout', '5'),
    unhealthyThreshold: value('unhealthyThreshold', '2'),
    healthyThreshold: value('healthyThreshold', '2'),
    isInternal: balancer?.['isInternal'] === true,
    securityGroups: textsOf(balancer?.securityGroups),
  }
}

function toListeners(listeners: unknown): readonly ListenerDraft[] {
  return objectsOf(listeners).map((listener) => ({
    externalProtocol: textOf(listener['externalProtocol']) ?? 'HTTP',
    externalPort: textOf(listener['externalPort']) ?? '',
    internalProtocol: textOf(listener['internalProtocol']) ?? 'HTTP',
    certificate: textOf(listener['sslCertificateId']) ?? textOf(listener['certificate']) ?? '',
  }))
}

/** What an earlier job has set. */
export function balancerDraftOfJob(job: Json): Partial<BalancerDraft> {
  const texts = ['healthCheck', 'healthInterval', 'healthTimeout', 'unhealthyThreshold', 'healthyThreshold'] as const
  return {
    ...Object.fromEntries(texts.flatMap((key) => (textOf(job[key]) === undefined ? [] : [[key, textOf(job[key])]]))),
    ...(Array.isArray(job['listeners']) && { listeners: toListeners(job['listeners']) }),
    ...(typeof job['isInternal'] === 'boolean' && { isInternal: job['isInternal'] }),
    ...(Array.isArray(job['securityGroups']) && { securityGroups: textsOf(job['securityGroups']) }),
  }
}

export function toBalancerJob(draft: BalancerDraft, cloudProvider: string): Json & { readonly type: string } {
  const { name, account, region, listeners, securityGroups, isInternal } = draft
  const { healthCheck, healthInterval, healthTimeout, unhealthyThreshold, healthyThreshold } = draft
  return {
    type: 'upsertLoadBalancer',
    cloudProvider,
    credentials: account,
    account,
    region,
    name: name.trim(),
    loadBalancerName: name.trim(),
    listeners: listeners.map(({ externalProtocol, externalPort, internalProtocol, certificate }) => ({
      externalProtocol,
      externalPort: numberOf(externalPort) ?? externalPort,
      internalProtocol,
      ...(certificate.trim() !== '' && { sslCertificateId: certificate.trim() }),
    })),
    healthCheck: healthCheck.trim(),
    healthInterval: numberOf(healthInterval),
    healthTimeout: numberOf(healthTimeout),
    unhealthyThreshold: numberOf(unhealthyThreshold),
    healthyThreshold: numberOf(healthyThreshold),
    isInternal,
    securityGroups: [...securityGroups],
  }
}

export interface RuleDraft {
  /** A network such as 10.0.0.0/8, or the name of a security group. */
  readonly source: string
  readonly isGroup: boolean
  readonly protocol: string
  /** Empty for all. */
  readonly startPort: string
  readonly endPort: string
}

export interface SecurityGroupDraft {
  readonly name: string
  readonly description: string
  readonly account: string
  readonly region: string
  readonly rules: readonly RuleDraft[]
}

export const newRule: RuleDraft = { source: '', isGroup: false, protocol: 'tcp', startPort: '', endPort: '' }

export function toSecurityGroupDraft(
  group: Schemas['SecurityGroup'] | undefined,
  place: { readonly account: string; readonly region: string },
): SecurityGroupDraft {
  return {
    name: group?.name ?? '',
    description: group?.description ?? '',
    ...place,
    rules: objectsOf(group?.inboundRules).flatMap(toRules),
  }
}

/** A rule has several ranges of ports; the form has a row for each. */
function toRules(rule: Json): readonly RuleDraft[] {
  const range = objectOf(rule['range'])
  const ip = textOf(range['ip'])
  const group = textOf(objectOf(rule['securityGroup'])['name'])
  const source = ip === undefined ? (group ?? '') : `${ip}${textOf(range['cidr']) ?? ''}`
  const ports = objectsOf(rule['portRanges'])
  return (ports.length === 0 ? [{}] : ports).map((port: Json) => {
    const isAll = numberOf(port['startPort']) === 0 && numberOf(port['endPort']) === 65_535
    return {
      source,
      isGroup: ip === undefined,
      protocol: textOf(rule['protocol']) ?? 'tcp',
      startPort: isAll ? '' : (textOf(port['startPort']) ?? ''),
      endPort: isAll ? '' : (textOf(port['endPort']) ?? ''),
    }
  })
}

export function toSecurityGroupJob(draft: SecurityGroupDraft, cloudProvider: string): Json & { readonly type: string } {
  const { name, description, account, region, rules } = draft
  const ports = ({ protocol, startPort, endPort }: RuleDraft) => ({
    type: protocol,
    ...(startPort.trim() !== '' && {
      startPort: numberOf(startPort) ?? startPort,
      endPort: numberOf(endPort) ?? numberOf(startPort) ?? endPort,
    }),
  })
  return {
    type: 'upsertSecurityGroup',
    cloudProvider,
    credentials: account,
    account,
    region,
    regions: [region],
    name: name.trim(),
    securityGroupName: name.trim(),
    description,
    ipIngress: rules.filter(({ isGroup }) => !isGroup).map((rule) => ({ cidr: rule.source.trim(), ...ports(rule) })),
    securityGroupIngress: rules.filter(({ isGroup }) => isGroup).map((rule) => ({ name: rule.source.trim(), ...ports(rule) })),
  }
}

/** What an earlier job has set. */
export function securityGroupDraftOfJob(job: Json): Partial<SecurityGroupDraft> {
  const toRule = (isGroup: boolean) => (rule: Json) => ({
    source: textOf(isGroup ? rule['name'] : rule['cidr']) ?? '',
    isGroup,
    protocol: textOf(rule['type']) ?? 'tcp',
    startPort: textOf(rule['startPort']) ?? '',
    endPort: textOf(rule['endPort']) ?? '',
  })
  return {
    description: textOf(job['description']) ?? '',
    rules: [...objectsOf(job['ipIngress']).map(toRule(false)), ...objectsOf(job['securityGroupIngress']).map(toRule(true))],
  }
}

/** @param byAccount By account, provider and region. */
export function securityGroupsOf(byAccount: unknown) {
  return Object.entries(objectOf(byAccount)).flatMap(([account, byProvider]) =>
    Object.entries(objectOf(byProvider)).flatMap(([provider, byRegion]) =>
      Object.entries(objectOf(byRegion)).flatMap(([region, groups]) =>
        objectsOf(groups).flatMap((group) => {
          const name = textOf(group['name'])
          return name === undefined ? [] : [{ provider, account, region, name, application: ownerOf(group, name) }]
        }),
      ),
    ),
  )
}

/** Providers write no owner to most summaries: names begin with it. */
function ownerOf(group: Json, name: string): string {
  return textOf(group['application']) ?? textOf(objectOf(group['moniker'])['app']) ?? applicationOf(name)
}

/** The names of groups and load balancers begin with that of their application. */
export function applicationOf(name: string): string {
  return name.trim().split('-')[0] ?? ''
}

interface DeployingPipeline {
  readonly id: string
  readonly name: string
  readonly application: string
  /** Values of its parameters that deploy the image. */
  readonly parameters: Readonly<Record<string, string>>
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
): readonly DeployingPipeline[] {
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
