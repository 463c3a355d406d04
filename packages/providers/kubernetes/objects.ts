/** Objects of Kubernetes, as its API server reports them. */
import { list, maybe, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { fieldAt, isObject, type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'

export const applicationAnnotation = 'moniker.spinnaker.io/application'
/** It counts as the application beside `managerLabel`. */
export const nameLabel = 'app.kubernetes.io/name'
export const managerLabel = 'app.kubernetes.io/managed-by'

/**
 * The application that an object claims for itself; undefined: none. The label counts only beside one that says that Spinnaker manages
 * the object. What its controllers claim owns it, too: see `ownershipOf`, and `NamespaceObjects.owned` for lists.
 */
export function ownerOf(object: JsonObject): string | undefined {
  const annotated = valueText(fieldAt(object, 'metadata', 'annotations', applicationAnnotation))
  if (annotated !== undefined) return annotated
  const label = (name: string) => valueText(fieldAt(object, 'metadata', 'labels', name))
  return label(managerLabel)?.startsWith('spinnaker') === true ? label(nameLabel) : undefined
}

/**
 * The text of an annotation or a label, without quotes of JSON and blanks around it; undefined where nothing is left. Manifests may
 * also hold numbers and booleans, which YAML makes of bare words.
 */
export function valueText(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return textOf(unquoted((textOf(value) ?? '').trim()).trim())
}

function unquoted(value: string): string {
  if (!/^".*"$/s.test(value)) return value
  try {
    return String(JSON.parse(value))
  } catch {
    return value.slice(1, -1)
  }
}

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

const toConditions = shape({
  status: shape({
    conditions: list(
      shape({
        type: textOf,
        status: textOf,
        reason: textOf,
        message: textOf,
        lastTransitionTime: textOf,
      }),
    ),
  }),
})
export type Condition = ReturnType<typeof conditionsOf>[number]

export function conditionsOf(object: JsonObject) {
  return toConditions(object).status.conditions
}

export function conditionOf(object: JsonObject, type: string): Condition | undefined {
  return conditionsOf(object).find((condition) => condition.type === type)
}

const toEnding = maybe(
  shape({
    exitCode: numberOf,
    signal: numberOf,
    reason: textOf,
    message: textOf,
    finishedAt: textOf,
  }),
)
const toStates = shape({
  running: isObject,
  terminated: toEnding,
  waiting: toEnding,
})
const toContainers = list(
  shape({
    name: or(textOf, ''),
    image: or(textOf, ''),
    ready: (value: unknown) => value === true,
    restartCount: or(numberOf, 0),
    state: toStates,
    lastState: toStates,
  }),
)
export const toPodStatus = shape({
  phase: textOf,
  reason: textOf,
  message: textOf,
  initContainerStatuses: toContainers,
  containerStatuses: toContainers,
})
export type ContainerStatus = ShapeOf<typeof toContainers>[number]

/** Milliseconds since the epoch of an RFC 3339 time; undefined for anything else. */
export function millisecondsOf(time: unknown): number | undefined {
  const ms = Date.parse(textOf(time) ?? '')
  return Number.isNaN(ms) ? undefined : ms
}
