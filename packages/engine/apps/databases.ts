/** Databases beside an app: server groups of their own, with a volume, that deployments of the app leave alone. */

import { createHash } from 'node:crypto'
import { objectList, or, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, numberOf, textsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  databaseLabel,
  ownDatabases,
  passwordSecretOf,
  withDatabases,
} from '@fairlead/model/app-file/databases.ts'
import type { AppHere, AttachmentHere } from '@fairlead/model/app-file/merge-environment.ts'
import type { Group } from '@fairlead/model/environments/running.ts'
import { toQuartz } from '@fairlead/model/schedules/crontab.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { Engine } from '../orchestration/engine.ts'
import { startPipeline } from '../orchestration/executions.ts'
import type { AppPlace } from './account-places.ts'
import { clusterOf, clusterParts, type ReadApp } from './app-environment.ts'
import { operate } from './app-objects.ts'
import type { AppStore, DatabaseOrder } from './app-store.ts'
import { appPipelineFields, type CompiledObject } from './compile.ts'
import { isClusterPlace } from './compile-manifests.ts'
import { isPreview } from './previews.ts'
import { deleteBalancerOf, stopOf } from './run-stages.ts'

/** Labels of the server group, beside that of the type. */
const environmentLabel = 'fairlead.environment'
const nameLabel = 'fairlead.database-name'
const digestLabel = 'fairlead.database-digest'
/** How often its password was rotated when the server started: it accepts that password and the next one. */
const generationLabel = 'fairlead.database-password'
/** Labels databases in a container. */
const imageLabel = 'fairlead.database-image'

/** Repositories with programs of databases and the tools of the script, and the version that is taken unless one is given. */
const usualImages: Readonly<Record<AttachmentHere['type'], readonly [string, string]>> = {
  postgresql: ['docker.io/library/postgres', '17'],
  mariadb: ['docker.io/library/mariadb', '11.8'],
  redis: ['docker.io/library/redis', '8'],
  valkey: ['docker.io/valkey/valkey', '8'],
}

/** The image that the file wants; else the one that runs. */
function imageOf(
  { type, version, container }: AttachmentHere,
  former: string | undefined,
): string | undefined {
  const [repository, usual] = usualImages[type]
  if (container !== true) return container || former
  return `${repository}:${version ?? usual}`
}

/** Time after which a server that writes its last pages is killed. */
const stopSeconds = 300
/** Time for the first start, which creates the database, and for one after a crash. */
const startSeconds = 300
const backupSeconds = 4 * 3600
const warnedPercent = 80
const refusedPercent = 95

/** A database that runs, or could: its server group as the infrastructure lists it. */
export interface RunningDatabase {
  readonly environment: string
  readonly name: string
  readonly type: string
  readonly cluster: string
  readonly group: Group
}

type Here = Pick<AppHere, 'application' | 'environment'>
export type PortOf = (here: AppHere, name: string) => number | undefined

interface AttachOrder {
  readonly here: AppHere
  readonly place: AppPlace
  readonly portOf: PortOf
  /** Databases of the application. */
  readonly running: readonly RunningDatabase[]
}

export function backupPipelineName(environment: string, name: string): string {
  return `backup ${name} ${environment}`
}

/** The pipelines that back databases of an environment up. */
export function compileBackups(here: AppHere, place: AppPlace, digest: string): CompiledObject[] {
  // What a preview has goes with it.
  if (isClusterPlace(place) || isPreview(here.environment)) return []
  const scheduled = ownDatabases(here).filter(({ backup }) => backup !== 'off')
  return scheduled.map(({ name, backup }) => {
    const cluster = clusterOf(here, name)
    const pipeline = backupPipelineName(here.environment, name)
    const content = {
      ...appPipelineFields(here, digest),
      name: pipeline,
      limitConcurrent: true,
      keepWaitingPipelines: false,
      triggers: toQuartz(backup).map((cronExpression, index) => ({
        id: `app-file-backup-${cluster}-${index}`,
        type: 'cron',
        enabled: true,
        cronExpression,
        timeZone: 'UTC',
      })),
      stages: [
        jobStage(`Back ${name} up`, ['backup'], { application: here.application, place, cluster }),
      ],
    }
    return { kind: 'pipeline', name: pipeline, content }
  })
}

