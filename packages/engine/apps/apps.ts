/** Apps: from the file that a user sends to a run that deploys it, and what is known of them. */
import {
  definedOf,
  type JsonObject,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  ownDatabases,
  passwordSecretOf,
  withDatabases,
} from '@fairlead/model/app-file/databases.ts'
import type { AppHere } from '@fairlead/model/app-file/merge-environment.ts'
import { toGroup } from '@fairlead/model/environments/running.ts'
import { toAppBuildStage } from '@fairlead/ports/app-builds.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { AppRevisions, RevisionOrder } from '../orchestration/app-revisions.ts'
import type { Engine } from '../orchestration/engine.ts'
import { startPipeline } from '../orchestration/executions.ts'
import { prepareTask } from '../orchestration/submission/prepare-task.ts'
import { type AppPlace, readAccountPlace } from './account-places.ts'
import { clusterOf, type ReadApp, readApp, secretsOf } from './app-environment.ts'
import {
  isFromAppFile,
  loadPresent,
  type ObjectPlan,
  planObjects,
  writeObjects,
} from './app-objects.ts'
import {
  type AppRun,
  type AppRunKind,
  AppStore,
  type StoredApp,
  type WrittenObject,
} from './app-store.ts'
import {
  compileApplication,
  compileEnvironment,
  deploymentStages,
  deployPipelineName,
  keyOf,
} from './compile.ts'
import {
  checkClusterApp,
  clusterNotes,
  isClusterPlace,
  removalOf,
  removalStages,
  scaleJob,
} from './compile-manifests.ts'
import {
  type Connection,
  compileConnection,
  connectionOf,
  describePush,
  fetchRevision,
  newSecret,
  pushPipelineName,
} from './connection.ts'
import {
  AppDatabases,
  backupPipelineName,
  compileBackups,
  type RunningDatabase,
} from './databases.ts'
import {
  expiryOf,
  hasPreviews,
  isOfPreview,
  isPreview,
  previewOf,
  readPreview,
} from './previews.ts'
import {
  deleteBalancerOf,
  servingClusters,
  stopOf,
  stopStages,
  withConstraints,
} from './run-stages.ts'
import { statusOf } from './status.ts'

export interface AppOrder {
  /** Of a preview, whose environment is the only one then. */
  readonly branch?: string | undefined
  readonly application: string
  readonly file: string
  /** Undefined: the first one of the file. */
  readonly environment: string | undefined
}

export interface DeploymentOrder extends AppOrder {
  /** Such as `shop:7-4f7c2d1`, which exists; undefined: one is built of the source. */
  readonly image: string | undefined
  /** Id of an uploaded folder. */
  readonly source: string | undefined
  /** Of the source, with `-dirty` where files had changed since. */
  readonly commit: string | undefined
  readonly commitDetails?: CommitDetails | undefined
  readonly message: string | undefined
  /** Whether what was edited elsewhere is written over. */
  readonly overwrite: boolean
}

/** As Git tells them. */
type CommitDetails = Readonly<
  Partial<Record<'message' | 'author' | 'branch' | 'timestamp', string | undefined>>
>

export interface RollbackOrder {
  readonly application: string
  readonly environment: string | undefined
  /** Undefined: the version that ran before. */
  readonly to: string | undefined
  readonly dryRun: boolean
}

export interface PromotionOrder {
  readonly application: string
  /** Undefined: the second environment. */
  readonly to: string | undefined
  readonly message: string | undefined
}

export interface ScaleOrder {
  readonly application: string
  readonly environment: string | undefined
  /** Numbers of instances by service. */
  readonly services: Readonly<Record<string, number>>
}

export interface AppDatabaseOrder {
  readonly application: string
  readonly environment: string | undefined
  readonly name: string
}

/** An app file with the objects that it needs. */
interface PlannedApp {
  readonly app: ReadApp
  readonly here: AppHere
  readonly placeOf: (here: AppHere) => AppPlace
  readonly objects: readonly ObjectPlan[]
  readonly isEjected: boolean
  /** For people. */
  readonly notes: readonly string[]
  /** Stages that start databases. */
  readonly attachStages: readonly JsonObject[]
  /** Whether all databases have an address, which the objects name. */
  readonly isReserved: boolean
}

/** An app that was deployed, by its last file. */
interface KnownApp {
  readonly app: ReadApp
  readonly stored: StoredApp
}

interface RunOrder {
  readonly here: AppHere
  readonly kind: AppRunKind
  readonly image: string
  readonly file: string
  readonly message: string | undefined
  readonly commit?: JsonObject | undefined
  /** The definition that runs, under the id of the stored one. */
  readonly definition: JsonObject
}

const runsLookedAt = 200
/** Runs of an environment whose files may name another account. */
const formerLookedAt = 20

export class Apps implements AppRevisions {
  readonly #store: AppStore
  readonly #context: BackendContext
  readonly #engine: Engine
  readonly #databases: AppDatabases
  /** The last change of each application: two deployments write its objects one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>()

  constructor(context: BackendContext, engine: Engine) {
    this.#context = context
    this.#engine = engine
    this.#store = new AppStore(context.db)
    this.#databases = new AppDatabases(context, engine)
  }

  /** What a deployment would create or change; nothing is written. @throws {PortError} 400 with all errors of the file */
  async plan(order: AppOrder, as: Caller): Promise<JsonObject> {
    const planned = await this.#plan(order, as)
    return { ...toPlanView(planned), environment: planned.here.environment }
  }

