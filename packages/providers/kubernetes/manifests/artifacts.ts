/** Artifacts that manifests refer to, and their binding (docs/contracts/kubernetes.md#deployments). */
import { or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { builtInKind, kindOfManifest, parseKind } from '../kinds.ts'
import { toAutoscaler } from '../objects/workload.ts'
import { withField, withObjectAt } from './edit.ts'

interface NamedArtifact {
  readonly type: string
  readonly name: string
  readonly reference: string
}

/** What a reference to an artifact of the type becomes. */
type Replace = (type: string, value: string) => string

const workloads: ReadonlySet<string> = new Set(
  'deployment replicaSet statefulSet daemonSet job cronJob'.split(' '),
)

/** Places below a pod's specification; `*` is each entry of a list. */
const imageSlots = [
  ['containers', '*', 'image'],
  ['initContainers', '*', 'image'],
]
const containers = ['containers', 'initContainers']
const configMapSlots = [
  ['volumes', '*', 'configMap', 'name'],
  ['volumes', '*', 'projected', 'sources', '*', 'configMap', 'name'],
  ...containers.flatMap((list) => [
    [list, '*', 'env', '*', 'valueFrom', 'configMapKeyRef', 'name'],
    [list, '*', 'envFrom', '*', 'configMapRef', 'name'],
  ]),
]
const secretSlots = [
  ['volumes', '*', 'secret', 'secretName'],
  ['volumes', '*', 'projected', 'sources', '*', 'secret', 'name'],
  ...containers.flatMap((list) => [
    [list, '*', 'env', '*', 'valueFrom', 'secretKeyRef', 'name'],
    [list, '*', 'envFrom', '*', 'secretRef', 'name'],
  ]),
]
const podSlots = [
  ...imageSlots.map((path) => ({ type: 'docker/image', path })),
  ...configMapSlots.map((path) => ({ type: 'kubernetes/configMap', path })),
  ...secretSlots.map((path) => ({ type: 'kubernetes/secret', path })),
]

export function artifactsOf(object: JsonObject): NamedArtifact[] {
  const found = new Map<string, NamedArtifact>()
  mapReferences(object, (type, value) => {
    const name = type === 'docker/image' ? imageName(value) : value
    found.set(`${type} ${value}`, { type, name, reference: value })
    return value
  })
  return [...found.values()]
}

/** The name of an image: without digest, and without tag, which only follows the last slash. */
export function imageName(image: string): string {
  const [undigested = ''] = image.split('@')
  const colon = undigested.indexOf(':', undigested.lastIndexOf('/') + 1)
  return colon < 0 ? undigested : undigested.slice(0, colon)
}

const text = or(textOf, '')
const toArtifact = shape({
  type: text,
  name: text,
  version: text,
  location: text,
  reference: text,
  metadata: shape({ account: textOf }),
})
type ManifestArtifact = ShapeOf<typeof toArtifact>

export interface Binding {
  readonly account: string
  readonly namespace: string
  /** The first that matches counts. */
  readonly artifacts: readonly JsonObject[]
  readonly matchesImages: 'match-name-and-tag' | 'match-name-only'
}

interface BoundManifest {
  readonly manifest: JsonObject
  readonly bound: readonly JsonObject[]
}

export function bindArtifacts(manifest: JsonObject, binding: Binding): BoundManifest {
  const candidates = binding.artifacts
    .map((given) => ({ ...toArtifact(given), given }))
    .filter((artifact) => isCandidate(artifact, binding))
  const bound = new Set<JsonObject>()
  const replaced = mapReferences(manifest, (type, value) => {
    const name =
      type === 'docker/image' && binding.matchesImages === 'match-name-and-tag'
        ? imageName(value)
        : value
    const match = candidates.find(
      (artifact) => artifact.type.toLowerCase() === type.toLowerCase() && artifact.name === name,
    )
    if (match === undefined || match.reference === '') return value
    bound.add(match.given)
    return match.reference
  })
  return { manifest: replaced, bound: [...bound] }
}

/** Artifacts of the API server count only for the namespace and account that they are in. */
function isCandidate({ type, location, metadata }: ManifestArtifact, binding: Binding): boolean {
  if (!type.toLowerCase().startsWith('kubernetes/')) return true
  const owner = metadata.account
  return location === binding.namespace && (owner === undefined || owner === binding.account)
}

function mapReferences(object: JsonObject, replace: Replace): JsonObject {
  const name = builtInKind(kindOfManifest(object))?.name ?? ''
  if (workloads.has(name)) return mapPodSpecs(object, replace) as JsonObject
  if (name === 'pod') {
    const images = (type: string, value: string) =>
      type === 'docker/image' ? replace(type, value) : value
    return withObjectAt(object, ['spec'], (spec) => mapPodSpec(spec, images))
  }
  return name === 'horizontalpodautoscaler' ? mapScaleTarget(object, replace) : object
}

function mapPodSpecs(value: unknown, replace: Replace): unknown {
  if (Array.isArray(value)) return value.map((entry) => mapPodSpecs(entry, replace))
  if (!isObject(value)) return value
  const mapped = withObjectAt(value, ['spec', 'template', 'spec'], (spec) =>
    mapPodSpec(spec, replace),
  )
  return Object.fromEntries(
    Object.entries(mapped).map(([key, inner]) => [
      key,
      mapped !== value && key === 'spec' ? inner : mapPodSpecs(inner, replace),
    ]),
  )
}

function mapPodSpec(spec: JsonObject, replace: Replace): JsonObject {
  return podSlots.reduce<JsonObject>(
    (changed, { type, path }) =>
      mapSlot(changed, path, (value) => replace(type, value)) as JsonObject,
    spec,
  )
}

function mapSlot(
  value: unknown,
  path: readonly string[],
  replace: (value: string) => string,
): unknown {
  const [name, ...rest] = path
  if (name === undefined) return textOf(value) === undefined ? value : replace(value as string)
  if (name === '*')
    return Array.isArray(value) ? value.map((entry) => mapSlot(entry, rest, replace)) : value
  if (!isObject(value) || !Object.hasOwn(value, name)) return value
  return { ...value, [name]: mapSlot(value[name], rest, replace) }
}

function mapScaleTarget(object: JsonObject, replace: Replace): JsonObject {
  const { kind: targetKind, name } = toAutoscaler(object).spec.scaleTargetRef
  const kind = builtInKind(parseKind(targetKind))?.name
  if (name === undefined || (kind !== 'deployment' && kind !== 'replicaSet')) return object
  return withField(object, ['spec', 'scaleTargetRef', 'name'], replace(`kubernetes/${kind}`, name))
}

export function isSameArtifact(one: JsonObject, other: JsonObject): boolean {
  const [a, b] = [toArtifact(one), toArtifact(other)]
  return (['type', 'name', 'version', 'location', 'reference'] as const).every(
    (field) => a[field] === b[field],
  )
}

/** Where type, name and location are equal, the first counts. */
export function firstOfEachArtifact(artifacts: readonly JsonObject[]): JsonObject[] {
  const byKey = new Map<string, JsonObject>()
  for (const artifact of artifacts)
    byKey.set(artifactKey(artifact), byKey.get(artifactKey(artifact)) ?? artifact)
  return [...byKey.values()]
}

/** With one of the same type, name and location replaced. */
export function withArtifact(artifacts: readonly JsonObject[], artifact: JsonObject): JsonObject[] {
  return [artifact, ...artifacts.filter((other) => artifactKey(other) !== artifactKey(artifact))]
}

function artifactKey(artifact: JsonObject): string {
  const { type, name, location } = toArtifact(artifact)
  return JSON.stringify([type.toLowerCase(), name, location])
}
