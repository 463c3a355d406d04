/** The folder of a chart: unpacked with its dependencies, and without addresses that Helm would fetch. */
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isObject } from '../../../json/values.ts'
import { BackendError } from '../../backend.ts'
import { listUnpacked } from '../../images/unpack.ts'
import type { FetchedArtifact } from './manifest-type.ts'
import { isArchive, type WorkFolder } from './work-folder.ts'

const chartFolder = 'chart'

/**
 * @param path Of the chart in a repository
 * @returns the path of the chart below the work folder
 * @throws {BackendError} 400
 */
export async function placeChart(
  { artifact, content }: FetchedArtifact,
  path: string | undefined,
  work: WorkFolder,
): Promise<string> {
  if (!isArchive(content)) {
    throw new BackendError(
      400,
      'The first input artifact must be a chart: an archive (.tgz), or a repository with helmChartFilePath.',
    )
  }
  await work.unpack(chartFolder, content, artifact)
  const place = placeIn(work, { path, isRepository: artifact['type'] === 'git/repo' })
  const scope = hasLinkedFolders(work, place) ? chartFolder : place
  await openDependencies(work, scope)
  checkSchemas(work, scope)
  return place
}

/** Helm follows links, each of which ends in the archive. */
function hasLinkedFolders(work: WorkFolder, chart: string): boolean {
  const links = listUnpacked(join(work.path, chart)).filter(({ entry }) => entry.isSymbolicLink())
  return links.some(({ path }) => work.isFolder(join(chart, path)))
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
  throw new BackendError(400, `The first input artifact has no Chart.yaml at its root or in its only folder. ${advice}`)
}

/** At the root, or in the only folder, as `helm package` makes archives. */
function findChart(work: WorkFolder): string | undefined {
  const folders = readdirSync(join(work.path, chartFolder), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const places = [chartFolder, ...(folders.length === 1 ? folders.map(({ name }) => join(chartFolder, name)) : [])]
  const found = places.find((place) => work.has(join(place, 'Chart.yaml')))
  return found === undefined ? undefined : `./${found}`
}

const maxDependencies = 100

/** Packaged dependencies become folders, which Helm takes as well. @throws {BackendError} 400 */
async function openDependencies(work: WorkFolder, chart: string): Promise<void> {
  let count = 0
  for (let archives = findArchives(work, chart); archives.length > 0; archives = findArchives(work, chart)) {
    for (const path of archives) {
      count += 1
      const opened = `dependencies/${count}`
      if (count > maxDependencies)
        throw new BackendError(400, `The chart has more than ${maxDependencies} packaged dependencies.`)
      await work.unpack(opened, readFileSync(join(work.path, path)), { name: path })
      const [folder, ...others] = readdirSync(join(work.path, opened))
      if (folder === undefined || others.length > 0 || !work.isFolder(join(opened, folder)))
        throw new BackendError(400, `${path} is no packaged chart: its files must be in one folder. Use "helm dependency build".`)
      rmSync(join(work.path, path))
      renameSync(join(work.path, opened, folder), join(work.path, dirname(path), `${basename(path, '.tgz')}-${count}`))
    }
  }
}

/** In `charts/` of the chart, and of its dependencies. */
function findArchives(work: WorkFolder, chart: string): string[] {
  return filesOf(work, chart).filter((path) => /\/charts\/[^/]+\.tgz$/.test(path))
}

/** Paths of files and of links to them, below the work folder. */
function filesOf(work: WorkFolder, chart: string): string[] {
  const all = listUnpacked(join(work.path, chart)).filter(({ entry }) => !entry.isDirectory())
  return all.map(({ path }) => `${chart}/${path}`).filter((path) => !work.isFolder(path))
}

/** Helm itself would read whatever address or file a schema names. @throws {BackendError} 400 */
function checkSchemas(work: WorkFolder, chart: string): void {
  for (const path of filesOf(work, chart).filter((each) => basename(each) === 'values.schema.json')) {
    const reference = findReference(parseSchema(readFileSync(join(work.path, path), 'utf8'), path))
    if (reference === undefined) continue
    throw new BackendError(
      400,
      `${path} refers to ${JSON.stringify(reference)}, and charts are rendered without a network. Put the schema into the file, and ` +
        'refer to it with "#/$defs/".',
    )
  }
}

function parseSchema(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new BackendError(400, `${path} is no JSON: ${(error as Error).message}`)
  }
}

/** A reference that leads out of the file. */
function findReference(schema: unknown): string | undefined {
  if (Array.isArray(schema)) return schema.map(findReference).find((found) => found !== undefined)
  if (!isObject(schema)) return undefined
  for (const [key, value] of Object.entries(schema)) {
    const isText = typeof value === 'string'
    if (isText && /^\$(?:ref|dynamicRef|recursiveRef)$/.test(key) && !value.startsWith('#')) return value
    if (isText && key === '$schema' && !/^https?:\/\/json-schema\.org\//.test(value)) return value
    const found = findReference(value)
    if (found !== undefined) return found
  }
  return undefined
}