  /** @throws {PortError} 400 with all errors of the file, or naming the first object that could not be written */
  async deploy(order: DeploymentOrder, as: Caller): Promise<JsonObject> {
    return this.#inTurn(order.application, () => this.#deploy(order, 'deployment', as))
  }

  async #deploy(order: DeploymentOrder, kind: AppRunKind, as: Caller): Promise<JsonObject> {
    const { application, file, message, overwrite } = order
    let planned = await this.#plan(order, as)
    if (!planned.isReserved && !planned.isEjected) {
      await this.#databases.reserve(planned.app, planned.placeOf, as)
      planned = await this.#plan(order, as)
    }
    const { app, here, placeOf, objects, isEjected, attachStages } = planned
    if (!isEjected) {
      const { ports } = this.#context
      await writeObjects(objects, overwrite, { application, ports, store: this.#store, as })
      this.#keepFile(order, app.digest)
    }
    const definition = await this.#storedPipeline(application, here.environment, as)
    const { image, build } = this.#imageOf(order, here, placeOf(here))
    const deployment = isEjected
      ? objectsOf(definition['stages'])
      : [
          ...withConstraints(after(attachStages, objectsOf(definition['stages'])), {
            here,
            place: placeOf(here),
            before: beforeOf(app, here, placeOf),
            image,
            version: versionOf(image),
          }),
          ...(await this.#stopsOf(here, placeOf(here), as)),
        ]
    const stages = build === undefined ? deployment : after([build], deployment)
    const run = await this.#start(
      {
        ...{ here, kind, image, file, message },
        commit: describeCommit(order),
        definition: { ...definition, stages },
      },
      as,
    )
    return { ...toPlanView(planned), ...run }
  }

  /** The image that exists, or the one that a stage makes of the source. @throws {PortError} 400 */
  #imageOf(
    { application, image, source, commit }: DeploymentOrder,
    { account, registry }: AppHere,
    place: AppPlace,
  ): { readonly image: string; readonly build?: JsonObject } {
    if (image !== undefined) return { image }
    const repository = isClusterPlace(place) ? registry : undefined
    if (isClusterPlace(place) && repository === undefined)
      throw new PortError(
        400,
        `The cluster of ${account} pulls images from a registry. Say in the app file which one: registry: registry.example/${application}`,
      )
    const { sourceServer } = this.#context.ports.builds
    if (source === undefined || sourceServer === undefined)
      throw new PortError(
        400,
        'Nothing here builds images of uploaded folders: set builds.local.enabled, or deploy an image.',
      )
    const number = this.#store.nextNumber(application)
    const version = `${number}-${shortCommit(commit)}`
    const order = { application, source, version, account, ...definedOf({ commit, repository }) }
    const build = {
      refId: 'build',
      requisiteStageRefIds: [],
      name: `Build ${version}`,
      ...toAppBuildStage(sourceServer, order),
    }
    return { image: `${repository ?? application}:${version}`, build }
  }

