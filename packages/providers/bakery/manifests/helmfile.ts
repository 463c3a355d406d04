/** Manifests from helmfiles: `helmfile template`. */
import { join } from 'node:path'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeRefusal } from '@fairlead/base/settings/standalone.ts'
import { formatOverrides, placeValues, withoutTests } from './helm.ts'
import type { FetchedArtifact, ManifestBake, ManifestType } from './manifest-type.ts'
import { findProgram } from './programs.ts'
import type { ManifestRequest } from './request.ts'
import { isArchive, type WorkFolder } from './work-folder.ts'

export const helmfileManifests: ManifestType = {
  name: 'HELMFILE',
  input: 'inputArtifacts',
  render: renderHelmfile,
}

/** Names of environments and namespaces, which Helmfile puts into templates. */
const namePattern = /^[A-Za-z0-9._-]+$/

async function renderHelmfile(request: ManifestRequest, bake: ManifestBake): Promise<string> {
  const { environment, namespace, includeCRDs, overrides } = request
  checkName('environment', environment)
  checkName('namespace', namespace)
  // Its hooks and templates can run any program.
  if (!bake.allowsCommands) throw new PortError(400, describeRefusal('Helmfile'))
  const command = findProgram('HELMFILE', bake.settings)
  const helm = findProgram('HELM3', bake.settings)
  const [file, ...values] = await bake.fetchAll(request.inputArtifacts)
  const stateValues = await bake.fetchAll(request.stateValuesArtifacts)
  const path = await placeHelmfile(file as FetchedArtifact, request.helmfileFilePath, bake.work)
  const options = [
    `--file=${path}`,
    `--helm-binary=${helm.path}`,
    ...(environment === undefined ? [] : [`--environment=${environment}`]),
    ...(namespace === undefined ? [] : [`--namespace=${namespace}`]),
    ...placeValues(stateValues, bake.work, 'state-values').map(
      (each) => `--state-values-file=${join(bake.work.path, each)}`,
    ),
  ]
  const ofTemplate = [
    ...(includeCRDs ? ['--include-crds'] : []),
    ...placeValues(values, bake.work).map((each) => `--values=${join(bake.work.path, each)}`),
    ...formatOverrides(overrides, '--set'),
  ]
  return withoutTests(
    await bake.run({ ...command, readOnly: [helm.path] }, [
      ...options,
      'template',
      '--skip-deps',
      ...ofTemplate,
    ]),
  )
}

/** @throws {PortError} 400 */
function checkName(field: string, name: string | undefined): void {
  if (name === undefined || namePattern.test(name)) return
  throw new PortError(
    400,
    `"${field}" may have letters, digits, ".", "_" and "-" only, and is "${name}".`,
  )
}

async function placeHelmfile(
  { artifact, content }: FetchedArtifact,
  path: string | undefined,
  work: WorkFolder,
): Promise<string> {
  if (!isArchive(content)) return work.write('helmfile/helmfile.yaml', content)
  await work.unpack('helmfile', content, artifact)
  return work.resolve('helmfile', path ?? 'helmfile.yaml', 'helmfileFilePath')
}
