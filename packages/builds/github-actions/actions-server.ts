/** A host of Actions as a build server: each workflow file of its repositories is a job, each run a build. */
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { BuildServer, JobOrder, RecentBuilds } from '../build-server.ts'
import { newestIn, type Position } from '../polls/position.ts'
import { ChangePolls } from '../remote/change-polls.ts'
import { formatReason } from '../remote/refusal.ts'
import { createServerCalls, type ServerCalls } from '../server-calls.ts'
import { ActionsApi, fullNameOf, runPath } from './actions-api.ts'
import type { ActionsHost, ActionsKind, Workflow } from './actions-kind.ts'
import { Dispatcher } from './dispatch.ts'
import { createCredentials } from './github-app.ts'
import { RunFiles } from './run-files.ts'
import { resultOf, toBuild, toRuns, type WorkflowRun } from './runs.ts'
import { parseWorkflowFile, unknownFile } from './workflow-inputs.ts'

export class ActionsServer implements BuildServer {
  readonly type: string
  readonly name: string
  readonly permissions: BuildServer['permissions']
  readonly maxChanges: number | undefined
  readonly #kind: ActionsKind
  readonly #repositories: readonly string[]
  readonly #calls: ServerCalls
  readonly #log: BackendContext['log']
  readonly #api: ActionsApi
  readonly #dispatcher: Dispatcher
  readonly #files: RunFiles
  readonly #polls: ChangePolls<WorkflowRun>

