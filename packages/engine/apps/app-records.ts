/** Files of apps as they were deployed, with what changed since, and the runs made from them. */
import { definedOf, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { AppHere } from '@fairlead/model/app-file/merge-environment.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { LRUCache } from 'lru-cache'
import type { Engine } from '../orchestration/engine.ts'
import { startPipeline } from '../orchestration/executions.ts'
import { prepareTask } from '../orchestration/submission/prepare-task.ts'
import { type AppPlace, readAccountPlace } from './account-places.ts'
import { type ReadApp, readApp } from './app-environment.ts'
import { type AppRunKind, AppStore, type StoredApp } from './app-store.ts'
import { deployPipelineName } from './compile.ts'
import { AppDatabases } from './databases.ts'
import { isPreview, previewOf, readPreview } from './previews.ts'
import { statusOf } from './status.ts'

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

/** Runs mostly have a few different files. */
const mostFormerFiles = 50

export class AppRecords {
  readonly context: BackendContext
  readonly engine: Engine
  readonly store: AppStore
  readonly databases: AppDatabases
  /** The last change of each application: two deployments write its objects one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>()

  readonly #formerFiles = new LRUCache<string, ReadApp>({ max: mostFormerFiles })

  constructor(context: BackendContext, engine: Engine) {
    this.context = context
    this.engine = engine
    this.store = new AppStore(context.db)
    this.databases = new AppDatabases(context, engine, this.store)
  }

  async known(application: string, as: Caller): Promise<KnownApp> {
    const stored = this.store.app(application)
    if (stored === undefined || stored.file === '')
      throw new PortError(
        404,
        `The application ${application} was not deployed from an app file. Type fairlead deploy in its folder.`,
      )
    const app = await this.withDatabases(this.withScales(readApp(stored.file)), as)
    const previews = this.store
      .previews(application)
      .flatMap(({ file, branch }) => readPreview(file, branch, stored.file).environments)
    return { stored, app: { ...app, environments: [...app.environments, ...previews] } }
  }

  /** A file of a former run. */
  readFile(file: string): ReadApp {
    const app = this.#formerFiles.get(file) ?? readApp(file)
    this.#formerFiles.set(file, app)
    return app
  }

  /** A file of a former run, as the environment has it. */
  readFormer(file: string, { application, environment }: AppHere): ReadApp {
    if (!isPreview(environment)) return this.readFile(file)
    const previews = this.store.previews(application)
    const own = previews.find(({ branch }) => previewOf(branch) === environment)
    return readPreview(file, own?.branch ?? '', this.store.app(application)?.file ?? file)
  }

  /** Without numbers of instances that were set since. */
  fileOf(application: string): ReadApp {
    return readApp(this.store.app(application)?.file ?? '')
  }

  withScales(app: ReadApp): ReadApp {
    const scales = this.store.scales(app.application)
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

  /** Variables of services lead to the databases. */
  async withDatabases(app: ReadApp, as: Caller): Promise<ReadApp> {
    if (app.environments.every(({ attach }) => attach.length === 0)) return app
    return this.databases.withAddresses(app, await this.databases.ports(app.application, as))
  }

  async placeOf({ account }: AppHere, as: Caller): Promise<AppPlace> {
    return readAccountPlace(await this.context.ports.infrastructure.accounts(as), account)
  }

  async storedPipeline(application: string, environment: string, as: Caller): Promise<JsonObject> {
    const name = deployPipelineName(environment)
    const pipelines = await this.context.ports.definitions.pipelinesOf(application, as)
    const found = pipelines.find((each) => each['name'] === name)
    if (found !== undefined) return found
    throw new PortError(
      404,
      `The application ${application} has no pipeline "${name}". Deploy the app file to ${environment} first.`,
    )
  }

  async servingVersion(here: AppHere, as: Caller): Promise<string | undefined> {
    const groups = await this.context.ports.infrastructure.serverGroups(here.application, as)
    const status = statusOf({
      app: { application: here.application, digest: '', environments: [here] },
      stored: { file: '', digest: '', isEjected: false },
      groups,
      balancers: [],
      store: this.store,
      engine: this.engine,
    })
    const services = objectsOf(objectsOf(status['environments'])[0]?.['services'])
    return services.map(({ version }) => textOf(version)).find((version) => version !== undefined)
  }

  async start(order: RunOrder, as: Caller): Promise<JsonObject> {
    const { here, kind, image, file, message, commit, definition } = order
    const { application, environment } = here
    const { options } = this.engine
    const executionId = options.nextId()
    const user = as.user ?? 'anonymous'
    const version = versionOf(image)
    const ahead = this.lastOf(String(definition['id']))
    const trigger = {
      type: 'manual',
      user,
      parameters: { image, release: String(kind === 'deployment' || kind === 'promotion') },
      ...definedOf({ description: message, commit }),
    }
    const run = { executionId, environment, kind, version, image, file, message, user }
    const stored = () => this.store.addRun(application, { ...run, createdMs: this.context.now() })
    await startPipeline({ ...definition, executionId, trigger }, as, this.engine, {
      noteStored: stored,
    })
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
  lastOf(configId: string): string | undefined {
    const { store } = this.engine.options
    const parked = store.parked(configId).toSorted((a, b) => (a.parkedAt < b.parkedAt ? -1 : 1))
    return parked.at(-1)?.id ?? store.begun(configId).at(-1)
  }

  async submitTask(
    application: string,
    description: string,
    job: readonly JsonObject[],
    as: Caller,
  ): Promise<string> {
    const task = await prepareTask({ application, description, job }, as, this.engine.options)
    return this.engine.submit(task).id
  }

  /** Resolves after the changes of the same application that began before. */
  async inTurn<T>(application: string, work: () => Promise<T>): Promise<T> {
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

/** The tag of an image, else its name. */
export function versionOf(image: string): string {
  const mark = image.lastIndexOf(':')
  return mark > image.lastIndexOf('/') ? image.slice(mark + 1) : image
}

export function chooseEnvironment(
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
