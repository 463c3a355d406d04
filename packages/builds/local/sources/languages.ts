/** Steps that build an app by its language, and the command that then runs it. */
import { posix } from 'node:path'
import { isObject, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BuildStep } from '../job-definition.ts'
import { type SourceAction, siteFolder } from './source-actions.ts'

/** Files of the app, below its own folder. */
export interface AppFolder {
  readonly paths: ReadonlySet<string>
  /** Undefined: there is none, or it is too large to be read here. */
  read(path: string): Promise<string | undefined>
}

/** What the app file says about the build. */
export interface BuildWishes {
  readonly node: string | undefined
  readonly python: string | undefined
}

export interface LanguageBuild {
  readonly steps: readonly BuildStep[]
  /** What runs, where the app file gives no command; undefined: nothing was found. */
  readonly command: string | undefined
  /** Folders of programs, below that of the app, which come first in `PATH`. */
  readonly programs: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Folder of the image, where it is not that of the app. */
  readonly imageFrom?: string
}

/** @throws {PortError} 400 for what has to be changed in the folder */
export async function planLanguage(
  folder: AppFolder,
  wishes: BuildWishes,
): Promise<LanguageBuild | undefined> {
  const { paths } = folder
  if (paths.has('package.json')) return planNode(folder, wishes)
  if (pythonFiles.some((path) => paths.has(path)) || paths.has('manage.py'))
    return planPython(folder, wishes)
  if (paths.has('go.mod')) return planGo(folder)
  if (paths.has('Cargo.toml')) return planRust(folder)
  const [jar, ...others] = [...paths].filter((path) => /^[^/]+\.jar$/.test(path))
  if (jar !== undefined && others.length === 0) return planJar(jar)
  return undefined
}

/** Pages with a server of their own. @param pages Folder */
export function planSite(pages: string): LanguageBuild {
  return {
    steps: [step('Pages', { kind: 'site', pages })],
    command: 'node server.mjs site',
    programs: [],
    environment: {},
    imageFrom: siteFolder,
  }
}

/** Folder of the pages of a site without a build; undefined: there are none. */
export function findPages({ paths }: AppFolder): string | undefined {
  if (paths.has('index.html')) return '.'
  return paths.has('public/index.html') ? 'public' : undefined
}

export function step(
  title: string,
  action: SourceAction | readonly string[],
  environment: Readonly<Record<string, string>> = {},
): BuildStep {
  return {
    title,
    action: 'kind' in action ? action : { kind: 'run', command: [...action] },
    in: '.',
    environment: { ...environment },
    always: false,
  }
}

// --- Node -------------------------------------------------------------------

type Manager = 'npm' | 'pnpm' | 'yarn'
const lockFiles: Readonly<Record<Manager, string>> = {
  pnpm: 'pnpm-lock.yaml',
  yarn: 'yarn.lock',
  npm: 'package-lock.json',
}
const dependencyKeys = [
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
]
/** With these, an installation does more than its lock file says. */
const installScripts = ['preinstall', 'install', 'postinstall', 'prepare']
const siteTools = ['vite', 'astro', 'react-scripts']

async function planNode(folder: AppFolder, wishes: BuildWishes): Promise<LanguageBuild> {
  const text = await folder.read('package.json')
  const manifest = parsePackage(text ?? '')
  const scripts = objectOf(manifest['scripts'])
  const manager = findManager(folder, manifest)
  const isSite = siteTool(manifest) !== undefined && 'build' in scripts && !('start' in scripts)
  const hasBuild = 'build' in scripts
  const hasPackages = dependencyKeys.some((key) => Object.keys(objectOf(manifest[key])).length > 0)
  const wanted = await nodeVersion(folder, manifest, wishes)
  const node = step('Node', {
    kind: 'tool',
    programs: ['node'],
    title: 'Node',
    versionArguments: ['--version'],
    wanted,
    advice: 'Install it (https://nodejs.org/en/download), or correct the version.',
  })
  const packages = hasPackages
    ? await installSteps(folder, { manager, manifest, hasBuild })
    : undefined
  const build = hasBuild
    ? [step('Build', [manager, 'run', 'build'], { NODE_ENV: 'production' })]
    : []
  const prune = hasBuild && !isSite ? (packages?.prune ?? []) : []
  const steps = [node, ...(packages?.install ?? []), ...build, ...prune]
  if (isSite) {
    const pages = siteTool(manifest) === 'react-scripts' ? 'build' : 'dist'
    const site = planSite(pages)
    return { ...site, steps: [...steps, ...site.steps] }
  }
  return {
    steps,
    command: nodeCommand(folder, manifest, manager),
    programs: ['node_modules/.bin'],
    environment: { NODE_ENV: 'production' },
  }
}

