/** New images and artifacts that registries report. docs/contracts/events.md#registries-and-messages. */

import { asGiven, maybeObject, or, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { satisfies } from 'semver'
import { describeUnsatisfied } from '../constraints.ts'
import type { Event } from '../event.ts'
import { dockerImage } from '../pushed-artifacts.ts'
import { joinNames, type MatchContext, type TriggerKind } from './kind.ts'
import { describeBadSignature } from './signature.ts'

const trimmed = (value: unknown) => textOf(value)?.trim() || undefined

const toImageTrigger = shape({
  account: textOf,
  repository: textOf,
  registry: textOf,
  tag: trimmed,
  trackDigests: isTrue,
})
const toImage = shape({
  account: textOf,
  repository: textOf,
  registry: textOf,
  tag: textOf,
  digest: textOf,
  tracked: asGiven,
})
const toVersionTrigger = shape({
  account: textOf,
  artifactType: textOf,
  name: textOf,
  chart: textOf,
  version: trimmed,
})
const toVersion = shape({
  account: textOf,
  type: textOf,
  name: textOf,
  chart: textOf,
  version: or(textOf, ''),
  digest: textOf,
})

/** Docker images, and charts that are kept like them. */
function imageKind(
  type: string,
  toArtifact: (name: string, tag: string) => JsonObject,
): TriggerKind {
  return {
    eventType: type,
    triggerTypes: [type],
    reportedByServices: true,
    checksSignature: true,
    awaits: (trigger) => [toImageTrigger(trigger).repository],
    about: ({ content }) => [toImage(content).repository],
    concerns(trigger, { content, isObserved }) {
      const [wanted, image] = [toImageTrigger(trigger), toImage(content)]
      return (
        // Webhooks of registries name no account; a trigger that names a registry is for that one alone.
        (image.account === undefined
          ? isOfRegistry(wanted.registry, image.registry)
          : isSame(wanted.account, image.account)) &&
        // The same tag is found by polls with and without digests.
        (isObserved !== true || trackedTags(trigger) === image.tracked)
      )
    },
    refuses: describeBadSender,
    mismatch(trigger, event, means) {
      const [{ tag }, { tag: wanted }] = [toImage(event.content), toImageTrigger(trigger)]
      if (tag === undefined) return 'The event names no tag.'
      if (wanted === undefined && tag === 'latest')
        return 'The tag latest starts only triggers that name it.'
      if (wanted !== undefined && !means.patterns.matchesWhole(wanted, tag))
        return `The tag "${tag}" does not match "${wanted}".`
      return describeBadPayload(trigger, event, means)
    },
    fields: (_trigger, { content }) => ({ tag: content['tag'], digest: content['digest'] }),
    artifacts({ content }) {
      const { registry, repository, tag } = toImage(content)
      if (repository === undefined || tag === undefined) return []
      return [toArtifact(registry === undefined ? repository : `${registry}/${repository}`, tag)]
    },
  }
}

/** The tags whose new digests start the trigger, too, as a regular expression, or `` for all; undefined: of none. */
export function trackedTags(trigger: JsonObject): string | undefined {
  const { trackDigests, tag = '' } = toImageTrigger(trigger)
  return trackDigests ? tag : undefined
}

function isOfRegistry(wanted: string | undefined, given: string | undefined): boolean {
  return given !== undefined && (wanted === undefined || toHost(wanted) === toHost(given))
}

/** Docker Hub has several names. */
function toHost(registry: string): string {
  const [host = ''] = registry
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .split('/')
  return ['docker.io', 'registry-1.docker.io', 'hub.docker.com', ''].includes(host)
    ? 'index.docker.io'
    : host
}

/** Services prove themselves by their login, and Fairlead need not. */
function describeBadSender(trigger: JsonObject, event: Event): string | undefined {
  return event.raw && describeBadSignature(trigger, event)
}

function describeBadPayload(
  trigger: JsonObject,
  { payload }: Event,
  { patterns }: MatchContext,
): string | undefined {
  return describeUnsatisfied(trigger['payloadConstraints'], payload, { paths: true, patterns })
}

/** Charts of a chart repository. */
const chartKind: TriggerKind = {
  eventType: 'helm',
  triggerTypes: ['helm'],
  reportedByServices: true,
  declines({ content, isObserved }) {
    const { chart, version, digest = isObserved } = toVersion(content)
    const missing = Object.entries({ chart, version, digest }).flatMap(([name, value]) =>
      value ? [] : name,
    )
    return missing.length === 0
      ? undefined
      : `The event names no ${missing.join(', no ')} of the chart.`
  },
  awaits: (trigger) => [toVersionTrigger(trigger).account],
  about: ({ content }) => [toVersion(content).account],
  concerns(trigger, { content }) {
    const { chart } = toVersionTrigger(trigger)
    return chart === undefined || chart === toVersion(content).chart
  },
  mismatch(trigger, { content }) {
    const [{ version: wanted }, { version }] = [toVersionTrigger(trigger), toVersion(content)]
    return wanted === undefined || satisfies(version, wanted)
      ? undefined
      : `The version ${version} is not within "${wanted}".`
  },
  fields: (_trigger, { content: { chart, version, digest } }) => ({
    artifactName: chart,
    version,
    digest,
  }),
  artifacts: ({ content: { account, chart, version, digest } }) => [
    { type: 'helm/chart', name: chart, version, reference: account, metadata: { digest } },
  ],
}

/** Searches of an artifact store, known by name. */
function searchKind(type: string): TriggerKind {
  const field = `${type}SearchName`
  return {
    eventType: type,
    triggerTypes: [type],
    reportedByServices: true,
    awaits: (trigger) => [textOf(trigger[field])],
    about: ({ content }) => [textOf(content['name'] ?? content[field])],
    mismatch: () => undefined,
    fields: (trigger) => ({ [field]: trigger[field] }),
    artifacts: ({ artifact, content }) =>
      [artifact ?? maybeObject(content['artifact']) ?? []].flat(),
  }
}

/** Versions of artifacts, which Fairlead finds at the account itself. */
const artifactKind: TriggerKind = {
  eventType: 'artifact',
  triggerTypes: ['artifact'],
  reportedByServices: true,
  awaits(trigger) {
    const { account, artifactType, name } = toVersionTrigger(trigger)
    return [joinNames(account, artifactType, name)]
  },
  about({ content }) {
    const { account, type, name } = toVersion(content)
    return [joinNames(account, type, name)]
  },
  mismatch(trigger, { content }, { patterns }) {
    const [{ version: wanted }, { version }] = [toVersionTrigger(trigger), toVersion(content)]
    if (wanted === undefined || patterns.matchesWhole(wanted, version)) return undefined
    return `The version "${version}" does not match "${wanted}".`
  },
  fields: (_trigger, { content: { version } }) => ({ version }),
  artifacts: ({ content: { account, type, name, version, reference } }) => [
    { type, name, version, reference, artifactAccount: account },
  ],
}

export const registryKinds: TriggerKind[] = [
  imageKind('docker', dockerImage),
  imageKind('helm/oci', (name, tag) => ({ ...dockerImage(name, tag), type: 'helm/image' })),
  chartKind,
  artifactKind,
  searchKind('artifactory'),
  searchKind('nexus'),
]

function isSame(wanted: unknown, given: unknown): boolean {
  return typeof wanted === 'string' && wanted !== '' && wanted === given
}
