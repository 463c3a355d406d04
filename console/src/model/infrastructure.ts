/** Load balancers and security groups as their forms edit them, and the jobs that store them. */

import { asGiven, maybe, objectList, or, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isTrue,
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { imagesIn } from '@fairlead/model/environments/images.ts'
import type { Schemas } from '../api/schema.d.ts'
import { targetsOf } from './deployments.ts'
import { accountIn } from './stage-output.ts'

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

const text = or(scalarOf, '')
const place = { name: text, account: text, region: text }

/** `HTTP:/health` or `TCP`, and numbers. */
const usualChecks = {
  healthCheck: 'HTTP:/health',
  healthInterval: '10',
  healthTimeout: '5',
  unhealthyThreshold: '2',
  healthyThreshold: '2',
}

const thresholds = { unhealthyThreshold: scalarOf, healthyThreshold: scalarOf }
const checks = {
  healthCheck: scalarOf,
  healthInterval: scalarOf,
  healthTimeout: scalarOf,
  ...thresholds,
}
const readChecks = shape(checks)

const readBalancer = shape({
  ...place,
  check: [
    shape({
      healthCheck: [scalarOf, 'target'],
      healthInterval: [scalarOf, 'interval'],
      healthTimeout: [scalarOf, 'timeout'],
      ...thresholds,
    }),
    'healthCheck',
  ],
  listeners: maybe(
    objectList(
      shape({
        externalProtocol: or(scalarOf, 'HTTP'),
        externalPort: text,
        internalProtocol: or(scalarOf, 'HTTP'),
        certificate: [text, 'sslCertificateId', 'certificate'],
      }),
    ),
  ),
  isInternal: isTrue,
  securityGroups: textsOf,
})

/** @param record A load balancer, whose check is an object, or the fields of a job that stores one. */
export function toBalancerDraft(record: JsonObject) {
  const { check, listeners = [newListener], ...balancer } = readBalancer(record)
  return {
    ...balancer,
    listeners,
    ...usualChecks,
    ...definedOf(check),
    ...definedOf(readChecks(record)),
  }
}

/** What all jobs begin with that store something. */
function toJob(
  type: string,
  cloudProvider: string,
  { name, account, region }: Omit<Place, 'provider'>,
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

const protocol = or(scalarOf, 'tcp')
const ports = { startPort: text, endPort: text }
const allPorts = { startPort: '', endPort: '' }

const readInbound = shape({
  protocol,
  range: shape({ ip: scalarOf, cidr: text }),
  securityGroup: shape({ name: text }),
  portRanges: objectList(shape(ports)),
})

/** A rule has several ranges of ports; the form has a row for each. */
function toRules(rule: unknown) {
  const { range, securityGroup, portRanges, ...kept } = readInbound(rule)
  const source =
    range.ip === undefined
      ? { kind: 'security group', source: securityGroup.name }
      : { kind: 'network', source: `${range.ip}${range.cidr}` }
  return (portRanges.length === 0 ? [allPorts] : portRanges).map((some) => {
    const isAll = some.startPort === '0' && some.endPort === '65535'
    return { ...source, ...kept, ...(isAll ? allPorts : some) }
  })
}

const toIngress = (kind: string, sourceKey: string) =>
  objectList(
    shape({ kind: () => kind, source: [text, sourceKey], protocol: [protocol, 'type'], ...ports }),
  )

const readGroup = shape({
  ...place,
  description: text,
  inboundRules: objectList(toRules),
  ipIngress: maybe(toIngress('network', 'cidr')),
  securityGroupIngress: toIngress('security group', 'name'),
})

/** @param record A security group with its place, or the fields of a job that stores one. */
export function toSecurityGroupDraft(record: JsonObject) {
  const { inboundRules, ipIngress, securityGroupIngress, ...draft } = readGroup(record)
  const rules: readonly (typeof newRule)[] =
    ipIngress === undefined ? inboundRules.flat() : [...ipIngress, ...securityGroupIngress]
  return { ...draft, rules }
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

const toSummaries = objectList(
  shape({ name: scalarOf, application: scalarOf, moniker: shape({ app: scalarOf }) }),
)

/** @param byAccount By account, provider and region. */
export function securityGroupsOf(byAccount: unknown) {
  return Object.entries(objectOf(byAccount)).flatMap(([account, byProvider]) =>
    Object.entries(objectOf(byProvider)).flatMap(([provider, byRegion]) =>
      Object.entries(objectOf(byRegion)).flatMap(([region, groups]) =>
        toSummaries(groups).flatMap(({ name, application, moniker }) => {
          if (name === undefined) return []
          // Providers write no owner to most summaries: names begin with it.
          const owner = application ?? moniker.app ?? applicationOf(name)
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

const toExpected = objectList(
  shape({
    id: asGiven,
    displayName: scalarOf,
    matchArtifact: shape({ type: scalarOf, name: asGiven }),
  }),
)

/** The image as each artifact that a pipeline expects of its name. */
export function artifactsFor(
  imageId: string,
  { expectedArtifacts }: Pick<Schemas['Pipeline'], 'expectedArtifacts'>,
) {
  const { image, version } = splitImage(imageId)
  return toExpected(expectedArtifacts).flatMap(({ id, displayName, matchArtifact }) => {
    const { type, name = image } = matchArtifact
    if (name !== image || !type?.endsWith('/image')) return []
    return [
      { id, title: displayName ?? image, artifact: { type, name, version, reference: imageId } },
    ]
  })
}

const parameterOf = /\$\{\s*(?:trigger\.)?parameters(?:\.([\w-]+)|\[['"]([^'"]+)['"]\])\s*\}/

function parametersFor(text: string, image: string, version: string, whole: string) {
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
