/** Actions of builds of uploaded folders: programs are checked, packages are installed once for each lock file, sites get their server. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  BuilderError,
  copyCheckout,
  resolveWithin,
  run,
} from '@fairlead/base/outside/builder-process.ts'
import { findOnPath } from '@fairlead/base/runtime/find-program.ts'
import type { RunnerLog } from '../runner-log.ts'
import { type ContainerfileAction, writeContainerfile } from './containerfile.ts'
import { buildRuntimeImage, type RuntimeImageAction } from './runtime-image.ts'
import { isVersionWithin } from './version-range.ts'

/** Fails unless a program is there, in a version that the app accepts. */
interface ToolAction {
  readonly kind: 'tool'
  /** The first that is there, and fits, is used under the first name. */
  readonly programs: readonly string[]
  /** `Node` */
  readonly title: string
  /** Prints the version. */
  readonly versionArguments: readonly string[]
  /** What the app accepts, such as `>=20`, and where it says so. */
  readonly wanted?: { readonly range: string; readonly place: string } | undefined
  /** How to install it, a sentence. */
  readonly advice: string
}

/** Runs a command that fills a folder, unless an earlier build did so with the same files and programs. */
interface InstallAction {
  readonly kind: 'install'
  readonly command: readonly string[]
  readonly folder: string
  /** Files that decide what is installed; those that are missing count as such. */
  readonly keyFiles: readonly string[]
  /** Runs in each build, after the folder is filled: what it adds depends on more than the key files. */
  readonly afterwards?: readonly string[]
  /** Programs whose versions decide as well. */
  readonly tools: readonly (readonly string[])[]
  /** What the installation before has filled is replaced. */
  readonly replaces?: true
  /** A virtual environment of Python, which is to run wherever it is copied to. */
  readonly isVirtualEnvironment?: true
}

/** Makes the image of a site: a folder of pages with their server. */
interface SiteAction {
  readonly kind: 'site'
  readonly pages: string
}

export type SourceAction =
  | ToolAction
  | InstallAction
  | SiteAction
  | ContainerfileAction
  | RuntimeImageAction

interface ActionOptions {
  readonly source: string
  /** The whole folder, where the image of a site is made. */
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  readonly log: RunnerLog
  readonly cache: string | undefined
}

/** Folder of the image of a site or of a container, in the source. */
export const siteFolder = '.fairlead-site'
const keptInstallations = 6
const execute = promisify(execFile)

/** @returns variables for the steps that follow @throws {BuilderError} */
export async function runSourceAction(
  action: SourceAction,
  options: ActionOptions,
): Promise<Readonly<Record<string, string>>> {
  switch (action.kind) {
    case 'tool':
      return checkTool(action, options)
    case 'install':
      await install(action, options)
      return {}
    case 'site':
      await makeSite(action, options)
      return {}
    case 'runtime-image':
      await buildRuntimeImage(action, options)
      return {}
    case 'containerfile':
      writeContainerfile(
        resolveWithin(options.source, action.folder),
        action,
        await versionOf(['node', '--version'], options.env),
      )
      return {}
  }
}

async function checkTool(
  { programs, title, versionArguments, wanted, advice }: ToolAction,
  { env, log, root }: ActionOptions,
): Promise<Readonly<Record<string, string>>> {
  const found: string[] = []
  const failed: string[] = []
  for (const program of programs) {
    const file = findOnPath(program, env['PATH'] ?? '')
    if (file === undefined) continue
    const version = await versionOf([file, ...versionArguments], env)
    if (version === undefined) {
      failed.push(file)
      continue
    }
    found.push(version)
    if (wanted !== undefined && !isVersionWithin(version, wanted.range)) continue
    log.say(
      `${title} ${version}${wanted === undefined ? '' : ` (${wanted.place}: ${wanted.range})`}`,
    )
    const [name = ''] = programs
    if (program === name) return {}
    const tools = join(dirname(root), 'tools')
    mkdirSync(tools, { recursive: true })
    writeFileSync(join(tools, name), `#!/bin/sh\nexec '${file}' "$@"\n`, { mode: 0o755 })
    return { PATH: `${tools}:${env['PATH'] ?? ''}` }
  }
  if (found.length > 0 && wanted !== undefined)
    throw new BuilderError(
      `The app wants ${title} ${wanted.range} (${wanted.place}), and this machine has ${[...new Set(found)].join(', ')}. ${advice}`,
    )
  throw new BuilderError(
    `The app needs ${title}${wanted === undefined ? '' : ` ${wanted.range} (${wanted.place})`}, which ${failed.length === 0 ? 'is not installed on this machine' : `does not run in builds, where the home of a user is not seen (${failed.join(', ')})`}. ${advice}`,
  )
}

/** Undefined: it does not run. */
async function versionOf(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await execute(program, args, { env, timeout: 30_000 })
    return /\d+(?:\.\d+)+|\d+/.exec(`${stdout} ${stderr}`)?.[0]
  } catch {
    return undefined
  }
}

async function install(action: InstallAction, options: ActionOptions): Promise<void> {
  const { source, log, env } = options
  await fill(action, options)
  if (action.afterwards !== undefined) await log.run(action.afterwards, { cwd: source, env })
  if (action.isVirtualEnvironment === true) makeRelocatable(join(source, action.folder))
}

