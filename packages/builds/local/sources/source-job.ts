/** The job `apps/$application`, which every application has: it makes an image of an uploaded folder. */
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { appBuildPrefix } from '@fairlead/ports/app-builds.ts'
import type { StoredBuild } from '../build-store.ts'
import type { JobDefinition } from '../job-definition.ts'

/** Without its steps, which the folder decides. */
const definition: JobDefinition = {
  description: 'Makes an image of an uploaded folder.',
  isEnabled: true,
  isConcurrent: true,
  parameters: {
    source: { description: 'Id of the uploaded folder.' },
    version: { description: 'Version of the image.' },
    commit: { description: 'Commit of the folder, if it is known.' },
    account: { description: 'Account whose user runs the build.' },
    repository: { description: 'Repository of a registry, for an image for containers.' },
  },
  environment: {},
  services: {},
  cache: [],
  archive: [],
  tests: { junit: [], tap: [] },
  publish: undefined,
  timeLimitMs: undefined,
  steps: [],
}

/** Job as the catalog lists it. Undefined: it is no such job. */
export function findSourceJob(name: string) {
  const application = name.startsWith(appBuildPrefix) ? name.slice(appBuildPrefix.length) : ''
  if (!/^[a-z][a-z0-9]{0,49}$/.test(application)) return undefined
  return {
    name,
    application,
    account: standalone.account,
    repository: undefined,
    definition,
    declared: undefined,
    buildsSources: true,
  } as const
}

/** In the account of the order, where that is of this machine; an app on a cluster is built here as well. */
export function inAccountOf<
  Job extends { readonly account: string; readonly buildsSources?: true },
>(job: Job, parameters: StoredBuild['parameters'], accounts: readonly string[]): Job {
  if (job.buildsSources !== true) return job
  const { account = '' } = parameters
  return { ...job, account: accounts.includes(account) ? account : job.account }
}
