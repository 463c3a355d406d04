/** The folder of a chart. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { PortError } from '@fairlead/ports/port-error.ts'
import type { FetchedArtifact } from './manifest-type.ts'
import { isArchive, type WorkFolder } from './work-folder.ts'

const chartFolder = 'chart'

/**
 * @param path Of the chart in a repository
 * @returns the path of the chart below the work folder
 * @throws {PortError} 400
 */
export async function placeChart(
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
  const advice = isRepository ? 'Name its folder in helmChartFilePath.' : 'Package the chart with "helm package".'
  throw new PortError(400, `The first input artifact has no Chart.yaml at its root or in its only folder. ${advice}`)
}

/** At the root, or in the only folder, as `helm package` makes archives. */
function findChart(work: WorkFolder): string | undefined {
  const folders = readdirSync(join(work.path, chartFolder), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const places = [chartFolder, ...(folders.length === 1 ? folders.map(({ name }) => join(chartFolder, name)) : [])]
  const found = places.find((place) => work.has(join(place, 'Chart.yaml')))
  return found === undefined ? undefined : `./${found}`
}
