/** cleanupArtifacts: deletes old versions of what was deployed. */
import { fieldAt, type JsonObject, textOf } from '../../../../../json/values.ts'
import type { OperationType } from '../../../operation-type.ts'
import { formatFullName } from '../full-name.ts'
import { kindOfManifest, printKind } from '../kinds.ts'
import { annotationOf, artifactAnnotations, strategyOf } from '../manifests/annotations.ts'
import { manifestsOf, nameOf } from '../manifests/input.ts'
import { toPriorVersion } from '../manifests/versions.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesParts } from '../parts.ts'
import { checkChanges, toChange } from './owners.ts'
import { defineOperation, type Running } from './parts.ts'
import { removeObject } from './remove.ts'
import { namesByNamespace } from './results.ts'
import { aboutObject, describeNamespaceProblem, describePlace, groupAndVersion, type Target } from './targets.ts'

/** Old versions are rarely in use, so that they are gone at once. */
const cleanupMs = 60_000

export function cleanupArtifacts(parts: KubernetesParts): OperationType {
  return defineOperation(parts, {
    check: (description, account) => [
      ...new Set(manifestsOf(description).map((manifest) => describeNamespaceProblem(account, namespaceOf(manifest)))),
    ],
    changes: (description) =>
      manifestsOf(description).map((manifest) => ({
        namespace: namespaceOf(manifest),
        name: `${printKind(kindOfManifest(typeOf(manifest)))} ${artifactOf(manifest)}`,
      })),
    run: cleanUp,
  })
}

function typeOf(manifest: JsonObject): { readonly kind: string; readonly apiVersion: string } {
  return { kind: textOf(manifest['kind']) ?? '', apiVersion: textOf(manifest['apiVersion']) ?? '' }
}

function namespaceOf(manifest: JsonObject): string {
  return textOf(fieldAt(manifest, 'metadata', 'namespace')) ?? ''
}

function artifactOf(manifest: JsonObject): string {
  return annotationOf(manifest, artifactAnnotations.name) ?? nameOf(manifest)
}

interface OldVersion extends Target {
  readonly live: KubeObject
}

async function cleanUp(running: Running): Promise<void> {
  const old: OldVersion[] = []
  for (const manifest of manifestsOf(running.description)) old.push(...(await oldVersionsOf(running, manifest)))
  await checkChanges(
    running,
    old.map((each) => toChange(each, each.live)),
  )
  for (const each of old) {
    await aboutObject(describePlace(running.account, each.name, each.place.namespace), () =>
      removeObject(running, each, { propagation: 'Background', limitMs: cleanupMs }),
    )
  }
  const names = old.map(({ name, place }) => ({ name, namespace: place.namespace }))
  running.run.report({ manifests: null, manifestNamesByNamespace: namesByNamespace(names) })
}

/** Beyond the newest ones, whose number the manifest gives; never the deployed one itself. */
async function oldVersionsOf({ account }: Running, manifest: JsonObject): Promise<OldVersion[]> {
  const { maxVersionHistory } = strategyOf(manifest)
  const version = annotationOf(manifest, artifactAnnotations.version)
  if (maxVersionHistory === undefined || version === undefined) return []
  const { kind: kindName, apiVersion } = typeOf(manifest)
  const resource = await account.api.find({ kind: kindName, ...groupAndVersion(apiVersion) })
  if (resource === undefined) return []
  const kind = account.kinds.kindOf(kindOfManifest(typeOf(manifest)), resource.isNamespaced)
  const namespace = resource.isNamespaced ? namespaceOf(manifest) : ''
  const artifact = artifactOf(manifest)
  const objects = await aboutObject(describePlace(account, `${kind.name} ${artifact}`, namespace), () =>
    account.api.list(resource, { ...(namespace !== '' && { namespace }), metadataOnly: true }),
  )
  const others = objects
    .filter((object) => toPriorVersion(object, artifact) !== undefined && object.metadata.name !== nameOf(manifest))
    .sort((one, other) => createdOf(other).localeCompare(createdOf(one)) || numberOf(other, artifact) - numberOf(one, artifact))
  return others.slice(Math.max(1, maxVersionHistory) - 1).map((live) => {
    const { name } = live.metadata
    const typed = { ...live, kind: kindName, apiVersion }
    return { name: formatFullName(kind, name), kind, place: { resource, namespace, name }, live: typed }
  })
}

function createdOf({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? ''
}

function numberOf(object: KubeObject, artifact: string): number {
  return toPriorVersion(object, artifact)?.number ?? 0
}