  /** @throws {PortError} 404 for an app that was not deployed by a file */
  async status(application: string, as: Caller): Promise<JsonObject> {
    const { app, stored } = await this.#known(application, as)
    const { infrastructure } = this.#context.ports
    const [groups, balancers] = await Promise.all([
      infrastructure.serverGroups(application, as),
      infrastructure.loadBalancers(application, as),
    ])
    return statusOf({ app, stored, groups, balancers, store: this.#store, engine: this.#engine })
  }

  /** Deploys a version again, as its file had it, without its release. @throws {PortError} 400 naming the versions that are kept */
  async rollback(order: RollbackOrder, as: Caller): Promise<JsonObject> {
    const { application, environment, to } = order
    return this.#inTurn(application, async () => {
      const { app } = await this.#known(application, as)
      const current = chooseEnvironment(app, environment)
      const kept = await this.#keptVersions(current, as)
      const serving = await this.#servingVersion(current, as)
      const target =
        to === undefined
          ? kept.find(({ version }) => version !== serving)
          : kept.find(({ version }) => version === to)
      if (target === undefined) throw notKept(current.environment, to, kept)
      const former = chooseEnvironment(
        await this.#withDatabases(this.#readFormer(target.file, current), as),
        current.environment,
      )
      const place = await this.#placeOf(former, as)
      const change = { environment: current.environment, from: serving ?? null, to: target.version }
      if (order.dryRun)
        return { ...change, image: target.image, services: former.services.map(({ name }) => name) }
      const stored = await this.#storedPipeline(application, current.environment, as)
      const extra = servingClusters(current).filter(
        (cluster) => !servingClusters(former).includes(cluster),
      )
      const stops = isClusterPlace(place)
        ? removalStages(current, former, place)
        : stopStages({ here: former, place, clusters: extra })
      const stages = [
        ...deploymentStages(former, place).filter(({ refId }) => refId !== 'release'),
        ...stops,
      ].map(withoutRelease)
      const run = await this.#start(
        {
          here: former,
          kind: 'rollback',
          image: target.image,
          file: target.file,
          message: `Roll back to ${target.version}`,
          definition: { ...stored, stages },
        },
        as,
      )
      return { ...change, ...run }
    })
  }

  /** Deploys what the environment before serves, once its constraints hold. @throws {PortError} 400 */
  async promote({ application, to, message }: PromotionOrder, as: Caller): Promise<JsonObject> {
    return this.#inTurn(application, async () => {
      await this.#known(application, as)
      const app = await this.#withDatabases(this.#fileOf(application), as)
      const target = to === undefined ? app.environments[1] : chooseEnvironment(app, to)
      const index = target === undefined ? -1 : app.environments.indexOf(target)
      const source = app.environments[index - 1]
      if (target === undefined || source === undefined)
        throw new PortError(
          400,
          `Nothing lies before ${target?.environment ?? 'it'}: a promotion needs two environments in the app file. Deploy to it with --env.`,
        )
      const serving = await this.#servingVersion(source, as)
      const from = this.#store
        .runs(application, source.environment, runsLookedAt)
        .find(({ version }) => version === serving)
      if (from === undefined)
        throw new PortError(
          400,
          `The environment ${source.environment} serves no version of ${application} that was deployed from its file, so there is nothing to promote.`,
        )
      const order = {
        application,
        file: from.file,
        environment: target.environment,
        image: from.image,
        source: undefined,
        commit: undefined,
        message,
        overwrite: false,
      }
      return this.#deploy(order, 'promotion', as)
    })
  }

  /** Holds until the file has another number. @throws {PortError} 400 for a service that is not there */
  async scale({ application, environment, services }: ScaleOrder, as: Caller): Promise<JsonObject> {
    const { app } = await this.#known(application, as)
    const here = chooseEnvironment(app, environment)
    const file = chooseEnvironment(this.#fileOf(application), here.environment)
    const groups = (await this.#context.ports.infrastructure.serverGroups(application, as)).map(
      toGroup,
    )
    const changes = Object.entries(services).map(([name, instances]) => {
      const service = file.services.find((each) => each.name === name)
      if (service === undefined || service.schedule !== undefined) {
        const names = file.services.filter(({ schedule }) => schedule === undefined)
        throw new PortError(
          400,
          `${here.environment} has no service "${name}" that runs all the time, only ${names.map((each) => each.name).join(', ')}.`,
        )
      }
      const cluster = clusterOf(here, name)
      const group = groups.find(
        (each) =>
          each.cluster === cluster &&
          each.account === here.account &&
          !each.isDisabled &&
          !each.disabled,
      )
      return { name, instances, fileInstances: service.instances, group }
    })
    const place = await this.#placeOf(here, as)
    const jobs = changes.flatMap(({ name, instances, group }) => {
      if (group === undefined) return []
      return isClusterPlace(place)
        ? [scaleJob(clusterOf(here, name), instances, place)]
        : [resizeJob(group, instances)]
    })
    const task =
      jobs.length === 0
        ? undefined
        : await this.#submitTask(application, `Scale ${Object.keys(services).join(', ')}`, jobs, as)
    for (const { name, instances, fileInstances } of changes)
      this.#store.keepScale(application, {
        environment: here.environment,
        service: name,
        instances,
        fileInstances,
      })
    return {
      environment: here.environment,
      task: task ?? null,
      services: changes.map(({ name, instances, group }) => ({
        name,
        before: group?.total ?? 0,
        after: instances,
      })),
    }
  }

  /** Variables of each service with their source; values of secrets are masked. */
  async variables(
    application: string,
    environment: string | undefined,
    as: Caller,
  ): Promise<JsonObject> {
    const { app } = await this.#known(application, as)
    const here = chooseEnvironment(app, environment)
    const { secrets } = this.#context.ports
    const { env: given } = chooseEnvironment(this.#fileOf(application), here.environment)
    const isGiven = ([name]: readonly [string, string]) => Object.hasOwn(given, name)
    const attached = Object.entries(here.env).filter((entry) => !isGiven(entry))
    return {
      environment: here.environment,
      variables: [
        ...Object.entries(here.env)
          .filter(isGiven)
          .map(([name, value]) => ({ name, value, source: 'file' })),
        ...attached.map(([name, value]) => ({
          name,
          value: value.replaceAll(/secret:(?:\{[^}]*\}|\S+)/g, '******'),
          source: 'attach',
        })),
        ...Object.entries(secretsOf(here)).map(([name, secret]) => ({
          name,
          value: '******',
          source: `secret ${secret}`,
          isSet: secrets.isSet(secret, { application, account: here.account }),
        })),
        ...['PORT', 'HOST'].map((name) => ({ name, value: null, source: 'instance' })),
      ],
    }
  }

  /** Starts services anew that use a secret, with the versions that they run. */
  async applySecret(
    application: string,
    { name, restarts }: { readonly name: string; readonly restarts: boolean },
    as: Caller,
  ): Promise<JsonObject> {
    if ((this.#store.app(application)?.file ?? '') === '') return { usedBy: [], runs: [] }
    return this.#inTurn(application, async () => {
      const { app } = await this.#known(application, as)
      const users = app.environments.filter((here) => Object.values(secretsOf(here)).includes(name))
      const usedBy = users.flatMap((here) =>
        here.services.map((service) => `${here.environment}/${service.name}`),
      )
      const runs: JsonObject[] = []
      for (const here of restarts ? users : []) {
        const serving = await this.#servingVersion(here, as)
        const run = this.#store
          .runs(application, here.environment, runsLookedAt)
          .find(({ version }) => version === serving)
        if (run === undefined) continue
        const definition = await this.#storedPipeline(application, here.environment, as)
        const stages = objectsOf(definition['stages'])
          .filter(({ refId }) => refId !== 'release')
          .map(withoutRelease)
        const { image, file } = run
        const message = `New value of the secret ${name}`
        runs.push(
          await this.#start(
            { here, kind: 'restart', image, file, message, definition: { ...definition, stages } },
            as,
          ),
        )
      }
      return { usedBy, runs }
    })
  }

  /** Gives the objects to the user: their marks go, and no deployment changes them any more. */
  async eject(application: string, as: Caller): Promise<JsonObject> {
    return this.#inTurn(application, async () => {
      await this.#known(application, as)
      const { ports } = this.#context
      const present = await loadPresent(application, ports, as)
      const marked = [...present].filter(([, object]) => isFromAppFile(object))
      for (const [key, { source: _source, appFile: _file, description, ...object }] of marked) {
        if (key.startsWith('pipeline '))
          await ports.definitions.replacePipeline(
            { ...object, id: String(object['id']) },
            { staleCheck: false },
            as,
          )
        else
          await ports.definitions.updateApplication(
            { name: application, source: null, appFile: null, ...definedOf({ description }) },
            as,
          )
      }
      this.#store.eject(application)
      return { application, ejected: true, objects: marked.map(([key]) => key) }
    })
  }

  /** Lets pushes to a repository deploy the app; a connection that is there is replaced. @throws {PortError} 404, 409 */
  async connect(
    application: string,
    wanted: Omit<Connection, 'secret'>,
    as: Caller,
  ): Promise<JsonObject> {
    return this.#inTurn(application, async () => {
      const { stored } = await this.#known(application, as)
      if (stored.isEjected)
        throw new PortError(
          409,
          `${application} is ejected: its pipelines are your own, and so is one for pushes.`,
        )
      const { ports } = this.#context
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
      await writeObjects(objects, true, { application, ports, store: this.#store, as })
      const { repository, branch, source, secret } = connection
      return { application, repository, branch, source, secret, webhook: `/webhooks/git/${source}` }
    })
  }

  /** Pushes deploy it no more. @throws {PortError} 404 */
  async disconnect(application: string, as: Caller): Promise<JsonObject> {
    return this.#inTurn(application, async () => {
      const { definitions } = this.#context.ports
      const pipelines = await definitions.pipelinesOf(application, as)
      const found = pipelines.find(({ name }) => name === pushPipelineName)
      if (connectionOf(found) === undefined)
        throw new PortError(404, `${application} is connected with no repository.`)
      await definitions.removePipeline({ application, name: pushPipelineName }, as)
      this.#store.dropObject(application, keyOf(pushPipeline))
      return { application, disconnected: true }
    })
  }

  async deployRevision(order: RevisionOrder, as: Caller): Promise<string | undefined> {
    const { application, mainBranch, branch = mainBranch, isDeletion } = order
    const { stored } = await this.#known(application, as)
    await this.#removeExpired(application, stored.file, as)
    const isMain = branch === mainBranch
    if (isDeletion) return isMain ? undefined : this.#removePreview(application, branch, as)
    if (!isMain && !hasPreviews(stored.file)) return undefined
    const { source, file, commit } = await fetchRevision({ ...order, branch }, this.#context, as)
    const run = await this.deploy(
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
    const oldestMs = this.#context.now() - expiryOf(file)
    for (const { branch, deployedMs } of this.#store.previews(application))
      if (deployedMs < oldestMs) await this.#removePreview(application, branch, as)
  }

  /** @returns the task that stops it and removes its hosts and volumes; undefined: there is none */
  async #removePreview(
    application: string,
    branch: string,
    as: Caller,
  ): Promise<string | undefined> {
    return this.#inTurn(application, async () => {
      const found = this.#store.previews(application).find((each) => each.branch === branch)
      if (found === undefined) return undefined
      const environment = previewOf(branch)
      const { definitions } = this.#context.ports
      const here = chooseEnvironment(readPreview(found.file, branch), undefined)
      const jobs = await this.#previewRemoval(here, as)
      const name = deployPipelineName(environment)
      const pipelines = await definitions.pipelinesOf(application, as)
      if (pipelines.some((each) => each['name'] === name))
        await definitions.removePipeline({ application, name }, as)
      const task = await this.#submitTask(application, `Remove the preview of ${branch}`, jobs, as)
      this.#store.dropPreview(application, branch)
      for (const key of this.#writtenOf(application, environment).keys())
        this.#store.dropObject(application, key)
      return task
    })
  }

  /** Jobs that stop a preview, and remove its hosts, databases and volumes. */
  async #previewRemoval(here: AppHere, as: Caller): Promise<JsonObject[]> {
    const place = await this.#placeOf(here, as)
    const jobs = stopJobs(here, place)
    if (isClusterPlace(place)) return jobs
    const { provider: cloudProvider, account: credentials, region } = place
    const { application, environment } = here
    const holders = [
      ...here.services.filter(({ volumes }) => volumes.length > 0),
      ...ownDatabases(here),
    ]
    for (const { name } of ownDatabases(here))
      this.#context.ports.secrets.discard?.(passwordSecretOf(here, name), { application })
    return [
      ...jobs,
      ...(await this.#databases.stopJobs(application, { environment }, as)),
      ...holders.map(({ name }) => ({
        type: 'deleteVolumes',
        ...{ cloudProvider, credentials, region },
        cluster: clusterOf(here, name),
      })),
    ]
  }

  /**
   * Stops all of it in a task, which also deletes the application. Volumes stay.
   *
   * @param account Given: stops only what is left there since the file names another account, and the application stays
   * @throws {PortError} 400 for an account that the file names
   */
  async remove(application: string, account: string | undefined, as: Caller): Promise<JsonObject> {
    return this.#inTurn(application, async () => {
      const { app } = await this.#known(application, as)
      if (account !== undefined && app.environments.some((here) => here.account === account))
        throw new PortError(
          400,
          `The app file of ${application} names the account ${account}. Deploy to another account first; what is left here is then stopped by this.`,
        )
      const stopped = account === undefined ? app.environments : this.#formerIn(app, account)
      const jobs = await this.#databases.stopJobs(
        application,
        account === undefined ? {} : { account },
        as,
      )
      for (const here of stopped) jobs.push(...stopJobs(here, await this.#placeOf(here, as)))
      if (account === undefined)
        jobs.push({ type: 'deleteApplication', application: { name: application } })
      const description = `Delete ${application}${account === undefined ? '' : ` in ${account}`}`
      const task =
        jobs.length === 0 ? undefined : await this.#submitTask(application, description, jobs, as)
      if (account === undefined) this.#store.forget(application)
      else
        for (const [key, { compiled }] of this.#store.objects(application))
          if (compiled['credentials'] === account) this.#store.dropObject(application, key)
      return { application, task: task ?? null }
    })
  }

  /** Environments as former files had them in accounts that this one does not name; the newest of each. */
  #formerIn({ application, environments }: ReadApp, account?: string): AppHere[] {
    const named = new Set(environments.map((here) => here.account))
    const found = new Map<string, AppHere>()
    for (const { environment } of environments)
      for (const { file } of this.#store.runs(application, environment, formerLookedAt)) {
        const here = readApp(file).environments.find((each) => each.environment === environment)
        if (here === undefined || named.has(here.account)) continue
        if (account === undefined || here.account === account)
          found.getOrInsert(`${environment} ${here.account}`, here)
      }
    return [...found.values()]
  }

  /** Sentences about what still runs in accounts that the file does not name any more. */
  async #notesOfLeft(app: ReadApp, as: Caller): Promise<string[]> {
    const former = this.#formerIn(app)
    if (former.length === 0) return []
    const groups = await this.#context.ports.infrastructure.serverGroups(app.application, as)
    const running = new Set(groups.map((group) => toGroup(group).account))
    return [...new Set(former.map(({ account }) => account))]
      .filter((account) => running.has(account))
      .map(
        (account) =>
          `${account}: the app still runs there, and serves its hosts. Once no request reaches it, stop it: fairlead leave ${account}`,
      )
  }

  /** Databases of an app that was deployed. */
  async databases(application: string, as: Caller): Promise<JsonObject> {
    const { app } = await this.#known(application, as)
    return { application, databases: await this.#databases.list(app, as) }
  }

  async backUpDatabase(order: AppDatabaseOrder, as: Caller): Promise<JsonObject> {
    return this.#databases.backUp(await this.#databaseOf(order, as), as)
  }

  /** @throws {PortError} 400 unless the application is named once more */
  async restoreDatabase(
    {
      from,
      confirm,
      ...order
    }: AppDatabaseOrder & {
      readonly from: string | undefined
      readonly confirm: string | undefined
    },
    as: Caller,
  ): Promise<JsonObject> {
    requireConfirmation(confirm, order.application, 'replaces what is in the database')
    return this.#databases.restore({ ...(await this.#databaseOf(order, as)), from }, as)
  }

  /** @throws {PortError} 400 unless the database is named once more, and while the file has it */
  async removeDatabase(
    { confirm, ...order }: AppDatabaseOrder & { readonly confirm: string | undefined },
    as: Caller,
  ): Promise<JsonObject> {
    const { application, name } = order
    requireConfirmation(confirm, name, 'deletes what is in the database')
    return this.#inTurn(application, async () => {
      const wanted = await this.#databaseOf(order, as)
      const { app } = await this.#known(application, as)
      const here = app.environments.find((each) => each.environment === wanted.environment)
      if (here?.attach.some((each) => each.name === name))
        throw new PortError(
          400,
          `The app file attaches ${name} to ${wanted.environment}, so a deployment would create it anew. Remove it from attach, deploy, and repeat this.`,
        )
      return this.#databases.remove(wanted, as)
    })
  }

  /** In the first environment of the file where none is named. */
  async #databaseOf({ application, environment, name }: AppDatabaseOrder, as: Caller) {
    const { app } = await this.#known(application, as)
    const first = environment ?? app.environments[0]?.environment ?? ''
    return { application, environment: first, name }
  }

  /** Variables of services lead to the databases. */
  async #withDatabases(app: ReadApp, as: Caller): Promise<ReadApp> {
    if (app.environments.every(({ attach }) => attach.length === 0)) return app
    const portOf = await this.#databases.ports(app.application, as)
    const environments = app.environments.map((here) =>
      withDatabases(here, ({ name }) => portOf(here, name)),
    )
    return { ...app, environments }
  }

  async #plan(
    { application, file, environment, branch }: AppOrder,
    as: Caller,
  ): Promise<PlannedApp> {
    const { ports } = this.#context
    const read = branch === undefined ? readApp(file) : readPreview(file, branch)
    if (read.application !== application)
      throw new PortError(
        400,
        `The file is that of the application "${read.application}", and was sent for "${application}".`,
      )
    this.#refuseFilledSecrets(chooseEnvironment(read, environment))
    const app = this.#withScales(await this.#withDatabases(read, as))
    const here = chooseEnvironment(app, environment)
    const accounts = await ports.infrastructure.accounts(as)
    const placeOf = ({ account }: AppHere) => readAccountPlace(accounts, account)
    const place = placeOf(here)
    if (isClusterPlace(place)) checkClusterApp(here, place)
    this.#checkSecrets(here)
    const isEjected = this.#store.app(application)?.isEjected === true
    const present = await loadPresent(application, ports, as)
    const connection = connectionOf(present.get(keyOf(pushPipeline)))
    const compiled = [
      ...app.environments.flatMap((each) => [
        ...compileEnvironment(each, placeOf(each), app.digest),
        ...compileBackups(each, placeOf(each), app.digest),
      ]),
      ...(branch === undefined
        ? [compileApplication(app, placeOf), ...compilePush(connection, app, file)]
        : []),
    ]
    const accountsOfFile = new Set(app.environments.map(({ account }) => account))
    const portOf = await this.#databases.ports(application, as)
    const attachStages = isEjected
      ? []
      : await this.#databases.attachStages(here, place, portOf, as)
    const left = (await this.#databases.running(application, as)).filter(
      (each) =>
        !app.environments.some(
          (one) =>
            one.environment === each.environment &&
            one.attach.some(({ name }) => name === each.name),
        ),
    )
    // What is no longer in the file is backed up for as long as it runs.
    const backups = new Set(left.map((each) => backupPipelineName(each.environment, each.name)))
    // What another account serves goes on until the user stops it.
    const isLeft = ({ state, object: { name, content } }: ObjectPlan) =>
      state === 'removed' &&
      (backups.has(name) ||
        (content['credentials'] !== undefined &&
          !accountsOfFile.has(String(content['credentials']))))
    const written = this.#writtenOf(application, branch && here.environment)
    const objects = isEjected
      ? []
      : planObjects(compiled, present, written).filter((each) => !isLeft(each))
    const notes = [
      ...notesOf(here, place),
      ...(branch === undefined ? await this.#notesOfLeft(app, as) : []),
      ...left.filter((each) => each.environment === here.environment).map(describeLeft),
    ]
    const isReserved = this.#databases.isReserved(app, placeOf, portOf)
    return { app, here, placeOf, objects, isEjected, notes, attachStages, isReserved }
  }

  /** Objects of a preview, or of all other environments. */
  #writtenOf(application: string, preview: string | undefined): Map<string, WrittenObject> {
    const own = [...this.#store.objects(application)].filter(
      ([key]) => isOfPreview(key, application, preview) !== (preview === undefined),
    )
    return new Map(own)
  }

  #keepFile({ application, file, branch }: DeploymentOrder, digest: string): void {
    if (branch === undefined) this.#store.keepFile(application, { file, digest })
    else this.#store.keepPreview(application, { branch, file, deployedMs: this.#context.now() })
  }

  /** @throws {PortError} 400 for secrets that are set and would be a database's variable */
  #refuseFilledSecrets(here: AppHere): void {
    const { application, account } = here
    const store = this.#context.ports.secrets
    for (const { name, variable } of ownDatabases(here)) {
      const secret = here.secrets[variable]
      if (secret === undefined || !store.isSet(secret, { application, account })) continue
      throw new PortError(
        400,
        `attach.${name}: its address is the variable ${variable}, which is the secret ${secret}, too, and that is set. Write attach: { ${name}: { as: ANOTHER_NAME } }, or type: fairlead secret unset ${secret}`,
      )
    }
  }

  /** @throws {PortError} 400 naming all that are missing */
  #checkSecrets(here: AppHere): void {
    const { application, account, environment } = here
    const store = this.#context.ports.secrets
    const missing = [...new Set(Object.values(secretsOf(here)))].filter(
      (name) => !store.isSet(name, { application, account }),
    )
    if (missing.length === 0) return
    const are = missing.length === 1 ? 'a secret that is' : 'secrets that are'
    const commands = missing.map((name) => `fairlead secret set ${name}`).join('; ')
    throw new PortError(
      400,
      `${environment} needs ${are} not set: ${missing.join(', ')}. Type: ${commands}`,
      { missingSecrets: missing },
    )
  }

  async #known(application: string, as: Caller): Promise<KnownApp> {
    const stored = this.#store.app(application)
    if (stored === undefined || stored.file === '')
      throw new PortError(
        404,
        `The application ${application} was not deployed from an app file. Type fairlead deploy in its folder.`,
      )
    const app = await this.#withDatabases(this.#withScales(readApp(stored.file)), as)
    const previews = this.#store
      .previews(application)
      .flatMap(({ file, branch }) => readPreview(file, branch).environments)
    return { stored, app: { ...app, environments: [...app.environments, ...previews] } }
  }

  /** A file of a former run, as the environment has it. */
  #readFormer(file: string, { application, environment }: AppHere): ReadApp {
    if (!isPreview(environment)) return readApp(file)
    const previews = this.#store.previews(application)
    const own = previews.find(({ branch }) => previewOf(branch) === environment)
    return readPreview(file, own?.branch ?? '')
  }

  /** Without numbers of instances that were set since. */
  #fileOf(application: string): ReadApp {
    return readApp(this.#store.app(application)?.file ?? '')
  }

  #withScales(app: ReadApp): ReadApp {
    const scales = this.#store.scales(app.application)
    if (scales.length === 0) return app
    const environments = app.environments.map((here) => ({
      ...here,
      services: here.services.map((service) => {
        const scale = scales.find(
          (each) => each.environment === here.environment && each.service === service.name,
        )
        return scale?.fileInstances === service.instances
          ? { ...service, instances: scale.instances }
          : service
      }),
    }))
    return { ...app, environments }
  }

  async #placeOf({ account }: AppHere, as: Caller): Promise<AppPlace> {
    return readAccountPlace(await this.#context.ports.infrastructure.accounts(as), account)
  }

  async #storedPipeline(application: string, environment: string, as: Caller): Promise<JsonObject> {
    const name = deployPipelineName(environment)
    const pipelines = await this.#context.ports.definitions.pipelinesOf(application, as)
    const found = pipelines.find((each) => each['name'] === name)
    if (found !== undefined) return found
    throw new PortError(
      404,
      `The application ${application} has no pipeline "${name}". Deploy the app file to ${environment} first.`,
    )
  }

  /** Stages for services of the last file that this one no longer has, and which still run. */
  async #stopsOf(here: AppHere, place: AppPlace, as: Caller): Promise<JsonObject[]> {
    const { application, environment } = here
    const [former] = this.#store.runs(application, environment, 1)
    if (former === undefined) return []
    const before = this.#readFormer(former.file, here).environments.find(
      (each) => each.environment === environment,
    )
    // What runs in another account goes on until the user ends it.
    if (before === undefined || before.account !== here.account) return []
    if (isClusterPlace(place)) return removalStages(before, here, place)
    const gone = servingClusters(before).filter(
      (cluster) => !servingClusters(here).includes(cluster),
    )
    const groups = await this.#context.ports.infrastructure.serverGroups(application, as)
    const present = new Set(groups.map((group) => textOf(group['cluster'])))
    return stopStages({ here, place, clusters: gone.filter((cluster) => present.has(cluster)) })
  }

  async #servingVersion(here: AppHere, as: Caller): Promise<string | undefined> {
    const groups = await this.#context.ports.infrastructure.serverGroups(here.application, as)
    const status = statusOf({
      app: { application: here.application, digest: '', environments: [here] },
      stored: { file: '', digest: '', isEjected: false },
      groups,
      balancers: [],
      store: this.#store,
      engine: this.#engine,
    })
    const services = objectsOf(objectsOf(status['environments'])[0]?.['services'])
    return services.map(({ version }) => textOf(version)).find((version) => version !== undefined)
  }

  /** Versions that were deployed to the environment and whose images are there, the newest first. */
  async #keptVersions(here: AppHere, as: Caller): Promise<AppRun[]> {
    const { application, environment } = here
    const runs = this.#store
      .runs(application, environment, runsLookedAt)
      .filter(({ executionId }) => {
        const status = this.#engine.options.store.load(executionId)?.status
        // The record of an old run may have been deleted.
        return status === undefined || status === 'SUCCEEDED'
      })
    const newest = [...Map.groupBy(runs, ({ version }) => version).values()].flatMap(
      ([first]) => first ?? [],
    )
    const { region, provider } = await this.#placeOf(here, as)
    const isHere = ({ file }: AppRun) =>
      readApp(file).environments.some(
        (each) => each.environment === environment && each.account === here.account,
      )
    const names = await this.#context.ports.infrastructure.images(
      { provider, text: application, region, tags: {} },
      as,
    )
    const known = new Set(names.flatMap(({ imageId, imageName }) => [imageId, imageName]))
    return newest.filter((run) => (run.image.includes('/') || known.has(run.image)) && isHere(run))
  }

  async #start(order: RunOrder, as: Caller): Promise<JsonObject> {
    const { here, kind, image, file, message, commit, definition } = order
    const { application, environment } = here
    const { options } = this.#engine
    const executionId = options.nextId()
    const user = as.user ?? 'anonymous'
    const version = versionOf(image)
    const ahead = this.#lastOf(String(definition['id']))
    const trigger = {
      type: 'manual',
      user,
      parameters: { image, release: String(kind === 'deployment' || kind === 'promotion') },
      ...definedOf({ description: message, commit }),
    }
    const run = { executionId, environment, kind, version, image, file, message, user }
    const stored = () => this.#store.addRun(application, { ...run, createdMs: this.#context.now() })
    await startPipeline({ ...definition, executionId, trigger }, as, this.#engine, stored)
    const isWaiting = options.store.load(executionId)?.engine.parkedAt !== undefined
    return {
      id: executionId,
      environment,
      version,
      image,
      waitsFor: isWaiting ? (ahead ?? null) : null,
    }
  }

  /** The run of a pipeline that a further one would wait for: the last in its row. */
  #lastOf(configId: string): string | undefined {
    const { store } = this.#engine.options
    const parked = store.parked(configId).toSorted((a, b) => (a.parkedAt < b.parkedAt ? -1 : 1))
    return parked.at(-1)?.id ?? store.begun(configId).at(-1)
  }

  async #submitTask(
    application: string,
    description: string,
    job: readonly JsonObject[],
    as: Caller,
  ): Promise<string> {
    const task = await prepareTask({ application, description, job }, as, this.#engine.options)
    return this.#engine.transact((unit) => unit.submit(task)).id
  }

  /** Resolves after the changes of the same application that began before. */
  async #inTurn<T>(application: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(application)
    const turn = (async () => {
      await before?.catch(() => {})
      return work()
    })()
    this.#turns.set(application, turn)
    try {
      return await turn
    } finally {
      if (this.#turns.get(application) === turn) this.#turns.delete(application)
    }
  }
}

