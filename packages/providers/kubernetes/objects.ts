/** What objects of all kinds have; `objects/` reads what those of one kind have, once where the kind is known. */
import { asGiven, list, or, shape } from '@fairlead/base/json/shape.ts'
import { fieldAt, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'

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

export type Labels = Readonly<Record<string, string>>

export function toLabels(value: unknown): Labels {
  return objectOf(value) as Labels
}

interface ObjectMeta extends JsonObject {
  readonly name: string
  /** Undefined for cluster-wide objects. */
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  /** RFC 3339. */
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Labels
  readonly annotations?: Labels
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

export const toConditions = list(
  shape({
    type: textOf,
    status: textOf,
    reason: textOf,
    message: textOf,
    lastTransitionTime: textOf,
  }),
)
type Condition = ReturnType<typeof toConditions>[number]

const text = or(textOf, '')

/** What names an object or a manifest. */
export const toHead = shape({
  apiVersion: text,
  kind: text,
  metadata: shape({
    name: textOf,
    generateName: textOf,
    namespace: textOf,
    labels: toLabels,
    annotations: toLabels,
    ownerReferences: asGiven,
  }),
})

const toConditioned = shape({ status: shape({ conditions: toConditions }) })

/** For any kind; pods and workloads that are read have theirs in their status. */
export function conditionOf(object: JsonObject, type: string): Condition | undefined {
  return conditionIn(toConditioned(object).status.conditions, type)
}

export function conditionIn(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type)
}

/** Milliseconds since the epoch of an RFC 3339 time; undefined for anything else. */
export function millisecondsOf(time: unknown): number | undefined {
  const ms = Date.parse(textOf(time) ?? '')
  return Number.isNaN(ms) ? undefined : ms
}
