/** Annotations and labels of deployed objects (docs/contracts/kubernetes.md#names). */

import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { managerLabel, nameLabel } from '../objects.ts'
import { artifactAnnotations, monikerAnnotations, sequenceLabel } from './annotations.ts'
import { hasTemplateMetadata, templateMetadata, withEntries } from './edit.ts'

interface DeployedMoniker {
  readonly app: string
  readonly cluster: string
  readonly stack?: string | undefined
  readonly detail?: string | undefined
  readonly sequence?: number | undefined
}

interface DeployedArtifact {
  /** `kubernetes/<kind>`. */
  readonly type: string
  /** Before versioning. */
  readonly name: string
  /** Namespace; empty for cluster-wide objects. */
  readonly location: string
  /** `v003`; empty where it has none. */
  readonly version: string
}

/** For the object, and for the pods of its template. Existing annotations are kept. */
export function annotated(
  manifest: JsonObject,
  artifact: DeployedArtifact,
  { app, cluster, stack, detail, sequence }: DeployedMoniker,
): JsonObject {
  const entries = definedOf({
    [artifactAnnotations.type]: artifact.type,
    [artifactAnnotations.name]: artifact.name,
    [artifactAnnotations.location]: artifact.location,
    [artifactAnnotations.version]: artifact.version,
    [monikerAnnotations.application]: app,
    [monikerAnnotations.cluster]: cluster,
    [monikerAnnotations.stack]: stack,
    [monikerAnnotations.detail]: detail,
    [monikerAnnotations.sequence]: sequence === undefined ? undefined : String(sequence),
  }) as Record<string, string>
  return placesOf(manifest).reduce(
    (changed, place) =>
      withEntries(changed, [...place, 'annotations'], { entries, keepsExisting: true }),
    manifest,
  )
}

interface LabelRules {
  readonly managedBy: string
  readonly skipsTemplate: boolean
}

/** An existing name stays; what manages it and its number are Fairlead's to say. */
export function labelled(
  manifest: JsonObject,
  { app, sequence }: Pick<DeployedMoniker, 'app' | 'sequence'>,
  { managedBy, skipsTemplate }: LabelRules,
): JsonObject {
  const owned = {
    [managerLabel]: managedBy,
    ...(sequence !== undefined && { [sequenceLabel]: String(sequence) }),
  }
  const places = skipsTemplate ? [['metadata']] : placesOf(manifest)
  return places.reduce((changed, place) => {
    const named = withEntries(changed, [...place, 'labels'], {
      entries: { [nameLabel]: app },
      keepsExisting: true,
    })
    return withEntries(named, [...place, 'labels'], { entries: owned, keepsExisting: false })
  }, manifest)
}

function placesOf(manifest: JsonObject): (readonly string[])[] {
  return [['metadata'], ...(hasTemplateMetadata(manifest) ? [templateMetadata] : [])]
}
