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

/** @param type Type of the trigger and of its artifact */
function imageTags(triggerType: string, type: string): PolledSource {
  return createVersionSource({
    triggerType,
    toName: (trigger) => named(trigger, 'repository', type),
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
  // A trigger for all charts of a repository starts by events alone.
  toName: (trigger) => named(trigger, 'chart', 'helm/chart'),
  toContent: ({ account, name, version, digest }) =>
    definedOf({ account, chart: name, version, digest }),
})

const artifacts = createVersionSource({
  triggerType: 'artifact',
  toName: (trigger) => named(trigger, 'name'),
  toContent: ({ account, type, name, version }) => ({
    account,
    type,
    name,
    version,
    reference: referenceOf(type, name, version),
  }),
})

export const registrySources: readonly PolledSource[] = [
  imageTags('docker', 'docker/image'),
  imageTags('helm/oci', 'helm/image'),
  charts,
  artifacts,
]

const toPolled = shape({
  account: textOf,
  repository: textOf,
  chart: textOf,
  name: textOf,
  artifactType: or(textOf, ''),
})

/** @param field With the name @param artifactType Default: the trigger names it */
function named(
  trigger: JsonObject,
  field: 'repository' | 'chart' | 'name',
  artifactType?: string,
): ArtifactName | undefined {
  const { account, [field]: name, artifactType: own } = toPolled(trigger)
  const type = artifactType ?? own
  return account === undefined || name === undefined || type === ''
    ? undefined
    : { account, type, name }
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
  /** Undefined: it names not all that is needed, or is not to be polled. */
  toName(trigger: JsonObject): ArtifactName | undefined
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
      const name = kind.toName(trigger)
      return name && JSON.stringify([triggerType, name, kind.tracked?.(trigger)])
    },
    summaryOf: (trigger) => ({ ...kind.toName(trigger) }),
    async read(trigger, context, signal) {
      const name = kind.toName(trigger)
      if (name === undefined) return new Map()
      const versions = await versionReads(context).versions(name)
      const tracked = kind.tracked?.(trigger)
      const known =
        tracked === undefined ? undefined : await loadDigests(tracked, versions, name, context)
      signal.throwIfAborted()
      return new Map(versions.map((version) => [version, known?.digests.get(version) ?? '']))
    },
    async toEvents(trigger, change, context) {
      const name = kind.toName(trigger)
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