function parsePackage(text: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(text)
    if (isObject(parsed)) return parsed
  } catch (error) {
    throw new PortError(400, `package.json is no JSON: ${(error as Error).message}`)
  }
  throw new PortError(400, 'package.json is no JSON object.')
}

function siteTool(manifest: JsonObject): string | undefined {
  const all = { ...objectOf(manifest['dependencies']), ...objectOf(manifest['devDependencies']) }
  return siteTools.find((name) => name in all)
}

function findManager({ paths }: AppFolder, manifest: JsonObject): Manager {
  const locks = (Object.keys(lockFiles) as Manager[]).filter((name) => paths.has(lockFiles[name]))
  const declared = /^(npm|pnpm|yarn)@/.exec(textOf(manifest['packageManager']) ?? '')?.[1]
  if (declared !== undefined) return declared as Manager
  if (locks.length > 1)
    throw new PortError(
      400,
      `The folder has ${locks.map((name) => lockFiles[name]).join(' and ')}. Remove all but one, or name the manager by "packageManager" in package.json.`,
    )
  return locks[0] ?? 'npm'
}

async function nodeVersion(
  folder: AppFolder,
  manifest: JsonObject,
  { node }: BuildWishes,
): Promise<{ range: string; place: string } | undefined> {
  if (node !== undefined) return { range: node, place: 'build.node' }
  const engine = textOf(objectOf(manifest['engines'])['node'])
  if (engine !== undefined) return { range: engine, place: 'engines.node' }
  for (const place of ['.nvmrc', '.node-version']) {
    const range = (await folder.read(place))?.trim()
    if (range !== undefined && /\d/.test(range)) return { range, place }
  }
  return undefined
}

interface NodePackages {
  readonly manager: Manager
  readonly manifest: JsonObject
  /** All packages are needed until it has run. */
  readonly hasBuild: boolean
}

async function installSteps(
  folder: AppFolder,
  { manager, manifest, hasBuild }: NodePackages,
): Promise<{ install: BuildStep[]; prune: BuildStep[] }> {
  const { paths } = folder
  const lock = lockFiles[manager]
  const isLocked = paths.has(lock)
  const isBerry = manager === 'yarn' && /^__metadata:/m.test((await folder.read(lock)) ?? '')
  const commands = commandsOf(manager, { isLocked, isBerry })
  const command = hasBuild ? commands.all : commands.production
  const keyFiles = ['package.json', lock, '.npmrc', '.yarnrc', '.yarnrc.yml', 'pnpm-workspace.yaml']
  const tools = [
    ['node', '--version'],
    [manager, '--version'],
  ]
  const environment = { COREPACK_ENABLE_DOWNLOAD_PROMPT: '0', YARN_NODE_LINKER: 'node-modules' }
  const scripts = objectOf(manifest['scripts'])
  const isPlain =
    isLocked &&
    manifest['workspaces'] === undefined &&
    !installScripts.some((name) => name in scripts)
  const action = (run: readonly string[]): SourceAction | readonly string[] =>
    isPlain ? { kind: 'install', command: run, folder: 'node_modules', keyFiles, tools } : run
  const tool =
    manager === 'npm'
      ? []
      : [
          step(manager, {
            kind: 'tool',
            programs: [manager],
            title: manager,
            versionArguments: ['--version'],
            advice: `Install it with "npm install --global ${manager}".`,
          }),
        ]
  const hasDevelopment = Object.keys(objectOf(manifest['devDependencies'])).length > 0
  return {
    install: [...tool, step('Packages', action(command), environment)],
    prune:
      hasDevelopment && commands.prune !== undefined
        ? [step('Packages of production', action(commands.prune), environment)]
        : [],
  }
}

