/** Workflows of Gitea Actions and Forgejo Actions as jobs: Gitea from version 1.25, Forgejo from version 12. */
import type { ActionsKind } from '../github-actions/actions-kind.ts'
import { createActionsType } from '../github-actions/actions-type.ts'

const giteaActions: ActionsKind = {
  id: 'gitea_actions',
  title: 'Gitea Actions and Forgejo Actions',
  prefix: 'gitea-actions',
  defaultAddress: undefined,
  basePath: '/api/v1',
  headers: {},
  scheme: 'token',
  pageSize: 'limit',
  // As shipped.
  pageLength: 50,
  folders: ['.forgejo/workflows', '.gitea/workflows', '.github/workflows'],
  listsRunsOfWorkflows: false,
  refsAreBranches: true,
  // Gitea reads the query, Forgejo the body.
  runDetails: { query: '?return_run_details=true', body: { return_run_info: true } },
  hasApps: false,
  advice: 'The token needs the scope "write:repository", and its user the right to write to Actions of the repository.',
}

export const giteaActionsType = createActionsType(giteaActions)
