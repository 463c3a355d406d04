/** Manifests on their way to the API server. */
import type { JsonObject } from '../../../../../json/values.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import type { Kind } from '../kinds.ts'
import type { ManifestStrategy } from '../manifests/annotations.ts'

/** A manifest on its way. */
export interface Draft {
  readonly manifest: JsonObject
  readonly kind: Kind
  readonly resource: ApiResource
  /** Its definition is deployed by the same request. */
  readonly isPlanned: boolean
  /** Empty for cluster-wide objects. */
  readonly namespace: string
  /** Name in the request. */
  readonly artifactName: string
  /** Whether a live version of it was edited. */
  readonly isEdit: boolean
  readonly strategy: ManifestStrategy
}

/** A manifest as it is applied. */
export interface PreparedManifest extends Omit<Draft, 'artifactName' | 'isEdit'> {
  /** Full name, `configMap conf-v000`. */
  readonly name: string
  /** Undefined: the API server makes one. */
  readonly objectName: string | undefined
  readonly artifact: JsonObject
  /** Whether a version of it is created that did not exist. */
  readonly isNewVersion: boolean
  /** The operation and the manifest's place in it. */
  readonly writer: string
}
