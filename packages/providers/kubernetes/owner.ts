/** Whose an object is: what its annotation or labels claim, never its name. The one answer for reads, lists and writes. */
import { fieldAt, type JsonObject, textOf } from '@fairlead/base/json/values.ts'

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
