/** An infrastructure service with one Kubernetes account, in memory: it does operations at once, and records them. */

import { isObject, objectOf, objectsOf } from '../../../../packages/base/json/values.ts'
import type { CallService, ServiceAnswer } from '../../../../packages/ports/service-call.ts'

type Fields = Record<string, unknown>

export interface Kept {
  /** `replicaSet web-v000` */
  readonly name: string
  readonly location: string
  manifest: Fields
  /** Whether its state is `stable`, `failed` or something else, in words. */
  state: string
  /** Further fields of its reads. */
  more: Fields
}

export interface ManifestService {
  readonly call: CallService
  readonly objects: Kept[]
  /** Operations in order: name and description. */
  readonly operations: (readonly [string, Fields])[]
  /** Paths of reads and removals: `GET /manifests/…`. */
  readonly asked: string[]
  /** State of objects that are deployed from now on. */
  newState: string
  /** Operations that fail, with the message of each. */
  readonly failing: Map<string, string>
  /** Results of operations in place of those that the service makes up. */
  readonly results: Map<string, Fields>
  /** Answers by method and path, in place of others. */
  readonly scripted: Map<string, (body: unknown) => ServiceAnswer>
  add(name: string, parts?: Partial<Kept>): Kept
  names(): string[]
}

const found = (body: unknown): ServiceAnswer =>
  body === undefined ? { status: 404, body: undefined } : { status: 200, body }
const metadataOf = (manifest: Fields) => objectOf(manifest['metadata'])
const annotationOf = (manifest: Fields, key: string) =>
  objectOf(metadataOf(manifest)['annotations'])[key]
const kinds: Readonly<Record<string, string>> = {
  ReplicaSet: 'replicaSet',
  ConfigMap: 'configMap',
  StatefulSet: 'statefulSet',
}

