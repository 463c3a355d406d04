/** The build server of this machine as a type of build servers. */
import { join } from 'node:path'
import { standalone } from '../../../settings/standalone.ts'
import { createUlids } from '../../../storage/ulid.ts'
import type { BackendContext } from '../../backend.ts'
import type { GitAccount } from '../../infrastructure/artifact-accounts/git-access.ts'
import { CacheFolders } from '../../infrastructure/providers/local/cache-folders.ts'
import { LocalProvider } from '../../infrastructure/providers/local/local.ts'
import type { BuildServerType } from '../build-server.ts'
import { BuildFiles } from './build-files.ts'
import { BuildStore, localBuildMigrations } from './build-store.ts'
import { JobCatalog } from './job-catalog.ts'
import { LocalBuildServer } from './local-build-server.ts'
import { LocalBuilds } from './local-builds.ts'
import { RepositoryReader } from './repository.ts'
import { type BuildRepository, type LocalBuildSettings, localBuildKeys, toLocalBuildSettings } from './settings.ts'

/** Accounts for Git among those of artifacts. */
const gitAccounts = 'git-repo'

export const localBuilds: BuildServerType<LocalBuildSettings, object> = {
  id: standalone.provider,
  keys: localBuildKeys.keys,
  migrations: localBuildMigrations,
  toSettings: toLocalBuildSettings,
  open(settings, context) {
    const provider = context.providerOf(standalone.provider)
    if (provider instanceof LocalProvider) return [openLocalBuilds(settings, context, provider)]
    context.log.warn('builds.local has jobs, which need the embedded infrastructure and local.enabled: they cannot be started')
    return []
  },
}

function openLocalBuilds(settings: LocalBuildSettings, context: BackendContext, provider: LocalProvider): LocalBuildServer {
  const { db, log, now } = context
  const folder = join(provider.dataDir, 'builds')
  const store = new BuildStore(db)
  const files = new BuildFiles(join(folder, 'kept'))
  const { sandbox } = context.settings.outside
  const accounts = (context.settings.infrastructure?.artifacts?.[gitAccounts] ?? []) as readonly GitAccount[]
  const outgoingOf = (repository: BuildRepository) => {
    const owner = [...settings.jobs, ...settings.sources].find((each) => each.repository === repository)
    return provider.parts.variables.forGit(owner?.account ?? '')
  }
  const repositories = new RepositoryReader({ accounts, maxBytes: settings.diskMb * 1024 * 1024, sandbox, outgoingOf })
  const catalog = new JobCatalog({ settings, repositories, folder: join(folder, 'reading'), log })
  const caches = new CacheFolders({
    dataDir: provider.dataDir,
    folderName: 'build-caches',
    maxBytes: settings.cacheMb * 1024 * 1024,
    users: provider.parts.users,
    isUsed: (name) => store.inState('RUNNING').some(({ cacheName }) => cacheName === name),
  })
  const changed: LocalBuildServer['changed'] = (build) => server.changed(build)
  const parts = { context, settings, provider, catalog, store, files, repositories }
  const builds = new LocalBuilds({ ...parts, caches, changed })
  const server = new LocalBuildServer({ ...parts, type: standalone.provider, builds, newId: createUlids(now) })
  return server
}
