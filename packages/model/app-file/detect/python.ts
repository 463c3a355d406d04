/** Apps of Python: Django, FastAPI, Starlette, Flask, or a script. */
import { databasesOf } from './databases.ts'
import {
  type AppFolder,
  type BuildWishes,
  type DetectedApp,
  DetectionError,
  type PythonLanguage,
  type VersionDemand,
} from './detected.ts'
import { type PythonProject, readProject, readRequirements } from './requirements.ts'

const packageFiles = ['uv.lock', 'poetry.lock', 'pyproject.toml', 'requirements.txt'] as const
type PackageFile = (typeof packageFiles)[number]

/** Modules that are searched first for an object, in this order. */
const usualModules = ['main', 'app', 'wsgi', 'asgi', 'api', 'server', 'application'].flatMap(
  (name) => [`${name}.py`, `app/${name}.py`, `src/${name}.py`],
)
const maxModules = 200

interface Start {
  readonly title: string
  readonly command: string
}

export async function detectPython(
  folder: AppFolder,
  { python, startIsKnown = false }: BuildWishes,
): Promise<DetectedApp> {
  const file = packageFiles.find((path) => folder.paths.has(path))
  const project = file === 'requirements.txt' ? undefined : await readProject(folder)
  const packages = new Set(
    file === 'requirements.txt'
      ? await readRequirements(folder, file)
      : [...(project?.packages ?? []), ...(await frozenPackages(folder, file))],
  )
  const { title, command } = startIsKnown
    ? { title: 'Python', command: undefined }
    : await findStart(folder, { packages, file })
  const language: PythonLanguage = {
    kind: 'python',
    packages: file,
    requirements: file === 'pyproject.toml' ? project?.requirements : undefined,
    collectsStatic: folder.paths.has('manage.py') && (await hasStaticRoot(folder)),
    version: await versionOf(folder, project, python),
  }
  const by = file === 'uv.lock' ? 'uv' : file === 'poetry.lock' ? 'Poetry' : 'pip'
  return {
    language,
    title: `${title} with ${by}`,
    because: [
      ...(folder.paths.has('manage.py') ? ['manage.py'] : []),
      ...(file === undefined ? [] : [file]),
    ],
    services: [{ name: 'web', command, isWeb: true }],
    release: undefined,
    port: undefined,
    health: undefined,
    databases: databasesOf(packages),
  }
}

/** Python has it where one of these is. */
export function isPython({ paths }: AppFolder): boolean {
  return paths.has('manage.py') || packageFiles.some((path) => paths.has(path))
}

/** Lock files name servers that come with another package. */
async function frozenPackages(folder: AppFolder, file: PackageFile | undefined): Promise<string[]> {
  if (file !== 'uv.lock' && file !== 'poetry.lock') return []
  const names = ((await folder.read(file)) ?? '').matchAll(/^name = "([^"]+)"/gm)
  return [...names]
    .map(([, name = '']) => name)
    .filter((name) => name === 'gunicorn' || name === 'uvicorn')
}

interface Packages {
  readonly packages: ReadonlySet<string>
  readonly file: PackageFile | undefined
}