  constructor(kind: ActionsKind, host: ActionsHost, context: BackendContext) {
    const { name, tls } = host
    const { advice, pageLength, prefix } = kind
    const { log, now } = context
    const address = host.address + kind.basePath
    const credentials = createCredentials(kind, host, context)
    const calls = createServerCalls(
      { name, address, settingKey: `${prefix}.hosts`, advice, credentials, tls },
      context,
    )
    const api = new ActionsApi(kind, calls)
    this.type = kind.id
    this.name = name
    this.permissions = host.permissions
    this.maxChanges = host.itemUpperThreshold
    this.#kind = kind
    this.#repositories = host.repositories
    this.#calls = calls
    this.#log = log
    this.#api = api
    this.#dispatcher = new Dispatcher({
      kind,
      calls,
      api,
      server: name,
      workflowOf: (job) => this.#workflowOf(job),
    })
    this.#files = new RunFiles(calls, api, address)
    this.#polls = new ChangePolls({
      calls,
      log,
      now,
      name,
      advice,
      pageLength,
      itemsOf: (body) => toRuns(body).workflow_runs,
      isRunning: (run) => resultOf(run) === undefined,
      load: (repository, number) => api.runOfRepository(repository, number),
    })
  }

  /** A repository that cannot be read harms no other. */
  async jobs(): Promise<readonly string[]> {
    const read = this.#repositories.map((repository) => this.#api.workflowFiles(repository))
    const results = await Promise.allSettled(read)
    const failures = results.filter((result) => result.status === 'rejected')
    if (failures.length > 0 && failures.length === results.length) throw failures[0]?.reason
    return results.flatMap((result, index) => {
      const repository = this.#repositories[index]
      if (result.status === 'fulfilled' && result.value !== undefined)
        return result.value.map((file) => `${repository}/${file}`)
      const problem =
        result.status === 'rejected'
          ? (result.reason as Error).message
          : `it has none, or is hidden. ${this.#kind.advice}`
      this.#log.warn(
        { buildServer: this.name, repository, problem },
        'the workflows of a repository cannot be listed',
      )
      return []
    })
  }

  async job(job: string): Promise<JsonObject | undefined> {
    const workflow = this.#workflowOf(job)
    if (workflow === undefined) return undefined
    const described = await this.#api.workflow(workflow)
    const text = await this.#api.workflowText(workflow, described?.path)
    if (described === undefined && text === undefined) throw this.#unknownWorkflow(workflow)
    const { isStartable, parameters } = text === undefined ? unknownFile : parseWorkflowFile(text)
    // The ref is a parameter too; an input of that name gets the same value.
    const ref = parameters.some(({ name }) => name === 'ref')
      ? []
      : [
          {
            name: 'ref',
            description: 'Branch or tag that is built.',
            defaultValue: (await this.#api.defaultBranch(workflow)) ?? null,
          },
        ]
    return {
      name: job,
      displayName: described?.name ?? job,
      description: null,
      url: described?.html_url ?? null,
      buildable: (described === undefined || described.state === 'active') && isStartable !== false,
      concurrentBuild: true,
      parameterDefinitionList: [...ref, ...parameters],
    }
  }

  async builds(job: string): Promise<readonly JsonObject[] | undefined> {
    const workflow = this.#workflowOf(job)
    const runs = workflow && (await this.#api.runs(workflow))
    return runs?.map((run) => toBuild(run, job))
  }

  async build(job: string, number: number): Promise<JsonObject | undefined> {
    const workflow = this.#workflowOf(job)
    const run = workflow && (await this.#api.run(workflow, number))
    return run && toBuild(run, job)
  }

  async properties(job: string, number: number, fileName: string): Promise<JsonObject | undefined> {
    const workflow = this.#workflowOf(job)
    return workflow && this.#files.properties(workflow, number, fileName)
  }

  async artifacts(job: string, number: number): Promise<readonly JsonObject[] | undefined> {
    const workflow = this.#workflowOf(job)
    return workflow && this.#files.artifacts(workflow, number)
  }

  async queueItem(item: string): Promise<JsonObject | undefined> {
    const run = await this.#dispatcher.runOf(item)
    if (run === undefined) return undefined
    return run.number === 0
      ? { number: null, executable: null }
      : { number: run.number, executable: { number: run.number } }
  }

  async start(job: string, { parameters }: JobOrder): Promise<string | undefined> {
    const workflow = this.#workflowOf(job)
    if (workflow === undefined) throw this.#unknownJob(job)
    const { ref: given, ...others } = parameters
    const ref = textOf(given) ?? (await this.#api.defaultBranch(workflow))
    if (ref === undefined) {
      const text = `The repository ${fullNameOf(workflow)} is missing, or hidden from the token of the build server "${this.name}".`
      throw new PortError(400, `${text} ${this.#kind.advice}`)
    }
    const isInput = given !== undefined && (await this.#hasInput(workflow, 'ref'))
    return this.#dispatcher.start(workflow, { ref, inputs: isInput ? { ...parameters } : others })
  }

  /** A run that has ended meanwhile is as good as stopped. */
  async stop(job: string, item: string, number: number): Promise<void> {
    const known = this.#workflowOf(job)
    const run = number === 0 ? await this.#dispatcher.runOf(item) : { workflow: known, number }
    const workflow = run?.workflow ?? known
    if (workflow === undefined) throw this.#unknownJob(job)
    if (run === undefined) return
    if (run.number === 0)
      throw new PortError(
        503,
        `The run of ${job} does not exist yet, so it cannot be stopped. Try again in a few seconds.`,
      )
    const expects = [301, 307, 308, 403, 404, 405, 409]
    const answer = await this.#calls.send(`${runPath(workflow, run.number)}/cancel`, {
      method: 'POST',
      json: {},
      expects,
    })
    if (answer.status < 300 || answer.status === 409) return
    const url = (await this.#api.run(workflow, run.number))?.url
    if (url === undefined && number === 0) return
    const advice =
      answer.status === 403
        ? this.#kind.advice
        : `Stop it in its web UI${url === undefined ? '' : `: ${url}`}.`
    const text = `The build server "${this.name}" does not stop run ${run.number} (${answer.status})${formatReason(answer)}.`
    throw new PortError(400, `${text} ${advice}`)
  }

  /** Runs have no descriptions. */
  async describe(): Promise<void> {}

  async recentBuilds(
    signal: AbortSignal,
    positions: ReadonlyMap<string, Position>,
  ): Promise<readonly RecentBuilds[]> {
    const byRepository = Map.groupBy(positions, ([job]) => job.slice(0, job.lastIndexOf('/')))
    const knownOf = (name: string) => (byRepository.get(name) ?? []).map(([, position]) => position)
    const places = this.#repositories.map((name) => {
      const known = knownOf(name)
      return {
        name,
        path: this.#api.runsPath(name),
        newest: known.length === 0 ? undefined : Math.max(...known.map(newestIn)),
        open: known.flatMap(({ open }) => open),
      }
    })
    return (await this.#polls.read(places, signal)).flatMap(({ name, items }) => {
      const byFile = Map.groupBy(items, ({ file }) => file)
      byFile.delete(undefined)
      return [...byFile].map(([file, runs]) => {
        const job = `${name}/${file}`
        return { job, builds: runs.map((run) => toBuild(run, job)) }
      })
    })
  }

  async output(job: string, number: number): Promise<string | undefined> {
    const workflow = this.#workflowOf(job)
    const run = workflow && (await this.#api.run(workflow, number))
    return workflow && run && this.#files.log(workflow, number)
  }

  close(): void {
    this.#calls.close()
  }

  /** Undefined: it is not of the repositories of the settings. */
  #workflowOf(job: string): Workflow | undefined {
    const [, name = '', file] = /^([^/]+\/[^/]+)\/([^/]+)$/.exec(job) ?? []
    const listed = this.#repositories.find((each) => each.toLowerCase() === name.toLowerCase())
    const [owner, repository] = (listed ?? '').split('/')
    return owner === undefined || repository === undefined || file === undefined
      ? undefined
      : { owner, repository, file }
  }

  #unknownWorkflow(workflow: Workflow): PortError {
    const text = `The build server "${this.name}" has no workflow file ${workflow.file} in the default branch of ${fullNameOf(workflow)}`
    return new PortError(404, `${text}, or hides it from the token. ${this.#kind.advice}`)
  }

  #unknownJob(job: string): PortError {
    const text = `The job "${job}" does not exist: it has to be owner/repository/workflow-file.yml`
    return new PortError(
      404,
      `${text}, with a repository of ${this.#kind.prefix}.hosts "${this.name}", "repositories".`,
    )
  }

  async #hasInput(workflow: Workflow, name: string): Promise<boolean> {
    const text = await this.#api.workflowText(workflow, (await this.#api.workflow(workflow))?.path)
    return (
      text !== undefined &&
      parseWorkflowFile(text).parameters.some((parameter) => parameter['name'] === name)
    )
  }
}
