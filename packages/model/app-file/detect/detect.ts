/** Detection of an app by the files of its folder: the first row that fits wins. */
import { type AppFolder, type BuildWishes, type DetectedApp, DetectionError } from './detected.ts'
import { detectGo } from './go.ts'
import { detectNode, lockFiles, startsBuilt } from './node.ts'
import {
  detectContainer,
  detectJar,
  detectRust,
  detectSite,
  findUndetected,
  nothingFound,
} from './others.ts'
import { parseProcfile } from './procfile.ts'
import { detectPython, isPython } from './python.ts'

/** @param folder That of the app, `build.from`. @throws {DetectionError} for what is to be changed in the folder */
export async function detect(given: AppFolder, wishes: BuildWishes = {}): Promise<DetectedApp> {
  const read = async (path: string) => {
    const text = await given.read(path)
    if (text?.startsWith('\ufffd\ufffd'))
      throw new DetectionError(
        `${path} is written in UTF-16, as PowerShell does.`,
        'Save it in UTF-8.',
      )
    // Editors of Windows write a byte order mark.
    return text?.replace(/^\ufeff/, '')
  }
  const folder = { paths: given.paths, read }
  const { kind = 'auto' } = wishes
  const { paths } = folder
  const container = [wishes.dockerfile, 'Dockerfile', 'Containerfile'].find(
    (path) => path !== undefined && paths.has(path),
  )
  if (kind === 'dockerfile' && container === undefined)
    throw missing(wishes.dockerfile ?? 'Dockerfile', 'build: dockerfile')
  if (container !== undefined && (kind === 'auto' || kind === 'dockerfile'))
    return detectContainer(folder, container)
  if (kind === 'static')
    return (await siteOf(folder, wishes)) ?? fail(missing('index.html', 'build: static'))
  const processes = await folder.read('Procfile')
  if (processes === undefined && kind === 'procfile') throw missing('Procfile', 'build: procfile')
  if (kind === 'steps') return withProcfile(files, processes)
  if (processes !== undefined)
    return withProcfile(
      (await byLanguage(folder, { ...wishes, startIsKnown: true })) ?? files,
      processes,
    )
  return (await byLanguage(folder, wishes)) ?? fail(await nothingFound(folder))
}

const files: DetectedApp = {
  language: { kind: 'files' },
  title: 'Commands of your own',
  because: [],
  services: [],
  release: undefined,
  port: undefined,
  health: undefined,
  databases: [],
}

function withProcfile(found: DetectedApp, text: string | undefined): DetectedApp {
  if (text === undefined) return found
  const { services, release } = parseProcfile(text)
  return { ...found, services, release, because: ['Procfile', ...found.because] }
}

async function byLanguage(
  folder: AppFolder,
  wishes: BuildWishes,
): Promise<DetectedApp | undefined> {
  const { paths } = folder
  const undetected = findUndetected(folder)
  const isAnother = undetected !== undefined || isPython(folder) || paths.has('go.mod')
  if (await isNode(folder, isAnother)) return detectNode(folder, wishes)
  if (isPython(folder)) return detectPython(folder, wishes)
  if (paths.has('go.mod')) return detectGo(folder, wishes)
  // Pages beside programs are their templates, or would show their sources.
  const site = undetected === undefined ? await siteOf(folder, wishes) : undefined
  // A command of the app finds the files where they are, and not below the server of pages.
  if (site !== undefined) return wishes.startIsKnown === true ? files : site
  const [jar, ...others] = [...paths].filter((path) => /^[^/]+\.jar$/.test(path))
  if (jar !== undefined && others.length === 0) return detectJar(jar)
  if (paths.has('Cargo.toml')) return detectRust(folder)
  if (undetected !== undefined) throw undetected
  return undefined
}

/** Apps of other languages have a package.json for their pages and tools, and those of Bun a lock file that others cannot read. */
async function isNode(folder: AppFolder, isAnother: boolean): Promise<boolean> {
  const manifest = await folder.read('package.json')
  if (manifest === undefined || !isAnother) return manifest !== undefined
  const isLocked = Object.values(lockFiles).some((path) => folder.paths.has(path))
  return isLocked && startsBuilt(manifest)
}

async function siteOf(folder: AppFolder, wishes: BuildWishes): Promise<DetectedApp | undefined> {
  const { paths } = folder
  if (wishes.kind === 'static' && paths.has('package.json')) {
    const found = await detectNode(folder, wishes).catch(() => undefined)
    if (found?.language.kind === 'node' && found.language.pages !== undefined) return found
  }
  if (paths.has('index.html')) return detectSite('.')
  return paths.has('public/index.html') ? detectSite('public') : undefined
}

function missing(file: string, where: string): DetectionError {
  return new DetectionError(
    `The folder has no ${file}, which "${where}" of .fairlead/app.yml asks for.`,
    'Add it, or remove the key build.',
  )
}

function fail(error: DetectionError): never {
  throw error
}
