/** Manifests from Helm charts: `helm template`. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isRawNumber } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { FetchedArtifact, ManifestBake, ManifestType } from './manifest-type.ts'
import { findProgram } from './programs.ts'
import type { ManifestRequest } from './request.ts'
import { isArchive, type WorkFolder } from './work-folder.ts'

const chartFolder = 'chart'

/**
 * @param path Of the chart in a repository
 * @returns the path of the chart below the work folder
 * @throws {PortError} 400
 */
async function placeChart(
  { artifact, content }: FetchedArtifact,
  path: string | undefined,
  work: WorkFolder,
): Promise<string> {
  if (!isArchive(content)) {
    throw new PortError(
      400,
      'The first input artifact must be a chart: an archive (.tgz), or a repository with helmChartFilePath.',
    )
  }
  await work.unpack(chartFolder, content, artifact)
  return placeIn(work, { path, isRepository: artifact['type'] === 'git/repo' })
}

function placeIn(
  work: WorkFolder,
  { path, isRepository }: { readonly path: string | undefined; readonly isRepository: boolean },
): string {
  if (path !== undefined && (isRepository || work.has(join(chartFolder, path)))) {
    const place = work.resolve(chartFolder, path, 'helmChartFilePath')
    return work.isFolder(place) ? place : place.slice(0, place.lastIndexOf('/'))
  }
  const found = findChart(work)
  if (found !== undefined) return found
  const advice = isRepository
    ? 'Name its folder in helmChartFilePath.'
    : 'Package the chart with "helm package".'
  throw new PortError(
    400,
    `The first input artifact has no Chart.yaml at its root or in its only folder. ${advice}`,
  )
}

/** At the root, or in the only folder, as `helm package` makes archives. */
function findChart(work: WorkFolder): string | undefined {
  const folders = readdirSync(join(work.path, chartFolder), { withFileTypes: true }).filter(
    (entry) => entry.isDirectory(),
  )
  const places = [
    chartFolder,
    ...(folders.length === 1 ? folders.map(({ name }) => join(chartFolder, name)) : []),
  ]
  const found = places.find((place) => work.has(join(place, 'Chart.yaml')))
  return found === undefined ? undefined : `./${found}`
}

export const helm2Manifests: ManifestType = createHelmType('HELM2')
export const helm3Manifests: ManifestType = createHelmType('HELM3')

function createHelmType(name: 'HELM2' | 'HELM3'): ManifestType {
  return {
    name,
    input: 'inputArtifacts',
    render: (request, bake) => renderChart(name, request, bake),
  }
}

async function renderChart(
  type: 'HELM2' | 'HELM3',
  request: ManifestRequest,
  bake: ManifestBake,
): Promise<string> {
  const { outputName, namespace, apiVersions, kubeVersion, includeCRDs, overrides, rawOverrides } =
    request
  if (outputName === undefined)
    throw new PortError(
      400,
      `A manifest of type ${type} needs "outputName", the name of the release.`,
    )
  const command = findProgram(type, bake.settings)
  const overrideArgs = formatOverrides(overrides, rawOverrides ? '--set' : '--set-string')
  const [chart, ...values] = await bake.fetchAll(request.inputArtifacts)
  const chartPath = await placeChart(chart as FetchedArtifact, request.helmChartFilePath, bake.work)
  // Joined with "=", no value can be taken for an option. Overrides win over files, and later files over earlier ones.
  const options = [
    ...(namespace === undefined ? [] : [`--namespace=${namespace}`]),
    ...(includeCRDs && type === 'HELM3' ? ['--include-crds'] : []),
    ...apiVersions.map((version) => `--api-versions=${version}`),
    ...(kubeVersion === undefined ? [] : [`--kube-version=${kubeVersion}`]),
    ...placeValues(values, bake.work).map((file) => `--values=${file}`),
    ...overrideArgs,
  ]
  const names =
    type === 'HELM2' ? [`--name=${outputName}`, '--', chartPath] : ['--', outputName, chartPath]
  return withoutTests(await bake.run(command, ['template', ...options, ...names]))
}

/** @returns paths of the files, in order */
export function placeValues(
  values: readonly FetchedArtifact[],
  work: WorkFolder,
  folder = 'values',
): string[] {
  return values.map(({ content }, index) => work.write(`${folder}/${index + 1}.yaml`, content))
}

/**
 * One argument per override. Keys and lists in braces have Helm's syntax; other commas belong to the value.
 *
 * @throws {PortError} 400 for values that are no text, number or boolean
 */
export function formatOverrides(overrides: JsonObject, option: '--set' | '--set-string'): string[] {
  return Object.entries(overrides).map(([key, value]) => {
    const isPlain =
      ['string', 'number', 'boolean'].includes(typeof value) || value === null || isRawNumber(value)
    if (!isPlain)
      throw new PortError(
        400,
        `The override "${key}" must be a text, a number or a boolean. Put lists and objects into a values file.`,
      )
    const text = String(value)
    const isList = text.startsWith('{') && text.endsWith('}')
    return `${option}=${key}=${isList ? text : text.replaceAll(/(?<!\\),/g, '\\,')}`
  })
}

const testSource = /^\s*# Source: [^\n]*\/templates\/tests\//

/** Without documents that come from a chart's folder `templates/tests`. */
export function withoutTests(manifest: string): string {
  const documents = manifest.split(/^---[ \t]*\r?\n/m)
  return documents.filter((document) => !testSource.test(document)).join('---\n')
}
