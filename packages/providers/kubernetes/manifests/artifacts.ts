/** Artifacts that manifests refer to, and their binding (docs/contracts/kubernetes.md#deployments). */
import { or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { mapReferences, type ReferenceRule, referencesIn } from './references.ts'

interface NamedArtifact {
  readonly type: string
  readonly name: string
  readonly reference: string
}

/** What a live object has bound, or could have. */
export function artifactsOf(object: JsonObject): NamedArtifact[] {
  const found = new Map<string, NamedArtifact>()
  for (const { to, name: reference, use } of referencesIn(object)) {
    if (use !== 'bound') continue
    const type = artifactTypeOf(to)
    const name = to === 'image' ? imageName(reference) : reference
    found.set(`${type} ${reference}`, { type, name, reference })
  }
  return [...found.values()]
}

function artifactTypeOf(kind: string): string {
  return kind === 'image' ? 'docker/image' : `kubernetes/${kind}`
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

interface Binding {
  readonly account: string
  readonly namespace: string
  /** The first that matches counts. */
  readonly artifacts: readonly JsonObject[]
  readonly matchesImages: 'match-name-and-tag' | 'match-name-only'
  /** Rules of the account, besides the built-in ones. */
  readonly references?: readonly ReferenceRule[]
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
  const replaced = mapReferences(manifest, binding.references ?? [], (reference) => {
    const { to, name: value, namespace = binding.namespace, use } = reference
    if (use !== 'bound' || namespace !== binding.namespace) return value
    const type = artifactTypeOf(to).toLowerCase()
    const name =
      to === 'image' && binding.matchesImages === 'match-name-and-tag' ? imageName(value) : value
    const match = candidates.find(
      (artifact) => artifact.type.toLowerCase() === type && artifact.name === name,
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

/** Replaces one of the same type, name and location. */
export function withArtifact(artifacts: readonly JsonObject[], artifact: JsonObject): JsonObject[] {
  return [artifact, ...artifacts.filter((other) => artifactKey(other) !== artifactKey(artifact))]
}

function artifactKey(artifact: JsonObject): string {
  const { type, name, location } = toArtifact(artifact)
  return JSON.stringify([type.toLowerCase(), name, location])
}
