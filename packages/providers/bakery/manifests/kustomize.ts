/** Manifests from kustomizations: `kustomize build`, or `kubectl kustomize`. */
import { dirname } from 'node:path'
import { PortError } from '@fairlead/base/port-error.ts'
import { downloadKustomization } from './kustomization-download.ts'
import type { ManifestBake, ManifestType } from './manifest-type.ts'
import { findProgram } from './programs.ts'
import type { ManifestRequest } from './request.ts'
import { isArchive } from './work-folder.ts'

type KustomizeName = 'KUSTOMIZE' | 'KUSTOMIZE4' | 'KUSTOMIZE5'

export const kustomizeManifests: readonly ManifestType[] = (
  ['KUSTOMIZE', 'KUSTOMIZE4', 'KUSTOMIZE5'] as const
).map((name) => ({
  name,
  input: 'inputArtifact',
  render: (request, bake) => build(name, request, bake),
}))

const sources = 'kustomization'

async function build(
  name: KustomizeName,
  request: ManifestRequest,
  bake: ManifestBake,
): Promise<string> {
  if (request.inputArtifact?.['type'] === 'git/repo') requirePath(request)
  const command = findProgram(name, bake.settings)
  const folder = await placeSources(request, bake)
  return bake.run(command, [folder])
}

/** @throws {PortError} 400 */
function requirePath({ kustomizeFilePath }: ManifestRequest): string {
  if (kustomizeFilePath !== undefined) return kustomizeFilePath
  throw new PortError(
    400,
    'A repository needs "kustomizeFilePath", the path of its kustomization.yaml, and the request has none.',
  )
}

/** @returns the folder of the kustomization below the work folder */
async function placeSources(request: ManifestRequest, bake: ManifestBake): Promise<string> {
  const artifact = request.inputArtifact ?? {}
  const content = await bake.fetch(artifact)
  if (!isArchive(content)) return downloadKustomization(sources, { artifact, content }, bake)
  const path = requirePath(request)
  await bake.work.unpack(sources, content, artifact)
  const place = bake.work.resolve(sources, path, 'kustomizeFilePath')
  return bake.work.isFolder(place) ? place : dirname(place)
}
