/**
 * The builder: two processes of its own that carry one plan out in its working directory, in the name of the account's user: the first
 * one fetches the sources (`fetch`), the second one takes the steps. They write the log to standard output and end with 0 once the image is
 * complete.
 */
import {
  chmodSync,
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
import { basename, dirname, join, relative, resolve } from 'node:path'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import {
  BuilderError,
  baseEnvironment,
  cacheEnvironment,
  checkOut,
  copyCheckout,
  isWithin,
  resolveWithin,
  run,
  say,
} from '@fairlead/base/outside/builder-process.ts'
import {
  type BakePlan,
  type BakeReport,
  type BakeSource,
  imageFolder,
  planVariable,
  reportFile,
  sourceFolder,
  startLine,
  type TemplateStep,
} from './plan.ts'

const work = process.cwd()
const image = join(work, imageFolder)
const source = join(work, sourceFolder)

async function fetchSources(plan: BakePlan): Promise<void> {
  say(startLine)
  if (plan.hasContent) moveIntoImage()
  for (const name of ['home', 'tmp', sourceFolder, imageFolder])
    mkdirSync(join(work, name), { recursive: true })
  let commit: string | undefined
  for (const each of plan.sources) commit = (await fetchSource(each, plan)) ?? commit
  writeReport({ commit })
}

async function takeSteps(plan: BakePlan): Promise<void> {
  const report = JSON.parse(readFileSync(join(work, reportFile), 'utf8')) as BakeReport
  let environment = {
    ...baseEnvironment(work),
    ...cacheEnvironment(plan.cache),
    ...plan.account,
    ...plan.environment,
  }
  for (const [index, step] of plan.steps.entries()) {
    if (step.ifExists !== undefined && !existsSync(join(image, step.ifExists))) continue
    if (
      step.kind === 'run' &&
      step.unlessExists !== undefined &&
      existsSync(join(image, step.unlessExists))
    )
      continue
    if (step.kind === 'refuse') refuseWithout(step)
    else if (step.kind === 'environment') environment = { ...environment, ...step.variables }
    else {
      say(`Step ${index + 1} of ${plan.steps.length}: ${describeStep(step)}`)
      if (step.kind === 'copy') await copyStep(step.from, step.to)
      else await runStep(step, environment)
    }
  }
  // A step may have written another one.
  writeReport(report)
  say('All steps are done.')
}

function writeReport(report: BakeReport): void {
  writeFileSync(join(work, reportFile), JSON.stringify(report))
}

function moveIntoImage(): void {
  const names = readdirSync(work)
  const folder = mkdtempSync(join(work, '.image-'))
  for (const name of names) renameSync(join(work, name), join(folder, name))
  chmodSync(folder, 0o755)
  renameSync(folder, image)
}

async function runStep(
  step: Extract<TemplateStep, { kind: 'run' }>,
  env: Record<string, string>,
): Promise<void> {
  try {
    await run(step.command, { cwd: step.in === 'source' ? source : image, env })
  } catch (error) {
    if (step.remedy === undefined) throw error
    throw new BuilderError(`${(error as Error).message}\n${step.remedy}`)
  }
}

/** @throws {BuilderError} when the source lacks a file that another one calls for */
function refuseWithout({
  ifExists = '.',
  containing,
  without,
  message,
}: Extract<TemplateStep, { kind: 'refuse' }>): void {
  if (existsSync(join(image, without))) return
  if (containing === '' || readFileSync(join(image, ifExists), 'utf8').includes(containing))
    throw new BuilderError(message)
}

function describeStep(step: Extract<TemplateStep, { kind: 'copy' | 'run' }>): string {
  return step.kind === 'copy' ? `copy ${step.from} to ${step.to}` : `run ${step.command.join(' ')}`
}

/** @returns the commit, of a repository */
async function fetchSource(
  from: BakeSource,
  { bounds, account }: BakePlan,
): Promise<string | undefined> {
  if (from.kind === 'git') return fetchRepository(from, account)
  say(`Source: ${shorten(from.path)}`)
  if (from.kind === 'directory') await copyDirectory(from.path)
  else {
    const { unpackArchive } = await import('../../images/unpack.ts')
    await unpackArchive(createReadStream(from.path), source, bounds)
  }
  return undefined
}

async function copyDirectory(path: string): Promise<void> {
  if (!existsSync(path)) throw new BuilderError(`The directory ${shorten(path)} does not exist.`)
  if (!statSync(path).isDirectory()) throw new BuilderError(`${path} is no directory.`)
  if (isWithin(work, realpathSync(path)))
    throw new BuilderError(
      `${path} contains the bake itself. Name a directory beside the data directory.`,
    )
  await copyCheckout(path, source)
}

async function fetchRepository(
  { url, revision, path }: Extract<BakeSource, { kind: 'git' }>,
  account: BakePlan['account'],
): Promise<string> {
  say(`Source: ${url}${revision === undefined ? '' : ` at ${revision}`}`)
  const repository = path === undefined ? source : join(work, 'repository')
  const commit = await checkOut({ url, revision, work, folder: repository, environment: account })
  say(`Commit: ${commit}`)
  if (path !== undefined) {
    const folder = resolveWithin(repository, path)
    if (!statSync(folder).isDirectory())
      throw new BuilderError(`${path} is no directory of the repository.`)
    await copyCheckout(folder, source)
  }
  return commit
}

/** Repositories of the source stay out of the image; links are copied as links, and the image is checked as a whole. */
async function copyStep(from: string, to: string): Promise<void> {
  const origin = resolveWithin(source, from)
  const target = resolve(image, to)
  const isDirectory = lstatSync(origin).isDirectory()
  // `copy: {from: server.js, to: .}` keeps the name.
  const end =
    !isDirectory && (to === '.' || to.endsWith('/')) ? join(target, basename(origin)) : target
  checkTarget(end)
  mkdirSync(dirname(end), { recursive: true })
  await copyCheckout(origin, end)
}

/** A link in the image must not lead the copy out of it. @throws {BuilderError} */
function checkTarget(target: string): void {
  let existing = target
  while (!existsSync(existing)) existing = dirname(existing)
  if (!isWithin(realpathSync(existing), realpathSync(image))) {
    throw new BuilderError(`${relative(image, target)} leads out of the image.`)
  }
}

try {
  const text = process.env[planVariable] ?? ''
  delete process.env[planVariable]
  await (process.argv[2] === 'fetch' ? fetchSources : takeSteps)(JSON.parse(text) as BakePlan)
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