const toStorage = shape({
  backups: textsOf,
  volumes: objectList(shape({ diskUsedPercent: or(numberOf, 0) })),
})

export class AppDatabases {
  readonly #context: BackendContext
  readonly #engine: Engine
  readonly #store: AppStore

  constructor(context: BackendContext, engine: Engine, store: AppStore) {
    this.#context = context
    this.#engine = engine
    this.#store = store
  }

  /** Variables of services lead to the databases. */
  withAddresses(app: ReadApp, portOf: PortOf): ReadApp {
    const environments = app.environments.map((here) =>
      withDatabases(here, ({ name }) => ({
        port: portOf(here, name) ?? 0,
        generation: this.#generationOf(here, name),
      })),
    )
    return { ...app, environments }
  }

  #generationOf({ application, environment }: Here, name: string): number {
    return this.#store.passwordGeneration({ application, environment, name })
  }

  /** Ports of the databases of an application, by its load balancers. */
  async ports(application: string, as: Caller): Promise<PortOf> {
    const balancers = await this.#context.ports.infrastructure.loadBalancers(application, as)
    return (here, name) => {
      const wanted = clusterOf(here, name)
      const found = balancers.find((each) => each.name === wanted && each.account === here.account)
      return found?.listeners[0]?.externalPort
    }
  }

  /** Whether each database of the file has an address and a password. */
  isReserved(app: ReadApp, placeOf: (here: AppHere) => AppPlace, portOf: PortOf): boolean {
    return onMachine(app, placeOf).every((here) =>
      ownDatabases(here).every(
        ({ name }) =>
          portOf(here, name) !== undefined && this.#missingPasswords(here, name).length === 0,
      ),
    )
  }

  /** Gives each database of the file an address and a password, where it has none. @throws {PortError} */
  async reserve(app: ReadApp, placeOf: (here: AppHere) => AppPlace, as: Caller): Promise<void> {
    const { infrastructure } = this.#context.ports
    for (const here of onMachine(app, placeOf)) {
      for (const { name } of ownDatabases(here)) {
        this.#makePasswords(here, name, as)
        const { provider, account, region } = placeOf(here)
        const content = {
          cloudProvider: provider,
          credentials: account,
          region,
          name: clusterOf(here, name),
          isInternal: true,
          // Any that is free; it keeps that.
          listeners: [{ externalProtocol: 'TCP', externalPort: 0, internalProtocol: 'TCP' }],
          healthCheck: 'TCP:80',
          healthInterval: 2,
          healthyThreshold: 1,
        }
        const object = { kind: 'load-balancer', name: content.name, content } as const
        await operate({ upsertLoadBalancer: content }, object, infrastructure, as)
      }
    }
  }

  /** Names of the secrets with the present password and the next one that are not set. */
  #missingPasswords(here: Here, name: string): string[] {
    const { application } = here
    const generation = this.#generationOf(here, name)
    return [generation, generation + 1]
      .map((each) => passwordSecretOf(here, name, each))
      .filter((secret) => !this.#context.ports.secrets.isSet(secret, { application }))
  }

  /** @throws {PortError} 400 where secrets are not kept */
  #makePasswords(here: Here, name: string, as: Caller): void {
    const { secrets } = this.#context.ports
    const { application } = here
    for (const secret of this.#missingPasswords(here, name)) {
      if (secrets.create === undefined)
        throw new PortError(
          400,
          `attach.${name}: a password cannot be kept, since the definition store is external (services.front50).`,
        )
      secrets.create(secret, { application, user: as.user ?? 'anonymous' })
    }
  }

  /** Forgets the passwords of a database that goes with all its data. */
  discardPasswords(here: Here, name: string): void {
    const { application, environment } = here
    const generation = this.#generationOf(here, name)
    for (const each of [generation - 1, generation, generation + 1])
      this.#context.ports.secrets.discard?.(passwordSecretOf(here, name, each), { application })
    this.#store.keepPasswordGeneration({ application, environment, name }, 0)
  }

  /**
   * Lets services have the next password, which the server accepts already. Where the last rotation did not reach its end, that one goes on.
   *
   * @throws {PortError} 400 where secrets are not kept, 404, 409 for a server that an older version has started
   */
  async beginRotation(here: AppHere, name: string, as: Caller): Promise<void> {
    const { application, environment } = here
    const order = { application, environment, name }
    const { group } = await this.#find(order, as)
    if (ownDatabases(here).every((each) => each.name !== name))
      throw new PortError(
        400,
        `${name} is not in the app file any more, so its password is used by no service.`,
      )
    const accepted = group.labels[generationLabel]
    if (accepted === undefined)
      throw new PortError(
        409,
        `${name} was started by an older version of Fairlead, and knows one password only. Change a key of attach.${name} in the app file, such as keep, deploy, and repeat this.`,
      )
    const present = this.#generationOf(here, name)
    if (Number(accepted) === present) {
      const former = passwordSecretOf(here, name, present - 1)
      if (present > 0) this.#context.ports.secrets.discard?.(former, { application })
      this.#store.keepPasswordGeneration(order, present + 1)
    }
    this.#makePasswords(here, name, as)
  }

  /** The stage that starts a server anew, after which it refuses the former password. @throws {PortError} 404 */
  endOfRotation({ here, place, portOf, running }: AttachOrder, name: string): JsonObject {
    const attachment = ownDatabases(here).find((each) => each.name === name)
    const present = running.find(({ cluster }) => cluster === clusterOf(here, name))
    if (attachment === undefined || present === undefined)
      throw new PortError(404, `${name} does not run in ${here.environment} any more.`)
    const image = present.group.labels[imageLabel]
    const generation = this.#generationOf(here, name)
    const cluster = toCluster(here, { ...attachment, image, generation }, place, portOf(here, name))
    return { type: 'deploy', name: `Take the former password from ${name}`, clusters: [cluster] }
  }

  /**
   * Stages that start databases of an environment which do not run, or not as the file has them.
   *
   * @throws {PortError} 400 naming the package of a program that is not installed
   */
  async attachStages(
    { here, place, portOf, running }: AttachOrder,
    as: Caller,
  ): Promise<JsonObject[]> {
    const stages = ownDatabases(here).map(async (attachment) => {
      const { name } = attachment
      const present = running.find(({ cluster }) => cluster === clusterOf(here, name))
      const labelsNow = present?.group.labels ?? {}
      // A rotation alone ends a password.
      const generation = Number(labelsNow[generationLabel] ?? this.#generationOf(here, name))
      const port = portOf(here, name) ?? 0
      const ofImage = (image: string | undefined) =>
        toServerGroup(here, { ...attachment, image, generation }, place, port)
      const former = labelsNow[imageLabel]
      let image = attachment.container === false ? undefined : imageOf(attachment, former)
      if (present === undefined && image === undefined && attachment.container === undefined)
        image = await this.#imageWithoutProgram(attachment, ofImage, as)
      const started =
        present !== undefined && labelsNow[generationLabel] === undefined ? undefined : generation
      const content = toServerGroup(
        here,
        { ...attachment, image, generation: started },
        place,
        port,
      )
      if (labelsNow[digestLabel] === digestOf(content)) return []
      const cluster = toCluster(here, { ...attachment, image, generation }, place, port)
      await this.#checkProgram(name, cluster, as)
      // Other programs are about to write into its volume.
      const before =
        present === undefined || former === image
          ? []
          : [
              {
                ...jobStage(`Back ${name} up`, ['backup'], jobPlace(here.application, present)),
                refId: `backup-${name}`,
              },
            ]
      return [
        ...before,
        {
          refId: `attach-${name}`,
          requisiteStageRefIds: before.map(({ refId }) => refId),
          type: 'deploy',
          name: `Attach ${name}${image === undefined ? '' : ` (${image})`}`,
          clusters: [cluster],
        },
      ]
    })
    return (await Promise.all(stages)).flat()
  }

  /** The image of a container, where the program is not installed and containers can run; undefined: it is installed, or neither can run. */
  async #imageWithoutProgram(
    attachment: AttachmentHere,
    ofImage: (image: string | undefined) => JsonObject,
    as: Caller,
  ): Promise<string | undefined> {
    const image = imageOf({ ...attachment, container: true }, undefined)
    const canRun = async (cluster: JsonObject) => (await this.#problemsOf(cluster, as)).length === 0
    if (await canRun(ofImage(undefined))) return undefined
    return (await canRun(ofImage(image))) ? image : undefined
  }

  /** @throws {PortError} 400 naming the package of a program that is not installed */
  async #checkProgram(name: string, cluster: JsonObject, as: Caller): Promise<void> {
    const problems = await this.#problemsOf(cluster, as)
    if (problems.length > 0)
      throw new PortError(400, `attach.${name}: ${problems.join(' ').replace(/^imageId: /, '')}`)
  }

  async #problemsOf(cluster: JsonObject, as: Caller): Promise<readonly string[]> {
    const checked = { createServerGroup: { ...cluster, loadBalancers: [] } }
    const provider = String(cluster['cloudProvider'])
    return (await this.#context.ports.infrastructure.preview([checked], provider, as)) ?? []
  }

  async running(application: string, as: Caller): Promise<RunningDatabase[]> {
    const groups = await this.#context.ports.infrastructure.serverGroups(application, as)
    return groups.flatMap((group) => {
      const { labels, cluster = '', disabled } = group
      const type = labels[databaseLabel]
      if (type === undefined || disabled) return []
      return [
        {
          environment: labels[environmentLabel] ?? '',
          name: labels[nameLabel] ?? '',
          type,
          cluster,
          group,
        },
      ]
    })
  }

  /** Databases of the file and those that run, also after they have left the file. */
  async list(app: ReadApp, as: Caller): Promise<JsonObject[]> {
    const [running, portOf] = await Promise.all([
      this.running(app.application, as),
      this.ports(app.application, as),
    ])
    const declared = app.environments.flatMap((here) =>
      ownDatabases(here).map(({ name, type, variable }) => ({ here, name, type, variable })),
    )
    const isDeclared = ({ environment, name }: RunningDatabase) =>
      declared.some((each) => each.here.environment === environment && each.name === name)
    const rows = [
      ...declared.map(({ here, ...each }) => ({
        ...each,
        environment: here.environment,
        port: portOf(here, each.name),
        found: running.find(({ cluster }) => cluster === clusterOf(here, each.name)),
      })),
      ...running
        .filter((each) => !isDeclared(each))
        .map((found) => ({
          ...found,
          variable: undefined,
          port: portOf(
            {
              application: app.application,
              environment: found.environment,
              account: found.group.account,
            } as AppHere,
            found.name,
          ),
          found,
        })),
    ]
    return Promise.all(
      rows.map(async ({ environment, name, type, variable, port, found }) => ({
        environment,
        name,
        type,
        state: stateOf(found),
        address: port === undefined ? null : `127.0.0.1:${port}`,
        variable: variable ?? null,
        cluster: found?.cluster ?? null,
        ...(found === undefined ? { backups: [] } : await this.#storageOf(found, as)),
      })),
    )
  }

  /** Its backups, and how full their disks are. */
  async #storageOf({ group }: RunningDatabase, as: Caller) {
    const { account, region, name } = group
    const found = await this.#context.ports.infrastructure.serverGroup(
      { account, region, name },
      as,
    )
    const { volumes, backups } = toStorage(found?.all)
    return {
      backups,
      diskUsedPercent: Math.max(0, ...volumes.map(({ diskUsedPercent }) => diskUsedPercent)),
    }
  }

  /**
   * Sentences about databases of an environment whose disk fills up.
   *
   * @throws {PortError} 507 where it is so full that a deployment could take what the database needs
   */
  async checkDisks(
    here: AppHere,
    running: readonly RunningDatabase[],
    as: Caller,
  ): Promise<string[]> {
    const own = running.filter(({ environment }) => environment === here.environment)
    const storages = await Promise.all(own.map((each) => this.#storageOf(each, as)))
    return own.flatMap(({ name }, index) => {
      const percent = storages[index]?.diskUsedPercent ?? 0
      const what = `The disk of the database ${name} is ${percent} % full.`
      if (percent >= refusedPercent)
        throw new PortError(
          507,
          `${what} From ${refusedPercent} % on, deployments to ${here.environment} are refused, so that it keeps room. Free some space on the machine, and deploy again.`,
        )
      return percent >= warnedPercent
        ? [`${what} Free some space: from ${refusedPercent} % on, deployments are refused.`]
        : []
    })
  }

  /** Starts a backup besides those of the schedule. @throws {PortError} 400, 404 */
  async backUp(order: DatabaseOrder, as: Caller): Promise<JsonObject> {
    const found = await this.#find(order, as)
    const { environment, name } = found
    const stage = jobStage(`Back ${name} up`, ['backup'], jobPlace(order.application, found))
    return this.start(`backup ${name} ${environment}`, [stage], order, as)
  }

  /** Starts a run that loads a backup into a new folder, which then takes the place of the present one. @param from Undefined: the newest @throws {PortError} 404 */
  async restore(
    order: DatabaseOrder & { readonly from: string | undefined },
    as: Caller,
  ): Promise<JsonObject> {
    const found = await this.#find(order, as)
    const { from } = order
    const { backups } = await this.#storageOf(found, as)
    if (from !== undefined && !backups.includes(from))
      throw new PortError(
        404,
        `${found.name} has no backup "${from}". ${backups.length === 0 ? 'There is none yet.' : `Choose one of ${backups.join(', ')}.`}`,
      )
    const words = ['check-restore', ...(from === undefined ? [] : [from])]
    const stages = renewal(jobPlace(order.application, found), found, {
      check: jobStage('Check the backup', words, jobPlace(order.application, found)),
      // Databases of earlier versions know this name only.
      awaiting: 'await-restore',
      doing: `Load the backup into ${found.name}`,
    })
    return this.start(`restore ${found.name} ${found.environment}`, stages, order, as)
  }

  /**
   * Starts a run that backs it up, and moves it to a major version by a dump, in a new folder; without one, it restarts it with the
   * programs that are installed now. What fails leaves the present folder.
   *
   * @throws {PortError} 400 naming the package of a version that is not installed, 404
   */
  async upgrade(
    order: DatabaseOrder & { readonly to: string | undefined },
    as: Caller,
  ): Promise<JsonObject> {
    const found = await this.#find(order, as)
    const { name, environment } = found
    const { to, application } = order
    const place = jobPlace(application, found)
    const image = found.group.labels[imageLabel]
    if (image !== undefined)
      throw new PortError(
        400,
        `${name} runs in a container of ${image}. For another minor version, write its image in the app file, attach: { ${name}: { container: IMAGE } }, and deploy: it is backed up first. For another major version, attach a second database, and copy what is in it.`,
      )
    if (to !== undefined) {
      if (found.type !== 'postgresql')
        throw new PortError(
          400,
          `${name} is one of ${found.type}: only PostgreSQL is moved to another major version. Back it up, and restore it into one that is attached anew.`,
        )
      const { provider: cloudProvider, account, region } = place.place
      const image = { cloudProvider, account, region, imageId: `fairlead-postgresql:${to}` }
      const parts = { application, ...clusterParts(application, found.cluster) }
      await this.#checkProgram(name, { ...parts, ...image, credentials: account }, as)
    }
    const stages = [
      jobStage(`Back ${name} up`, ['backup'], place),
      ...(to === undefined
        ? [rebootOf(place, found)]
        : renewal(place, found, {
            check: jobStage('Check the upgrade', ['check-upgrade', to], place),
            awaiting: 'await-result',
            doing: `Move ${name} to version ${to}`,
          })),
    ]
    return this.start(`upgrade ${name} ${environment}`, stages, order, as)
  }

  /** Starts a run that backs it up a last time, stops it, and deletes its data; the last backup stays. */
  async remove(order: DatabaseOrder, as: Caller): Promise<JsonObject> {
    const { application } = order
    const found = await this.#find(order, as)
    const { environment, name, cluster } = found
    const place = jobPlace(application, found)
    const stages = [
      jobStage(`Back ${name} up`, ['backup'], place),
      jobStage('Order the removal', ['remove'], place),
      stopOf(cluster, place.place),
      closingOf(cluster, place.place),
    ]
    const run = await this.start(`remove ${name} ${environment}`, stages, order, as)
    const pipeline = { application, name: backupPipelineName(environment, name) }
    const { definitions } = this.#context.ports
    const pipelines = await definitions.pipelinesOf(application, as)
    if (pipelines.some((each) => each['name'] === pipeline.name))
      await definitions.removePipeline(pipeline, as)
    return run
  }

  /** Jobs that stop the databases of an application, all unless an account or environment is given. Their volumes stay. */
  async stopJobs(
    application: string,
    { account, environment }: { readonly account?: string; readonly environment?: string },
    as: Caller,
  ): Promise<JsonObject[]> {
    const running = await this.running(application, as)
    return running.flatMap((found) => {
      const { place, cluster } = jobPlace(application, found)
      if (account !== undefined && place.account !== account) return []
      if (environment !== undefined && found.environment !== environment) return []
      return [stopOf(cluster, place), closingOf(cluster, place)]
    })
  }

  /** @throws {PortError} 404 naming those that run */
  async #find(
    { application, environment, name }: DatabaseOrder,
    as: Caller,
  ): Promise<RunningDatabase> {
    const running = (await this.running(application, as)).filter(
      (each) => each.environment === environment,
    )
    const found = running.find((each) => each.name === name)
    if (found !== undefined) return found
    const names = running.map((each) => each.name).join(', ')
    const remedy =
      names === '' ? '. Write attach in the app file, and deploy it' : `, only ${names}`
    throw new PortError(
      404,
      `No database "${name}" of ${application} runs in ${environment}${remedy}.`,
    )
  }

  /** Starts a run of stages, one after the other. */
  async start(
    name: string,
    stages: readonly JsonObject[],
    { application, environment, name: database }: DatabaseOrder,
    as: Caller,
  ): Promise<JsonObject> {
    const executionId = this.#engine.options.nextId()
    const row = stages.map((stage, index) => ({
      ...stage,
      refId: String(index + 1),
      requisiteStageRefIds: index === 0 ? [] : [String(index)],
    }))
    const trigger = { type: 'manual', user: as.user ?? 'anonymous', parameters: {} }
    await startPipeline({ executionId, application, name, stages: row, trigger }, as, this.#engine)
    return { id: executionId, environment, name: database }
  }
}

/** Environments on accounts of this machine. */
function onMachine(
  { environments }: ReadApp,
  placeOf: (here: AppHere) => AppPlace,
): readonly AppHere[] {
  return environments.filter(
    (here) => ownDatabases(here).length > 0 && !isClusterPlace(placeOf(here)),
  )
}

/** Its server group, as the stage `deploy` takes it. */
function toCluster(
  here: AppHere,
  attachment: StartedDatabase & { readonly generation: number },
  place: AppPlace,
  port: number | undefined,
): JsonObject {
  const content = toServerGroup(here, attachment, place, port ?? 0)
  const { name, type, image, generation } = attachment
  const labels = {
    [databaseLabel]: type,
    [environmentLabel]: here.environment,
    [nameLabel]: name,
    [digestLabel]: digestOf(content),
    [generationLabel]: String(generation),
    ...definedOf({ [imageLabel]: image }),
  }
  return { ...content, labels }
}

function digestOf(content: JsonObject): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 12)
}

