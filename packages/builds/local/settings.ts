/** Settings of the build server of this machine. */

import { repositoryPattern } from '@fairlead/base/outside/git-repository.ts'
import {
  byteCount,
  type SettingsReport,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { z } from 'zod'
import type { BuildServerDeclaration } from '../build-server.ts'
import { configuredSteps, jobKeys, toJob } from './job-definition.ts'

const Repository = z.strictObject({
  url: z
    .string()
    .regex(
      repositoryPattern,
      'must be an address of a repository: https://, ssh://, git@host:path or a path',
    )
    .describe('Its address.'),
  branch: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Branch that is built unless a build names another. Default: that of the repository.',
    ),
  account: z
    .string()
    .min(1)
    .optional()
    .describe('Account of `artifacts.git-repo.accounts` with the credentials.'),
})
export type BuildRepository = z.output<typeof Repository>

const jobName = z
  .string()
  .regex(
    /^[^\s/?#%](?:[^?#%]*[^\s/?#%])?$/,
    'must not begin or end with "/" or a blank, or contain "?", "#" or "%"',
  )

const owner = {
  name: jobName.describe('Its name; `/` makes folders.'),
  application: z
    .string()
    .min(1)
    .optional()
    .describe('Application that it belongs to: its secrets, and its share of the queue.'),
  account: z
    .string()
    .min(1)
    .default(standalone.account)
    .describe('Account of this machine whose user runs the builds.'),
}

const Job = z
  .strictObject({
    ...owner,
    repository: Repository.optional().describe('What is checked out.'),
    ...jobKeys,
    steps: configuredSteps.describe('What a build does, in order.'),
  })
  .transform(({ name, application, account, repository, ...fields }) => ({
    name,
    application,
    account,
    repository,
    definition: toJob(fields),
  }))

const Source = z.strictObject({
  ...owner,
  name: jobName.describe('Its jobs have this name, a slash and their own.'),
  repository: Repository.describe('The repository.'),
  images: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Names of images that its jobs may publish besides those of their application; `*` is all.',
    ),
  file: z
    .string()
    .min(1)
    .default('.fairlead/build.yml')
    .describe('File of the repository that declares the jobs.'),
})

const minutes = (usual: number) =>
  z
    .number()
    .min(0.01)
    .max(1440)
    .default(usual)
    .transform((given) => Math.round(given * 60_000))

const localBuildKeys = settings({
  name: setting('builds.local.name', z.string().min(1).default(standalone.account)).describe(
    'Name of the build server of this machine, as stages choose it.',
  ),
  jobs: setting('builds.local.jobs', z.array(Job).default([])).describe(
    'Jobs of the build server of this machine.',
  ),
  sources: setting('builds.local.repositories', z.array(Source).default([])).describe(
    'Repositories that declare jobs themselves, in `.fairlead/build.yml`.',
  ),
  maxRunning: setting('builds.local.max-running', z.int().min(1).max(1000).default(2)).describe(
    'Builds that may run at the same time; others wait in a queue that is fair among applications.',
  ),
  maxQueued: setting('builds.local.max-queued', z.int().min(1).max(100_000).default(1000)).describe(
    'Builds that may wait; more are answered with 429.',
  ),
  maxQueuedPerApplication: setting(
    'builds.local.max-queued-per-application',
    z.int().min(1).max(100_000).optional(),
  ).describe(
    'Builds of one application that may wait; more are answered with 429. Default: a quarter of `builds.local.max-queued`.',
  ),
  timeLimitMs: setting('builds.local.time-limit-minutes', minutes(60)).describe(
    'Minutes that a build may take, unless its job says so.',
  ),
  memoryMb: setting('builds.local.memory-mb', z.int().min(16).default(4096)).describe(
    'Memory that one build may take, in MiB.',
  ),
  processes: setting('builds.local.processes', z.int().min(16).default(4096)).describe(
    'Processes and threads of one build.',
  ),
  diskMb: setting('builds.local.disk-mb', z.int().min(16).default(16_384)).describe(
    'Disk space that one build may take for its checkout and temporary files, in MiB.',
  ),
  cacheMb: setting('builds.local.cache-mb', z.int().min(0).default(2048)).describe(
    'Size of the caches of one job, in MiB. After a build, larger ones are removed. 0: no caches.',
  ),
  logBytes: setting('builds.local.log-size', byteCount.prefault('64MB')).describe(
    'Size of the log of one build; its beginning is dropped.',
  ),
  maxFiles: setting('builds.local.archive-files', z.int().min(1).default(1000)).describe(
    'Archived files of one build.',
  ),
  maxFileBytes: setting('builds.local.archive-size', byteCount.prefault('512MB')).describe(
    'Size of all that one build archives.',
  ),
  readable: setting(
    'builds.local.readable',
    z.array(z.string().startsWith('/')).default([]),
  ).describe(
    'Files and folders that builds may read besides the programs of this machine, such as tools outside of `PATH`.',
  ),
  keptBuilds: setting(
    'builds.local.kept-builds',
    z.int().min(1).max(100_000).default(100),
  ).describe('Builds of each job that are kept.'),
  keptBytes: setting('builds.local.kept-size', byteCount.prefault('10GB')).describe(
    'Size of all logs and archives; beyond it, those of the oldest builds are removed.',
  ),
  sourceBytes: setting('builds.local.source-size', byteCount.prefault('512MB')).describe(
    'Size of a folder that is uploaded to be built.',
  ),
  sourceFiles: setting('builds.local.source-files', z.int().min(1).default(100_000)).describe(
    'Files of a folder that is uploaded to be built.',
  ),
  keptSources: setting('builds.local.kept-sources', z.int().min(1).max(1000).default(10)).describe(
    'Uploaded folders of each application that are kept.',
  ),
  refreshMs: setting(
    'builds.local.refresh-seconds',
    z
      .number()
      .min(0)
      .max(86_400)
      .default(60)
      .transform((seconds) => seconds * 1000),
  ).describe('Seconds after which the list of jobs of a repository is read again.'),
})

export type LocalBuildSettings = ReturnType<typeof localBuildKeys.read> & {
  readonly maxQueuedOfApplication: number
}
export type JobSource = LocalBuildSettings['sources'][number]

export const localBuildDeclaration: BuildServerDeclaration<LocalBuildSettings> = {
  id: standalone.provider,
  keys: localBuildKeys.keys,
  toSettings: toLocalBuildSettings,
}

function toLocalBuildSettings(keys: object, report: SettingsReport): LocalBuildSettings {
  const read = localBuildKeys.read(keys)
  const names = new Set<string>()
  for (const [key, listed] of [
    ['builds.local.jobs', read.jobs],
    ['builds.local.repositories', read.sources],
  ] as const) {
    for (const { name } of listed) {
      if (names.has(name)) report.problem(key, `"${name}" is listed twice`)
      names.add(name)
    }
  }
  return withShare(read)
}

function withShare(read: ReturnType<typeof localBuildKeys.read>): LocalBuildSettings {
  return {
    ...read,
    maxQueuedOfApplication: read.maxQueuedPerApplication ?? Math.ceil(read.maxQueued / 4),
  }
}