const pushPipeline = { kind: 'pipeline', name: pushPipelineName } as const

function compilePush(
  connection: Connection | undefined,
  { application, digest }: ReadApp,
  file: string,
) {
  if (connection === undefined) return []
  return [compileConnection(connection, { application, digest, hasPreviews: hasPreviews(file) })]
}

/** The tag of an image, else its name. */
export function versionOf(image: string): string {
  const mark = image.lastIndexOf(':')
  return mark > image.lastIndexOf('/') ? image.slice(mark + 1) : image
}

function chooseEnvironment(
  { environments, application }: ReadApp,
  wanted: string | undefined,
): AppHere {
  const found =
    wanted === undefined
      ? environments[0]
      : environments.find(({ environment }) => environment === wanted)
  if (found !== undefined) return found
  const names = environments.map(({ environment }) => environment).join(', ')
  throw new PortError(
    400,
    `The file of ${application} has no environment "${wanted}", only ${names}.`,
  )
}

function beforeOf(app: ReadApp, here: AppHere, placeOf: (here: AppHere) => AppPlace) {
  const index = app.environments.findIndex(({ environment }) => environment === here.environment)
  const before = app.environments[index - 1]
  return before === undefined ? undefined : { here: before, place: placeOf(before) }
}

/** Stages with further ones before them. */
function after(first: readonly JsonObject[], stages: readonly JsonObject[]): JsonObject[] {
  const refIds = first.map(({ refId }) => refId)
  const behind = (stage: JsonObject) =>
    textsOf(stage['requisiteStageRefIds']).length > 0
      ? stage
      : { ...stage, requisiteStageRefIds: refIds }
  return [...first, ...stages.map(behind)]
}

