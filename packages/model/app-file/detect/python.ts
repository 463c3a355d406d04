/** Apps of Python: Django, frameworks of ASGI, Flask, Streamlit, or a script. */
import { databasesOf } from './databases.ts'
import {
  type AppFolder,
  type BuildWishes,
  type DetectedApp,
  DetectionError,
  type PythonLanguage,
  type VersionDemand,
} from './detected.ts'
import { pinnedVersion } from './pinned-version.ts'
import { type PythonProject, readProject, readRequirements } from './requirements.ts'

const packageFiles = [
  ...(['uv.lock', 'poetry.lock', 'pyproject.toml', 'requirements.txt'] as const),
  ...(['requirements/production.txt', 'requirements/prod.txt'] as const),
]
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
  const project = await readProject(folder)
  const file = packageFiles.find(
    (path) =>
      folder.paths.has(path) &&
      // Often it has nothing but settings of tools.
      (path !== 'pyproject.toml' ||
        (project?.needsPoetry === false && project.packages.some((name) => name !== 'python')) ||
        !folder.paths.has('requirements.txt')),
  )
  if (file === 'pyproject.toml' && project?.needsPoetry === true)
    throw new DetectionError(
      'pyproject.toml names packages for Poetry, and there is no poetry.lock.',
      'Run "poetry lock", and keep the file; or write the packages as dependencies of [project].',
    )
  const packages = new Set(
    file?.startsWith('requirements')
      ? await readRequirements(folder, file)
      : [...(project?.packages ?? []), ...(await frozenPackages(folder, file))],
  )
  const manage = findManage(folder, packages)
  const { title, command } = startIsKnown
    ? { title: 'Python', command: undefined }
    : await findStart(folder, { packages, file, manage })
  const settings = manage === undefined ? '' : await readSettings(folder)
  const databases = databasesOf([
    ...packages,
    ...(settings.includes('django.db.backends.sqlite3') ? ['sqlite3'] : []),
  ])
  const language: PythonLanguage = {
    kind: 'python',
    packages: file,
    requirements: file === 'pyproject.toml' ? project?.requirements : undefined,
    collectsStatic: manage !== undefined && /^STATIC_ROOT\s*=/m.test(settings) ? manage : undefined,
    version: await versionOf(folder, project, python),
  }
  const by = file === 'uv.lock' ? 'uv' : file === 'poetry.lock' ? 'Poetry' : 'pip'
  return {
    language,
    title: `${title} with ${by}`,
    because: [...(manage === undefined ? [] : [manage]), ...(file === undefined ? [] : [file])],
    services: [{ name: 'web', command, isWeb: true }],
    release: undefined,
    port: undefined,
    health: undefined,
    databases,
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
    .filter((name) => Object.values(servers).flat().includes(name))
}

interface Packages {
  readonly packages: ReadonlySet<string>
  readonly file: PackageFile | undefined
  /** The manage.py of Django. */
  readonly manage: string | undefined
}

/** Frameworks by their packages, with how they are served; the first one that an app has decides. */
const frameworks: Readonly<Record<string, readonly [name: string, gateway: Gateway]>> = {
  fastapi: ['FastAPI', 'asgi'],
  litestar: ['Litestar', 'asgi'],
  quart: ['Quart', 'asgi'],
  starlette: ['Starlette', 'asgi'],
  flask: ['Flask', 'wsgi'],
}
type Gateway = 'asgi' | 'wsgi'
/** Servers for production; the first one that an app has runs it. */
const servers: Readonly<Record<Gateway, readonly [string, ...string[]]>> = {
  asgi: ['uvicorn', 'hypercorn'],
  wsgi: ['gunicorn', 'waitress'],
}

interface Place {
  /** `app.main` */
  readonly module: string
  /** `app`, or a function that makes it. */
  readonly object: string
  readonly isFactory?: boolean
  /** Folder that modules are imported from; empty or undefined: that of the app. */
  readonly below?: string
}

