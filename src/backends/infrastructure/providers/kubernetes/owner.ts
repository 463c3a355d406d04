/** Whose an object is: what its annotations and labels say, never its name. */
import { textOf } from '../../../../json/values.ts'
import type { KubeObject } from './objects.ts'

export const applicationAnnotation = 'moniker.spinnaker.io/application'
/** It counts as the application beside `managerLabel`. */
export const nameLabel = 'app.kubernetes.io/name'
export const managerLabel = 'app.kubernetes.io/managed-by'

/** The application that owns it; undefined: none does. The label counts only beside one that says that Spinnaker manages the object. */
export function ownerOf({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  const annotated = textOf(metadata.annotations?.[applicationAnnotation])
  if (annotated !== undefined && unquoted(annotated) !== '') return unquoted(annotated)
  const isManaged = metadata.labels?.[managerLabel]?.startsWith('spinnaker') === true
  return isManaged ? textOf(metadata.labels?.[nameLabel]) : undefined
}

/** Values may be JSON texts, `"web"` with quotes. */
export function unquoted(value: string): string {
  if (!/^".*"$/s.test(value)) return value
  try {
    return String(JSON.parse(value))
  } catch {
    return value.slice(1, -1)
  }
}