interface StartedDatabase extends AttachmentHere {
  readonly image: string | undefined
  /** Of the password that services have; undefined: of a server that an older version has started. */
  readonly generation: number | undefined
}

/** A server group of one instance with a volume of its own, and one for backups, which jobs have, too. */
function toServerGroup(
  here: AppHere,
  {
    name,
    type,
    version,
    memoryBytes,
    keep,
    persistence,
    asCache,
    image,
    generation,
  }: StartedDatabase,
  { provider, account, region }: AppPlace,
  port: number,
): JsonObject {
  const { application } = here
  const cluster = clusterOf(here, name)
  const memoryMb = Math.ceil(memoryBytes / 1024 ** 2)
  return {
    cloudProvider: provider,
    account,
    credentials: account,
    region,
    application,
    ...clusterParts(application, cluster),
    imageId:
      image === undefined
        ? `fairlead-${type}${version === undefined ? '' : `:${version}`}`
        : `fairlead-${type}+${image}`,
    capacity: { min: 1, max: 1, desired: 1 },
    environment: {
      DATABASE_NAME: application,
      ...passwordsOf(here, name, generation),
      DATABASE_PORT: String(port),
      DATABASE_KEEP: String(keep),
      DATABASE_PERSISTENCE: persistence,
      DATABASE_EVICTION: asCache ? 'allkeys-lru' : 'noeviction',
      DATABASE_MEMORY_MB: String(memoryMb),
    },
    limits: { memoryMb },
    stopSeconds,
    volumes: [
      { name: 'data', writers: 'one' },
      { name: 'backups', shared: true },
    ],
    loadBalancers: [cluster],
    startLimits: { seconds: startSeconds },
    strategy: 'recreate',
    maxRemainingAsgs: 1,
    rollback: { onFailure: true },
  }
}

