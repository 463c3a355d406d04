/** Steps that build an app by its language, and the command that then runs it. */

import { shellWord } from '@fairlead/base/names/shell-word.ts'
import type {
  AppFolder,
  DetectedApp,
  Language,
  NodeLanguage,
  NodeManager,
  PythonLanguage,
} from '@fairlead/model/app-file/detect/detected.ts'
import type { BuildStep } from '../job-definition.ts'
import { type SourceAction, siteFolder } from './source-actions.ts'

export interface LanguageBuild {
  readonly steps: readonly BuildStep[]
  /** What runs, where the app file gives no command; undefined: nothing was found. */
  readonly command: string | undefined
  /** Folders of programs, below that of the app, which come first in `PATH`. */
  readonly programs: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Folder of the image, where it is not that of the app. */
  readonly imageFrom?: string
  /** Dockerfile that makes the image, which is one for containers. */
  readonly containerFile?: string
  /** Packages of the system in an image for containers; undefined: it begins with Node. */
  readonly systemPackages?: readonly string[]
}

export function planDetected(
  { language, services }: DetectedApp,
  folder: AppFolder,
): LanguageBuild {
  const found = services.find(({ isWeb }) => isWeb) ?? services[0]
  const planned = planLanguage(language, folder)
  return { ...planned, command: found?.command ?? planned.command }
}

function planLanguage(language: Language, folder: AppFolder): LanguageBuild {
  switch (language.kind) {
    case 'container':
      return { ...files, containerFile: language.file }
    case 'node':
      return planNode(language)
    case 'python':
      return planPython(language, folder)
    case 'go':
      return planGo(language)
    case 'rust':
      return planRust(language)
    case 'java':
      return planJar()
    case 'static':
      return planSite(language.pages)
    case 'files':
      return files
  }
}

/** Folders of programs that steps of an app file may fill. */
const ownPrograms = ['bin', 'node_modules/.bin', '.venv/bin']
const files: LanguageBuild = {
  ...{ steps: [], command: undefined, programs: ownPrograms, environment: {} },
  systemPackages: [],
}

