/** What lies between two environments: changed images and manifests. */
import { isDeepStrictEqual } from 'node:util'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import type { Environment } from './declaration.ts'
import { repositoryOf } from './images.ts'
import type { Deployment } from './pipelines.ts'
import type { Running } from './running.ts'

interface ChangedImage {
  /** Without tag and digest. */
  readonly image: string
  /** What the later environment runs; null: nothing of it. */
  readonly from: string | null
  readonly to: string
}

/** Images that a promotion would change. */
export function changedImages(source: Running, target: Running): ChangedImage[] {
  const before = new Map(
    target.versions.toReversed().map((version) => [repositoryOf(version.image), version]),
  )
  return source.versions.flatMap((version) => {
    const image = repositoryOf(version.image)
    const there = before.get(image)
    if (there?.image === version.image && there.digest === version.digest) return []
    return [{ image, from: there?.label ?? null, to: version.label }]
  })
}

interface ChangedManifest {
  /** `deployment web` */
  readonly name: string
  readonly change: 'added' | 'changed' | 'removed'
}

/** Manifests that were deployed otherwise last, beside their images: in the earlier environment as compared with the later one. */
export function changedManifests(
  earlier: Environment,
  later: Environment,
  deployments: readonly Deployment[],
): ChangedManifest[] {
  const [source, target] = [earlier, later].map((environment) =>
    latestManifests(environment, deployments),
  )
  if (source === undefined || target === undefined || target.size === 0) return []
  const kept = [...source].flatMap(([name, manifest]): ChangedManifest[] => {
    const there = target.get(name)
    if (there === undefined) return [{ name, change: 'added' }]
    return isDeepStrictEqual(there, manifest) ? [] : [{ name, change: 'changed' }]
  })
  const removed = [...target.keys()].filter((name) => !source.has(name))
  return [...kept, ...removed.map((name): ChangedManifest => ({ name, change: 'removed' }))]
}

/** By their names, as they may differ from environment to environment. */
function latestManifests(
  { accounts, regions }: Environment,
  deployments: readonly Deployment[],
): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const { account, manifests } of deployments) {
    if (!accounts.includes(account)) continue
    for (const { kind, name: own, namespace = '', whole } of manifests) {
      if (regions !== undefined && !regions.includes(namespace)) continue
      const name = `${kind} ${own.replace(/-v\d{3}$/, '')}`
      if (!found.has(name)) found.set(name, comparable(whole))
    }
  }
  return found
}

const compared = new WeakMap<JsonObject, unknown>()

/** Without what the place, the cluster or a promotion decides. Each is compared with both of its neighbours. */
function comparable(manifest: JsonObject): unknown {
  return compared.getOrInsertComputed(
    manifest,
    ({ metadata: _metadata, status: _status, ...rest }) => withoutImages(rest),
  )
}

function withoutImages(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutImages)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) =>
      key === 'image' ? [] : [[key, withoutImages(each)]],
    ),
  )
}
