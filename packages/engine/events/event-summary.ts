/** Short summary of an event, without secrets. */
import { asGiven, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, isObject, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import { mask, provesSender, withoutPasswords } from '@fairlead/model/secrets/secret-names.ts'
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
  return Object.fromEntries(
    Object.entries(definedOf(found)).map(([name, value]) => [name, shownValue(value)]),
  )
}

const toImage = shape({
  account: asGiven,
  registry: asGiven,
  repository: asGiven,
  tag: asGiven,
  digest: asGiven,
})
const toPush = shape({
  repoProject: textOf,
  slug: textOf,
  branch: textOf,
  tag: textOf,
  commit: [textOf, 'hash'],
  action: textOf,
  number: asGiven,
})
const toBuilt = shape({ number: asGiven, result: asGiven, building: asGiven })
const toBuild = shape({ master: asGiven, project: shape({ name: asGiven, lastBuild: toBuilt }) })
const toMessage = shape({ pubsubSystem: asGiven, subscriptionName: asGiven })
const toSearch = shape({ search: [asGiven, 'name'] })

const summaries: ReadonlyMap<string, (content: JsonObject) => object> = new Map<
  string,
  (content: JsonObject) => object
>([
  [
    'git',
    (content) => {
      const { repoProject, slug, ...push } = toPush(content)
      return {
        repository: [repoProject, slug].filter((part) => part !== undefined).join('/') || undefined,
        ...push,
      }
    },
  ],
  [
    'build',
    (content) => {
      const { master, project } = toBuild(content)
      return { master, job: project.name, ...project.lastBuild }
    },
  ],
  ['docker', toImage],
  ['helm/oci', toImage],
  ['helm', shape({ account: asGiven, chart: asGiven, version: asGiven, digest: asGiven })],
  ['artifact', shape({ account: asGiven, name: asGiven, version: asGiven })],
  ['pubsub', (content) => toMessage(content['messageDescription'] ?? content)],
  ['artifactory', toSearch],
  ['nexus', toSearch],
  ['plugin', shape({ pluginId: asGiven, version: asGiven, pluginEventType: asGiven })],
])

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
      this.#left-- > 0
        ? [[shorten(name, maxText), provesSender(name) ? mask : this.#value(value, depth)]]
        : [],
    )
    return Object.fromEntries(kept)
  }

  #value(value: unknown, depth: number): unknown {
    if (isObject(value)) return depth < maxDepth ? this.of(value, depth + 1) : '{…}'
    if (!Array.isArray(value)) return shownValue(value)
    if (depth >= maxDepth) return '[…]'
    return value
      .slice(0, maxItems)
      .flatMap((each) => (this.#left-- > 0 ? [this.#value(each, depth + 1)] : []))
  }
}

function shownValue(value: unknown): unknown {
  return typeof value === 'string'
    ? withoutPasswords(shorten(value, maxText))
    : isObject(value) || Array.isArray(value)
      ? '…'
      : value
}
