/** Names of versions for config maps and secrets whose names everything follows (docs/contracts/kubernetes.md#versions). */
import {
  fieldAt,
  isObject,
  type JsonObject,
  objectsOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { formatFullName, type Kind } from '../kinds.ts'
import { toHead } from '../objects.ts'
import { manifestStrategyOf } from './annotations.ts'
import { nameOf } from './input.ts'
import { type Reference, type ReferenceRule, referencesIn } from './references.ts'

/** A manifest on its way, before it is bound. */
interface NamedManifest {
  readonly manifest: JsonObject
  readonly kind: Kind
  /** Empty for cluster-wide objects. */
  readonly namespace: string
}

interface RenamingOptions {
  /** `bound`: what a reference of the request follows. `clouddriver`: every config map and secret. */
  readonly versioning: 'bound' | 'clouddriver'
  /** Option of the operation: all or none, whatever their kind. */
  readonly isVersioned: boolean | undefined
  readonly references: readonly ReferenceRule[]
}

export interface NamingChoice {
  readonly isVersioned: boolean
  /** A sentence, where users may expect something else. */
  readonly note?: string
}

/** Names that programs look up, so that no version may hide them. A label is `key` or `key=value`; `*` ends a name. */
const foundByName: readonly {
  readonly by: string
  readonly names?: string
  readonly namespaces?: string
  readonly label?: string
  /** Types of secrets. */
  readonly types?: string
}[] = [
  {
    by: 'Kubernetes',
    types: 'kubernetes.io/service-account-token bootstrap.kubernetes.io/token',
  },
  { by: 'Argo CD', names: 'argocd-*' },
  { by: 'Argo CD', label: 'app.kubernetes.io/part-of=argocd' },
  { by: 'Argo CD', label: 'argocd.argoproj.io/secret-type' },
  { by: 'Argo Rollouts', names: 'argo-rollouts-config argo-rollouts-notification-secret' },
  { by: 'Knative', names: 'config-*', namespaces: 'knative-serving knative-eventing' },
  { by: 'Istio', names: 'istio istio-* cacerts', namespaces: 'istio-system' },
  { by: 'Linkerd', names: 'linkerd-*', namespaces: 'linkerd' },
  { by: 'Kubernetes', names: 'aws-auth coredns kube-proxy', namespaces: 'kube-system' },
  { by: 'Helm', names: 'sh.helm.release.v1.*' },
  { by: 'a sidecar of Grafana', label: 'grafana_dashboard' },
  { by: 'a sidecar of Grafana', label: 'grafana_datasource' },
  { by: 'Prometheus', label: 'prometheus_rule' },
]

/** New names within one request, whose manifests are known as a whole. */
export class Renaming {
  readonly #options: RenamingOptions
  readonly #manifests: readonly NamedManifest[]
  readonly #references: ReadonlyMap<string, readonly NamedReference[]>
  #places: ReadonlyMap<string, Place> | undefined

  constructor(manifests: readonly NamedManifest[], options: RenamingOptions) {
    this.#options = options
    this.#manifests = manifests
    this.#references = Map.groupBy(
      manifests.flatMap((each) => referencesOf(each, options.references)),
      ({ key }) => key,
    )
  }

  choose(named: NamedManifest): NamingChoice {
    const { manifest, kind } = named
    const explicit = manifestStrategyOf(manifest).isVersioned ?? this.#options.isVersioned
    if (explicit === false || (explicit === undefined && !kind.isVersioned))
      return { isVersioned: false }
    if (kind.name !== 'configMap' && kind.name !== 'secret') return { isVersioned: true }
    const name = formatFullName(kind, nameOf(manifest))
    const reason = this.#reasonToKeep(named)
    if (explicit === true || this.#options.versioning === 'clouddriver') {
      if (reason === undefined) return { isVersioned: true }
      return { isVersioned: true, note: `${name} gets the name of a version, although ${reason}.` }
    }
    if (reason === undefined) return { isVersioned: true }
    const note = `${name} keeps its name: ${reason}.`
    return { isVersioned: false, note }
  }

  /** Roles that name what gets another name: they no longer allow it. */
  #rolesNaming({ manifest, kind, namespace }: NamedManifest): string[] {
    return this.#manifests.flatMap((other) => {
      if (other.kind.name !== 'role' && other.kind.name !== 'clusterRole') return []
      if (other.namespace !== '' && other.namespace !== namespace) return []
      const names = objectsOf(other.manifest['rules'])
        .filter(({ resources }) =>
          textsOf(resources).some((each) => each === '*' || each === `${kind.name.toLowerCase()}s`),
        )
        .flatMap(({ resourceNames }) => textsOf(resourceNames))
      if (!names.includes(nameOf(manifest))) return []
      return [`${formatFullName(other.kind, nameOf(other.manifest))} names it in resourceNames`]
    })
  }

  #reasonToKeep(named: NamedManifest): string | undefined {
    const { manifest, kind, namespace } = named
    const key = keyOf(kind.name, namespace, nameOf(manifest))
    const references = this.#references.get(key) ?? []
    const writer = references.find(({ use }) => use === 'written')
    if (writer !== undefined) return `${writer.owner} writes it`
    const finder = finderOf(named)
    if (finder !== undefined) return `${finder} looks it up by this name`
    if (!references.some(({ use }) => use === 'bound')) return 'nothing in this request binds it'
    const fixed = references.find(({ use }) => use === 'named')
    if (fixed !== undefined)
      return `${fixed.owner} names it in ${fixed.path}, which does not follow it`
    const [role] = this.#rolesNaming(named)
    if (role !== undefined) return role
    const place = this.#placeNaming(named)
    return place && `${place.owner} also names it in ${place.path}`
  }

  /** Where its name stands as a word in a text that nothing binds. */
  #placeNaming({ manifest }: NamedManifest): Place | undefined {
    this.#places ??= placesOfWords(this.#manifests, this.#candidates(), this.#options.references)
    return this.#places.get(nameOf(manifest))
  }

  #candidates(): ReadonlySet<string> {
    const named = this.#manifests.filter(
      ({ kind: { name }, manifest, namespace }) =>
        (name === 'configMap' || name === 'secret') &&
        this.#references.has(keyOf(name, namespace, nameOf(manifest))),
    )
    return new Set(named.map(({ manifest }) => nameOf(manifest)))
  }
}

