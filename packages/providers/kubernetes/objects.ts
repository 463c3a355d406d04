/** Objects of Kubernetes, as its API server reports them. */
import { fieldAt, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'

export interface KubeObject extends JsonObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

export interface ObjectMeta extends JsonObject {
  readonly name: string
  /** Undefined for cluster-wide objects. */
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  /** RFC 3339. */
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
}

type Described = Pick<KubeObject, 'metadata'>

/** What creates and removes it, as a deployment does its replica sets. */
export function controllerOf({ metadata }: Described): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)
}

/** Its controller, else what it is otherwise removed with. */
export function ownerReferenceOf(object: Described): OwnerReference | undefined {
  return controllerOf(object) ?? object.metadata.ownerReferences?.[0]
}

export function isOwnedBy({ metadata }: Described, owner: Described): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true
}

/** A condition of its status, such as `Ready`. */
export function conditionOf(object: JsonObject, type: string): JsonObject | undefined {
  return objectsOf(fieldAt(object, 'status', 'conditions')).find((condition) => condition['type'] === type)
}

/** Milliseconds since the epoch of an RFC 3339 time; undefined for anything else. */
export function millisecondsOf(time: unknown): number | undefined {
  const ms = Date.parse(textOf(time) ?? '')
  return Number.isNaN(ms) ? undefined : ms
}
