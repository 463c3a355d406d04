/** Webhooks of registries: the images that each reports as pushed. @see docs/contracts/events.md#registries-and-messages */
import { randomUUID } from 'node:crypto'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { definedOf, fieldAt, type JsonObject, objectOf, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Event } from './event.ts'

/** A registry sends a few at a time. */
const maxImages = 100

/** One event for each image; an event of another source is left as it is. */
export function toRegistryEvents(event: Event): Event[] {
  if (event.type !== 'docker' && event.type !== 'helm/oci') return [event]
  const read = sources.get(event.source.toLowerCase())
  if (read === undefined) return [event]
  return read(event.payload)
    .filter(({ repository, tag }) => textOf(repository) !== undefined && textOf(tag) !== undefined)
    .slice(0, maxImages)
    .map((image, index) => ({ ...event, id: index === 0 ? event.id : randomUUID(), content: definedOf(image) }))
}

/** An image as triggers know it; its account is not known. */
export interface PushedImage {
  readonly registry: string | undefined
  readonly repository: string | undefined
  readonly tag: string | undefined
  readonly digest?: string | undefined
  /** The same when it is reported again. */
  readonly delivery?: string | undefined
}

type ReadImages = (payload: JsonObject) => PushedImage[]

/** Registries by the last part of the webhook's path. */
const sources: ReadonlyMap<string, ReadImages> = new Map([
  ['dockerhub', readDockerHub],
  ['quay', readQuay],
  ['distribution', readDistribution],
  ['dockerregistry', readDistribution],
  ['acr', readDistribution],
  ['harbor', readHarbor],
  ['ghcr', readGithub],
  ['github', readGithub],
  ['gitea', readGitea],
  ['gcr', readGoogle],
])

export function readDockerHub({ repository, push_data: pushed }: JsonObject): PushedImage[] {
  return [{ registry: 'index.docker.io', repository: text(repository, 'repo_name'), tag: text(pushed, 'tag') }]
}

export function readQuay({ docker_url: address, updated_tags: tags }: JsonObject): PushedImage[] {
  const place = splitAddress(text(address))
  return textsOf(tags).map((tag) => ({ ...place, tag }))
}

/** Notifications of the reference implementation, in an envelope; Azure sends each alone. */
export function readDistribution(payload: JsonObject): PushedImage[] {
  const events = Array.isArray(payload['events']) ? objectsOf(payload['events']) : [payload]
  return events
    .filter(({ action }) => action === 'push')
    .map(({ id, target, request }) => ({
      registry: text(request, 'host'),
      repository: text(target, 'repository'),
      tag: text(target, 'tag'),
      digest: text(target, 'digest'),
      delivery: text(id),
    }))
}

function readHarbor({ type, event_data: data }: JsonObject): PushedImage[] {
  if (type !== 'PUSH_ARTIFACT' && type !== 'pushImage') return []
  return objectsOf(fieldAt(data, 'resources')).map(({ tag, digest, resource_url: address }) => ({
    registry: splitAddress(text(address)).registry,
    repository: text(data, 'repository', 'repo_full_name'),
    tag: text(tag),
    digest: text(digest),
  }))
}

function readGithub(payload: JsonObject): PushedImage[] {
  const found = objectOf(payload['package'] ?? payload['registry_package'])
  if (text(found['package_type'])?.toLowerCase() !== 'container') return []
  const owner = text(found['namespace']) ?? text(found['owner'], 'login') ?? ''
  const tag = fieldAt(found, 'package_version', 'container_metadata', 'tag')
  const repository = `${owner}/${text(found['name']) ?? ''}`.toLowerCase()
  return [{ registry: 'ghcr.io', repository, tag: text(tag, 'name'), digest: text(tag, 'digest') }]
}

function readGitea({ action, package: found }: JsonObject): PushedImage[] {
  if (action !== 'created' || text(found, 'type') !== 'container') return []
  const owner = text(found, 'owner', 'login') ?? text(found, 'owner', 'username') ?? ''
  const address = URL.parse(text(found, 'html_url') ?? '')
  const repository = `${owner}/${text(found, 'name') ?? ''}`.toLowerCase()
  return [{ registry: textOf(address?.host), repository, tag: text(found, 'version') }]
}

/** A message of its queue, or one that the queue pushes. */
function readGoogle(payload: JsonObject): PushedImage[] {
  const data = text(payload['message'], 'data')
  const {
    action,
    tag: address,
    digest,
  } = data === undefined ? payload : objectOf(parseIfJson(Buffer.from(data, 'base64').toString()))
  const [, name, tag] = /^(.+):([^:/]+)$/.exec(text(address) ?? '') ?? []
  if (action !== 'INSERT' || name === undefined) return []
  return [{ ...splitAddress(name), tag, digest: text(digest)?.split('@')[1] }]
}

/** The host of an address without a scheme, and what follows it. */
function splitAddress(address = ''): { registry: string | undefined; repository: string | undefined } {
  const slash = address.indexOf('/')
  if (slash < 1) return { registry: undefined, repository: undefined }
  return { registry: address.slice(0, slash), repository: address.slice(slash + 1) }
}

function text(from: unknown, ...path: readonly string[]): string | undefined {
  return textOf(fieldAt(from, ...path))
}
