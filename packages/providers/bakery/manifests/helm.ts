/** Manifests from Helm charts: `helm template`. */
import { isRawNumber } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { placeChart } from './chart-folder.ts'
import type { FetchedArtifact, ManifestBake, ManifestType } from './manifest-type.ts'
import { findProgram } from './programs.ts'
import type { ManifestRequest } from './request.ts'
import type { WorkFolder } from './work-folder.ts'

export const helm2Manifests: ManifestType = createHelmType('HELM2')
export const helm3Manifests: ManifestType = createHelmType('HELM3')

function createHelmType(name: 'HELM2' | 'HELM3'): ManifestType {
  return { name, input: 'inputArtifacts', render: (request, bake) => renderChart(name, request, bake) }
}

async function renderChart(type: 'HELM2' | 'HELM3', request: ManifestRequest, bake: ManifestBake): Promise<string> {
  const { outputName, namespace, apiVersions, kubeVersion, includeCRDs, overrides, rawOverrides } = request
  if (outputName === undefined)
    throw new PortError(400, `A manifest of type ${type} needs "outputName", the name of the release.`)
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
  const names = type === 'HELM2' ? [`--name=${outputName}`, '--', chartPath] : ['--', outputName, chartPath]
  return withoutTests(await bake.run(command, ['template', ...options, ...names]))
}

/** @returns paths of the files, in order */
export function placeValues(values: readonly FetchedArtifact[], work: WorkFolder, folder = 'values'): string[] {
  return values.map(({ content }, index) => work.write(`${folder}/${index + 1}.yaml`, content))
}

/**
 * One argument per override. Keys and lists in braces have Helm's syntax; other commas belong to the value.
 *
 * @throws {PortError} 400 for values that are no text, number or boolean
 */
export function formatOverrides(overrides: JsonObject, option: '--set' | '--set-string'): string[] {
  return Object.entries(overrides).map(([key, value]) => {
    const isPlain = ['string', 'number', 'boolean'].includes(typeof value) || value === null || isRawNumber(value)
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
