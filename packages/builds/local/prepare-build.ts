/** Prepares a build: fetches its commit, finds its steps there, and writes the plan for its runner. */
import { createHash } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatJson } from '@fairlead/base/json/json.ts'
import { definedOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { CacheFolders } from '@fairlead/base/storage/cache-folders.ts'
import { maskedTexts } from '@fairlead/model/secrets/masking.ts'
import { isRecognisable, looksSecret } from '@fairlead/model/secrets/secret-names.ts'
import { allReferencesIn } from '@fairlead/model/secrets/secret-references.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import type { Machine } from '@fairlead/ports/machine.ts'
import type { SecretVersion } from '@fairlead/ports/secrets.ts'
import type { BuildFiles } from './build-files.ts'
import type { BuildCommit, StoredBuild } from './build-store.ts'
import { type KnownJob, parseBuildFile } from './job-catalog.ts'
import type { JobDefinition } from './job-definition.ts'
import { fillIn, type Parameters, revisionOf, withDefaults } from './parameters.ts'
import { type BuildPlan, planFile, repositoryFolder } from './plan.ts'
import type { FetchedCommit, RepositoryReader } from './repository.ts'
import type { LocalBuildSettings } from './settings.ts'
import type { ImageDefaults } from './sources/image-defaults.ts'
import { prepareSource } from './sources/prepare-source.ts'
import type { SourceStore } from './sources/source-store.ts'

interface PrepareParts {
  readonly context: BackendContext
  readonly settings: LocalBuildSettings
  readonly repositories: RepositoryReader
  readonly uploads: SourceStore
  readonly files: BuildFiles
  readonly caches: CacheFolders
  readonly machine: Pick<Machine, 'variables' | 'containerRuntimeOf'>
}

export interface PreparedBuild {
  /** What is known of the build now. */
  readonly change: Partial<StoredBuild>
  /** Folder that the runner starts with. */
  readonly content: string
  readonly timeLimitMs: number
  /** Folder. */
  readonly cache: string | undefined
  /** As `ProgramPlaces`. */
  readonly runsContainers: boolean
}

/** @throws {PortError} for what a user can mend */
export async function prepareBuild(
  build: StoredBuild,
  job: KnownJob,
  parts: PrepareParts,
): Promise<PreparedBuild> {
  const { settings, files } = parts
  const content = files.contentOf(build.id)
  await rm(content, { recursive: true, force: true })
  await mkdir(content, { recursive: true, mode: 0o700 })
  const commit = await fetchCommitOf(build, job, parts)
  const source =
    job.buildsSources === true ? await prepareSource(build, job, { ...parts, content }) : undefined
  const definition = source?.definition ?? (await definitionOf(job, commit))
  await checkPublish(job, definition, parts)
  const parameters = withDefaults(definition, build.parameters)
  const names = namesOf(build, commit, parameters)
  const { plan, versions } = await toPlan(
    { build, job, definition, commit, parameters, names, imageDefaults: source?.imageFile },
    parts,
  )
  await writeFile(join(content, planFile), formatJson(plan), { mode: 0o600 })
  const { publish } = definition
  const [only, ...others] = definition.steps
  return {
    content,
    cache: plan.cache,
    // A command of the author beside it would run without the sandbox.
    runsContainers: only?.action.kind === 'runtime-image' && others.length === 0,
    timeLimitMs: definition.timeLimitMs ?? settings.timeLimitMs,
    change: definedOf({
      commit: commit && toStored(commit),
      imageName: publish && { name: publish.image, version: fillIn(publish.version, names) },
      secretVersions: versions,
      cacheName: cacheOf(job, commit),
    }),
  }
}

async function fetchCommitOf(
  build: StoredBuild,
  { repository, definition }: KnownJob,
  { repositories, files }: PrepareParts,
) {
  if (repository === undefined) return undefined
  const home = files.gitHomeOf(build.id)
  const bare = join(files.contentOf(build.id), repositoryFolder)
  try {
    const revision = revisionOf(new Set(Object.keys(definition.parameters)), build.parameters)
    return await repositories.fetch(repository, revision, { bare, home })
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

/** Jobs of a repository are what the commit says. */
async function definitionOf(
  { name, definition, declared }: KnownJob,
  commit: FetchedCommit | undefined,
): Promise<JobDefinition> {
  if (declared === undefined || commit === undefined) return definition
  const text = await commit.file(declared.file)
  if (text === undefined)
    throw new PortError(
      400,
      `The commit ${commit.sha1} has no ${declared.file}, so ${name} cannot be built. Add the file to the branch.`,
    )
  const found = parseBuildFile(text, declared.file).jobs[declared.key]
  if (found !== undefined) return found
  throw new PortError(
    400,
    `${declared.file} of the commit ${commit.sha1} has no job "${declared.key}", so ${name} cannot be built.`,
  )
}

/** What names in the version of an image can be. */
function namesOf(
  { number }: StoredBuild,
  commit: FetchedCommit | undefined,
  parameters: Parameters,
): Parameters {
  return {
    ...parameters,
    number: String(number),
    commit: commit?.sha1.slice(0, 7) ?? 'none',
    branch: commit?.branch ?? 'none',
  }
}

interface PlanOrder {
  readonly build: StoredBuild
  readonly job: KnownJob
  readonly definition: JobDefinition
  readonly commit: FetchedCommit | undefined
  readonly parameters: Parameters
  readonly names: Parameters
  readonly imageDefaults: ImageDefaults | undefined
}

async function toPlan(order: PlanOrder, { context, settings, caches, machine }: PrepareParts) {
  const { build, job, definition, commit, parameters, names, imageDefaults } = order
  const { id, number, account, application, user } = build
  const title = `${job.name} ${number}`
  checkCommands(job.name, definition)
  const { services } = definition
  const steps = definition.steps.map((step) => withTag(step, names))
  // Of all of the plan, only these may refer to secrets.
  const secret = {
    environment: { ...variablesOf(order), ...definition.environment, ...parameters },
    ofSteps: steps.map(({ environment }) => environment),
    ofServices: Object.fromEntries(
      Object.entries(services).map(([key, { environment }]) => [key, environment]),
    ),
  }
  const use = { user, place: `build ${title}`, run: { service: 'igor', id } } as const
  const owner = { application: application === '' ? undefined : application, account }
  const { variables } = machine
  const given = isReviewed(commit)
    ? await variables.reveal(account, use)
    : await variables.revealForBranch(account, use, secret)
  const { value, secrets, versions } = await context.ports.secrets.reveal(secret, {
    ...owner,
    ...use,
  })
  const environment = { ...given.value, ...value.environment }
  const named = Object.entries(environment).filter(
    ([name, text]) => looksSecret(name) && isRecognisable(text),
  )
  const plan: BuildPlan = {
    environment,
    steps: steps.map((step, index) => ({ ...step, environment: value.ofSteps[index] ?? {} })),
    services: Object.fromEntries(
      Object.entries(services).map(([key, service]) => [
        key,
        { ...service, environment: value.ofServices[key] ?? {} },
      ]),
    ),
    title,
    source: commit && { commit: commit.sha1, url: commit.remoteUrl },
    secrets: maskedTexts([...secrets, ...given.secrets, ...named.map(([, text]) => text)]),
    cache: caches.open(cacheOf(job, commit), account),
    cachedFolders: definition.cache,
    archive: definition.archive,
    tests: definition.tests,
    imageFrom: definition.publish?.from,
    imageDefaults,
    bounds: { maxFiles: settings.maxFiles, maxFileBytes: settings.maxFileBytes },
  }
  return { plan, versions: [...versions, ...given.versions] as readonly SecretVersion[] }
}

/** All users of the machine can read arguments of programs. @throws {PortError} 400 for a reference in a command */
export function checkCommands(job: string, { steps, services }: JobDefinition): void {
  const commands = [
    ...steps.map(
      ({ action, title }) => [`the step "${title.trim().split('\n', 1)[0]}"`, action] as const,
    ),
    ...Object.entries(services).map(
      ([key, { command }]) => [`the service "${key}"`, command] as const,
    ),
  ]
  for (const [place, command] of commands) {
    const [reference] = allReferencesIn(command)
    if (reference === undefined) continue
    throw new PortError(
      400,
      `The job "${job}" has secret:${reference} in the command of ${place}, where other users could see its value. ` +
        'Set it in "environment", such as NAME, and use "$NAME" in the command.',
    )
  }
}

/** What every build finds about itself. */
function variablesOf({ build, job, commit }: PlanOrder): Record<string, string> {
  const about = {
    CI: 'true',
    BUILD_JOB: job.name,
    BUILD_NUMBER: String(build.number),
    GIT_COMMIT: commit?.sha1,
    GIT_BRANCH: commit?.branch,
    GIT_URL: commit?.remoteUrl,
  }
  return definedOf(about) as Record<string, string>
}

function withTag(
  step: JobDefinition['steps'][number],
  names: Parameters,
): JobDefinition['steps'][number] {
  const { action } = step
  return action.kind === 'container-image'
    ? { ...step, action: { ...action, tag: fillIn(action.tag, names) } }
    : step
}

/** Other branches than that of the settings may not be reviewed. */
function isReviewed(commit: FetchedCommit | undefined): boolean {
  return commit?.isUsual ?? true
}

/**
 * What one build leaves in a cache, later ones trust: jobs of different applications share none, and what is not reviewed has one
 * of its own.
 */
function cacheOf(
  { name, application = '', account }: KnownJob,
  commit: FetchedCommit | undefined,
): string {
  const key = JSON.stringify([name, application, account, isReviewed(commit)])
  return `job-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`
}

/** An operator's own job may publish any image. @throws {PortError} 400 */
async function checkPublish(
  { name, application = '', declared, images = [] }: KnownJob,
  { publish }: JobDefinition,
  { context }: PrepareParts,
): Promise<void> {
  if (publish === undefined || declared === undefined) return
  const { image } = publish
  if (
    images.includes(image) ||
    images.includes('*') ||
    (await isImageOf(application, image, context))
  )
    return
  const own =
    application === ''
      ? 'no application, and so no image of its own'
      : `the application ${application}`
  throw new PortError(
    400,
    `The job "${name}" publishes the image "${image}", and has ${own}. ` +
      `Name the image like the application, or let an operator add "${image}" to "images" of the repository in builds.local.repositories.`,
  )
}

/** Named like it; where applications have names such as `shop` and `shop-web`, an image belongs to the longer one. */
async function isImageOf(
  application: string,
  image: string,
  { ports }: BackendContext,
): Promise<boolean> {
  if (application === '') return false
  if (image === application) return true
  if (!image.startsWith(`${application}-`)) return false
  const applications = await ports.definitions.applications(itself).catch(() => {
    throw new PortError(
      503,
      'The definition store cannot be asked whose image the build publishes. Start it again.',
    )
  })
  const isCloser = (other: string) =>
    other.length > application.length &&
    `${image}-`.toLowerCase().startsWith(`${other}-`.toLowerCase())
  return !applications.some(({ name }) => isCloser(name))
}

function toStored({
  sha1,
  branch,
  committer,
  email,
  message,
  timestampMs,
  remoteUrl,
}: FetchedCommit): BuildCommit {
  return { sha1, branch, committer, email, message, timestampMs, remoteUrl }
}
