/** Load balancers and security groups as their forms edit them, and the jobs that store them. */

import {
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { imagesIn } from '@fairlead/model/environments/images.ts'
import type { components } from '../api/schema.d.ts'
import { targetsOf } from './deployments.ts'
import { accountIn } from './stage-output.ts'

type Schemas = components['schemas']

/** What identifies an object of a cloud provider. */
export type Place = Readonly<Record<'provider' | 'account' | 'region' | 'name', string>>

export function placeOf(balancer: Schemas['LoadBalancer']): Place {
  return {
    name: balancer.name ?? scalarOf(balancer['loadBalancerName']) ?? '',
    account: balancer.account ?? '',
    region: balancer.region ?? '',
    provider: balancer.cloudProvider ?? balancer.type ?? '',
  }
}

export const newListener = {
  externalProtocol: 'HTTP',
  externalPort: '',
  internalProtocol: 'HTTP',
  certificate: '',
}
export const newRule = { source: '', kind: 'network', protocol: 'tcp', startPort: '', endPort: '' }

function toPlace({ name, account, region }: JsonObject) {
  return {
    name: scalarOf(name) ?? '',
    account: scalarOf(account) ?? '',
    region: scalarOf(region) ?? '',
  }
}

/** `HTTP:/health` or `TCP`, and numbers. */
const usualChecks = {
  healthCheck: 'HTTP:/health',
  healthInterval: '10',
  healthTimeout: '5',
  unhealthyThreshold: '2',
  healthyThreshold: '2',
}

/** @param record A load balancer, whose check is an object, or the fields of a job that stores one. */
export function toBalancerDraft(record: JsonObject) {
  const {
    target: healthCheck,
    interval: healthInterval,
    timeout: healthTimeout,
    ...check
  } = objectOf(record['healthCheck'])
  const given: JsonObject = { healthCheck, healthInterval, healthTimeout, ...check }
  const checks = Object.entries(usualChecks).map(([key, usual]) => [
    key,
    scalarOf(record[key]) ?? scalarOf(given[key]) ?? usual,
  ])
  const listeners = Array.isArray(record['listeners'])
    ? objectsOf(record['listeners'])
    : [newListener]
  return {
    ...toPlace(record),
    ...(Object.fromEntries(checks) as typeof usualChecks),
    listeners: listeners.map(
      ({
        externalProtocol,
        externalPort,
        internalProtocol,
        certificate,
        sslCertificateId,
      }: JsonObject) => ({
        externalProtocol: scalarOf(externalProtocol) ?? 'HTTP',
        externalPort: scalarOf(externalPort) ?? '',
        internalProtocol: scalarOf(internalProtocol) ?? 'HTTP',
        certificate: scalarOf(sslCertificateId) ?? scalarOf(certificate) ?? '',
      }),
    ),
    isInternal: record['isInternal'] === true,
    securityGroups: textsOf(record['securityGroups']),
  }
}

/** What all jobs begin with that store something. */
function toJob(
  type: string,
  cloudProvider: string,
  { name, account, region }: ReturnType<typeof toPlace>,
) {
  return { type, cloudProvider, credentials: account, account, region, name: name.trim() }
}

export function toBalancerJob(
  { listeners, ...draft }: ReturnType<typeof toBalancerDraft>,
  cloudProvider: string,
) {
  const job = toJob('upsertLoadBalancer', cloudProvider, draft)
  return {
    ...draft,
    ...job,
    loadBalancerName: job.name,
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
  }
}

/** @param record A security group with its place, or the fields of a job that stores one. */
export function toSecurityGroupDraft(record: JsonObject) {
  const { description, inboundRules, ipIngress, securityGroupIngress } = record
  const ofJob = [
    ...objectsOf(ipIngress).map((rule) =>
      toRule('network', scalarOf(rule['cidr']), rule['type'], rule),
    ),
    ...objectsOf(securityGroupIngress).map((rule) =>
      toRule('security group', scalarOf(rule['name']), rule['type'], rule),
    ),
  ]
  const rules = ipIngress === undefined ? objectsOf(inboundRules).flatMap(toRules) : ofJob
  return { ...toPlace(record), description: scalarOf(description) ?? '', rules }
}

function toRule(
  kind: string,
  source = '',
  protocol: unknown,
  { startPort, endPort }: JsonObject,
): typeof newRule {
  const ports = { startPort: scalarOf(startPort) ?? '', endPort: scalarOf(endPort) ?? '' }
  return { kind, source, protocol: scalarOf(protocol) ?? 'tcp', ...ports }
}

/** A rule has several ranges of ports; the form has a row for each. */
function toRules({ protocol, range, securityGroup, portRanges }: JsonObject) {
  const { ip, cidr } = objectOf(range)
  const isNetwork = scalarOf(ip) !== undefined
  const source = isNetwork
    ? `${scalarOf(ip)}${scalarOf(cidr) ?? ''}`
    : scalarOf(objectOf(securityGroup)['name'])
  const ranges = objectsOf(portRanges)
  return (ranges.length === 0 ? [{}] : ranges).map((ports: JsonObject) => {
    const isAll = numberOf(ports['startPort']) === 0 && numberOf(ports['endPort']) === 65_535
    return toRule(isNetwork ? 'network' : 'security group', source, protocol, isAll ? {} : ports)
  })
}

export function toSecurityGroupJob(
  { rules, ...draft }: ReturnType<typeof toSecurityGroupDraft>,
  cloudProvider: string,
) {
  const job = toJob('upsertSecurityGroup', cloudProvider, draft)
  const ingress = (kind: string, sourceKey: string) =>
    rules
      .filter((rule) => rule.kind === kind)
      .map(({ source, protocol, startPort, endPort }) => ({
        [sourceKey]: source.trim(),
        type: protocol,
        ...(startPort.trim() !== '' && {
          startPort: numberOf(startPort) ?? startPort,
          endPort: numberOf(endPort) ?? numberOf(startPort) ?? endPort,
        }),
      }))
  return {
    ...job,
    regions: [draft.region],
    securityGroupName: job.name,
    description: draft.description,
    ipIngress: ingress('network', 'cidr'),
    securityGroupIngress: ingress('security group', 'name'),
  }
}

/** @param byAccount By account, provider and region. */
export function securityGroupsOf(byAccount: unknown) {
  return Object.entries(objectOf(byAccount)).flatMap(([account, byProvider]) =>
    Object.entries(objectOf(byProvider)).flatMap(([provider, byRegion]) =>
      Object.entries(objectOf(byRegion)).flatMap(([region, groups]) =>
        objectsOf(groups).flatMap((group) => {
          const name = scalarOf(group['name'])
          if (name === undefined) return []
          // Providers write no owner to most summaries: names begin with it.
          const owner =
            scalarOf(group['application']) ??
            scalarOf(objectOf(group['moniker'])['app']) ??
            applicationOf(name)
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

const madeHere = /^(bake|findAmi|findImage.*)$/

/**
 * Pipelines that deploy an image of this name: as it stands, with the version in a parameter, as an artifact that they expect, or as they
 * find it where it runs.
 *
 * @param isThere Whether an account is one of those that matter
 * @param isSource Whether the image runs in an account
 */
export function pipelinesThatDeploy(
  imageId: string,
  pipelines: readonly Schemas['Pipeline'][],
  isThere: (account: string) => boolean = () => true,
  isSource: (account: string) => boolean = () => false,
) {
  const { image, version } = splitImage(imageId)
  return pipelines.flatMap((pipeline) => {
    const { id, name, application } = pipeline
    const wanted = targetsOf(pipeline)
      .filter((target) => isThere(accountIn(target) ?? ''))
      .map(({ imageId: own, manifests }) => [scalarOf(own) ?? [], imagesIn(manifests)].flat())
    const texts = wanted.flat()
    const parameters = texts
      .map((text) => parametersFor(text, image, version, imageId))
      .find((one) => one !== undefined)
    const makers = objectsOf(pipeline.stages).filter(({ type }) => madeHere.test(String(type)))
    const isOpen = wanted.some((own) => own.length === 0)
    const finds = isOpen && makers.some((stage) => isSource(accountIn(stage) ?? ''))
    const takes =
      texts.some((text) => splitImage(text).image === image) || (isOpen && makers.length === 0)
    const isTaken = finds || (takes && artifactsFor(imageId, pipeline).length > 0)
    if (id === undefined || (parameters === undefined && !isTaken)) return []
    return [{ id, name, application, fills: { ...parameters, image: imageId } }]
  })
}

/** Why a pipeline that deploys cannot be given an image. */
export function whyNoImage({ stages }: Pick<Schemas['Pipeline'], 'stages'>): string {
  const maker = objectsOf(stages).find(({ type }) => madeHere.test(String(type)))
  if (maker === undefined)
    return 'it has no parameter for the version, and expects no artifact of this name'
  return maker['type'] === 'bake' ? 'it bakes an image of its own' : 'it finds an image of its own'
}

function splitImage(imageId: string) {
  const at = imageId.lastIndexOf(':')
  return at === -1
    ? { image: imageId, version: '' }
    : { image: imageId.slice(0, at), version: imageId.slice(at + 1) }
}

/** The image as each artifact that a pipeline expects of its name. */
export function artifactsFor(
  imageId: string,
  { expectedArtifacts }: Pick<Schemas['Pipeline'], 'expectedArtifacts'>,
) {
  const { image, version } = splitImage(imageId)
  return objectsOf(expectedArtifacts).flatMap(({ id, displayName, matchArtifact }) => {
    const { type, name = image } = objectOf(matchArtifact)
    if (name !== image || !scalarOf(type)?.endsWith('/image')) return []
    return [
      {
        id,
        title: scalarOf(displayName) ?? image,
        artifact: { type, name, version, reference: imageId },
      },
    ]
  })
}

const parameterOf = /\$\{\s*(?:trigger\.)?parameters(?:\.([\w-]+)|\[['"]([^'"]+)['"]\])\s*\}/

function parametersFor(
  text: string,
  image: string,
  version: string,
  whole: string,
): Record<string, string> | undefined {
  const found = parameterOf.exec(text)
  const parameter = found?.[1] ?? found?.[2]
  if (found === null || parameter === undefined) return text === whole ? {} : undefined
  if (text === found[0]) return { [`p.${parameter}`]: whole }
  return text === `${image}:${found[0]}` ? { [`p.${parameter}`]: version } : undefined
}

/** The log of a bake. The API wraps it for browsers that show it as a page. */
export function toBakeLog(answer: unknown): string {
  const text = scalarOf(objectOf(answer)['logsContent']) ?? scalarOf(answer) ?? ''
  return /^<pre>([\s\S]*)<\/pre>\s*$/.exec(text)?.[1] ?? text
}