/** A package below src/ is imported without it. */
function serve(server: string, given: Place): string {
  const { object, isFactory = false } = given
  const below = given.below ?? (/^src\.\w+\./.test(given.module) ? 'src/' : '')
  const isBelow = below !== ''
  const from = below.slice(0, -1)
  const module =
    given.below === undefined && isBelow ? given.module.slice(below.length) : given.module
  const place = `${module}${object === '' ? '' : `:${object}`}`
  const called = isFactory ? `'${place}()'` : place
  const factory = isFactory ? ' --factory' : ''
  const environment = isBelow ? `env PYTHONPATH=${from} ` : ''
  switch (server) {
    case 'uvicorn':
      return `uvicorn ${place}${factory}${isBelow ? ` --app-dir ${from}` : ''} --host $HOST --port $PORT`
    case 'hypercorn':
      return `${environment}hypercorn ${called} --bind $HOST:$PORT`
    case 'waitress':
      return `${environment}waitress-serve --host $HOST --port $PORT${isFactory ? ' --call' : ''} ${place}`
    default:
      return `gunicorn ${called}${isBelow ? ` --pythonpath ${from}` : ''} --bind $HOST:$PORT`
  }
}

async function findStart(folder: AppFolder, { packages, file, manage }: Packages): Promise<Start> {
  if (manage !== undefined) {
    const below = manage.slice(0, -'manage.py'.length)
    const module = await djangoModule(folder, below)
    const server = findServer(packages, file, { framework: 'Django', gateway: 'wsgi' })
    const object = server === 'waitress' ? 'application' : ''
    return { title: 'Python (Django)', command: serve(server, { module, object, below }) }
  }
  const known = Object.entries(frameworks).find(([name]) => packages.has(name))
  if (known !== undefined) {
    const [, [framework, gateway]] = known
    const place = await findApp(folder, framework)
    if (place === undefined) throw noObject(framework, servers[gateway][0])
    const server = findServer(packages, file, { framework, gateway })
    return { title: `Python (${framework})`, command: serve(server, place) }
  }
  const scripts = ['streamlit_app.py', 'main.py', 'app.py'].filter((path) => folder.paths.has(path))
  if (packages.has('streamlit')) {
    const pages = await Promise.all(
      scripts.map(async (path) => /\bstreamlit\b/.test((await folder.read(path)) ?? '') && path),
    )
    const page = pages.find((path) => path !== false)
    if (page !== undefined)
      return {
        title: 'Python (Streamlit)',
        command: `streamlit run ${page} --server.headless true --server.address $HOST --server.port $PORT`,
      }
  }
  const script = scripts.find((path) => path !== 'streamlit_app.py')
  if (script !== undefined) {
    const variables = packages.has('gradio')
      ? 'env GRADIO_SERVER_NAME=$HOST GRADIO_SERVER_PORT=$PORT '
      : ''
    return { title: 'Python', command: `${variables}python3 ${script}` }
  }
  throw new DetectionError(
    `Nothing says how the app is started: there is no manage.py, no ${Object.values(frameworks)
      .map(([name]) => name)
      .join(', no ')} among its packages, no main.py and no app.py.`,
    'Give its command in .fairlead/app.yml: services: { web: { command: python3 SCRIPT.py } }.',
  )
}