/** Of the first and the second user: the present one, and that of the next rotation. */
function passwordsOf(here: AppHere, name: string, generation: number | undefined) {
  const secretOf = (each: number) => `secret:${passwordSecretOf(here, name, each)}`
  if (generation === undefined) return { DATABASE_PASSWORD: secretOf(0) }
  const isFirst = generation % 2 === 0
  return {
    DATABASE_PASSWORD: secretOf(isFirst ? generation : generation + 1),
    DATABASE_OTHER_PASSWORD: secretOf(isFirst ? generation + 1 : generation),
  }
}

interface JobPlace {
  readonly application: string
  readonly place: AppPlace
  readonly cluster: string
}

/** A program beside the server: with its image, variables and backups. */
function jobStage(
  name: string,
  words: readonly string[],
  { application, place, cluster }: JobPlace,
): JsonObject {
  const { provider, account, region } = place
  return {
    refId: 'database',
    requisiteStageRefIds: [],
    type: 'runJob',
    name,
    cloudProvider: provider,
    account,
    credentials: account,
    region,
    application,
    likeServerGroup: cluster,
    command: ['sh', './database', ...words],
    runtimeLimitSecs: backupSeconds,
  }
}

interface Renewal {
  /** Orders it, where it can be done. */
  readonly check: JsonObject
  /** Command that ends once the server has carried it out. */
  readonly awaiting: string
  readonly doing: string
}

/** The server carries the order out when it starts the next time. */
function renewal(
  place: JobPlace,
  found: RunningDatabase,
  { check, awaiting, doing }: Renewal,
): readonly JsonObject[] {
  return [check, rebootOf(place, found), jobStage(doing, [awaiting], place)]
}

function rebootOf({ place }: JobPlace, { name, group }: RunningDatabase): JsonObject {
  const { account, region, name: serverGroupName, instances } = group
  return {
    type: 'rebootInstances',
    name: `Restart ${name}`,
    cloudProvider: place.provider,
    credentials: account,
    region,
    serverGroupName,
    instanceIds: instances.flatMap(({ id }) => id ?? []),
  }
}

function closingOf(name: string, place: AppPlace): JsonObject {
  return { ...deleteBalancerOf(name, place), name: `Close ${name}` }
}

function jobPlace(application: string, { group, cluster }: RunningDatabase): JobPlace {
  const { provider, account, region } = group
  return { application, cluster, place: { provider, account, region } }
}

function stateOf(found: RunningDatabase | undefined): string {
  if (found === undefined) return 'stopped'
  return found.group.counts.up === 0 ? 'starting' : 'ready'
}
