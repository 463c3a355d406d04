/** cleanupArtifacts: deletes old versions of what was deployed. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { formatFullName, kindOfManifest, printKind } from '../kinds.ts'
import { annotationOf, artifactAnnotations, manifestStrategyOf } from '../manifests/annotations.ts'
import { manifestsOf, nameOf, namespaceOf } from '../manifests/input.ts'
import { toPriorVersion } from '../manifests/versions.ts'
import { type KubeObject, toHead } from '../objects.ts'
import { defineManifestOperation, type ManifestRun, namesByNamespace } from './parts.ts'
import { removeManifest } from './remove.ts'
import { checkChanges, toChange } from './rights.ts'
import {
  aboutObject,
  describeNamespaceProblem,
  describeObjectPlace,
  describeTarget,
  groupAndVersion,
  type LiveTarget,
} from './targets.ts'

/** Old versions are rarely in use, so that they are gone at once. */
const cleanupMs = 60_000

export const cleanupArtifacts = defineManifestOperation({
  reads: manifestsOf,
  check: (manifests, account) => [
    ...new Set(
      manifests.map((manifest) => describeNamespaceProblem(account, namespaceOf(manifest) ?? '')),
    ),
  ],
  changes: (manifests) =>
    manifests.map((manifest) => ({
      namespace: namespaceOf(manifest) ?? '',
      name: `${printKind(kindOfManifest(manifest))} ${artifactOf(manifest)}`,
    })),
  run: cleanUp,
})

function artifactOf(manifest: JsonObject): string {
  return annotationOf(manifest, artifactAnnotations.name) ?? nameOf(manifest)
}

async function cleanUp(running: ManifestRun, manifests: readonly JsonObject[]): Promise<void> {
  const old: LiveTarget[] = []
  for (const manifest of manifests) old.push(...(await oldVersionsOf(running, manifest)))
  await checkChanges(running, old.map(toChange))
  for (const each of old) {
    await aboutObject(describeTarget(running.account, each), () =>
      removeManifest(running, each, { propagation: 'Background', limitMs: cleanupMs }),
    )
  }
  const names = old.map(({ name, place }) => ({ name, namespace: place.namespace }))
  running.run.report({ manifests: null, manifestNamesByNamespace: namesByNamespace(names) })
}

/** Beyond the newest ones, whose number the manifest gives; never the deployed one itself. */
async function oldVersionsOf(
  { account }: ManifestRun,
  manifest: JsonObject,
): Promise<LiveTarget[]> {
  const { maxVersionHistory } = manifestStrategyOf(manifest)
  const version = annotationOf(manifest, artifactAnnotations.version)
  if (maxVersionHistory === undefined || version === undefined) return []
  const { kind: kindName, apiVersion } = toHead(manifest)
  const resource = await account.api.find({ kind: kindName, ...groupAndVersion(apiVersion) })
  if (resource === undefined) return []
  const kind = account.kinds.kindOf(kindOfManifest(manifest), resource.isNamespaced)
  const namespace = resource.isNamespaced ? (namespaceOf(manifest) ?? '') : ''
  const artifact = artifactOf(manifest)
  const objects = await aboutObject(
    describeObjectPlace(account, `${kind.name} ${artifact}`, namespace),
    () => account.api.list(resource, { namespace, metadataOnly: true }),
  )
  const others = objects
    .filter(
      (object) =>
        toPriorVersion(object, artifact) !== undefined && object.metadata.name !== nameOf(manifest),
    )
    .sort(
      (one, other) =>
        createdOf(other).localeCompare(createdOf(one)) ||
        versionOf(other, artifact) - versionOf(one, artifact),
    )
  return others.slice(Math.max(1, maxVersionHistory) - 1).map((live) => {
    const { name } = live.metadata
    const typed = { ...live, kind: kindName, apiVersion }
    return {
      name: formatFullName(kind, name),
      kind,
      place: { resource, namespace, name },
      live: typed,
    }
  })
}

function createdOf({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? ''
}

function versionOf(object: KubeObject, artifact: string): number {
  return toPriorVersion(object, artifact)?.number ?? 0
}
