/** Artifacts in webhooks of registries and source control. @see docs/contracts/events.md#webhooks */
import { list, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { encodeValue } from '@fairlead/base/net/encode-path.ts'
import type { Event } from './event.ts'
import { type PushedImage, readDistribution, readDockerHub, readQuay } from './registry-webhooks.ts'

/** What every artifact of a push repeats is short, and a push of so many files is no push: a small body must not become a large list. */
const maxSharedLength = 1000
const maxFiles = 3000

/** The body's own list of artifacts if it has one, else what the source is known to send. */
export function pushedArtifacts({ source, payload }: Event): JsonObject[] {
  if (Array.isArray(payload['artifacts'])) return objectsOf(payload['artifacts'])
  const extract = Object.hasOwn(extractors, source.toLowerCase())
    ? extractors[source.toLowerCase()]
    : undefined
  return extract === undefined ? [] : extract(payload)
}

type Push = ShapeOf<typeof toPush>
/** Push of GitHub, GitLab or Gitea. */
const toPush = shape({
  after: shared,
  commits: list(shape({ added: textsOf, modified: textsOf })),
  repository: shape({ contents_url: shared, html_url: shared, full_name: shared }),
  project: shape({ web_url: shared, path_with_namespace: shared }),
})
const toNexus = shape({ component: shape({ group: textOf, name: textOf, version: textOf }) })

const extractors: Record<string, (payload: JsonObject) => JsonObject[]> = {
  github: (payload) =>
    filesOf('github/file', payload, ({ repository }, name) =>
      repository.contents_url?.replace('{+path}', () => name),
    ),
  gitlab: (payload) =>
    filesOf(
      'gitlab/file',
      payload,
      ({ project: { web_url: web, path_with_namespace: path } }, name) => {
        const origin = web === undefined ? undefined : URL.parse(web)?.origin
        return origin === undefined || path === undefined
          ? undefined
          : `${origin}/api/v4/projects/${encodeValue(path)}/repository/files/${encodeValue(name)}/raw`
      },
    ),
  gitea: giteaFiles,
  forgejo: giteaFiles,
  dockerhub: (payload) => readDockerHub(payload).flatMap(dockerImages),
  quay: (payload) => readQuay(payload).flatMap(dockerImages),
  dockerregistry: (payload) => readDistribution(payload).flatMap(dockerImages),
  nexus(payload) {
    const { group, name, version } = toNexus(payload).component
    if (group === undefined || name === undefined || version === undefined) return []
    return [
      {
        type: 'maven/file',
        name: `${group}:${name}`,
        version,
        reference: `${group}:${name}:${version}`,
      },
    ]
  },
}

function giteaFiles(payload: JsonObject): JsonObject[] {
  return filesOf(
    'gitea/file',
    payload,
    ({ repository: { html_url: web, full_name: path } }, name) => {
      const base =
        web !== undefined && path !== undefined && web.endsWith(`/${path}`)
          ? web.slice(0, -path.length - 1)
          : undefined
      return (
        base && `${base}/api/v1/repos/${path}/raw/${name.split('/').map(encodeValue).join('/')}`
      )
    },
  )
}

/** Files that any commit of a push added or modified, each once. */
function filesOf(
  type: string,
  payload: JsonObject,
  referenceOf: (push: Push, name: string) => string | undefined,
): JsonObject[] {
  const push = toPush(payload)
  const files = new Set(push.commits.flatMap(({ added, modified }) => [...added, ...modified]))
  return [...files]
    .slice(0, maxFiles)
    .map((name) => ({ type, name, version: push.after, reference: referenceOf(push, name) }))
}

function dockerImages({ registry, repository, tag }: PushedImage): JsonObject[] {
  const name = shared(registry === undefined ? repository : `${registry}/${repository}`)
  return repository === undefined || tag === undefined || name === undefined
    ? []
    : [dockerImage(name, tag)]
}

export function dockerImage(name: string, tag: string): JsonObject {
  return { type: 'docker/image', name, version: tag, reference: `${name}:${tag}` }
}

/** A text that is not empty and not longer than a name or an address; else undefined. */
function shared(value: unknown): string | undefined {
  const text = textOf(value)
  return text === undefined || text.length > maxSharedLength ? undefined : text
}
