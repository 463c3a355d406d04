/**
 * The sandbox: programs that read what authors wrote see their folder, the programs of this machine, and nothing else of it; no network
 * unless they are given it, no right of Fairlead's user beyond that, and no process outlives them.
 *
 * Their user on this machine stays that of Fairlead, without any capability: what keeps its other files apart is that the file system of
 * the sandbox has none of them.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findOnPath } from '../runtime/find-program.ts'
import { type BubblewrapFeatures, wrapInBubblewrap } from './bubblewrap.ts'
import { boundedCommand, type Confinement } from './confinement.ts'
import { wrapInNamespaces } from './namespaces.ts'
import type { SandboxChoice } from './settings.ts'

/** Processes and threads of all sandboxes together. */
const maxTasks = 1024
/** Version 1, and version 2. */
const parents = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup']

/** @returns the file that a process writes itself into; undefined where this process may make no group */
function openRootGroup(): string | undefined {
  return parents.map(createGroup).find((file) => file !== undefined)
}

function createGroup(parent: string): string | undefined {
  const group = join(parent, 'fairlead-sandbox')
  try {
    if (parent === '/sys/fs/cgroup') writeFileSync(join(parent, 'cgroup.subtree_control'), '+pids')
    mkdirSync(group, { recursive: true })
    writeFileSync(join(group, 'pids.max'), String(maxTasks))
    return join(group, 'cgroup.procs')
  } catch {
    // There is no such controller, or it is read-only, as in most containers.
    return undefined
  }
}

function inGroup(file: string | undefined, command: readonly string[]): string[] {
  if (file === undefined) return [...command]
  return ['/bin/sh', '-c', 'echo $$ >"$0"; exec "$@"', file, ...command]
}

interface Sandbox {
  readonly means: Exclude<SandboxChoice, 'auto'>
  readonly title: string
  /**
   * The command that runs another one in it.
   *
   * @param command Program and arguments; what it inherits is its environment, its standard streams, and no rights
   */
  wrap(command: readonly string[], confinement: Confinement): string[]
}

/** There is none on this machine; the message says what to install. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError'
}

/** By choice and search path, on which the programs are looked for. */
const found = new Map<string, Promise<Sandbox>>()

/** Looks once in the life of this process, and again where it has found none, since somebody may install one. @throws {SandboxError} */
export function openSandbox(choice: SandboxChoice): Promise<Sandbox> {
  const key = `${choice} ${process.env['PATH']}`
  const known = found.get(key)
  if (known !== undefined) return known
  const opened = choice === 'none' ? Promise.resolve(noSandbox) : findSandbox(choice)
  found.set(key, opened)
  opened.catch(() => found.delete(key))
  return opened
}

/** Bounds of each process are all that is left. */
const noSandbox: Sandbox = {
  means: 'none',
  title: 'none (sandbox: none)',
  wrap: (command, { memoryBytes, fileBytes }) =>
    boundedCommand(command, {
      ...(memoryBytes && { memoryBytes }),
      ...(fileBytes && { fileBytes }),
    }),
}

async function findSandbox(choice: 'auto' | 'bwrap' | 'unshare'): Promise<Sandbox> {
  const reasons: string[] = []
  for (const candidate of [
    ...(choice === 'unshare' ? [] : await bubblewraps()),
    ...(choice === 'bwrap' ? [] : namespaces()),
  ]) {
    const reason = await tryOut(candidate)
    if (reason === undefined) return withRootGroup(candidate)
    reasons.push(`${candidate.title}: ${reason}`)
  }
  throw new SandboxError(
    'There is no sandbox for programs that read what authors wrote. Install bubblewrap ("apt install bubblewrap"), and let users of this machine ' +
      'make namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns, or the seccomp profile of the ' +
      'container); "sandbox: none" in the configuration runs them without one.' +
      (reasons.length === 0 ? '' : ` Tried: ${reasons.join('; ')}.`),
  )
}

function withRootGroup(sandbox: Sandbox): Sandbox {
  // Builds have the bound of the agent instead, and take no room from others.
  const isRoot = ({ user, processes }: Confinement) =>
    processes !== undefined && (user?.uid ?? process.geteuid?.()) === 0
  return {
    ...sandbox,
    wrap: (command, confinement) => {
      const wrapped = sandbox.wrap(command, confinement)
      return isRoot(confinement) ? inGroup(openRootGroup(), wrapped) : wrapped
    },
  }
}

async function bubblewraps(): Promise<Sandbox[]> {
  const path = findOnPath('bwrap', process.env['PATH'] ?? '')
  if (path === undefined) return []
  const { stdout: help } = await promisify(execFile)(path, ['--help']).catch(() => ({ stdout: '' }))
  const sizes = help.includes('--size BYTES')
  const common = { path, sizes, countsProcesses: countsPerNamespace() }
  const withNamespaces = help.includes('--disable-userns') ? [true, false] : [false]
  const kinds = [true, false].flatMap((proc) =>
    withNamespaces.map((disablesNamespaces) => ({ proc, disablesNamespaces })),
  )
  return kinds.map((kind) => toSandbox({ ...common, ...kind }))
}

function toSandbox(features: BubblewrapFeatures): Sandbox {
  return {
    means: 'bwrap',
    title: features.proc ? 'bubblewrap' : 'bubblewrap without /proc',
    wrap: (command, confinement) => wrapInBubblewrap(features, withPath(command), confinement),
  }
}

function namespaces(): Sandbox[] {
  if (process.platform !== 'linux') return []
  const features = { countsProcesses: countsPerNamespace() }
  return [
    {
      means: 'unshare',
      title: "namespaces of the kernel, by util-linux's unshare",
      wrap: (command, confinement) => wrapInNamespaces(withPath(command), confinement, features),
    },
  ]
}

/** Before Linux 5.14, the bound of processes counts all of the user on the machine. */
function countsPerNamespace(): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number)
  return major > 5 || (major === 5 && minor >= 14)
}

function withPath([program = '', ...args]: readonly string[]): string[] {
  const path = program.includes('/') ? program : findOnPath(program, process.env['PATH'] ?? '')
  // One that is nowhere fails in the sandbox as it would outside.
  return [path ?? `/usr/bin/${program}`, ...args]
}

async function tryOut(sandbox: Sandbox): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-trial-'))
  try {
    const bounds = { memoryBytes: 64 * 1024 * 1024, processes: 32, fileBytes: 1024 * 1024 }
    const [program = '', ...args] = sandbox.wrap(
      ['/bin/sh', '-c', 'echo x > written && cat written'],
      {
        folder,
        network: 'none',
        ...bounds,
      },
    )
    const { stdout } = await promisify(execFile)(program, args, {
      cwd: folder,
      timeout: 60_000,
      killSignal: 'SIGKILL',
    })
    return stdout === 'x\n' ? undefined : 'it ran nothing'
  } catch (error) {
    const { stderr = '', message } = error as Error & { readonly stderr?: string }
    return stderr.trim().split('\n').at(-1) || message.split('\n')[0]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
