/** Resources of Actions: workflows, runs, their jobs and archives. */
import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { encodeSegments, formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import { type ListedItem, readPages, toPagePath } from '../remote/pages.ts'
import type { ServerCalls } from '../server-calls.ts'
import type { ActionsKind, Workflow } from './actions-kind.ts'
import { toFile, toRun, toRuns, type WorkflowRun } from './runs.ts'

const id = or(numberOf, 0)

const toEntry = shape({ id, file: [toFile, 'path', 'name'], state: textOf })
const toWorkflows = shape({ workflows: list(toEntry) })
const toWorkflow = shape({
  name: textOf,
  path: textOf,
  state: or(textOf, 'active'),
  html_url: textOf,
})
const toJobs = list(
  shape({ id, name: or(textOf, 'job'), conclusion: textOf, status: or(textOf, 'unknown') }),
)
const toJobLists = shape({ jobs: [toJobs, 'jobs', 'workflow_jobs'] })

export type Archive = ShapeOf<typeof toArchive>
const toArchive = shape({
  id,
  name: or(textOf, 'archive'),
  size: [numberOf, 'size_in_bytes'],
  expired: isTrue,
})
const toArchives = shape({ artifacts: list(toArchive) })
const toContent = shape({ content: textOf })
const toRepository = shape({ default_branch: textOf })

export class ActionsApi {
  readonly #kind: ActionsKind
  readonly #calls: ServerCalls

  constructor(kind: ActionsKind, calls: ServerCalls) {
    this.#kind = kind
    this.#calls = calls
  }

  /** Names of the workflow files of a repository, `owner/name`; undefined: it is missing, or hidden from the token. */
  async workflowFiles(repository: string): Promise<readonly string[] | undefined> {
    const listed = await this.#list(
      `/repos/${repository}/actions/workflows`,
      (body) => toWorkflows(body).workflows,
    )
    if (listed !== undefined) return filesOf(listed)
    // Forgejo lists no workflows.
    for (const folder of this.#kind.folders) {
      const files = filesOf(
        list(toEntry)(await this.#get(`/repos/${repository}/contents/${folder}`)),
      )
      if (files.length > 0) return files
    }
    return undefined
  }

  /** Undefined: there is none, or the server tells nothing about workflows. */
  async workflow({
    owner,
    repository,
    file,
  }: Workflow): Promise<ShapeOf<typeof toWorkflow> | undefined> {
    const found = await this.#get(pathTo`/repos/${owner}/${repository}/actions/workflows/${file}`)
    return found === undefined ? undefined : toWorkflow(found)
  }

  /** @param path Undefined: in one of the folders of workflows */
  async workflowText(workflow: Workflow, path: string | undefined): Promise<string | undefined> {
    const paths =
      path === undefined ? this.#kind.folders.map((folder) => `${folder}/${workflow.file}`) : [path]
    for (const each of paths) {
      const { content } = toContent(
        await this.#get(`/repos/${fullNameOf(workflow)}/contents/${encodeSegments(each)}`),
      )
      if (content !== undefined) return Buffer.from(content, 'base64').toString('utf8')
    }
    return undefined
  }

  async defaultBranch(workflow: Workflow): Promise<string | undefined> {
    return toRepository(await this.#get(`/repos/${fullNameOf(workflow)}`)).default_branch
  }

  /** Newest first; undefined: the workflow or the repository is missing. */
  async runs(workflow: Workflow, event?: string): Promise<readonly WorkflowRun[] | undefined> {
    const { file } = workflow
    const place = this.#kind.listsRunsOfWorkflows ? pathTo`workflows/${file}/runs` : 'runs'
    const body = await this.#get(
      `/repos/${fullNameOf(workflow)}/actions/${place}${this.#pageQuery({ event })}`,
    )
    if (body === undefined) return undefined
    const runs = toRuns(body).workflow_runs
    if (this.#kind.listsRunsOfWorkflows) return runs
    return runs.filter((run) => run.file === file && (event === undefined || run.event === event))
  }

  /** Path of the newest runs of a repository. */
  runsPath(repository: string): string {
    return `/repos/${repository}/actions/runs${this.#pageQuery()}`
  }

  /** Undefined also for a run of another workflow. */
  async run(workflow: Workflow, number: number): Promise<WorkflowRun | undefined> {
    const run = await this.runOfRepository(fullNameOf(workflow), number)
    return run?.file === workflow.file ? run : undefined
  }

  async runOfRepository(repository: string, number: number): Promise<WorkflowRun | undefined> {
    const found = await this.#get(`/repos/${repository}/actions/runs/${number}`)
    return found === undefined ? undefined : toRun(found)
  }

  /** Undefined: the run is missing, or the server lists no jobs. */
  jobs(
    workflow: Workflow,
    number: number,
  ): Promise<readonly ShapeOf<typeof toJobs>[number][] | undefined> {
    return this.#list(`${runPath(workflow, number)}/jobs`, (body) =>
      Array.isArray(body) ? toJobs(body) : toJobLists(body).jobs,
    )
  }

  /** Archives that have not expired; undefined: the run is missing, or the server lists none. @param name Default: all */
  async archives(
    workflow: Workflow,
    number: number,
    name?: string,
  ): Promise<readonly Archive[] | undefined> {
    const listed = await this.#list(
      `${runPath(workflow, number)}/artifacts`,
      (body) => toArchives(body).artifacts,
      { name },
    )
    return listed?.filter(({ expired }) => !expired)
  }

  /** JSON of a resource by a conditional request; undefined: there is none. @throws {PortError} */
  #get(path: string): Promise<unknown> {
    return this.#calls.loadIfChanged(path)
  }

  #list<Item extends ListedItem>(
    path: string,
    itemsIn: (body: unknown) => readonly Item[],
    filter?: Readonly<Record<string, string | undefined>>,
  ): Promise<readonly Item[] | undefined> {
    const load = async (page: number) => {
      const body = await this.#get(toPagePath(path + this.#pageQuery(filter), page))
      return body === undefined ? undefined : itemsIn(body)
    }
    return readPages(load, { length: this.#kind.pageLength })
  }

  #pageQuery(filter: Readonly<Record<string, string | undefined>> = {}): string {
    return formatQuery({ [this.#kind.pageSize]: this.#kind.pageLength, ...filter })
  }
}

/** Its letters need no encoding. */
export function fullNameOf({ owner, repository }: Workflow): string {
  return `${owner}/${repository}`
}

export function runPath(workflow: Workflow, number: number): string {
  return `/repos/${fullNameOf(workflow)}/actions/runs/${number}`
}

function filesOf(entries: readonly ShapeOf<typeof toEntry>[]): readonly string[] {
  return [
    ...new Set(entries.flatMap(({ state, file }) => (state === 'deleted' ? [] : (file ?? [])))),
  ]
}
