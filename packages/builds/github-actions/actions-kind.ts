/** Differences between the Actions of GitHub and those of Gitea and Forgejo, whose APIs are alike. */
import type { HostSettings } from '../remote/host-settings.ts'

export interface ActionsKind {
  /** A `BuildServerType.id`. */
  readonly id: string
  /** `GitHub Actions`. */
  readonly title: string
  /** Prefix of its settings. */
  readonly prefix: string
  readonly defaultAddress: string | undefined
  /** Between the address and the paths of the API. */
  readonly basePath: string
  readonly headers: Readonly<Record<string, string>>
  /** Scheme of the header `Authorization`. */
  readonly scheme: string
  /** Parameter of lists with the number of items of a page. */
  readonly pageSize: string
  /** What a page may hold at most. */
  readonly pageLength: number
  /** Folders of workflow files, the first of which wins. */
  readonly folders: readonly string[]
  /** Whether runs can be listed by workflow; else by repository. */
  readonly listsRunsOfWorkflows: boolean
  /** Whether a dispatch takes a tag by its full name only: `refs/tags/v1`. */
  readonly refsAreBranches: boolean
  /** Query and body that make the response to a dispatch name the run. */
  readonly runDetails: { readonly query: string; readonly body: Readonly<Record<string, boolean>> }
  /** Whether GitHub Apps give tokens. */
  readonly hasApps: boolean
  /** What the token needs, as a sentence. */
  readonly advice: string
}

export const githubActions: ActionsKind = {
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

/** Gitea from version 1.25, Forgejo from version 12. */
export const giteaActions: ActionsKind = {
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
  advice:
    'The token needs the scope "write:repository", and its user the right to write to Actions of the repository.',
}

/** Plain data, for the worker thread. */
export interface ActionsHost extends HostSettings {
  readonly address: string
  readonly token: string | undefined
  readonly app: GithubApp | undefined
  /** `owner/name`. */
  readonly repositories: readonly string[]
}

/** An installation of a GitHub App. */
export interface GithubApp {
  readonly id: string
  readonly installationId: string
  /** PEM. */
  readonly privateKey: string
}

/** A workflow file of a repository, which is a job. */
export interface Workflow {
  readonly owner: string
  readonly repository: string
  /** Name of the file, without folders. */
  readonly file: string
}
