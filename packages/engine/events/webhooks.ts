/** Conversion of webhooks into events. @see docs/contracts/events.md#webhooks */
import { randomUUID } from 'node:crypto'
import { maxStoredJsonDepth, parseJson } from '@fairlead/base/json/json.ts'
import { fieldOf, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { describeChoice } from '@fairlead/base/names/edit-distance.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Event } from './event.ts'
import { readBitbucket, readStash } from './kinds/git/bitbucket.ts'
import type { ReadChange } from './kinds/git/change.ts'
import { readGitea, readGithub, readGitlab, readPlain } from './kinds/git/push.ts'

interface Webhook extends Pick<Event, 'type' | 'source' | 'headers'> {
  raw: Buffer
  body: JsonObject
}

type Surroundings = Pick<BackendContext, 'now' | 'settings'>

/**
 * The events that a webhook reports, one for each ref; none for a ping or the deletion of a branch.
 *
 * @throws {PortError} 400 when the source is no code host that is known.
 */
export function toWebhookEvents(
  { type, source, headers, raw, body }: Webhook,
  { now, settings }: Surroundings,
): Event[] {
  const event: Event = {
    id: randomUUID(),
    type: type.toLowerCase(),
    source,
    headers,
    attributes: {},
    content: body,
    payload: body,
    raw,
    artifact: undefined,
    receivedMs: now(),
  }
  // Webhooks need no login, so they must not pass for manual starts.
  if (event.type === 'manual') return [{ ...event, type: '' }]
  if (event.type !== 'git') return [event]
  const readChange = gitSources.get(source.toLowerCase())
  if (readChange === undefined) {
    throw new PortError(400, describeChoice(source, 'a code host', gitSources.keys()))
  }
  const changes = [readChange(body, headers) ?? []].flat()
  const commonSecret = () => settings.triggers?.gitSecret
  return changes.map((change, index) => ({
    ...event,
    id: index === 0 ? event.id : randomUUID(),
    content: { ...change },
    commonSecret,
  }))
}

const eventHeaders = [
  ...['github', 'gitlab', 'gitea', 'forgejo', 'gogs'].map((host) => `x-${host}-event`),
  'x-event-key',
]

/** Why a webhook of a code host reports no event, as a sentence. */
export function describeNoEvent(headers: Readonly<Record<string, string>>): string {
  const named = eventHeaders.map((name) => headers[name]).find((each) => each !== undefined)
  return named === undefined || /^(?:push|delete)$|ping$/i.test(named)
    ? 'It is a ping, a test of the connection, or the deletion of a tag, which start nothing.'
    : `The event "${named.slice(0, 100)}" starts nothing. Choose pushes and pull requests at the code host.`
}

/**
 * The data of a CloudEvent, which arrives in a header of its own.
 *
 * @throws {PortError} 400 when the data is not JSON or lacks a part that every CloudEvent of this kind has.
 */
export function cloudEventData(headers: Record<string, string>): JsonObject {
  const data = objectOf(parse(headers['ce-data'] ?? ''))
  for (const part of ['customData', 'context', 'subject']) {
    if (fieldOf(data, part) === undefined) {
      throw new PortError(400, `The CloudEvent in the header Ce-Data lacks "${part}".`)
    }
  }
  return data
}

function parse(text: string): unknown {
  try {
    return parseJson(text, { maxDepth: maxStoredJsonDepth })
  } catch {
    throw new PortError(400, 'The header Ce-Data holds no JSON.')
  }
}

const gitSources: ReadonlyMap<string, ReadChange> = new Map<string, ReadChange>([
  ['github', readGithub],
  ['gitlab', readGitlab],
  ['stash', readStash],
  ['bitbucket', readBitbucket],
  ['gitea', readGitea],
  ['forgejo', readGitea],
  ['gogs', readGitea],
  ['git', readPlain],
])