/** An object of the framework, what a function made, or the function itself. */
async function findApp(folder: AppFolder, framework: string): Promise<Place | undefined> {
  const object =
    (await findObject(
      folder,
      /^(\w+)\s*(?::\s*[\w.]+\s*)?=\s*(?:\w+\.)?(FastAPI|Litestar|Quart|Starlette|Flask)\(/gm,
      framework,
    )) ??
    (await findObject(
      folder,
      /^(app|application|api)\s*(?::\s*[\w.]+\s*)?=\s*(?:\w+\.)?(?:create|make|get|build|init)_\w+\(/gm,
    ))
  if (object !== undefined) return object
  const factory = await findObject(
    folder,
    /^def\s+((?:create|make|get|build)_app(?:lication)?)\(/gm,
  )
  return factory && { ...factory, isFactory: true }
}

function noObject(framework: string, server: string): DetectionError {
  const example =
    server === 'gunicorn'
      ? 'gunicorn MODULE:OBJECT --bind $HOST:$PORT'
      : 'uvicorn MODULE:OBJECT --host $HOST --port $PORT'
  return new DetectionError(
    `${framework} is among the packages, and no module has a line such as "app = ${framework}(...)" at its beginning.`,
    `Give its command in .fairlead/app.yml: services: { web: { command: ${example} } }.`,
  )
}

/** The server of development that frameworks bring is slow, and open to attacks. */
function findServer(
  packages: ReadonlySet<string>,
  file: PackageFile | undefined,
  { framework, gateway }: { framework: string; gateway: Gateway },
): string {
  const found = servers[gateway].find((name) => packages.has(name))
  if (found !== undefined) return found
  const [server] = servers[gateway]
  const place = file ?? 'requirements.txt'
  const remedies: Partial<Record<PackageFile, string>> = {
    'uv.lock': `Run "uv add ${server}".`,
    'poetry.lock': `Run "poetry add ${server}".`,
    'pyproject.toml': `Add "${server}" to dependencies in pyproject.toml.`,
  }
  throw new DetectionError(
    `The app uses ${framework}, and has no server for production among its packages.`,
    remedies[place] ?? `Add ${server} to ${place}: a line "${server}".`,
  )
}

/** That of the folder, or the only one of those in it. */
function findManage({ paths }: AppFolder, packages: ReadonlySet<string>): string | undefined {
  if (paths.has('manage.py')) return 'manage.py'
  const found = [...paths].filter((path) => /^[\w-]+\/manage\.py$/.test(path))
  return found.length === 1 && packages.has('django') ? found[0] : undefined
}

/** @param below Folder of manage.py, with `/` at its end, or empty */
async function djangoModule(folder: AppFolder, below: string): Promise<string> {
  const text = (await folder.read(`${below}manage.py`)) ?? ''
  const settings = /DJANGO_SETTINGS_MODULE['"]\s*,\s*['"]([\w.]+)['"]/.exec(text)?.[1]
  const folders = (settings ?? '').split('.')
  for (let length = folders.length - 1; length > 0; length--) {
    const found = folders.slice(0, length).join('/')
    if (folder.paths.has(`${below}${found}/wsgi.py`)) return `${found.replaceAll('/', '.')}.wsgi`
  }
  const [only] = [...folder.paths]
    .filter((path) => path.startsWith(below))
    .map((path) => path.slice(below.length))
    .filter((path) => /^[^/]+\/wsgi\.py$/.test(path))
  if (only !== undefined) return only.slice(0, -'.py'.length).replace('/', '.')
  throw new DetectionError(
    'manage.py is there, and no folder of the project has a wsgi.py.',
    'Add it, or give the command in .fairlead/app.yml: services: { web: { command: gunicorn MODULE --bind $HOST:$PORT } }.',
  )
}

/** @param called What is called must be this, the second group of the line */
async function findObject(
  folder: AppFolder,
  line: RegExp,
  called?: string,
): Promise<Place | undefined> {
  const others = [...folder.paths].filter(
    (path) =>
      /^(?:[A-Za-z_]\w*\/){0,3}[A-Za-z_]\w*\.py$/.test(path) &&
      !/(?:^|\/)(?:tests?|conftest|setup|migrations)\b/.test(path),
  )
  const known = usualModules.filter((path) => folder.paths.has(path))
  const depth = (path: string) => path.split('/').length
  const rest = others.sort((one, other) => depth(one) - depth(other) || (one < other ? -1 : 1))
  for (const path of [...new Set([...known, ...rest])].slice(0, maxModules)) {
    const found = ((await folder.read(path)) ?? '').matchAll(line)
    const object = found.find((each) => called === undefined || each[2] === called)?.[1]
    if (object === undefined) continue
    return { module: path.replace(/(?:\/__init__)?\.py$/, '').replaceAll('/', '.'), object }
  }
  return undefined
}

/** Those of Django. */
async function readSettings(folder: AppFolder): Promise<string> {
  const paths = [...folder.paths].filter((each) => /(?:^|\/)settings(?:\/\w+)?\.py$/.test(each))
  return (await Promise.all(paths.map((path) => folder.read(path)))).join('\n')
}

async function versionOf(
  folder: AppFolder,
  project: PythonProject | undefined,
  wished: string | undefined,
): Promise<VersionDemand | undefined> {
  if (wished !== undefined) return { range: wished, place: 'build.python' }
  const pinned = await pinnedVersion(folder, 'python')
  if (pinned !== undefined) return pinned
  const range = project?.python
  return range === undefined
    ? undefined
    : { range: range.replaceAll(',', ' '), place: 'requires-python' }
}