export function createManifestService(): ManifestService {
  const objects: Kept[] = []
  const operations: (readonly [string, Fields])[] = []
  const tasks = new Map<string, Fields>()
  const requests = new Map<string, string>()
  const asked: string[] = []
  const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
  const find = (location: string, name: string) =>
    objects.find(
      (each) => each.location === (location === '_' ? '' : location) && isSame(each.name, name),
    )

  const changes: Record<string, (fields: Fields) => Fields | undefined> = {
    deployManifest(fields) {
      const deployed = objectsOf(fields['manifests']).map((manifest) => deploy(manifest, fields))
      const byNamespace = Map.groupBy(deployed, ({ location }) => location)
      return {
        manifests: deployed.map(({ manifest }) => manifest),
        manifestNamesByNamespace: Object.fromEntries(
          [...byNamespace].map(([key, all]) => [key, all.map(({ name }) => name)]),
        ),
        createdArtifacts: deployed.map(({ name, location }) => {
          const [kind = '', bare] = name.split(' ')
          return { type: `kubernetes/${kind}`, name: bare, reference: bare, location }
        }),
        boundArtifacts: [],
      }
    },
    deleteManifest({ manifestName, location }) {
      const at = objects.findIndex(
        (each) => each.location === location && isSame(each.name, String(manifestName)),
      )
      if (at >= 0) objects.splice(at, 1)
      return { manifestNamesByNamespace: { [String(location)]: at >= 0 ? [manifestName] : [] } }
    },
    patchManifest: ({ manifestName, location }) => {
      const kept = find(String(location), String(manifestName))
      return {
        manifests: [kept?.manifest],
        manifestNamesByNamespace: { [String(location)]: [manifestName] },
      }
    },
    planManifest: () => ({ differences: [] }),
    undoRolloutManifest({ manifestName, location }) {
      const kept = find(String(location), String(manifestName))
      if (kept !== undefined) kept.state = 'stable'
      return undefined
    },
    runJob({ manifest }) {
      const { namespace = 'n1', name } = metadataOf(objectOf(manifest))
      return {
        manifests: [manifest],
        deployedNamesByLocation: { [String(namespace)]: [`job ${String(name)}`] },
      }
    },
  }

  function deploy(manifest: Fields, fields: Fields): Kept {
    const kind = kinds[String(manifest['kind'])] ?? String(manifest['kind']).toLowerCase()
    const location = String(metadataOf(manifest)['namespace'] ?? 'default')
    const wanted = String(metadataOf(manifest)['name'])
    const version = objects.filter(
      (each) => each.location === location && each.name.startsWith(`${kind} ${wanted}-v`),
    ).length
    const name = kind === 'replicaSet' ? `${wanted}-v${String(version).padStart(3, '0')}` : wanted
    const annotations = {
      'moniker.spinnaker.io/application': objectOf(fields['moniker'])['app'],
      'moniker.spinnaker.io/cluster': `${kind} ${wanted}`,
      ...objectOf(metadataOf(manifest)['annotations']),
    }
    const live = {
      ...manifest,
      metadata: {
        ...metadataOf(manifest),
        name,
        namespace: location,
        uid: `u-${name}`,
        annotations,
      },
    }
    const before = find(location, `${kind} ${name}`)
    if (before !== undefined) objects.splice(objects.indexOf(before), 1)
    return service.add(`${kind} ${name}`, { location, manifest: live, state: service.newState })
  }

  function submit(query: URLSearchParams, body: Fields[]): ServiceAnswer {
    const requestId = query.get('clientRequestId') ?? ''
    const id = requests.get(requestId) ?? `t${tasks.size + 1}`
    if (!requests.has(requestId)) {
      requests.set(requestId, id)
      tasks.set(id, run(id, body))
    }
    return { status: 200, body: { id, resourceUri: `/task/${id}` } }
  }

  function run(id: string, body: Fields[]): Fields {
    const resultObjects: Fields[] = []
    for (const [name, fields] of body.flatMap((each) => Object.entries(each))) {
      operations.push([name, fields as Fields])
      const message = service.failing.get(name)
      if (message !== undefined) {
        const status = { status: 'failed', completed: true, failed: true }
        return {
          id,
          status,
          history: [],
          resultObjects: [{ type: 'EXCEPTION', operation: name, message }],
        }
      }
      const result = changes[name]?.(fields as Fields)
      const scripted = service.results.get(name)
      if (scripted !== undefined || result !== undefined)
        resultObjects.push({ ...result, ...scripted })
    }
    return {
      id,
      status: { status: 'done', completed: true, failed: false },
      history: [],
      resultObjects,
    }
  }

  function read(path: string): ServiceAnswer {
    const [, root, ...parts] = path.split('/').map(decodeURIComponent)
    if (root === 'task') return found(tasks.get(parts[0] ?? ''))
    if (root !== 'manifests') return found(undefined)
    const [, location = '', kind = '', , app, cluster, , criteria] = parts
    if (parts.length === 3) return found(view(find(location, kind)))
    const members = objects.filter(
      ({ name, manifest, location: place }) =>
        place === location &&
        isSame(name.split(' ')[0] ?? '', kind) &&
        annotationOf(manifest, 'moniker.spinnaker.io/application') === app &&
        annotationOf(manifest, 'moniker.spinnaker.io/cluster') === cluster,
    )
    const coordinates = members.map(({ name }) => ({
      kind,
      namespace: location,
      name: name.split(' ')[1],
    }))
    if (criteria === undefined) return found(coordinates)
    return found(
      criteria === 'newest'
        ? coordinates.at(-1)
        : criteria === 'oldest'
          ? coordinates[0]
          : undefined,
    )
  }

  function view(kept: Kept | undefined): Fields | undefined {
    if (kept === undefined) return undefined
    const { state, manifest, name, location, more } = kept
    const isStable = state === 'stable'
    const status = {
      stable: { state: isStable, message: isStable ? null : state },
      available: { state: isStable, message: null },
      paused: { state: false, message: null },
      failed: {
        state: state.startsWith('failed'),
        message: state.startsWith('failed') ? state : null,
      },
    }
    const app = annotationOf(manifest, 'moniker.spinnaker.io/application')
    const moniker = { app, cluster: annotationOf(manifest, 'moniker.spinnaker.io/cluster') }
    return {
      account: 'k8s',
      location,
      name,
      moniker,
      manifest,
      status,
      artifacts: [],
      events: [],
      warnings: [],
      ...more,
    }
  }

  const service: ManifestService = {
    objects,
    operations,
    asked,
    newState: 'stable',
    failing: new Map(),
    results: new Map(),
    scripted: new Map(),
    add(name, parts = {}) {
      const [kind = '', bare = ''] = name.split(' ')
      const manifest = { kind, metadata: { name: bare, namespace: 'n1' } }
      const kept: Kept = { name, location: 'n1', manifest, state: 'stable', more: {}, ...parts }
      objects.push(kept)
      return kept
    },
    names: () => objects.map(({ name }) => name),
    call: async (called, { method, path, body }) => {
      const [place = '', query = ''] = path.split('?')
      const scripted = service.scripted.get(`${method} ${place}`) ?? service.scripted.get(called)
      if (method !== 'POST' && !place.startsWith('/task/'))
        asked.push(`${method} ${decodeURIComponent(path)}`)
      if (scripted !== undefined) return scripted(body)
      if (called !== 'clouddriver') return { status: 404, body: undefined }
      if (method !== 'POST') return read(place)
      if (place !== '/kubernetes/ops') return { status: 500, body: { message: `POST to ${place}` } }
      return submit(new URLSearchParams(query), (Array.isArray(body) ? body : []).filter(isObject))
    },
  }
  return service
}