/** @throws {PortError} 400 */
function requireConfirmation(given: string | undefined, wanted: string, what: string): void {
  if (given !== undefined && given === wanted) return
  throw new PortError(400, `This ${what}: repeat the name "${wanted}" in "confirm".`)
}

/** As build services report commits. */
function describeCommit({ commit, commitDetails = {}, branch }: DeploymentOrder) {
  if (commit === undefined) return undefined
  const { author: committer, branch: checkedOut = branch, ...details } = commitDetails
  return definedOf({
    ...details,
    committer,
    branch: checkedOut,
    sha1: commit.replace('-dirty', ''),
  })
}

/** `1a2b3c4`, or `1a2b3c4-dirty`; of a folder without a commit, `folder`. */
function shortCommit(commit: string | undefined): string {
  const [id = '', ...rest] = (commit ?? '').split('-')
  return id === '' ? 'folder' : [id.slice(0, 7), ...rest].join('-')
}

function withoutRelease(stage: JsonObject): JsonObject {
  const before = Array.isArray(stage['requisiteStageRefIds']) ? stage['requisiteStageRefIds'] : []
  return { ...stage, requisiteStageRefIds: before.filter((refId) => refId !== 'release') }
}

function notKept(environment: string, to: string | undefined, kept: readonly AppRun[]): PortError {
  const versions = kept.map(({ version }) => version)
  const what =
    to === undefined
      ? `${environment} has no version before the one that serves.`
      : `The version ${to} is not kept for ${environment}.`
  return new PortError(400, `${what} Kept are: ${versions.join(', ') || 'none'}.`, {
    keptVersions: versions,
  })
}

