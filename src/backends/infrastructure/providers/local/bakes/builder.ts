/**
 * The builder: a process of its own that carries one plan out in its working directory, in the name of the account's user. It
 * writes the log to standard output and ends with 0 once the image is complete.
 */
import { execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  constants,
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { cp } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { promisify } from 'node:util'
import { shorten } from '../../../../../names/edit-distance.ts'
import { fetchCommit, gitEnvironment } from '../../../../outside/git-repository.ts'
import {
  type BakePlan,
  type BakeReport,
  imageFolder,
  planVariable,
  reportFile,
  type Source,
  sourceFolder,
  startLine,
  type TemplateStep,
} from './plan.ts'

/** A step that failed; the message is the last line of the log. */
class BakeError extends Error {}

const work = process.cwd()
const image = join(work, imageFolder)
const source = join(work, sourceFolder)
/** By it the agent finds every process of the bake. */
const markVariable = 'FAIRLEAD_PROCESS'

async function bake(plan: BakePlan): Promise<void> {
  if (plan.hasContent) moveIntoImage()
  for (const name of ['home', 'tmp', sourceFolder, imageFolder]) mkdirSync(join(work, name), { recursive: true })
  let commit: string | undefined
  for (const each of plan.sources) commit = (await fetchSource(each, plan)) ?? commit
  let environment = { ...baseEnvironment(), ...cacheEnvironment(plan), ...plan.environment }
  for (const [index, step] of plan.steps.entries()) {
    if (step.ifExists !== undefined && !existsSync(join(image, step.ifExists))) continue
    if (step.kind === 'run' && step.unlessExists !== undefined && existsSync(join(image, step.unlessExists))) continue
    if (step.kind === 'refuse') refuseWithout(step)
    else if (step.kind === 'environment') environment = { ...environment, ...step.variables }
    else {
      say(`Step ${index + 1} of ${plan.steps.length}: ${describeStep(step)}`)
      if (step.kind === 'copy') await copyStep(step.from, step.to)
      else await runStep(step, environment)
    }
  }
  const report: BakeReport = { commit }
  writeFileSync(join(work, reportFile), JSON.stringify(report))
}

/** What the working directory holds; something in it may have the name of the folder. */
function moveIntoImage(): void {
  const names = readdirSync(work)
  const folder = mkdtempSync(join(work, '.image-'))
  for (const name of names) renameSync(join(work, name), join(folder, name))
  chmodSync(folder, 0o755)
  renameSync(folder, image)
}

async function runStep(step: Extract<TemplateStep, { kind: 'run' }>, env: Record<string, string>): Promise<void> {
  try {
    await run(step.command, { cwd: step.in === 'source' ? source : image, env })
  } catch (error) {
    if (step.remedy === undefined) throw error
    throw new BakeError(`${(error as Error).message}\n${step.remedy}`)
  }
}

/** Nothing of Fairlead's own environment, and a home of its own. */
function baseEnvironment(): Record<string, string> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG = 'C.UTF-8', [markVariable]: mark = '' } = process.env
  return { PATH, LANG, HOME: join(work, 'home'), TMPDIR: join(work, 'tmp'), [markVariable]: mark }
}

/** Go, pip and uv follow `XDG_CACHE_HOME`; npm, and modules of Go, have variables of their own. */
function cacheEnvironment({ cache }: BakePlan): Record<string, string> {
  if (cache === undefined) return {}
  return { XDG_CACHE_HOME: cache, npm_config_cache: join(cache, 'npm'), GOMODCACHE: join(cache, 'go-modules') }
}

/** @throws {BakeError} when the source lacks a file that another one calls for */
function refuseWithout({ ifExists = '.', containing, without, message }: Extract<TemplateStep, { kind: 'refuse' }>): void {
  if (existsSync(join(image, without))) return
  if (containing === '' || readFileSync(join(image, ifExists), 'utf8').includes(containing)) throw new BakeError(message)
}

function describeStep(step: Extract<TemplateStep, { kind: 'copy' | 'run' }>): string {
  return step.kind === 'copy' ? `copy ${step.from} to ${step.to}` : `run ${step.command.join(' ')}`
}

/** @returns the commit, of a repository */
async function fetchSource(from: Source, { bounds }: BakePlan): Promise<string | undefined> {
  if (from.kind === 'git') return fetchRepository(from)
  say(`Source: ${shorten(from.path)}`)
  if (from.kind === 'directory') await copyDirectory(from.path)
  else {
    const { unpackArchive } = await import('../../../../images/unpack.ts')
    await unpackArchive(createReadStream(from.path), source, bounds)
  }
  return undefined
}