function commandsOf(
  manager: Manager,
  { isLocked, isBerry }: { isLocked: boolean; isBerry: boolean },
): Record<'all' | 'production', readonly string[]> & { prune?: readonly string[] } {
  if (manager === 'npm') {
    const quiet = ['--no-audit', '--no-fund']
    const install = ['npm', isLocked ? 'ci' : 'install', ...quiet]
    return {
      all: [...install, '--include=dev'],
      production: [...install, '--omit=dev'],
      prune: ['npm', 'prune', '--omit=dev', ...quiet],
    }
  }
  if (manager === 'pnpm') {
    const install = ['pnpm', 'install', ...(isLocked ? ['--frozen-lockfile'] : [])]
    return {
      all: [...install, '--prod=false'],
      production: [...install, '--prod'],
      prune: ['pnpm', 'prune', '--prod'],
    }
  }
  if (isBerry) {
    const all = ['yarn', 'install', ...(isLocked ? ['--immutable'] : [])]
    return { all, production: all }
  }
  const install = [
    'yarn',
    'install',
    '--non-interactive',
    ...(isLocked ? ['--frozen-lockfile'] : []),
  ]
  const production = [...install, '--production=true']
  return {
    all: [...install, '--production=false'],
    production,
    prune: [...production, '--ignore-scripts', '--prefer-offline'],
  }
}

