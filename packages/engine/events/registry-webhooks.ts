/** Webhooks of registries: the images that each reports as pushed. @see docs/contracts/events.md#registries-and-messages */
import { randomUUID } from 'node:crypto'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Event } from './event.ts'

/** A registry sends a few at a time. */
const maxImages = 100

/** One event for each image; an event of another source is left as it is. */
export function toRegistryEvents(event: Event): Event[] {
  if (event.type !== 'docker' && event.type !== 'helm/oci') return [event]
  const read = sources.get(event.source.toLowerCase())
  if (read === undefined) return [event]
  return read(event.payload)
    .filter(({ repository, tag }) => repository && tag)
    .slice(0, maxImages)
    .map((image, index) => ({
      ...event,
      id: index === 0 ? event.id : randomUUID(),
      content: definedOf(image),
    }))
}

/** An image as triggers know it; its account is not known. */
export interface PushedImage {
  readonly registry: string | undefined
  readonly repository: string | undefined
  readonly tag: string | undefined
  readonly digest?: string
  /** The same when it is reported again. */
  readonly delivery?: string
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
  ['artifactory', readArtifactory],
  ['ecr', readAmazon],
])

const toDockerHub = shape({
  repository: shape({ repo_name: textOf }),
  push_data: shape({ tag: textOf }),
})

export function readDockerHub(payload: JsonObject): PushedImage[] {
  const { repository, push_data: pushed } = toDockerHub(payload)
  return [{ registry: 'index.docker.io', repository: repository.repo_name, tag: pushed.tag }]
}

const toQuay = shape({ docker_url: textOf, updated_tags: textsOf })

export function readQuay(payload: JsonObject): PushedImage[] {
  const { docker_url: address, updated_tags: tags } = toQuay(payload)
  return tags.map((tag) => ({ ...splitAddress(address), tag }))
}

const toPush = shape({
  id: textOf,
  action: textOf,
  target: shape({ repository: textOf, tag: textOf, digest: textOf }),
  request: shape({ host: textOf }),
})
const toEnvelope = shape({ events: list(toPush) })

/** Notifications of the reference implementation, in an envelope; Azure sends each alone. */
export function readDistribution(payload: JsonObject): PushedImage[] {
  const events = Array.isArray(payload['events']) ? toEnvelope(payload).events : [toPush(payload)]
  return events
    .filter(({ action }) => action === 'push')
    .map(({ id, target, request }) => ({ registry: request.host, ...target, delivery: id }))
}

const toHarbor = shape({
  type: textOf,
  data: [
    shape({
      repository: shape({ repo_full_name: textOf }),
      resources: list(shape({ tag: textOf, digest: textOf, resource_url: textOf })),
    }),
    'event_data',
    'data',
  ],
})
const harborPushes: readonly unknown[] = ['PUSH_ARTIFACT', 'pushImage', 'harbor.artifact.pushed']

/** An image that is pushed without a tag has its digest in place of one. */
function readHarbor(payload: JsonObject): PushedImage[] {
  const { type, data } = toHarbor(payload)
  if (!harborPushes.includes(type)) return []
  return data.resources
    .filter(({ tag }) => !tag?.includes(':'))
    .map(({ resource_url: address, ...image }) => ({
      registry: splitAddress(address).registry,
      repository: data.repository.repo_full_name,
      ...image,
    }))
}

/** Package event of GitHub or Gitea. */
const toPackage = shape({
  action: textOf,
  package: [
    shape({
      type: [or(textOf, ''), 'package_type', 'type'],
      name: or(textOf, ''),
      namespace: textOf,
      owner: shape({ login: [or(textOf, ''), 'login', 'username'] }),
      html_url: or(textOf, ''),
      version: textOf,
      package_version: shape({
        container_metadata: shape({ tag: shape({ name: textOf, digest: textOf }) }),
      }),
    }),
    'package',
    'registry_package',
  ],
})

function readGithub(payload: JsonObject): PushedImage[] {
  const { type, name, namespace, owner, package_version: version } = toPackage(payload).package
  if (type.toLowerCase() !== 'container') return []
  const repository = `${namespace ?? owner.login}/${name}`.toLowerCase()
  const { tag } = version.container_metadata
  return [{ registry: 'ghcr.io', repository, tag: tag.name, digest: tag.digest }]
}

function readGitea(payload: JsonObject): PushedImage[] {
  const { action, package: found } = toPackage(payload)
  if (action !== 'created' || found.type !== 'container') return []
  const registry = URL.parse(found.html_url)?.host || undefined
  return [
    {
      registry,
      repository: `${found.owner.login}/${found.name}`.toLowerCase(),
      tag: found.version,
    },
  ]
}

const toArtifactory = shape({
  event_type: textOf,
  jpd_origin: textOf,
  data: shape({ repo_key: or(textOf, ''), image_name: or(textOf, ''), tag: textOf }),
})

/** Its repositories of images are a part of the path, or of the host. */
function readArtifactory(payload: JsonObject): PushedImage[] {
  const { event_type: type, jpd_origin: origin = '', data } = toArtifactory(payload)
  const { repo_key: key, image_name: name, tag } = data
  const host = URL.parse(origin)?.host
  if (type !== 'pushed' || key === '' || name === '') return []
  return [
    { registry: host, repository: `${key}/${name}`, tag },
    { registry: host && `${key}.${host}`, repository: name, tag },
  ]
}

const toAmazon = shape({
  account: or(textOf, ''),
  region: or(textOf, ''),
  detail: shape({
    action: [textOf, 'action-type'],
    result: textOf,
    repository: [textOf, 'repository-name'],
    tag: [textOf, 'image-tag'],
    digest: [textOf, 'image-digest'],
  }),
})

/** An event of EventBridge. */
function readAmazon(payload: JsonObject): PushedImage[] {
  const { account, region, detail } = toAmazon(payload)
  const { action, result, ...image } = detail
  if (action !== 'PUSH' || result !== 'SUCCESS') return []
  return [{ registry: `${account}.dkr.ecr.${region}.amazonaws.com`, ...image }]
}

const toMessage = shape({ message: shape({ data: textOf }) })
const toGoogle = shape({ action: textOf, tag: or(textOf, ''), digest: textOf })

/** A message of its queue, or one that the queue pushes. */
function readGoogle(payload: JsonObject): PushedImage[] {
  const { data } = toMessage(payload).message
  const pushed = toGoogle(
    data === undefined ? payload : parseIfJson(Buffer.from(data, 'base64').toString()),
  )
  const [, name, tag] = /^(.+):([^:/]+)$/.exec(pushed.tag) ?? []
  if (pushed.action !== 'INSERT' || name === undefined) return []
  return [{ ...splitAddress(name), tag, digest: pushed.digest?.split('@')[1] }]
}

/** The host of an address without a scheme, and what follows it. */
function splitAddress(address = ''): {
  registry: string | undefined
  repository: string | undefined
} {
  const slash = address.indexOf('/')
  if (slash < 1) return { registry: undefined, repository: undefined }
  return { registry: address.slice(0, slash), repository: address.slice(slash + 1) }
}