/** Pages with a server of their own. @param pages Folder */
function planSite(pages: string): LanguageBuild {
  return {
    steps: [step('Pages', { kind: 'site', pages })],
    command: 'node server.mjs site',
    programs: [],
    environment: {},
    imageFrom: siteFolder,
  }
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

function planNode(language: NodeLanguage): LanguageBuild {
  const { manager, version, build: script, hasPackages, pages } = language
  const node = step('Node', {
    kind: 'tool',
    programs: ['node'],
    title: 'Node',
    versionArguments: ['--version'],
    wanted: version,
    advice:
      'Install it (https://nodejs.org/en/download), or accept another one by build: { node: VERSION } in .fairlead/app.yml.',
  })
  const packages = hasPackages ? installSteps(language) : undefined
  const build =
    script === undefined
      ? []
      : [step('Build', [manager, 'run', script], { NODE_ENV: 'production' })]
  const prune = script !== undefined && pages === undefined ? (packages?.prune ?? []) : []
  const steps = [node, ...(packages?.install ?? []), ...build, ...prune]
  if (pages !== undefined) {
    const site = planSite(pages)
    return { ...site, steps: [...steps, ...site.steps] }
  }
  return {
    steps,
    command: undefined,
    programs: ['node_modules/.bin'],
    environment: { NODE_ENV: 'production' },
  }
}

function installSteps({
  manager,
  lockFile,
  isBerry,
  build,
  installsMore,
  developmentPackages,
}: NodeLanguage): { install: BuildStep[]; prune: BuildStep[] } {
  const isLocked = lockFile !== undefined
  const commands = commandsOf(manager, { isLocked, isBerry })
  const isPruned = developmentPackages === 'build'
  const command = build !== undefined || !isPruned ? commands.all : commands.production
  const keyFiles = [
    ...['package.json', ...(isLocked ? [lockFile] : [])],
    ...['.npmrc', '.yarnrc', '.yarnrc.yml', 'pnpm-workspace.yaml'],
  ]
  const tools = [
    ['node', '--version'],
    [manager, '--version'],
  ]
  const environment = { COREPACK_ENABLE_DOWNLOAD_PROMPT: '0', YARN_NODE_LINKER: 'node-modules' }
  const isPlain = isLocked && !installsMore
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
  return {
    install: [...tool, step('Packages', action(command), environment)],
    prune:
      isPruned && commands.prune !== undefined
        ? [step('Packages of production', action(commands.prune), environment)]
        : [],
  }
}

function commandsOf(
  manager: NodeManager,
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

// --- Python -----------------------------------------------------------------

const pythonFiles = ['uv.lock', 'poetry.lock', 'pyproject.toml', 'requirements.txt']
const venv = '.venv'

function planPython(language: PythonLanguage, { paths }: AppFolder): LanguageBuild {
  const { packages: kind, version: wanted, collectsStatic } = language
  const exact = /^(?:==|~=|>=)?\s*(3\.\d+)/.exec(wanted?.range.trim() ?? '')?.[1]
  const python = step('Python', {
    kind: 'tool',
    programs: ['python3', ...(exact === undefined ? [] : [`python${exact}`])],
    title: 'Python',
    versionArguments: ['--version'],
    wanted,
    advice:
      'Install it with "apt install python3 python3-venv" on Debian, or accept another one by build: { python: VERSION } in .fairlead/app.yml.',
  })
  const action: SourceAction = {
    kind: 'install',
    command: ['sh', '-e', '-c', pythonInstall(language)],
    afterwards: projectInstall(language),
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
    collectsStatic !== undefined
      ? [
          step(
            'Static files',
            [`${venv}/bin/python3`, collectsStatic, 'collectstatic', '--noinput'],
            // Settings often ask for it, and collecting files needs none.
            { SECRET_KEY: 'build', DJANGO_SECRET_KEY: 'build' },
          ),
        ]
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
    systemPackages: ['python3'],
  }
}

const pip = `${venv}/bin/python3 -m pip install`
const uv = 'uv sync --frozen --no-dev'

/** A project that is a package itself is installed in each build: its own files decide. */
function projectInstall({ packages, requirements }: PythonLanguage): readonly string[] | undefined {
  if (packages === 'uv.lock') return ['sh', '-e', '-c', `${uv} --no-editable`]
  const isPackage = packages === 'pyproject.toml' && requirements === undefined
  return isPackage ? ['sh', '-e', '-c', `${pip} .`] : undefined
}

/** Python is copied: a link to that of the system would lead out of the image. */
function pythonInstall({ packages, requirements }: PythonLanguage): string {
  const create = `rm -rf ${venv}; python3 -m venv --copies ${venv}`
  switch (packages) {
    case 'uv.lock':
      return `${create} --without-pip; ${uv} --no-install-project`
    case 'poetry.lock':
      return `${create}; poetry install --only main --no-root --no-interaction`
    case 'pyproject.toml':
      return requirements === undefined || requirements.length === 0
        ? create
        : `${create}; ${pip} ${requirements.map(shellWord).join(' ')}`
    case undefined:
      return create
    default:
      return `${create}; ${pip} -r ${packages}`
  }
}

// --- Go, Rust, Java -----------------------------------------------------------

type LanguageOf<Kind extends Language['kind']> = Extract<Language, { kind: Kind }>

function planGo({ target, binary, version }: LanguageOf<'go'>): LanguageBuild {
  return {
    steps: [
      step('Go', {
        kind: 'tool',
        programs: ['go'],
        title: 'Go',
        versionArguments: ['version'],
        wanted: version,
        advice: 'Install it (https://go.dev/doc/install, or "apt install golang-go" on Debian).',
      }),
      step('Build', ['go', 'build', '-trimpath', '-o', binary, target], {
        GOTOOLCHAIN: 'path',
        GOFLAGS: '-buildvcs=false',
      }),
    ],
    command: undefined,
    programs: ['bin'],
    environment: {},
    systemPackages: [],
  }
}

function planRust({ program, binary }: LanguageOf<'rust'>): LanguageBuild {
  const move = `mkdir -p bin && cp "target/release/${program}" "${binary}" && rm -rf target`
  return {
    steps: [
      step('Rust', {
        kind: 'tool',
        programs: ['cargo'],
        title: 'Cargo',
        versionArguments: ['--version'],
        advice:
          'Install it ("apt install cargo" on Debian), or, with rustup, set RUSTUP_HOME in the variables of the account, and name its folder in builds.local.readable.',
      }),
      step('Build', ['cargo', 'build', '--release', '--locked']),
      step('Program', ['sh', '-e', '-c', move]),
    ],
    command: undefined,
    programs: ['bin'],
    environment: {},
    systemPackages: [],
  }
}

function planJar(): LanguageBuild {
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
    command: undefined,
    programs: [],
    environment: {},
    systemPackages: ['default-jre-headless'],
  }
}
