/** The build server of this machine as a type of build servers. */
import { join } from 'node:path'
import type { GitAccount } from '@fairlead/base/outside/git-access.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { CacheFolders } from '@fairlead/base/storage/cache-folders.ts'
import { createUlids } from '@fairlead/base/storage/ulid.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Machine } from '@fairlead/ports/machine.ts'
import type { BuildServerType } from '../build-server.ts'
import { BuildFiles } from './build-files.ts'
import { BuildStore, localBuildMigrations } from './build-store.ts'
import { JobCatalog } from './job-catalog.ts'
import { LocalBuildServer } from './local-build-server.ts'
import { LocalBuilds } from './local-builds.ts'
import { RepositoryReader } from './repository.ts'
import { type BuildRepository, type LocalBuildSettings, localBuildDeclaration } from './settings.ts'
import { SourceStore } from './sources/source-store.ts'

/** Accounts for Git among those of artifacts. */
const gitAccounts = 'git-repo'

export const localBuilds: BuildServerType<LocalBuildSettings, object> = {
  ...localBuildDeclaration,
  migrations: localBuildMigrations,
  open(settings, context) {
    const machine = context.ports.infrastructure.provider(standalone.provider)?.machine
    if (machine !== undefined) return [openLocalBuilds(settings, context, machine)]
    if (settings.jobs.length + settings.sources.length === 0) return []
    context.log.warn(
      'builds.local has jobs, which need the embedded infrastructure and local.enabled: they cannot be started',
    )
    return []
  },
}

function openLocalBuilds(
  settings: LocalBuildSettings,
  context: BackendContext,
  machine: Machine,
): LocalBuildServer {
  const { db, log, now } = context
  const folder = join(machine.dataDir, 'builds')
  const store = new BuildStore(db)
  const files = new BuildFiles(join(folder, 'kept'))
  const { sandbox } = context.settings.outside
  const accounts = (context.settings.infrastructure?.artifacts?.[gitAccounts] ??
    []) as readonly GitAccount[]
  const outgoingOf = (repository: BuildRepository) => {
    const owner = [...settings.jobs, ...settings.sources].find(
      (each) => each.repository === repository,
    )
    return machine.variables.forGit(owner?.account ?? '')
  }
  const repositories = new RepositoryReader({
    accounts,
    maxBytes: settings.diskMb * 1024 * 1024,
    sandbox,
    outgoingOf,
  })
  const catalog = new JobCatalog({ settings, repositories, folder: join(folder, 'reading'), log })
  const caches = new CacheFolders({
    dataDir: machine.dataDir,
    folderName: 'build-caches',
    maxBytes: settings.cacheMb * 1024 * 1024,
    userOf: machine.users.of,
    isUsed: (name) => store.inState('RUNNING').some(({ cacheName }) => cacheName === name),
  })
  const uploads = new SourceStore({
    folder: join(folder, 'sources'),
    bounds: { maxBytes: settings.sourceBytes, maxFiles: settings.sourceFiles },
    kept: settings.keptSources,
    now,
    isUsed: (application, source) =>
      [...store.inState('QUEUED'), ...store.inState('RUNNING')].some(
        (build) => build.application === application && build.parameters['source'] === source,
      ),
  })
  const changed: LocalBuildServer['changed'] = (build) => server.changed(build)
  const parts = { context, settings, machine, catalog, store, files, repositories, uploads }
  const builds = new LocalBuilds({ ...parts, caches, changed })
  const server = new LocalBuildServer({
    ...parts,
    type: standalone.provider,
    builds,
    newId: createUlids(now),
  })
  return server
}