/** Ends all that an environment runs. */
function stopJobs(here: AppHere, place: AppPlace): JsonObject[] {
  if (isClusterPlace(place)) return [removalOf(here, place)]
  const balanced = here.services.filter(({ hosts }) => hosts.length > 0)
  return [
    ...servingClusters(here).map((cluster) => stopOf(cluster, place)),
    ...balanced.map(({ name }) => deleteBalancerOf(clusterOf(here, name), place)),
  ]
}

function resizeJob(
  { provider, account, region, name }: ReturnType<typeof toGroup>,
  instances: number,
): JsonObject {
  return {
    type: 'resizeServerGroup',
    name: `Scale ${name} to ${instances}`,
    cloudProvider: provider,
    credentials: account,
    regions: [region],
    region,
    serverGroupName: name,
    asgName: name,
    action: 'scale_exact',
    capacity: { min: instances, max: instances, desired: instances },
  }
}

function describeLeft({ name }: RunningDatabase): string {
  return `attach: ${name} is not in the file any more. It runs on with its data and is backed up. To delete it: fairlead db remove ${name}`
}

function toPlanView({ app, objects, isEjected, notes }: PlannedApp): JsonObject {
  const named = (state: ObjectPlan['state']) =>
    objects
      .filter((each) => each.state === state)
      .map(({ object: { kind, name }, fields }) => ({
        kind,
        name,
        ...(fields.length > 0 && { fields }),
      }))
  return {
    application: app.application,
    digest: app.digest,
    creates: named('create'),
    changes: named('change'),
    removes: named('removed'),
    drift: named('drift'),
    ejected: isEjected,
    notes,
  }
}

/** What of the file has no effect here, for people. */
function notesOf(here: AppHere, place: AppPlace): string[] {
  if (isClusterPlace(place)) return clusterNotes(here, place)
  const { registry, services, promote } = here
  const limited = services.filter(({ cpu }) => cpu !== undefined).map(({ name }) => name)
  const canary = promote?.canary as { readonly config?: string | undefined } | undefined
  return [
    ...(registry === undefined ? [] : ['registry: the image stays in the image store.']),
    ...(limited.length === 0 ? [] : [`cpu of ${limited.join(', ')}: processors are not limited.`]),
    ...(canary?.config === undefined ? [] : ['promote.canary.config: no analysis is made.']),
  ]
}
