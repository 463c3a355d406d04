/** Resources of Actions: workflows, runs, their jobs and archives. */
import { fieldAt, fieldOf, type JsonObject, objectsOf, textOf } from '../../../json/values.ts'
import { encodeSegment, encodeSegments, formatQuery, pathTo } from '../../../net/encode-path.ts'
import { readPages, toPagePath } from '../remote/pages.ts'
import type { ServerCalls } from '../server-calls.ts'
import type { ActionsKind, Workflow } from './actions-kind.ts'
import { workflowFileOf } from './runs.ts'

interface RunFilter {
  readonly event?: string
}

export class ActionsApi {
  readonly #kind: ActionsKind
  readonly #calls: ServerCalls

  constructor(kind: ActionsKind, calls: ServerCalls) {
    this.#kind = kind
    this.#calls = calls
  }

  /** Names of the workflow files of a repository, `owner/name`; undefined: it is missing, or hidden from the token. */
  async workflowFiles(repository: string): Promise<readonly string[] | undefined> {
    const listed = await this.#list(`${repositoryPath(repository)}/actions/workflows`, workflowsIn)
    if (listed !== undefined) return filesOf(listed)
    // Forgejo lists no workflows.
    for (const folder of this.#kind.folders) {
      const entries = await this.get(`${repositoryPath(repository)}/contents/${encodeSegments(folder)}`)
      const files = filesOf(objectsOf(entries))
      if (files.length > 0) return files
    }
    return undefined
  }

  /** Undefined: there is none, or the server tells nothing about workflows. */
  async workflow({ owner, repository, file }: Workflow): Promise<JsonObject | undefined> {
    return asObject(await this.get(pathTo`/repos/${owner}/${repository}/actions/workflows/${file}`))
  }

  /** @param path Undefined: in one of the folders of workflows */
  async workflowText(workflow: Workflow, path: string | undefined): Promise<string | undefined> {
    const paths = path === undefined ? this.#kind.folders.map((folder) => `${folder}/${workflow.file}`) : [path]
    for (const each of paths) {
      const content = await this.get(`${repositoryPath(fullNameOf(workflow))}/contents/${encodeSegments(each)}`)
      const encoded = textOf(fieldOf(content, 'content'))
      if (encoded !== undefined) return Buffer.from(encoded, 'base64').toString('utf8')
    }
    return undefined
  }

  async defaultBranch(workflow: Workflow): Promise<string | undefined> {
    return textOf(fieldOf(await this.get(repositoryPath(fullNameOf(workflow))), 'default_branch'))
  }

  /** Newest first; undefined: the workflow or the repository is missing. */
  async runs(workflow: Workflow, { event }: RunFilter = {}): Promise<readonly JsonObject[] | undefined> {
    const { owner, repository, file } = workflow
    const query = { [this.#kind.pageSize]: this.#kind.pageLength, event }
    if (this.#kind.listsRunsOfWorkflows)
      return runsIn(await this.get(pathTo`/repos/${owner}/${repository}/actions/workflows/${file}/runs` + formatQuery(query)))
    const runs = runsIn(await this.get(pathTo`/repos/${owner}/${repository}/actions/runs` + formatQuery(query)))
    return runs?.filter((run) => workflowFileOf(run) === file && (event === undefined || run['event'] === event))
  }

  /** Path of the newest runs of a repository. */
  runsPath(repository: string): string {
    return `${repositoryPath(repository)}/actions/runs${this.#pageQuery()}`
  }

  /** Undefined also for a run of another workflow. */
  async run(workflow: Workflow, number: number): Promise<JsonObject | undefined> {
    const run = await this.runOfRepository(fullNameOf(workflow), number)
    return run !== undefined && workflowFileOf(run) === workflow.file ? run : undefined
  }

  async runOfRepository(repository: string, number: number): Promise<JsonObject | undefined> {
    return asObject(await this.get(`${repositoryPath(repository)}/actions/runs/${number}`))
  }

  /** Undefined: the run is missing, or the server lists no jobs. */
  jobs(workflow: Workflow, number: number): Promise<readonly JsonObject[] | undefined> {
    return this.#list(`${runPath(workflow, number)}/jobs`, jobsIn)
  }

  /** Undefined: the run is missing, or the server lists no archives. @param name Of the archives; default: all */
  archives(workflow: Workflow, number: number, name?: string): Promise<readonly JsonObject[] | undefined> {
    return this.#list(`${runPath(workflow, number)}/artifacts`, archivesIn, { name })
  }

  /** JSON of a resource by a conditional request; undefined: there is none. @throws {PortError} */
  get(path: string): Promise<unknown> {
    return this.#calls.loadIfChanged(path)
  }

  #list(
    path: string,
    itemsIn: (body: unknown) => readonly JsonObject[],
    filter: Readonly<Record<string, string | undefined>> = {},
  ): Promise<readonly JsonObject[] | undefined> {
    const load = async (page: number) => {
      const body = await this.get(toPagePath(path + this.#pageQuery(filter), page))
      return body === undefined ? undefined : itemsIn(body)
    }
    return readPages(load, { length: this.#kind.pageLength })
  }

  #pageQuery(filter: Readonly<Record<string, string | undefined>> = {}): string {
    return formatQuery({ [this.#kind.pageSize]: this.#kind.pageLength, ...filter })
  }
}

export function fullNameOf({ owner, repository }: Workflow): string {
  return `${owner}/${repository}`
}

export function runPath({ owner, repository }: Workflow, number: number): string {
  return pathTo`/repos/${owner}/${repository}/actions/runs/${String(number)}`
}

export function runsIn(body: unknown): readonly JsonObject[] | undefined {
  return body === undefined ? undefined : objectsOf(fieldAt(body, 'workflow_runs'))
}

function workflowsIn(body: unknown): readonly JsonObject[] {
  return objectsOf(fieldOf(body, 'workflows'))
}

function jobsIn(body: unknown): readonly JsonObject[] {
  return objectsOf(fieldOf(body, 'jobs') ?? fieldOf(body, 'workflow_jobs') ?? body)
}

function archivesIn(body: unknown): readonly JsonObject[] {
  return objectsOf(fieldOf(body, 'artifacts'))
}

/** @param repository `owner/name` */
function repositoryPath(repository: string): string {
  return `/repos/${repository.split('/').map(encodeSegment).join('/')}`
}

function filesOf(entries: readonly JsonObject[]): readonly string[] {
  const files = entries
    .filter(({ state }) => state !== 'deleted')
    .flatMap((entry) => workflowFileOf({ path: entry['path'] ?? entry['name'] }) ?? [])
  return [...new Set(files)]
}

function asObject(value: unknown): JsonObject | undefined {
  return value === undefined ? undefined : (value as JsonObject)
}
