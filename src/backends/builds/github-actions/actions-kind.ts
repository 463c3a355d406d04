/** Differences between the Actions of GitHub and those of Gitea and Forgejo, whose APIs are alike. */
import type { HostSettings } from '../remote/host-settings.ts'

export interface ActionsKind {
  /** As `BuildServerType.id`. */
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
