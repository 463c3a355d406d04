/** What is polled at artifact accounts: tags of images, charts, and versions of any artifact that is listed. */
import { or, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { createRegexMeter, matchesIfValid } from '@fairlead/base/regex/bounded-regex.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { ArtifactDigests, ArtifactName } from '@fairlead/ports/infrastructure.ts'
import { observedEvent } from '../event.ts'
import { trackedTags } from '../kinds/registry.ts'
import { versionReads } from './ask-infrastructure.ts'
import type { PolledChange, PolledSource } from './polled-source.ts'

function imageTags(triggerType: string): PolledSource {
  return createVersionSource({
    triggerType,
    tracked: trackedTags,
    toContent: ({ account, name, version, digest, host }, trigger) =>
      definedOf({
        account,
        registry: host,
        repository: name,
        tag: version,
        digest,
        tracked: trackedTags(trigger),
      }),
  })
}

const charts = createVersionSource({
  triggerType: 'helm',
  toContent: ({ account, name, version, digest }) =>
    definedOf({ account, chart: name, version, digest }),
})

const artifacts = createVersionSource({
  triggerType: 'artifact',
  toContent: ({ account, type, name, version }) => ({
    account,
    type,
    name,
    version,
    reference: referenceOf(type, name, version),
  }),
})

export const registrySources: readonly PolledSource[] = [
  imageTags('docker'),
  imageTags('helm/oci'),
  charts,
  artifacts,
]

const toPolled = shape({
  type: or(textOf, ''),
  account: textOf,
  repository: textOf,
  chart: textOf,
  name: textOf,
  artifactType: or(textOf, ''),
})

const imageTypes: ReadonlyMap<string, string> = new Map([
  ['docker', 'docker/image'],
  ['helm/oci', 'helm/image'],
])

/** What is polled for a trigger; undefined: it names not all that is needed, or is not to be polled. */
export function polledArtifact(trigger: JsonObject): ArtifactName | undefined {
  const { type: triggerType, account, repository, chart, name, artifactType } = toPolled(trigger)
  const imageType = imageTypes.get(triggerType)
  // A helm trigger for all charts of a repository starts by events alone.
  const [polled, type] =
    imageType !== undefined
      ? [repository, imageType]
      : triggerType === 'helm'
        ? [chart, 'helm/chart']
        : [name, triggerType === 'artifact' ? artifactType : '']
  return account === undefined || polled === undefined || type === ''
    ? undefined
    : { account, type, name: polled }
}

const referredByVersion: ReadonlySet<string> = new Set([
  'docker/image',
  'helm/image',
  'maven/file',
  `${standalone.provider}/image`,
])

/** Reference in the form that accounts of the type read. */
function referenceOf(type: string, name: string, version: string): string {
  return referredByVersion.has(type) ? `${name}:${version}` : name
}

/** A type of triggers that wait for versions. */
interface VersionTrigger {
  readonly triggerType: string
  /** The versions whose digests are compared, too: a regular expression, or `` for all; undefined: none. */
  tracked?(trigger: JsonObject): string | undefined
  toContent(found: FoundVersion, trigger: JsonObject): JsonObject
}

interface FoundVersion extends ArtifactName {
  readonly version: string
  readonly digest: string | undefined
  /** Host of the registry. */
  readonly host: string | undefined
}

/** Each is a call of the registry. */
const mostDigests = 100

function createVersionSource(kind: VersionTrigger): PolledSource {
  const { triggerType } = kind
  return {
    triggerType,
    isPolled: ({ ports }) => ports.infrastructure.versions !== undefined,
    keyOf(trigger) {
      const name = polledArtifact(trigger)
      return name && JSON.stringify([triggerType, name, kind.tracked?.(trigger)])
    },
    summaryOf: (trigger) => ({ ...polledArtifact(trigger) }),
    async read(trigger, context, signal) {
      const name = polledArtifact(trigger)
      if (name === undefined) return new Map()
      const versions = await versionReads(context).versions(name)
      const tracked = kind.tracked?.(trigger)
      const known =
        tracked === undefined ? undefined : await loadDigests(tracked, versions, name, context)
      signal.throwIfAborted()
      return new Map(versions.map((version) => [version, known?.digests.get(version) ?? '']))
    },
    async toEvents(trigger, change, context) {
      const name = polledArtifact(trigger)
      if (name === undefined) return []
      const content = kind.toContent(await describe(name, change, context), trigger)
      return [observedEvent(triggerType, content, { account: name.account, name: name.name })]
    },
  }
}

/** @throws {Error} when there are too many to ask for */
async function loadDigests(
  pattern: string,
  versions: readonly string[],
  name: ArtifactName,
  context: BackendContext,
): Promise<ArtifactDigests> {
  const meter = createRegexMeter()
  const wanted =
    pattern === ''
      ? versions
      : versions.filter((version) => matchesIfValid(pattern, version, meter))
  if (wanted.length > mostDigests)
    throw new Error(
      `The digests of ${wanted.length} tags of ${name.name} are too many to track; at most ${mostDigests} are. Narrow the tag of the trigger.`,
    )
  return versionReads(context).digests(name, wanted)
}

/** A version whose digest cannot be read is one all the same. */
async function describe(
  name: ArtifactName,
  { name: version, after }: PolledChange,
  context: BackendContext,
): Promise<FoundVersion> {
  const found = await Promise.try(() => versionReads(context).digests(name, [version])).catch(
    () => undefined,
  )
  return { ...name, version, digest: after || found?.digests.get(version), host: found?.host }
}
