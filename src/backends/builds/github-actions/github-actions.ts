/** Workflows of GitHub Actions as jobs. */
import type { ActionsKind } from './actions-kind.ts'
import { createActionsType } from './actions-type.ts'

const githubActions: ActionsKind = {
  id: 'github_actions',
  title: 'GitHub Actions',
  prefix: 'github-actions',
  defaultAddress: 'https://api.github.com',
  basePath: '',
  headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
  scheme: 'Bearer',
  pageSize: 'per_page',
  pageLength: 100,
  folders: ['.github/workflows'],
  listsRunsOfWorkflows: true,
  refsAreBranches: false,
  runDetails: { query: '', body: { return_run_details: true } },
  hasApps: true,
  advice:
    'A fine-grained token needs the repository permissions "Actions: read and write" and "Contents: read", a classic one the scope "repo".',
}

export const githubActionsType = createActionsType(githubActions)