interface NamedReference extends Reference {
  readonly key: string
  /** Full name of the object that refers. */
  readonly owner: string
}

function referencesOf(
  { manifest, kind, namespace }: NamedManifest,
  rules: readonly ReferenceRule[],
): NamedReference[] {
  const owner = formatFullName(kind, nameOf(manifest))
  return referencesIn(manifest, rules)
    .filter((each) => each.use !== 'bound' || (each.namespace ?? namespace) === namespace)
    .map((each) => ({
      ...each,
      owner,
      key: keyOf(each.to, each.namespace ?? namespace, each.name),
    }))
}

function keyOf(kind: string, namespace: string, name: string): string {
  return `${kind.toLowerCase()} ${namespace} ${name}`
}

function finderOf({ manifest, namespace }: NamedManifest): string | undefined {
  const { labels } = toHead(manifest).metadata
  return foundByName.find(({ names = '', namespaces, label, types }) => {
    if (types !== undefined) return types.split(' ').includes(String(manifest['type']))
    if (namespaces !== undefined && !namespaces.split(' ').includes(namespace)) return false
    const [key = '', value] = label?.split('=') ?? []
    if (label !== undefined)
      return value === undefined ? Object.hasOwn(labels, key) : labels[key] === value
    return names.split(' ').some((name) => isNamed(nameOf(manifest), name))
  })?.by
}

function isNamed(name: string, pattern: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

interface Place {
  readonly owner: string
  readonly path: string
}

/** Texts in which programs are told names: arguments, values of variables, data of config maps, annotations. */
const tellingKeys: ReadonlySet<string> = new Set([
  'args',
  'command',
  'data',
  'annotations',
  'value',
  'parameters',
])
/** Fields of custom resources that name a config map or a secret. */
const namingPath =
  /secret|config|cert|credential|password|token|auth|key|(?:values?|substitute|env)From/i
const wordPattern = /[\w-]+(?:\.[\w-]+)*/g

function placesOfWords(
  manifests: readonly NamedManifest[],
  words: ReadonlySet<string>,
  rules: readonly ReferenceRule[],
): ReadonlyMap<string, Place> {
  const found = new Map<string, Place>()
  if (words.size === 0) return found
  for (const { manifest, kind } of manifests) {
    const owner = formatFullName(kind, nameOf(manifest))
    const own = nameOf(manifest)
    const isCustom = kind.name.includes('.')
    const bound = new Set(
      referencesIn(manifest, rules).flatMap(({ use, path }) => (use === 'bound' ? path : [])),
    )
    const look = (value: unknown, path: string, isTelling: boolean): void => {
      if (typeof value === 'string') {
        if (bound.has(path)) return
        const name = value.slice(value.indexOf('/') + 1)
        if (isCustom && words.has(name) && namingPath.test(path) && !found.has(name))
          found.set(name, { owner, path })
        if (!isTelling) return
        for (const [word] of value.matchAll(wordPattern))
          if (word !== own && words.has(word) && !found.has(word)) found.set(word, { owner, path })
      } else if (Array.isArray(value)) {
        for (const [index, entry] of value.entries()) look(entry, `${path}[${index}]`, isTelling)
      } else if (isObject(value)) {
        for (const [key, inner] of Object.entries(value))
          if (!isOwnKey(key))
            look(inner, path === '' ? key : `${path}.${key}`, isTelling || tellingKeys.has(key))
      }
    }
    if (kind.name === 'configMap') look(fieldAt(manifest, 'data'), 'data', true)
    else if (kind.name !== 'secret' && kind.name !== 'customResourceDefinition')
      look(manifest, '', false)
  }
  return found
}

/** Annotations of Spinnaker and Fairlead name applications and artifacts. */
function isOwnKey(key: string): boolean {
  return key.includes('spinnaker.io/') || key.startsWith('fairlead')
}