function nodeCommand(
  { paths }: AppFolder,
  manifest: JsonObject,
  manager: Manager,
): string | undefined {
  const scripts = objectOf(manifest['scripts'])
  const start = textOf(scripts['start'])
  if (start !== undefined) {
    // Without a manager in between, the program itself gets the signals.
    const isSimple = !/[;&|<>`$()\n]/.test(start) && !('prestart' in scripts)
    return isSimple ? start : `${manager} run start`
  }
  const main = textOf(manifest['main'])
  const found = [...(main === undefined ? [] : [main]), 'server.js', 'index.js'].find((path) =>
    paths.has(posix.normalize(path)),
  )
  return found === undefined ? undefined : `node ${found}`
}

// --- Python -----------------------------------------------------------------

const pythonFiles = ['uv.lock', 'poetry.lock', 'pyproject.toml', 'requirements.txt']
const venv = '.venv'

async function planPython(folder: AppFolder, wishes: BuildWishes): Promise<LanguageBuild> {
  const { paths } = folder
  const wanted = await pythonVersion(folder, wishes)
  const exact = /^\s*(?:==|~=|>=)?\s*(3\.\d+)/.exec(wanted?.range ?? '')?.[1]
  const python = step('Python', {
    kind: 'tool',
    programs: ['python3', ...(exact === undefined ? [] : [`python${exact}`])],
    title: 'Python',
    versionArguments: ['--version'],
    wanted,
    advice: 'Install it with "apt install python3 python3-venv" on Debian, or correct the version.',
  })
  const kind = pythonFiles.find((path) => paths.has(path))
  const action: SourceAction = {
    kind: 'install',
    command: ['sh', '-e', '-c', pythonInstall(kind)],
    folder: venv,
    keyFiles: [
      ...pythonFiles,
      '.python-version',
      'setup.py',
      'setup.cfg',
      ...[...paths].filter((path) => /^requirements[^/]*(?:\.txt|\/.*\.txt)$/.test(path)),
    ],
    tools: [['python3', '--version']],
    isVirtualEnvironment: true,
  }
  const tool = kind === 'uv.lock' ? ['uv'] : kind === 'poetry.lock' ? ['poetry'] : []
  const collects =
    paths.has('manage.py') && (await hasStaticRoot(folder))
      ? [step('Static files', [`${venv}/bin/python3`, 'manage.py', 'collectstatic', '--noinput'])]
      : []
  return {
    steps: [
      python,
      ...tool.map((name) =>
        step(name, {
          kind: 'tool',
          programs: [name],
          title: name,
          versionArguments: ['--version'],
          advice: `Install it with "pipx install ${name}".`,
        }),
      ),
      step('Packages', action, {
        PIP_DISABLE_PIP_VERSION_CHECK: '1',
        PIP_NO_INPUT: '1',
        POETRY_VIRTUALENVS_IN_PROJECT: 'true',
        UV_LINK_MODE: 'copy',
        UV_PYTHON_DOWNLOADS: 'never',
      }),
      ...collects,
    ],
    command: undefined,
    programs: [`${venv}/bin`],
    environment: { PYTHONUNBUFFERED: '1' },
  }
}

/** Python is copied: a link to that of the system would lead out of the image. */
function pythonInstall(kind: string | undefined): string {
  const create = `rm -rf ${venv}; python3 -m venv --copies ${venv}`
  const pip = `${venv}/bin/python3 -m pip install`
  switch (kind) {
    case 'uv.lock':
      return `${create} --without-pip; uv sync --frozen --no-dev --no-editable`
    case 'poetry.lock':
      return `${create}; poetry install --only main --no-root --no-interaction`
    case 'pyproject.toml':
      return `${create}; ${pip} .`
    case 'requirements.txt':
      return `${create}; ${pip} -r requirements.txt`
    default:
      return create
  }
}

async function pythonVersion(
  folder: AppFolder,
  { python }: BuildWishes,
): Promise<{ range: string; place: string } | undefined> {
  if (python !== undefined) return { range: python, place: 'build.python' }
  const file = (await folder.read('.python-version'))?.trim()
  if (file !== undefined && /^\d/.test(file)) {
    // Not each patch release is on each machine.
    return { range: file.split('.').slice(0, 2).join('.'), place: '.python-version' }
  }
  const project = await folder.read('pyproject.toml')
  const range = /^requires-python\s*=\s*["']([^"']+)["']/m.exec(project ?? '')?.[1]
  return range === undefined
    ? undefined
    : { range: range.replaceAll(',', ' '), place: 'requires-python' }
}

async function hasStaticRoot({ paths, read }: AppFolder): Promise<boolean> {
  for (const path of [...paths].filter((each) => /(?:^|\/)settings(?:\/\w+)?\.py$/.test(each)))
    if (/^STATIC_ROOT\s*=/m.test((await read(path)) ?? '')) return true
  return false
}

// --- Go, Rust, Java -----------------------------------------------------------

const binary = './bin/app'

async function planGo({ paths, read }: AppFolder): Promise<LanguageBuild> {
  const hasMain = async (path: string) => /^package main\b/m.test((await read(path)) ?? '')
  const inRoot = [...paths].filter((path) => /^[^/]+\.go$/.test(path) && !path.endsWith('_test.go'))
  const isRoot = (await Promise.all(inRoot.map(hasMain))).some(Boolean)
  const commands = [
    ...new Set([...paths].flatMap((path) => /^(cmd\/[^/]+)\/[^/]+\.go$/.exec(path)?.[1] ?? [])),
  ]
  if (!isRoot && commands.length !== 1)
    throw new PortError(
      400,
      commands.length === 0
        ? 'go.mod is there, and neither the folder nor cmd/ has a package main. Give build.steps and a command in .fairlead/app.yml.'
        : `Which of ${commands.join(', ')} is the app? Give build.steps: ["go build -o ${binary} ./${commands[0]}"] and "command: ${binary}" in .fairlead/app.yml.`,
    )
  const wanted = /^go\s+(\d+\.\d+)/m.exec((await read('go.mod')) ?? '')?.[1]
  const target = isRoot ? '.' : `./${commands[0]}`
  return {
    steps: [
      step('Go', {
        kind: 'tool',
        programs: ['go'],
        title: 'Go',
        versionArguments: ['version'],
        wanted: wanted === undefined ? undefined : { range: `>=${wanted}`, place: 'go.mod' },
        advice: 'Install it (https://go.dev/doc/install, or "apt install golang-go" on Debian).',
      }),
      step('Build', ['go', 'build', '-trimpath', '-o', binary, target], {
        GOTOOLCHAIN: 'path',
        GOFLAGS: '-buildvcs=false',
      }),
    ],
    command: binary,
    programs: [],
    environment: {},
  }
}

async function planRust({ read }: AppFolder): Promise<LanguageBuild> {
  const manifest = (await read('Cargo.toml')) ?? ''
  const name = /^\[package\][^[]*?^name\s*=\s*"([^"]+)"/ms.exec(manifest)?.[1]
  if (name === undefined)
    throw new PortError(
      400,
      'Cargo.toml names no package. Give build.steps and a command in .fairlead/app.yml.',
    )
  const move = `mkdir -p bin && cp "target/release/${name}" bin/app && rm -rf target`
  return {
    steps: [
      step('Rust', {
        kind: 'tool',
        programs: ['cargo'],
        title: 'Cargo',
        versionArguments: ['--version'],
        advice: 'Install it (https://rustup.rs, or "apt install cargo" on Debian).',
      }),
      step('Build', ['cargo', 'build', '--release', '--locked']),
      step('Program', ['sh', '-e', '-c', move]),
    ],
    command: binary,
    programs: [],
    environment: {},
  }
}

function planJar(jar: string): LanguageBuild {
  return {
    steps: [
      step('Java', {
        kind: 'tool',
        programs: ['java'],
        title: 'Java',
        versionArguments: ['-version'],
        advice: 'Install it with "apt install default-jre-headless" on Debian.',
      }),
    ],
    command: `java -jar ${jar}`,
    programs: [],
    environment: {},
  }
}
