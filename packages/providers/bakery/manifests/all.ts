/** All types of manifests. */
import { helm2Manifests, helm3Manifests } from './helm.ts'
import { helmfileManifests } from './helmfile.ts'
import { kustomizeManifests } from './kustomize.ts'
import type { ManifestType } from './manifest-type.ts'

export const manifestTypes: readonly ManifestType[] = [helm2Manifests, helm3Manifests, helmfileManifests, ...kustomizeManifests]
