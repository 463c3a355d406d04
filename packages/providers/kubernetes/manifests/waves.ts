/** Waves of a deployment: the next one begins once the objects of the one before are ready (docs/contracts/kubernetes.md#order). */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { numberOf } from '@fairlead/base/json/values.ts'
import { kindOfManifest, printKind } from '../kinds.ts'
import { annotationOf } from './annotations.ts'
import { nameOf, namespaceOf } from './input.ts'

/** Compared one by one; those of equal places are in one wave. */
export type Wave = readonly number[]

/** When hooks of Helm and Argo CD are applied; others belong to another occasion, such as a test or a removal. */
const hookPhases: Readonly<Record<string, number>> = {
  'crd-install': -2,
  'pre-install': -1,
  'pre-upgrade': -1,
  PreSync: -1,
  Sync: 0,
  'post-install': 1,
  'post-upgrade': 1,
  PostSync: 1,
}

const hookAnnotations = ['helm.sh/hook', 'argocd.argoproj.io/hook']
const waveAnnotations = ['strategy.fairlead.io/wave', 'argocd.argoproj.io/sync-wave']
const dependsAnnotation = 'config.kubernetes.io/depends-on'

/** Undefined: a hook of another occasion, which a deployment leaves out. */
function phaseOf(manifest: JsonObject): number | undefined {
  const hooks = hookAnnotations
    .flatMap((key) => annotationOf(manifest, key)?.split(',') ?? [])
    .map((hook) => hook.trim())
  if (hooks.length === 0) return 0
  return hooks.map((hook) => hookPhases[hook]).find((phase) => phase !== undefined)
}

export function isHook(manifest: JsonObject): boolean {
  return hookAnnotations.some((key) => annotationOf(manifest, key) !== undefined)
}

/** Whether the hook is deleted once it has succeeded. */
export function isHookOfOnce(manifest: JsonObject): boolean {
  return /hook-succeeded|HookSucceeded/.test(
    annotationOf(manifest, 'helm.sh/hook-delete-policy') ??
      annotationOf(manifest, 'argocd.argoproj.io/hook-delete-policy') ??
      '',
  )
}

/** The wave of each manifest; undefined where it is left out. @throws {Error} where manifests wait for each other */
export function wavesOf(manifests: readonly JsonObject[]): (Wave | undefined)[] {
  const keys = manifests.map(keyOf)
  const levels = new Map<number, number>()
  const levelOf = (index: number, way: readonly number[]): number => {
    if (way.includes(index))
      throw new Error(`${keys[index]} depends on itself by ${dependsAnnotation}.`)
    return levels.getOrInsertComputed(index, () => {
      const needed = dependenciesOf(manifests[index] as JsonObject).flatMap((key) => {
        const found = keys.indexOf(key)
        return found < 0 ? [] : [levelOf(found, [...way, index]) + 1]
      })
      return Math.max(0, ...needed)
    })
  }
  return manifests.map((manifest, index) => {
    const phase = phaseOf(manifest)
    if (phase === undefined) return undefined
    const wave = waveAnnotations.map((key) => numberOf(annotationOf(manifest, key)))
    const weight = numberOf(annotationOf(manifest, 'helm.sh/hook-weight')) ?? 0
    return [phase, wave.find((each) => each !== undefined) ?? 0, weight, levelOf(index, [])]
  })
}

export function compareWaves(one: Wave, other: Wave): number {
  for (const [index, number] of one.entries()) {
    const difference = number - (other[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** `apps/namespaces/web/Deployment/db`, as dependencies are written; cluster-wide objects without namespace. */
function keyOf(manifest: JsonObject): string {
  const { kind } = kindOfManifest(manifest)
  const [group = '', version] = String(manifest['apiVersion'] ?? '').split('/')
  const namespace = namespaceOf(manifest)
  const place = namespace === undefined ? '' : `namespaces/${namespace}/`
  return `${version === undefined ? '' : group}/${place}${printKind({ kind, group: undefined }).toLowerCase()}/${nameOf(manifest)}`
}

function dependenciesOf(manifest: JsonObject): string[] {
  const texts = annotationOf(manifest, dependsAnnotation)?.split(',') ?? []
  return texts.map((text) => {
    const parts = text.trim().split('/')
    return parts.with(-2, (parts.at(-2) ?? '').toLowerCase()).join('/')
  })
}
