/** Versions of artifacts, polled for triggers at artifact accounts. @see docs/contracts/events.md#polls */
import { fieldAt, fieldOf, type JsonObject, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { createRegexMeter, matchesIfValid } from '@fairlead/base/regex/bounded-regex.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { observedEvent } from '../event.ts'
import { askInfrastructure } from './ask-infrastructure.ts'
import type { PolledChange, PolledSource, PolledState } from './polled-source.ts'

/** What is known of an artifact without its content. */
interface ArtifactName {
  readonly account: string
  /** Type of the artifact. */
  readonly type: string
  readonly name: string
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
  /** Of the registry. */
  readonly host: string | undefined
}

/** Each is a call of the registry. */
const mostDigests = 100

export function createVersionSource(kind: VersionTrigger): PolledSource {
  const { triggerType } = kind
  return {
    triggerType,
    isPolled: ({ isEmbedded }) => isEmbedded('clouddriver'),
    keyOf(trigger) {
      const name = kind.toName(trigger)
      return name === undefined ? undefined : JSON.stringify([triggerType, name, kind.tracked?.(trigger)])
    },
    summaryOf: (trigger) => ({ ...kind.toName(trigger) }),
    async read(trigger, context, signal) {
      const name = kind.toName(trigger)
      if (name === undefined) return new Map()
      const versions = textsOf(fieldOf(await askInfrastructure(context, 'ofArtifact', { ...name }, signal), 'versions'))
      const tracked = kind.tracked?.(trigger)
      if (tracked === undefined) return new Map(versions.map((version) => [version, '']))
      return withDigests(versions, await loadDigests(tracked, versions, { context, name, signal }))
    },
    async toEvents(trigger, change, context) {
      const name = kind.toName(trigger)
      if (name === undefined) return []
      const content = kind.toContent(await describe(name, change, context), trigger)
      return [observedEvent(triggerType, content, { account: name.account, name: name.name })]
    },
  }
}

interface DigestRead {
  readonly context: BackendContext
  readonly name: ArtifactName
  readonly signal: AbortSignal
}

/** @throws {Error} when there are too many to ask for */
async function loadDigests(pattern: string, versions: readonly string[], read: DigestRead): Promise<JsonObject> {
  const meter = createRegexMeter()
  const wanted = pattern === '' ? versions : versions.filter((version) => matchesIfValid(pattern, version, meter))
  if (wanted.length > mostDigests)
    throw new Error(
      `The digests of ${wanted.length} tags of ${read.name.name} are too many to track; at most ${mostDigests} are. Narrow the tag of the trigger.`,
    )
  const { context, name, signal } = read
  return objectOf(fieldOf(await askInfrastructure(context, 'digests', { ...name, versions: wanted }, signal), 'digests'))
}

function withDigests(versions: readonly string[], digests: JsonObject): PolledState {
  return new Map(versions.map((version) => [version, textOf(fieldOf(digests, version)) ?? '']))
}

/** A version whose digest cannot be read is one all the same. */
async function describe(
  name: ArtifactName,
  { name: version, after }: PolledChange,
  context: BackendContext,
): Promise<FoundVersion> {
  const body = await askInfrastructure(context, 'digests', { ...name, versions: [version] }).catch(() => undefined)
  const digest = textOf(after) ?? textOf(fieldAt(body, 'digests', version))
  return { ...name, version, digest, host: textOf(fieldOf(body, 'host')) }
}
