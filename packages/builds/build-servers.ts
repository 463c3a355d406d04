/** All kinds of build servers, with what opens them; `declarations.ts` lists the same. */

import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { BuildServer, BuildServerType } from './build-server.ts'
import { giteaActionsType, githubActionsType } from './github-actions/actions-type.ts'
import { gitlabCiType } from './gitlab-ci/gitlab-ci.ts'
import { jenkinsType } from './jenkins/jenkins-server.ts'
import { localBuilds } from './local/local-build-type.ts'

export const buildServerTypes: readonly BuildServerType[] = [
  localBuilds,
  jenkinsType,
  gitlabCiType,
  githubActionsType,
  giteaActionsType,
]

/** Servers by name; of several with one name, the first is used. */
export function openBuildServers(context: BackendContext): ReadonlyMap<string, BuildServer> {
  const { buildServers } = context.settings
  const servers = new Map<string, BuildServer>()
  for (const type of buildServerTypes) {
    const settings = buildServers[type.id]
    for (const server of settings === undefined ? [] : type.open(settings, context)) {
      if (!servers.has(server.name)) servers.set(server.name, server)
      else {
        void server.close?.()
        context.log.error(
          { buildServer: server.name, type: type.id },
          'two build servers have this name; the second is not used',
        )
      }
    }
  }
  return servers
}
