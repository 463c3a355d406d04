/** The words that call this program again, for commands in messages. */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { shellWord } from '@fairlead/base/names/shell-word.ts'

/** Files that Docker and Podman put into every container. */
export const containerMarks = { docker: '/.dockerenv', podman: '/run/.containerenv' } as const

export interface CommandCall {
  /** The program: `bin/fairlead.js` of a clone, `dist/fairlead.js` of a package. */
  readonly file: string
  readonly node: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** What runs the container that this gateway is the purpose of. */
  readonly container: keyof typeof containerMarks | 'kubernetes' | undefined
  readonly hostname: string
}

/** A gateway in whose log a command appears: it is read in another terminal, perhaps outside of the container. */
interface LogReader {
  readonly dataDir: string
}

export function commandName(call: CommandCall, loggedBy?: LogReader): string {
  const name = nameInPlace(call)
  const { container, env, hostname: host } = call
  if (loggedBy === undefined) return name
  if (container === 'kubernetes') return `kubectl exec -it ${host} -- ${name}`
  // Unless it was given another, a container has its id for a name.
  if (container !== undefined)
    return `${container} exec -it ${/^[0-9a-f]{12}$/.test(host) ? host : 'CONTAINER'} ${name}`
  const isFound =
    env['FAIRLEAD_DATA_DIR'] === undefined && (env['INIT_CWD'] ?? call.cwd) === call.cwd
  return isFound ? name : `FAIRLEAD_DATA_DIR=${shellWord(loggedBy.dataDir)} ${name}`
}

function nameInPlace({ file, node, env, cwd }: CommandCall): string {
  // npm runs a script in the folder of the package, wherever it was called.
  const reader = env['INIT_CWD'] ?? cwd
  const root = dirname(dirname(file))
  if (basename(dirname(file)) === 'bin') {
    const ownNode = join(root, 'node_modules/.bin/node')
    return `${isSame(node, ownNode) ? pathFrom(reader, ownNode) : 'node'} ${pathFrom(reader, join(root, 'bin/fairlead.js'))}`
  }
  const [, project] = /^(.*)\/node_modules\/[^/]+$/.exec(root) ?? []
  if (project !== undefined && existsSync(join(project, 'node_modules/.bin/fairlead'))) {
    const isNear =
      reader === project || reader.startsWith(`${project}/`) || project.includes('/_npx/')
    return isNear ? 'npx fairlead' : shellWord(join(project, 'node_modules/.bin/fairlead'))
  }
  const isOnPath = (env['PATH'] ?? '')
    .split(':')
    .some((folder) => isSame(join(folder, 'fairlead'), file))
  return isOnPath ? 'fairlead' : `node ${shellWord(file)}`
}

function isSame(path: string, other: string): boolean {
  try {
    return realpathSync(path) === realpathSync(other)
  } catch {
    return false
  }
}

/** Short where the file lies below. */
function pathFrom(folder: string, file: string): string {
  const near = relative(folder, file)
  return shellWord(near.startsWith('..') ? file : near)
}

export function command(words: string, loggedBy?: LogReader): string {
  return `${commandName(thisCall(), loggedBy)} ${words}`
}

function thisCall(): CommandCall {
  return {
    file: realpathSync(process.argv[1] ?? ''),
    node: process.execPath,
    env: process.env,
    cwd: process.cwd(),
    container: findContainer(),
    hostname: hostname(),
  }
}

/** In a container for development, or one of many services, a reader of the log is inside, too. */
function findContainer(): CommandCall['container'] {
  const marks = Object.entries(containerMarks) as [keyof typeof containerMarks, string][]
  const found =
    process.env['KUBERNETES_SERVICE_HOST'] === undefined
      ? marks.find(([, file]) => existsSync(file))?.[0]
      : 'kubernetes'
  return found !== undefined && /fairlead|npm/.test(firstProcess()) ? found : undefined
}

function firstProcess(): string {
  try {
    return readFileSync('/proc/1/cmdline', 'utf8')
  } catch {
    return ''
  }
}