async function fill(action: InstallAction, options: ActionOptions): Promise<void> {
  const { source, log, env, cache } = options
  const place = join(source, action.folder)
  const kept =
    cache === undefined ? undefined : join(cache, 'installations', await keyOf(action, options))
  if (kept !== undefined && existsSync(kept)) {
    rmSync(place, { recursive: true, force: true })
    await copy(kept, place, env)
    const now = new Date()
    utimesSync(kept, now, now)
    log.say(`Nothing has changed: ${action.folder} is that of an earlier build.`)
    return
  }
  await log.run(action.command, { cwd: source, env })
  if (kept === undefined || lstatSync(place, { throwIfNoEntry: false })?.isDirectory() !== true)
    return
  mkdirSync(dirname(kept), { recursive: true })
  const fresh = `${kept}.new-${process.pid}`
  await copy(place, fresh, env)
  renameSync(fresh, kept)
  removeOldest(dirname(kept))
}

async function keyOf(
  { command, keyFiles, tools, isVirtualEnvironment }: InstallAction,
  { source, env }: ActionOptions,
): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([process.arch, command]))
  // Requirements of pip may name further files.
  const more = isVirtualEnvironment === true ? listRequirements(source) : []
  for (const path of [...keyFiles, ...more]) {
    const file = join(source, path)
    const content =
      statSync(file, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(file) : ''
    hash.update(`\n${path} ${content.length}\n`).update(content)
  }
  for (const tool of tools) hash.update(`\n${tool.join(' ')} ${await versionOf(tool, env)}`)
  return hash.digest('hex').slice(0, 32)
}

function listRequirements(source: string): string[] {
  const folders = ['.', 'requirements'].filter((folder) => existsSync(join(source, folder)))
  return folders.flatMap((folder) =>
    readdirSync(join(source, folder))
      .filter((name) => /\.(?:txt|in)$/.test(name))
      .sort()
      .map((name) => join(folder, name)),
  )
}

/** Shares blocks where the file system can; what a build changes in its copy does not change the other one. */
function copy(from: string, to: string, env: Readonly<Record<string, string>>): Promise<void> {
  return run(['cp', '-a', '--reflink=auto', from, to], { cwd: dirname(from), env })
}

function removeOldest(folder: string): void {
  const all = readdirSync(folder).map((name) => ({
    path: join(folder, name),
    usedMs: statSync(join(folder, name)).mtimeMs,
  }))
  for (const { path } of all.sort((a, b) => b.usedMs - a.usedMs).slice(keptInstallations))
    rmSync(path, { recursive: true, force: true })
}

/** Characters of the lines that name Python; the second form is for paths that are too long for the first. */
function lengthOfPythonLines(text: string): number {
  const [first = '', second = '', third = ''] = text.split('\n', 3)
  const program = first.startsWith('#!') ? (first.trim().split('/bin/').at(-1) ?? '') : ''
  if (/^python[\d.]*$/.test(program)) return first.length + 1
  const isLong =
    first === '#!/bin/sh' &&
    second.startsWith("'''exec' ") &&
    second.includes('/bin/python') &&
    third === "' '''"
  return isLong ? first.length + second.length + third.length + 3 : 0
}

/**
 * Programs of a virtual environment name their Python by an absolute path, and Python itself is often a link to that of the system; an
 * image is copied to a folder of each instance.
 */
function makeRelocatable(folder: string): void {
  const programs = join(folder, 'bin')
  for (const name of readdirSync(programs)) {
    const file = join(programs, name)
    const found = lstatSync(file)
    if (found.isSymbolicLink()) {
      if (!isAbsolute(readlinkSync(file))) continue
      const target = realpathSync(file)
      rmSync(file)
      copyFileSync(target, file)
      chmodSync(file, 0o755)
    } else if (found.isFile() && found.size < 64 * 1024) {
      const text = readFileSync(file, 'utf8')
      const own = lengthOfPythonLines(text)
      // A text of Python to Python, and a command to the shell.
      if (own > 0)
        writeFileSync(
          file,
          `#!/bin/sh\n'''exec' "$(dirname "$0")/python3" "$0" "$@"\n' '''\n${text.slice(own)}`,
        )
    }
  }
}

async function makeSite(
  { pages }: SiteAction,
  { source, root, log }: ActionOptions,
): Promise<void> {
  const image = join(root, siteFolder)
  const from = resolveWithin(source, pages)
  const temporary = join(dirname(root), 'site')
  // The pages may be all of the source, which their copy must not be in.
  await copyCheckout(from, join(temporary, 'site'))
  for (const name of ['.fairlead', siteFolder])
    rmSync(join(temporary, 'site', name), { recursive: true, force: true })
  writeFileSync(join(temporary, 'server.mjs'), serverText())
  renameSync(temporary, image)
  log.say(`Pages: ${pages === '.' ? 'the folder' : pages}.`)
}

function serverText(): string {
  const isSource = import.meta.url.endsWith('.ts')
  const file = fileURLToPath(
    new URL(isSource ? './static-server.ts' : './static-server.js', import.meta.url),
  )
  const text = readFileSync(file, 'utf8')
  return isSource ? stripTypeScriptTypes(text) : text
}
