/** Actions of GitHub, Gitea and Forgejo as kinds of build servers: each workflow is a job. */
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { BuildServerDeclaration, BuildServerType } from '../build-server.ts'
import { type ActionsHost, type ActionsKind, giteaActions, githubActions } from './actions-kind.ts'
import { ActionsServer } from './actions-server.ts'
import { giteaActionsDeclaration, githubActionsDeclaration } from './settings.ts'

function createActionsType(
  kind: ActionsKind,
  declaration: BuildServerDeclaration<readonly ActionsHost[]>,
): BuildServerType<readonly ActionsHost[]> {
  return {
    ...declaration,
    open: (hosts: readonly ActionsHost[], context: BackendContext) =>
      hosts.map((host) => new ActionsServer(kind, host, context)),
  }
}

export const githubActionsType = createActionsType(githubActions, githubActionsDeclaration)
export const giteaActionsType = createActionsType(giteaActions, giteaActionsDeclaration)