async function findStart(folder: AppFolder, { packages, file }: Packages): Promise<Start> {
  const bind = '--bind $HOST:$PORT'
  if (folder.paths.has('manage.py')) {
    const module = await djangoModule(folder)
    needServer(packages, file, { framework: 'Django', server: 'gunicorn' })
    return { title: 'Python (Django)', command: `gunicorn ${module} ${bind}` }
  }
  if (packages.has('fastapi') || packages.has('starlette')) {
    const framework = packages.has('fastapi') ? 'FastAPI' : 'Starlette'
    const place = await findObject(
      folder,
      /^(\w+)\s*(?::\s*\w+\s*)?=\s*(?:\w+\.)?(?:FastAPI|Starlette)\(/m,
    )
    if (place === undefined) throw noObject(framework, `app = ${framework}()`)
    needServer(packages, file, { framework, server: 'uvicorn' })
    return { title: `Python (${framework})`, command: `uvicorn ${place} --host $HOST --port $PORT` }
  }
  if (packages.has('flask')) {
    const place =
      (await findObject(folder, /^(\w+)\s*(?::\s*\w+\s*)?=\s*(?:\w+\.)?Flask\(/m)) ??
      (await findObject(folder, /^(app|application)\s*=\s*(?:\w+\.)?(?:create_app|make_app)\(/m)) ??
      quoted(await findObject(folder, /^def\s+(create_app|make_app)\(/m))
    if (place === undefined) throw noObject('Flask', 'app = Flask(__name__)')
    needServer(packages, file, { framework: 'Flask', server: 'gunicorn' })
    return { title: 'Python (Flask)', command: `gunicorn ${place} ${bind}` }
  }
  const script = ['main.py', 'app.py'].find((path) => folder.paths.has(path))
  if (script !== undefined) return { title: 'Python', command: `python3 ${script}` }
  throw new DetectionError(
    'Nothing says how the app is started: there is no manage.py, no FastAPI, Starlette or Flask among its packages, no main.py and no app.py.',
    'Give its command in .fairlead/app.yml: services: { web: { command: python3 SCRIPT.py } }.',
  )
}

function quoted(factory: string | undefined): string | undefined {
  return factory === undefined ? undefined : `'${factory}()'`
}

function noObject(framework: string, line: string): DetectionError {
  return new DetectionError(
    `${framework} is among the packages, and no module has a line such as "${line}" at its beginning.`,
    'Give its command in .fairlead/app.yml: services: { web: { command: gunicorn MODULE:OBJECT --bind $HOST:$PORT } }.',
  )
}

/** The server of development that frameworks bring is slow, and open to attacks. */
function needServer(
  packages: ReadonlySet<string>,
  file: PackageFile | undefined,
  { framework, server }: { framework: string; server: string },
): void {
  if (packages.has(server)) return
  const remedies: Readonly<Record<PackageFile, string>> = {
    'uv.lock': `Run "uv add ${server}".`,
    'poetry.lock': `Run "poetry add ${server}".`,
    'pyproject.toml': `Add "${server}" to dependencies in pyproject.toml.`,
    'requirements.txt': `Add ${server} to requirements.txt: a line "${server}".`,
  }
  throw new DetectionError(
    `The app uses ${framework}, and has no server for production among its packages.`,
    remedies[file ?? 'requirements.txt'],
  )
}

async function djangoModule(folder: AppFolder): Promise<string> {
  const text = (await folder.read('manage.py')) ?? ''
  const settings = /DJANGO_SETTINGS_MODULE['"]\s*,\s*['"]([\w.]+)['"]/.exec(text)?.[1]
  const folders = (settings ?? '').split('.')
  for (let length = folders.length - 1; length > 0; length--) {
    const found = folders.slice(0, length).join('/')
    if (folder.paths.has(`${found}/wsgi.py`)) return `${found.replaceAll('/', '.')}.wsgi`
  }
  const [only] = [...folder.paths].filter((path) => /^[^/]+\/wsgi\.py$/.test(path))
  if (only !== undefined) return only.slice(0, -'.py'.length).replace('/', '.')
  throw new DetectionError(
    'manage.py is there, and no folder of the project has a wsgi.py.',
    'Add it, or give the command in .fairlead/app.yml: services: { web: { command: gunicorn MODULE --bind $HOST:$PORT } }.',
  )
}

/** `app.main:app`. */
async function findObject(folder: AppFolder, line: RegExp): Promise<string | undefined> {
  const others = [...folder.paths].filter(
    (path) =>
      /^(?:[A-Za-z_]\w*\/){0,3}[A-Za-z_]\w*\.py$/.test(path) &&
      !/(?:^|\/)(?:tests?|conftest|setup|migrations)\b/.test(path),
  )
  const known = usualModules.filter((path) => folder.paths.has(path))
  const depth = (path: string) => path.split('/').length
  const rest = others.sort((one, other) => depth(one) - depth(other) || (one < other ? -1 : 1))
  for (const path of [...new Set([...known, ...rest])].slice(0, maxModules)) {
    const name = line.exec((await folder.read(path)) ?? '')?.[1]
    if (name === undefined) continue
    return `${path.replace(/(?:\/__init__)?\.py$/, '').replaceAll('/', '.')}:${name}`
  }
  return undefined
}

async function hasStaticRoot(folder: AppFolder): Promise<boolean> {
  for (const path of [...folder.paths].filter((each) =>
    /(?:^|\/)settings(?:\/\w+)?\.py$/.test(each),
  ))
    if (/^STATIC_ROOT\s*=/m.test((await folder.read(path)) ?? '')) return true
  return false
}

async function versionOf(
  folder: AppFolder,
  project: PythonProject | undefined,
  wished: string | undefined,
): Promise<VersionDemand | undefined> {
  if (wished !== undefined) return { range: wished, place: 'build.python' }
  const file = (await folder.read('.python-version'))?.trim()
  // Not each patch release is on each machine.
  if (file !== undefined && /^\d/.test(file))
    return { range: file.split('.').slice(0, 2).join('.'), place: '.python-version' }
  const range = project?.python
  return range === undefined
    ? undefined
    : { range: range.replaceAll(',', ' '), place: 'requires-python' }
}
