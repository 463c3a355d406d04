/** Fields of deployments, as descriptions have them. */
import { isTrue, type JsonObject, objectOf, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { DeployedMoniker } from '../manifests/annotate.ts'
import { manifestsOf } from '../manifests/input.ts'

/** What a deployment is to do, once its description is read. */
export interface DeployFields {
  readonly manifests: readonly JsonObject[]
  readonly moniker: Omit<DeployedMoniker, 'cluster' | 'sequence'> & { readonly cluster?: string | undefined }
  readonly requiredArtifacts: readonly JsonObject[]
  readonly optionalArtifacts: readonly JsonObject[]
  readonly bindsArtifacts: boolean
  readonly isVersioned: boolean | undefined
  readonly namespaceOverride: string | undefined
  readonly services: readonly string[]
  readonly enablesTraffic: boolean
  readonly rolloutStrategy: string
  readonly labelSelectors: unknown
  readonly maySelectNothing: boolean
  readonly skipsTemplateLabels: boolean
  /** Replaces what exists, whatever the manifests say. */
  readonly recreates: boolean
}

export function deployFieldsOf(description: JsonObject): DeployFields {
  const moniker = objectOf(description['moniker'])
  const text = (name: string) => textOf(moniker[name])
  const { versioned } = description
  return {
    manifests: manifestsOf(description),
    moniker: { app: text('app') ?? '', cluster: text('cluster'), stack: text('stack'), detail: text('detail') },
    requiredArtifacts: objectsOf(description['requiredArtifacts']),
    optionalArtifacts: objectsOf(description['optionalArtifacts']),
    bindsArtifacts: !isFalse(description['enableArtifactBinding']),
    isVersioned: versioned === null || versioned === undefined || versioned === '' ? undefined : isTrue(versioned),
    namespaceOverride: textOf(description['namespaceOverride'])?.trim() || undefined,
    services: textsOf(description['services']),
    enablesTraffic: !isFalse(description['enableTraffic']),
    rolloutStrategy: (textOf(description['strategy']) ?? '').toUpperCase().replaceAll(/[^A-Z]/g, ''),
    labelSelectors: description['labelSelectors'],
    maySelectNothing: isTrue(description['allowNothingSelected']),
    skipsTemplateLabels: isTrue(description['skipSpecTemplateLabels']),
    recreates: false,
  }
}

function isFalse(value: unknown): boolean {
  return value === false || (typeof value === 'string' && value.toLowerCase() === 'false')
}
