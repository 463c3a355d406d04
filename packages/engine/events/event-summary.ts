/** Short summary of an event, without secrets. */
import { definedOf, fieldAt, isObject, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import { mask, provesSender, withoutPasswords } from '@fairlead/model/secret-names.ts'
import type { Event } from './event.ts'

const maxText = 200
const maxMembers = 20
const maxItems = 5
const maxDepth = 5
/** Members of one payload. */
const maxAll = 60

/** What the event is about: names, never its payload. */
export function summarize({ type, content }: Event): JsonObject {
  const read = summaries.get(type)
  const found = read === undefined ? {} : read(content)
  return Object.fromEntries(Object.entries(definedOf(found)).map(([name, value]) => [name, shownValue(value)]))
}

const ofImage = ({ account, registry, repository, tag, digest }: JsonObject) => ({ account, registry, repository, tag, digest })

const summaries: ReadonlyMap<string, (content: JsonObject) => JsonObject> = new Map([
  [
    'git',
    ({ repoProject, slug, branch, tag, hash, action, number }: JsonObject) => ({
      repository: [repoProject, slug].flatMap((part) => textOf(part) ?? []).join('/') || undefined,
      branch: textOf(branch),
      tag: textOf(tag),
      commit: textOf(hash),
      action: textOf(action),
      number,
    }),
  ],
  [
    'build',
    ({ master, project }: JsonObject) => {
      const build = objectOf(fieldAt(project, 'lastBuild'))
      return {
        master,
        job: fieldAt(project, 'name'),
        number: build['number'],
        result: build['result'],
        building: build['building'],
      }
    },
  ],
  ['docker', ofImage],
  ['helm/oci', ofImage],
  ['helm', ({ account, chart, version, digest }: JsonObject) => ({ account, chart, version, digest })],
  ['artifact', ({ account, name, version }: JsonObject) => ({ account, name, version })],
  ['pubsub', (content: JsonObject) => ofMessage(objectOf(content['messageDescription'] ?? content))],
  ['artifactory', ({ name }: JsonObject) => ({ search: name })],
  ['nexus', ({ name }: JsonObject) => ({ search: name })],
  ['plugin', ({ pluginId, version, pluginEventType }: JsonObject) => ({ pluginId, version, pluginEventType })],
])

function ofMessage({ pubsubSystem, subscriptionName }: JsonObject): JsonObject {
  return { pubsubSystem, subscriptionName }
}

/** Events whose body people compose themselves: others are told by their summary. */
const withPayload: ReadonlySet<string> = new Set(['webhook', 'cdevents', 'pubsub'])

/** Part of the payload of an event of such a type, without what proves the sender. */
export function excerptOf({ type, payload }: Event): JsonObject | undefined {
  if (!withPayload.has(type) || Object.keys(payload).length === 0) return undefined
  return new Excerpt().of(payload, 1)
}

class Excerpt {
  #left = maxAll

  of(object: JsonObject, depth: number): JsonObject {
    const members = Object.entries(object).slice(0, maxMembers)
    const kept = members.flatMap(([name, value]): [string, unknown][] =>
      this.#left-- > 0 ? [[shorten(name, maxText), provesSender(name) ? mask : this.#value(value, depth)]] : [],
    )
    return Object.fromEntries(kept)
  }

  #value(value: unknown, depth: number): unknown {
    if (isObject(value)) return depth < maxDepth ? this.of(value, depth + 1) : '{…}'
    if (!Array.isArray(value)) return shownValue(value)
    if (depth >= maxDepth) return '[…]'
    return value.slice(0, maxItems).flatMap((each) => (this.#left-- > 0 ? [this.#value(each, depth + 1)] : []))
  }
}

function shownValue(value: unknown): unknown {
  return typeof value === 'string'
    ? withoutPasswords(shorten(value, maxText))
    : isObject(value) || Array.isArray(value)
      ? '…'
      : value
}
