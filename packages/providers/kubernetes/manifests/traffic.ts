/** Load balancers of workloads: the services whose selectors their pods match (docs/contracts/kubernetes.md#deployments). */
import { isDeepStrictEqual } from 'node:util'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { fieldAt, type JsonObject } from '@fairlead/base/json/values.ts'
import { builtInKind, type FullName, parseFullName } from '../kinds.ts'
import { toService } from '../objects/network.ts'
import type { Labels } from '../objects.ts'
import { annotationOf, trafficAnnotation } from './annotations.ts'
import { templateMetadata, withEntries, withField, withoutField } from './edit.ts'

export const trafficReceivers: ReadonlySet<string> = new Set(
  'deployment replicaSet statefulSet daemonSet pod job cronJob'.split(' '),
)

/** Full names; none where the annotation is missing. @throws {Error} where it is no list of texts */
export function annotatedLoadBalancers(manifest: JsonObject): string[] {
  const text = annotationOf(manifest, trafficAnnotation)
  if (text === undefined) return []
  const names = parseIfJson(text)
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) {
    throw new Error(
      `The annotation ${trafficAnnotation} should be a list of full names, such as ["service web"]; it is ${text}.`,
    )
  }
  return names
}

/** @throws {Error} where the manifest names others already */
export function withLoadBalancers(manifest: JsonObject, services: readonly string[]): JsonObject {
  if (services.length === 0) return manifest
  const existing = annotatedLoadBalancers(manifest)
  if (existing.length > 0 && !isDeepStrictEqual(existing, [...services])) {
    throw new Error(
      `The manifest has the annotation ${trafficAnnotation} with ${existing.join(', ')}, and the request names ` +
        `${services.join(', ')}. Remove one of them.`,
    )
  }
  return withField(
    manifest,
    ['metadata', 'annotations', trafficAnnotation],
    JSON.stringify(services),
  )
}

/** @throws {Error} where the name is none, or of a kind that receives no traffic itself */
export function parseLoadBalancer(name: string): FullName {
  const full = parseFullName(name)
  if (full === undefined)
    throw new Error(
      `"${name}" is not the name of a load balancer. Write kind and name, such as "service web".`,
    )
  if (builtInKind(full)?.name !== 'service') {
    throw new Error(
      `${name} cannot be attached: only services select pods. Write "service <name>".`,
    )
  }
  return full
}

/** @throws {Error} where the service selects no pods by labels */
export function selectorOf(service: JsonObject, name: string): Labels {
  const { selector } = toService(service).spec
  if (Object.keys(selector).length === 0) {
    throw new Error(
      `${name} has no selector, so that it cannot send traffic to certain pods. Add spec.selector to it.`,
    )
  }
  return selector
}

/** Where the labels of the pods stand. */
export function podLabelsPath(isPod: boolean): readonly string[] {
  return isPod ? ['metadata', 'labels'] : [...templateMetadata, 'labels']
}

interface Attachment {
  readonly name: string
  readonly selector: Labels
  readonly isPod: boolean
  /** A live object that is deployed again: it may have the labels. */
  readonly mayBeAttached: boolean
}

/** Copies the selector to the labels of the pods. @throws {Error} where one of its keys is taken */
export function attached(
  manifest: JsonObject,
  { name, selector, isPod, mayBeAttached }: Attachment,
): JsonObject {
  const path = podLabelsPath(isPod)
  const taken = Object.keys(selector).find((key) => {
    const value = fieldAt(manifest, ...path, key)
    return value !== undefined && !(mayBeAttached && value === selector[key])
  })
  if (taken !== undefined) {
    throw new Error(
      `${name} cannot be attached: the pods have the label "${taken}" already, which its selector uses. Remove the label, so that ` +
        'traffic can be switched on and off.',
    )
  }
  return withEntries(manifest, path, { entries: selector, keepsExisting: false })
}

/** Removes the labels that make a service select the pods. */
export function detached(manifest: JsonObject, selector: Labels, isPod: boolean): JsonObject {
  return Object.keys(selector).reduce(
    (left, key) => withoutField(left, [...podLabelsPath(isPod), key]),
    manifest,
  )
}
