/** Lists and changes of the fake API server. */
import {
  fieldAt,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  textOf,
} from '../../packages/base/json/values.ts'
import type { FakeKubernetes, FakeRequest } from './fake-kubernetes.ts'
import {
  apiVersionOf,
  type FakeObject,
  type FakeObjects,
  type ServedKind,
} from './fake-kubernetes-objects.ts'

export interface FakeReply {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

interface Place {
  readonly kind: ServedKind
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
}

/** The object of an error. */
export function statusBody(
  code: number,
  reason: string,
  message: string,
  details: JsonObject = {},
): JsonObject {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    details,
    code,
  }
}

export function answer(fake: FakeKubernetes, request: FakeRequest): FakeReply | 'watch' {
  if (request.path === '/version')
    return { status: 200, body: { major: '1', minor: '34', gitVersion: 'v1.34.0' } }
  const place = parsePath(fake.objects, request.path)
  if (place === undefined) return { status: 404, body: '404 page not found\n' }
  if (place.name === undefined) {
    if (request.method === 'POST') return create(fake.objects, place, request)
    if (isWatch(request)) return 'watch'
    return list(fake.objects, place, request)
  }
  return answerOne(fake, { ...place, name: place.name }, request)
}

function isWatch({ query }: FakeRequest): boolean {
  return query.get('watch') === 'true' || query.get('watch') === '1'
}

export function parsePath(objects: FakeObjects, path: string): Place | undefined {
  const [root, ...parts] = path.slice(1).split('/').map(decodeURIComponent)
  if (root !== 'api' && root !== 'apis') return undefined
  const group = root === 'api' ? '' : parts.shift()
  const version = parts.shift()
  const isBelow = parts[0] === 'namespaces' && parts.length > 2
  const namespace = isBelow ? parts[1] : undefined
  const [plural, name, subresource] = isBelow ? parts.slice(2) : parts
  const kind = objects.kinds.find(
    (each) => each.group === group && each.version === version && each.plural === plural,
  )
  return kind && { kind, namespace, name, subresource }
}

function answerOne(
  fake: FakeKubernetes,
  place: Place & { readonly name: string },
  request: FakeRequest,
): FakeReply {
  const { objects } = fake
  const { kind, namespace, name, subresource } = place
  const known = objects.get(kind, namespace, name)
  const isApply =
    request.method === 'PATCH' && request.headers['content-type']?.includes('apply-patch') === true
  if (known === undefined) return isApply ? create(objects, place, request) : notFound(kind, name)
  if (subresource === 'log') return readLog(fake, known, request)
  if (subresource === 'scale') return scale(objects, known, request)
  switch (request.method) {
    case 'GET':
      return { status: 200, body: known }
    case 'PUT': {
      const asked = fieldAt(request.body, 'metadata', 'resourceVersion')
      if (textOf(asked) !== undefined && asked !== known.metadata.resourceVersion)
        return conflict(kind, name)
      return store(objects, request, {
        ...objectOf(request.body),
        metadata: merge(pinned(known), fieldAt(request.body, 'metadata')),
      })
    }
    case 'PATCH':
      return store(objects, request, patch(known, request))
    case 'DELETE': {
      const uid = fieldAt(request.body, 'preconditions', 'uid')
      if (uid !== undefined && uid !== known.metadata.uid) return conflict(kind, name)
      objects.remove(kind, namespace, name)
      return { status: 200, body: { kind: 'Status', apiVersion: 'v1', status: 'Success' } }
    }
    default:
      return {
        status: 405,
        body: statusBody(405, 'MethodNotAllowed', 'the server does not allow this method'),
      }
  }
}

/** What a replacement cannot change. */
function pinned({ metadata: { name, namespace, uid } }: FakeObject): JsonObject {
  return { name, ...(namespace !== undefined && { namespace }), uid }
}

function create(
  objects: FakeObjects,
  { kind, namespace, name }: Place,
  request: FakeRequest,
): FakeReply {
  const body = objectOf(request.body)
  const metadata = {
    ...objectOf(body['metadata']),
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
  }
  const wanted = textOf(metadata['name'])
  if (wanted !== undefined && objects.get(kind, namespace, wanted) !== undefined) {
    const message = `${kind.plural} "${wanted}" already exists`
    return {
      status: 409,
      body: statusBody(409, 'AlreadyExists', message, { name: wanted, kind: kind.plural }),
    }
  }
  return {
    ...store(objects, request, {
      ...body,
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata,
    }),
    status: 201,
  }
}

function store(objects: FakeObjects, { query }: FakeRequest, object: JsonObject): FakeReply {
  if (query.get('dryRun') === 'All') return { status: 200, body: object }
  return { status: 200, body: objects.put(object) }
}

function patch(known: FakeObject, { headers, body }: FakeRequest): JsonObject {
  if (headers['content-type']?.includes('json-patch') !== true) return objectOf(merge(known, body))
  const patched = structuredClone(known) as JsonObject
  for (const operation of objectsOf(body)) applyOperation(patched, operation)
  return patched
}

/** `add`, `replace`, `remove` and `test` at fields of objects and at entries of lists. */
function applyOperation(root: JsonObject, { op, path, value }: JsonObject): void {
  const names = String(path)
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = names.pop() ?? ''
  let target: unknown = root
  for (const name of names) target = (target as Record<string, unknown>)[name]
  if (op === 'test') return
  if (Array.isArray(target))
    target.splice(
      last === '-' ? target.length : Number(last),
      op === 'add' ? 0 : 1,
      ...(op === 'remove' ? [] : [value]),
    )
  else if (op === 'remove') delete (target as JsonObject)[last]
  else (target as JsonObject)[last] = value
}