async function copyDirectory(path: string): Promise<void> {
  if (!existsSync(path)) throw new BakeError(`The directory ${shorten(path)} does not exist.`)
  if (!statSync(path).isDirectory()) throw new BakeError(`${path} is no directory.`)
  if (isWithin(work, realpathSync(path)))
    throw new BakeError(`${path} contains the bake itself. Name a directory beside the data directory.`)
  await copyTree(path, source)
}

/** What may be fetched from; others, such as `ext`, run programs that the address names. */
const gitProtocols = 'https:http:ssh:git:file'

async function fetchRepository({ url, revision, path }: Extract<Source, { kind: 'git' }>): Promise<string> {
  say(`Source: ${url}${revision === undefined ? '' : ` at ${revision}`}`)
  const repository = path === undefined ? source : join(work, 'repository')
  mkdirSync(repository, { recursive: true })
  const env = { ...baseEnvironment(), ...gitEnvironment, GIT_ALLOW_PROTOCOL: gitProtocols }
  const git = (...args: string[]) => run(['git', ...args], { cwd: repository, env })
  await git('init', '--quiet', '.')
  const target = await fetchCommit(git, { url, revision })
  await git('-c', 'advice.detachedHead=false', 'checkout', '--quiet', '--detach', target)
  const head = await promisify(execFile)('git', ['rev-parse', '--verify', 'HEAD'], { cwd: repository, env })
  const commit = head.stdout.trim()
  say(`Commit: ${commit}`)
  if (path !== undefined) {
    const folder = resolveWithin(repository, path)
    if (!statSync(folder).isDirectory()) throw new BakeError(`${path} is no directory of the repository.`)
    await copyTree(folder, source)
  }
  return commit
}

/** Repositories of the source stay out of the image; links are copied as links, and the image is checked as a whole. */
async function copyStep(from: string, to: string): Promise<void> {
  const origin = resolveWithin(source, from)
  const target = resolve(image, to)
  const isDirectory = lstatSync(origin).isDirectory()
  // `copy: {from: server.js, to: .}` keeps the name.
  const end = !isDirectory && (to === '.' || to.endsWith('/')) ? join(target, basename(origin)) : target
  checkTarget(end)
  mkdirSync(dirname(end), { recursive: true })
  await copyTree(origin, end)
}

async function copyTree(from: string, to: string): Promise<void> {
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    filter: (path) => relative(from, path).split(sep)[0] !== '.git',
  })
}

/** Also where a link of the source leads out of it. @throws {BakeError} */
function resolveWithin(folder: string, path: string): string {
  const place = resolve(folder, path)
  if (!existsSync(place)) throw new BakeError(`The source has no ${path}.`)
  if (!isWithin(realpathSync(place), realpathSync(folder))) throw new BakeError(`${path} leads out of the source.`)
  return place
}

/** A link in the image must not lead the copy out of it. @throws {BakeError} */
function checkTarget(target: string): void {
  let existing = target
  while (!existsSync(existing)) existing = dirname(existing)
  if (!isWithin(realpathSync(existing), realpathSync(image))) {
    throw new BakeError(`${relative(image, target)} leads out of the image.`)
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep)
}

/** @throws {BakeError} unless it ends with 0 */
async function run(
  [name = '', ...args]: readonly string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<void> {
  const { promise, resolve: ended, reject } = Promise.withResolvers<string | undefined>()
  const child = spawn(name, args, { ...options, stdio: ['ignore', 'inherit', 'inherit'] })
  child.once('error', ({ code, message }: NodeJS.ErrnoException) => reject(new BakeError(describeStart(name, code, message))))
  child.once('exit', (code, signal) => ended(code === 0 ? undefined : signal === null ? `exit code ${code}` : signal))
  const failure = await promise
  if (failure !== undefined) throw new BakeError(`"${[name, ...args].join(' ')}" failed with ${failure}.`)
}

function describeStart(name: string, code: string | undefined, message: string): string {
  if (code !== 'ENOENT') return `"${name}" cannot be started: ${message}.`
  if (name === 'git') return 'Git is not installed on this machine. Install it, or bake from a directory or a package.'
  return `The program "${name}" was not found. Install it, or correct the step.`
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

say(startLine)
try {
  const text = process.env[planVariable] ?? ''
  delete process.env[planVariable]
  await bake(JSON.parse(text) as BakePlan)
  say('All steps are done.')
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
