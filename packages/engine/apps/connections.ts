/** Connections of apps with repositories, whose pushes deploy them, and the previews of branches. */
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ownDatabases } from '@fairlead/model/app-file/databases.ts'
import type { AppHere } from '@fairlead/model/app-file/merge-environment.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { AppRevisions, RevisionOrder } from '../orchestration/app-revisions.ts'
import { clusterOf, readApp } from './app-environment.ts'
import { loadPresent, writeObjects } from './app-objects.ts'
import { type AppRecords, chooseEnvironment } from './app-records.ts'
import { deployPipelineName, keyOf } from './compile.ts'
import { isClusterPlace } from './compile-manifests.ts'
import {
  type Connection,
  connectionOf,
  describePush,
  fetchRevision,
  newSecret,
  pushPipelineName,
} from './connection.ts'
import type { AppDeployments } from './deployments.ts'
import { type AppPlans, compilePush, pushPipeline } from './plans.ts'
import { expiryOf, hasPreviews, previewOf, readPreview } from './previews.ts'
import { stopJobs } from './run-stages.ts'

export class AppConnections implements AppRevisions {
  readonly #records: AppRecords
  readonly #plans: AppPlans
  readonly #deployments: AppDeployments

  constructor(records: AppRecords, plans: AppPlans, deployments: AppDeployments) {
    this.#records = records
    this.#plans = plans
    this.#deployments = deployments
  }

  /**
   * Lets pushes to a repository deploy the app; a connection that is there is replaced.
   *
   * @throws {PortError} 400 or 404 when no poll could read the repository, 404, 409
   */
  async connect(
    application: string,
    wanted: Omit<Connection, 'secret'>,
    as: Caller,
  ): Promise<JsonObject> {
    await this.#records.known(application, as)
    const problem = await this.#problemOf(wanted)
    return this.#records.inTurn(application, async () => {
      const { stored } = await this.#records.known(application, as)
      if (stored.isEjected)
        throw new PortError(
          409,
          `${application} is ejected: its pipelines are your own, and so is one for pushes.`,
        )
      const { ports } = this.#records.context
      const present = await loadPresent(application, ports, as)
      const found = present.get(keyOf(pushPipeline))
      if (found !== undefined && connectionOf(found) === undefined)
        throw new PortError(
          409,
          `${application} has a pipeline "${pushPipelineName}" that no connection has made. Rename it first.`,
        )
      const connection = { ...wanted, secret: newSecret() }
      const compiled = compilePush(connection, readApp(stored.file), stored.file)
      const objects = compiled.map((object) => ({
        ...{ object, fields: [], present: found },
        state: found === undefined ? ('create' as const) : ('change' as const),
      }))
      await writeObjects(objects, true, { application, ports, store: this.#records.store, as })
      const { repository, branch, source, secret } = connection
      const webhook = `/webhooks/git/${source}`
      return { application, repository, branch, source, secret, webhook, ...definedOf({ problem }) }
    })
  }

  /** Why a push could not be read at the moment, as a sentence. @throws {PortError} when it never could */
  async #problemOf({
    repository,
    branch,
    account,
  }: Omit<Connection, 'secret'>): Promise<string | undefined> {
    const { versions } = this.#records.context.ports.infrastructure
    try {
      const found = await versions?.gitRefs({ url: repository, account }, undefined)
      const { refs } = found ?? {}
      if (refs === undefined || `refs/heads/${branch}` in refs) return undefined
      return `The repository has no branch ${branch} yet. Push it, or name another with --branch.`
    } catch (error) {
      if (error instanceof PortError && error.status >= 500) return error.message
      throw error
    }
  }

  /** Pushes deploy it no more. @throws {PortError} 404 */
  async disconnect(application: string, as: Caller): Promise<JsonObject> {
    return this.#records.inTurn(application, async () => {
      const { definitions } = this.#records.context.ports
      const pipelines = await definitions.pipelinesOf(application, as)
      const found = pipelines.find(({ name }) => name === pushPipelineName)
      if (connectionOf(found) === undefined)
        throw new PortError(404, `${application} is connected with no repository.`)
      await definitions.removePipeline({ application, name: pushPipelineName }, as)
      this.#records.store.dropObject(application, keyOf(pushPipeline))
      return { application, disconnected: true }
    })
  }

  async deployRevision(order: RevisionOrder, as: Caller): Promise<string | undefined> {
    const { application, mainBranch, branch = mainBranch, isDeletion } = order
    const { stored } = await this.#records.known(application, as)
    await this.#removeExpired(application, stored.file, as)
    const isMain = branch === mainBranch
    if (isDeletion) return isMain ? undefined : this.#removePreview(application, branch, as)
    if (!isMain && !hasPreviews(stored.file)) return undefined
    const { source, file, commit } = await fetchRevision(
      { ...order, branch },
      this.#records.context,
      as,
    )
    const run = await this.#deployments.deploy(
      {
        ...{ application, file, source, commit },
        ...(!isMain && { branch }),
        environment: undefined,
        image: undefined,
        message: describePush(commit, branch),
        overwrite: false,
      },
      as,
    )
    return String(run['id'])
  }

  /** Previews that nothing was deployed to for the time in the file. */
  async #removeExpired(application: string, file: string, as: Caller): Promise<void> {
    const oldestMs = this.#records.context.now() - expiryOf(file)
    for (const { branch, deployedMs } of this.#records.store.previews(application))
      if (deployedMs < oldestMs) await this.#removePreview(application, branch, as)
  }

  /** @returns the task that stops it and removes its hosts and volumes; undefined: there is none */
  async #removePreview(
    application: string,
    branch: string,
    as: Caller,
  ): Promise<string | undefined> {
    return this.#records.inTurn(application, async () => {
      const found = this.#records.store.previews(application).find((each) => each.branch === branch)
      if (found === undefined) return undefined
      const environment = previewOf(branch)
      const { definitions } = this.#records.context.ports
      const main = this.#records.store.app(application)?.file ?? found.file
      const here = chooseEnvironment(readPreview(found.file, branch, main), undefined)
      const jobs = await this.#previewRemoval(here, as)
      const name = deployPipelineName(environment)
      const pipelines = await definitions.pipelinesOf(application, as)
      if (pipelines.some((each) => each['name'] === name))
        await definitions.removePipeline({ application, name }, as)
      const task = await this.#records.submitTask(
        application,
        `Remove the preview of ${branch}`,
        jobs,
        as,
      )
      this.#records.store.dropPreview(application, branch)
      for (const key of this.#plans.writtenOf(application, environment).keys())
        this.#records.store.dropObject(application, key)
      return task
    })
  }

  /** Jobs that stop a preview, and remove its hosts, databases and volumes. */
  async #previewRemoval(here: AppHere, as: Caller): Promise<JsonObject[]> {
    const place = await this.#records.placeOf(here, as)
    const jobs = stopJobs(here, place)
    if (isClusterPlace(place)) return jobs
    const { provider: cloudProvider, account: credentials, region } = place
    const { application, environment } = here
    const holders = [
      ...here.services.filter(({ volumes }) => volumes.length > 0),
      ...ownDatabases(here),
    ]
    for (const { name } of ownDatabases(here)) this.#records.databases.discardPasswords(here, name)
    return [
      ...jobs,
      ...(await this.#records.databases.stopJobs(application, { environment }, as)),
      ...holders.map(({ name }) => ({
        type: 'deleteVolumes',
        ...{ cloudProvider, credentials, region },
        cluster: clusterOf(here, name),
      })),
    ]
  }
}
