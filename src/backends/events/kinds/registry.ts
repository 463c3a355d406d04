/** New images and artifacts that registries report. docs/contracts/events.md#registries-and-messages. */
import { satisfies } from 'semver'
import { type JsonObject, objectsOf, textOf } from '../../../json/values.ts'
import { dockerImage } from '../pushed-artifacts.ts'
import type { TriggerKind } from './kind.ts'

/** Docker images, and charts that are kept like them. */
function imageKind(type: string, toArtifact: (name: string, tag: string) => JsonObject): TriggerKind {
  return {
    eventType: type,
    triggerTypes: [type],
    reportedByServices: true,
    concerns: (trigger, { content }) =>
      isSame(trigger['account'], content['account']) && isSame(trigger['repository'], content['repository']),
    matches(trigger, { content }, { patterns }) {
      const [tag, wanted] = [textOf(content['tag']), textOf(textOf(trigger['tag'])?.trim())]
      if (tag === undefined || wanted === undefined) return tag !== undefined && tag !== 'latest'
      return patterns.matchesWhole(wanted, tag)
    },
    fields: (_trigger, { content }) => ({ tag: content['tag'], digest: content['digest'] }),
    artifacts({ content }) {
      const [registry, repository, tag] = [content['registry'], content['repository'], content['tag']].map(textOf)
      if (repository === undefined || tag === undefined) return []
      return [toArtifact(registry === undefined ? repository : `${registry}/${repository}`, tag)]
    },
  }
}

/** Charts of a chart repository. */
const chartKind: TriggerKind = {
  eventType: 'helm',
  triggerTypes: ['helm'],
  reportedByServices: true,
  accepts: ({ content }) =>
    [content['chart'], content['version'], content['digest']].every((value) => textOf(value) !== undefined),
  concerns: (trigger, { content }) =>
    isSame(trigger['account'], content['account']) &&
    (textOf(trigger['chart']) === undefined || isSame(trigger['chart'], content['chart'])),
  matches(trigger, { content }) {
    const wanted = textOf(textOf(trigger['version'])?.trim())
    return wanted === undefined || satisfies(String(content['version']), wanted)
  },
  fields: (_trigger, { content: { chart, version, digest } }) => ({ artifactName: chart, version, digest }),
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
    concerns: (trigger, { content }) => isSame(trigger[field], content['name'] ?? content[field]),
    matches: () => true,
    fields: (trigger) => ({ [field]: trigger[field] }),
    artifacts: ({ artifact, content }) => objectsOf([artifact, content['artifact']]).slice(0, 1),
  }
}

export const registryKinds: TriggerKind[] = [
  imageKind('docker', dockerImage),
  imageKind('helm/oci', (name, tag) => ({ ...dockerImage(name, tag), type: 'helm/image' })),
  chartKind,
  searchKind('artifactory'),
  searchKind('nexus'),
]

function isSame(wanted: unknown, given: unknown): boolean {
  return typeof wanted === 'string' && wanted !== '' && wanted === given
}