/** RFC 7396. */
function merge(known: unknown, change: unknown): JsonObject {
  const merged = { ...objectOf(known) }
  for (const [name, value] of Object.entries(objectOf(change))) {
    if (value === null) delete merged[name]
    else merged[name] = isObject(value) ? merge(merged[name], value) : value
  }
  return merged
}

function scale(objects: FakeObjects, known: FakeObject, request: FakeRequest): FakeReply {
  const replicas = fieldAt(request.body, 'spec', 'replicas')
  const scaled =
    request.method === 'GET'
      ? known
      : objects.put({ ...known, spec: { ...objectOf(known['spec']), replicas } })
  const { name, namespace, uid, resourceVersion } = scaled.metadata
  const spec = { replicas: fieldAt(scaled, 'spec', 'replicas') ?? 0 }
  return {
    status: 200,
    body: {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name, namespace, uid, resourceVersion },
      spec,
    },
  }
}

function readLog(
  { logs }: FakeKubernetes,
  { metadata: { namespace, name } }: FakeObject,
  { query }: FakeRequest,
): FakeReply {
  const key = `${namespace}/${name}/${query.get('container') ?? ''}${query.get('previous') === 'true' ? '/previous' : ''}`
  const text = logs.get(key)
  if (text === undefined)
    return { status: 400, body: statusBody(400, 'BadRequest', `container has no log at ${key}`) }
  const tail = Number(query.get('tailLines') ?? 0)
  const lines = text.split('\n')
  return {
    status: 200,
    body: tail === 0 ? text : lines.slice(-tail - (text.endsWith('\n') ? 1 : 0)).join('\n'),
  }
}

/** Continue tokens name the version of their list and the entry that follows. */
function list(objects: FakeObjects, { kind, namespace }: Place, request: FakeRequest): FakeReply {
  const { query } = request
  const [version = String(objects.version), from = '0'] = query.get('continue')?.split('.') ?? []
  if (Number(version) < objects.oldest) {
    return {
      status: 410,
      body: statusBody(410, 'Expired', 'The provided continue parameter is too old'),
    }
  }
  const all = objects.list(kind, namespace).filter((object) => isSelected(objects, request, object))
  const limit = Number(query.get('limit') ?? 0) || all.length
  const end = Number(from) + limit
  const isPartial = request.headers.accept?.includes('as=PartialObjectMetadataList') === true
  const page = all.slice(Number(from), end)
  return {
    status: 200,
    body: {
      kind: isPartial ? 'PartialObjectMetadataList' : `${kind.kind}List`,
      apiVersion: isPartial ? 'meta.k8s.io/v1' : apiVersionOf(kind),
      metadata: {
        resourceVersion: version,
        ...(end < all.length && { continue: `${version}.${end}` }),
      },
      // As the real one, which leaves kind and version out of entries of its own kinds.
      items: isPartial
        ? page.map(toPartial)
        : page.map(({ apiVersion: _version, kind: _kind, ...entry }) => entry),
    },
  }
}

export function toPartial({ metadata }: FakeObject): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
}

/** By namespace and selectors; of fields only name, namespace and those of the involved object of events. */
export function isSelected(
  objects: FakeObjects,
  { path, query }: FakeRequest,
  object: FakeObject,
): boolean {
  const namespace = parsePath(objects, path)?.namespace
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false
  const fields = (query.get('fieldSelector') ?? '').split(',').filter((part) => part !== '')
  if (!fields.every((part) => hasField(object, part))) return false
  const labels = objectOf(object.metadata['labels'])
  const selector = query.get('labelSelector') ?? ''
  return listOf(selector.match(/[^,(]+(?:\([^)]*\))?/g)).every((part) =>
    hasLabel(labels, String(part).trim()),
  )
}

function hasField(object: FakeObject, part: string): boolean {
  const [path = '', value] = part.split(/==?/)
  return String(fieldAt(object, ...path.split('.')) ?? '') === value
}

function hasLabel(labels: JsonObject, part: string): boolean {
  const set = /^(\S+)\s+(in|notin)\s+\((.*)\)$/.exec(part)
  if (set !== null) {
    const [, name = '', operator, values = ''] = set
    const isIn = values.split(',').some((value) => labels[name] === value.trim())
    return operator === 'in' ? isIn : !isIn
  }
  const [, name = '', operator, value] = /^(!?[^=!]+)(?:(==?|!=)(.*))?$/.exec(part) ?? []
  if (operator === undefined)
    return name.startsWith('!') ? labels[name.slice(1)] === undefined : labels[name] !== undefined
  return operator === '!=' ? labels[name] !== value : labels[name] === value
}

function notFound({ plural, group }: ServedKind, name: string): FakeReply {
  const full = group === '' ? plural : `${plural}.${group}`
  return {
    status: 404,
    body: statusBody(404, 'NotFound', `${full} "${name}" not found`, { name, kind: plural }),
  }
}

function conflict({ plural }: ServedKind, name: string): FakeReply {
  const message = `Operation cannot be fulfilled on ${plural} "${name}": the object has been modified`
  return { status: 409, body: statusBody(409, 'Conflict', message, { name, kind: plural }) }
}
