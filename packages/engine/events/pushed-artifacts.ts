/** Artifacts in webhooks of registries and source control. @see docs/contracts/events.md#webhooks */
import { fieldOf, isObject, type JsonObject, objectOf, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { encodeValue } from '@fairlead/base/net/encode-path.ts'
import type { Event } from './event.ts'
import { type PushedImage, readDistribution, readDockerHub, readQuay } from './registry-webhooks.ts'

/** What every artifact of a push repeats is short, and a push of so many files is no push: a small body must not become a large list. */
const maxSharedLength = 1000
const maxFiles = 3000

/** The body's own list of artifacts if it has one, else what the source is known to send. */
export function pushedArtifacts({ source, payload }: Event): JsonObject[] {
  if (Array.isArray(payload['artifacts'])) return objectsOf(payload['artifacts'])
  const extract = Object.hasOwn(extractors, source.toLowerCase()) ? extractors[source.toLowerCase()] : undefined
  return extract === undefined ? [] : extract(payload)
}

const extractors: Record<string, (payload: JsonObject) => JsonObject[]> = {
  github: (payload) => {
    const contents = shared(fieldOf(payload['repository'], 'contents_url'))
    const version = shared(payload['after'])
    return changedFiles(payload).map((name) => ({
      type: 'github/file',
      name,
      version,
      reference: contents?.replace('{+path}', () => name),
    }))
  },
  gitlab: (payload) => {
    const project = objectOf(payload['project'])
    const [web, path] = [shared(project['web_url']), shared(project['path_with_namespace'])]
    const origin = web !== undefined && URL.canParse(web) ? new URL(web).origin : undefined
    return changedFiles(payload).map((name) => ({
      type: 'gitlab/file',
      name,
      version: shared(payload['after']),
      reference:
        origin === undefined || path === undefined
          ? undefined
          : `${origin}/api/v4/projects/${encodeValue(path)}/repository/files/${encodeValue(name)}/raw`,
    }))
  },
  gitea: giteaFiles,
  forgejo: giteaFiles,
  dockerhub: (payload) => readDockerHub(payload).flatMap(dockerImages),
  quay: (payload) => readQuay(payload).flatMap(dockerImages),
  dockerregistry: (payload) => readDistribution(payload).flatMap(dockerImages),
  nexus: ({ component }) => {
    if (!isObject(component)) return []
    const [group, name, version] = [component['group'], component['name'], component['version']].map(textOf)
    if (group === undefined || name === undefined || version === undefined) return []
    return [{ type: 'maven/file', name: `${group}:${name}`, version, reference: `${group}:${name}:${version}` }]
  },
}

function giteaFiles(payload: JsonObject): JsonObject[] {
  const repository = objectOf(payload['repository'])
  const [web, path, version] = [shared(repository['html_url']), shared(repository['full_name']), shared(payload['after'])]
  const base = web !== undefined && path !== undefined && web.endsWith(`/${path}`) ? web.slice(0, -path.length - 1) : undefined
  return changedFiles(payload).map((name) => ({
    type: 'gitea/file',
    name,
    version,
    reference: base === undefined ? undefined : `${base}/api/v1/repos/${path}/raw/${name.split('/').map(encodeValue).join('/')}`,
  }))
}

function dockerImages({ registry, repository, tag }: PushedImage): JsonObject[] {
  const name = shared(registry === undefined ? repository : `${registry}/${repository}`)
  return repository === undefined || tag === undefined || name === undefined ? [] : [dockerImage(name, tag)]
}

export function dockerImage(name: string, tag: string): JsonObject {
  return { type: 'docker/image', name, version: tag, reference: `${name}:${tag}` }
}

/** Files that any commit of a push added or modified, each once. */
function changedFiles(payload: JsonObject): string[] {
  const files = objectsOf(payload['commits']).flatMap(({ added, modified }) => [...textsOf(added), ...textsOf(modified)])
  return [...new Set(files)].slice(0, maxFiles)
}

/** A text that is not empty and not longer than a name or an address; else undefined. */
function shared(value: unknown): string | undefined {
  const text = textOf(value)
  return text === undefined || text.length > maxSharedLength ? undefined : text
}
