/** Runs of apps: deployments, rollbacks, promotions, and restarts for new secrets. */

import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { AppHere } from '@fairlead/model/app-file/merge-environment.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { toAppBuildStage } from '@fairlead/ports/app-builds.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { AppPlace } from './account-places.ts'
import { type ReadApp, secretsOf, withoutCanary } from './app-environment.ts'
import { wordOf, writeObjects } from './app-objects.ts'
import { type AppRecords, chooseEnvironment, versionOf } from './app-records.ts'
import type { AppRun, AppRunKind, DatabaseOrder } from './app-store.ts'
import { deploymentStages } from './compile.ts'
import { isClusterPlace, otherWorkloadStages, removalStages } from './compile-manifests.ts'
import { type AppOrder, type AppPlans, toPlanView } from './plans.ts'
import { previewOf } from './previews.ts'
import { appStopStages, behind, servingClusters, withConstraints } from './run-stages.ts'

interface DeploymentOrder extends AppOrder {
  /** Such as `shop:7-4f7c2d1`, which exists; undefined: one is built of the source. */
  readonly image: string | undefined
  /** Id of an uploaded folder. */
  readonly source: string | undefined
  /** Commit of the source, with `-dirty` where files had changed since. */
  readonly commit: string | undefined
  readonly commitDetails?: CommitDetails | undefined
  readonly message: string | undefined
  /** Whether what was edited elsewhere is written over. */
  readonly overwrite: boolean
}

/** What Git tells of a commit. */
type CommitDetails = Readonly<
  Partial<Record<'message' | 'author' | 'email' | 'branch' | 'timestamp', string | undefined>>
>

interface RollbackOrder {
  readonly application: string
  readonly environment: string | undefined
  /** Undefined: the version that ran before. */
  readonly to: string | undefined
  readonly dryRun: boolean
}

interface PromotionOrder {
  readonly application: string
  /** Undefined: the second environment. */
  readonly to: string | undefined
  readonly message: string | undefined
}

const runsLookedAt = 200

export class AppDeployments {
  readonly #records: AppRecords
  readonly #plans: AppPlans

  constructor(records: AppRecords, plans: AppPlans) {
    this.#records = records
    this.#plans = plans
  }

  /** What a deployment would create or change; nothing is written. @throws {PortError} 400 with all errors of the file */
  async plan(order: AppOrder, as: Caller): Promise<JsonObject> {
    const planned = await this.#plans.plan(order, as)
    return { ...toPlanView(planned), environment: planned.here.environment }
  }

  /** @throws {PortError} 400 with all errors of the file, or naming the first object that could not be written */
  async deploy(order: DeploymentOrder, as: Caller): Promise<JsonObject> {
    return this.#records.inTurn(order.application, () => this.#deploy(order, 'deployment', as))
  }

  async #deploy(order: DeploymentOrder, kind: AppRunKind, as: Caller): Promise<JsonObject> {
    const { application, file, message, overwrite } = order
    let planned = await this.#plans.plan(order, as)
    if (!planned.isReserved && !planned.isEjected) {
      await this.#records.databases.reserve(planned.app, planned.placeOf, as)
      planned = await this.#plans.plan(order, as)
    }
    const { app, here, placeOf, objects, isEjected, attachStages } = planned
    if (!isEjected) {
      const { ports } = this.#records.context
      await writeObjects(objects, overwrite, { application, ports, store: this.#records.store, as })
      this.#keepFile(order, app.digest)
    }
    const definition = await this.#records.storedPipeline(application, here.environment, as)
    const { image, build } = this.#imageOf(order, here, placeOf(here))
    const { stages: stored } = readPipeline(definition)
    const deployment = isEjected
      ? stored
      : [
          ...withConstraints(after(attachStages, stored), {
            here,
            place: placeOf(here),
            before: beforeOf(app, here, placeOf),
            image,
            version: versionOf(image),
          }),
          ...(await this.#stopsOf(here, placeOf(here), as)),
        ]
    const stages = build === undefined ? deployment : after([build], deployment)
    const run = await this.#records.start(
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
    const { sourceServer } = this.#records.context.ports.builds
    if (source === undefined || sourceServer === undefined)
      throw new PortError(
        400,
        'Nothing here builds images of uploaded folders: set builds.local.enabled, or deploy an image.',
      )
    const number = this.#records.store.nextNumber(application)
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

  /** Deploys a version again, as its file had it, without its release. @throws {PortError} 400 naming the versions that are kept */
  async rollback(order: RollbackOrder, as: Caller): Promise<JsonObject> {
    const { application, environment, to } = order
    return this.#records.inTurn(application, async () => {
      const { app } = await this.#records.known(application, as)
      const current = chooseEnvironment(app, environment)
      const kept = await this.#keptVersions(current, as)
      const serving = await this.#records.servingVersion(current, as)
      const target =
        to === undefined
          ? kept.find(({ version }) => version !== serving)
          : kept.find(({ version }) => version === to)
      if (target === undefined) throw notKept(current.environment, to, kept)
      const former = chooseEnvironment(
        await this.#records.withDatabases(this.#records.readFormer(target.file, current), as),
        current.environment,
      )
      const place = await this.#records.placeOf(former, as)
      const { ports } = this.#records.context
      const change = { environment: current.environment, from: serving ?? null, to: target.version }
      if (order.dryRun)
        return { ...change, image: target.image, services: former.services.map(({ name }) => name) }
      const stored = await this.#records.storedPipeline(application, current.environment, as)
      const extra = servingClusters(current).filter(
        (cluster) => !servingClusters(former).includes(cluster),
      )
      const stops = isClusterPlace(place)
        ? [
            ...removalStages(current, former, place),
            ...otherWorkloadStages(
              former,
              place,
              await ports.infrastructure.serverGroups(application, as),
            ),
          ]
        : appStopStages({ here: former, place, clusters: extra })
      const stages = [
        ...deploymentStages(withoutCanary(former), place).filter(
          ({ refId }) => refId !== 'release',
        ),
        ...stops,
      ].map(withoutRelease)
      const run = await this.#records.start(
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
    return this.#records.inTurn(application, async () => {
      await this.#records.known(application, as)
      const app = await this.#records.withDatabases(this.#records.fileOf(application), as)
      const target = to === undefined ? app.environments[1] : chooseEnvironment(app, to)
      const index = target === undefined ? -1 : app.environments.indexOf(target)
      const source = app.environments[index - 1]
      if (target === undefined || source === undefined)
        throw new PortError(
          400,
          `Nothing lies before ${target?.environment ?? 'it'}: a promotion needs two environments in the app file. Deploy to it with --env.`,
        )
      const serving = await this.#records.servingVersion(source, as)
      const from = this.#records.store
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

  /** Starts services anew that use a secret, with the versions that they run. */
  async applySecret(
    application: string,
    { name, restarts }: { readonly name: string; readonly restarts: boolean },
    as: Caller,
  ): Promise<JsonObject> {
    if ((this.#records.store.app(application)?.file ?? '') === '') return { usedBy: [], runs: [] }
    return this.#records.inTurn(application, async () => {
      const { app } = await this.#records.known(application, as)
      const users = app.environments.filter((here) => Object.values(secretsOf(here)).includes(name))
      const usedBy = users.flatMap((here) =>
        here.services.map((service) => `${here.environment}/${service.name}`),
      )
      const runs: JsonObject[] = []
      for (const here of restarts ? users : []) {
        const serving = await this.#servingRun(here, as)
        if (serving === undefined) continue
        const definition = await this.#records.storedPipeline(application, here.environment, as)
        const stages = readPipeline(definition)
          .stages.filter(({ refId }) => refId !== 'release')
          .map(withoutRelease)
        const { image, file } = serving
        const message = `New value of the secret ${name}`
        runs.push(
          await this.#records.start(
            { here, kind: 'restart', image, file, message, definition: { ...definition, stages } },
            as,
          ),
        )
      }
      return { usedBy, runs }
    })
  }

  /**
   * Starts services anew with the next password of a database, with the versions that they run, and then the server without the former one.
   *
   * @throws {PortError} 400, 404, 409 where pipelines are the user's own or were edited elsewhere
   */
  async rotatePassword(order: DatabaseOrder, as: Caller): Promise<JsonObject> {
    const { application, environment, name } = order
    return this.#records.inTurn(application, async () => {
      const { databases, store, context } = this.#records
      const planned = () => this.#plans.plan({ application, ...this.#fileOf(order) }, as)
      const { isEjected, objects: present, here: attached } = await planned()
      if (isEjected)
        throw new PortError(
          409,
          `${application} is ejected: its pipelines are your own, and would keep the former password.`,
        )
      const edited = present.filter(({ state }) => state === 'drift')
      if (edited.length > 0)
        throw new PortError(
          409,
          `Edited elsewhere, and it would keep the former password: ${edited.map(({ object }) => wordOf(object)).join(', ')}. Deploy with --overwrite, or take the edits into the app file, and repeat this.`,
        )
      const definition = await this.#records.storedPipeline(application, environment, as)
      const serving = await this.#servingRun(attached, as)
      const active = this.#records.lastOf(String(definition['id']))
      if (serving === undefined && active !== undefined)
        throw new PortError(
          409,
          `The first deployment to ${environment} has the present password. Repeat this after its end: fairlead watch ${active}`,
        )
      await databases.beginRotation(attached, name, as)
      const { here, placeOf, portOf, running, objects } = await planned()
      const place = placeOf(here)
      await writeObjects(objects, false, { application, ports: context.ports, store, as })
      const last = databases.endOfRotation({ here, place, portOf, running }, name)
      if (serving === undefined) return databases.start(`rotate ${name}`, [last], order, as)
      const deployments = deploymentStages(withoutCanary(here), place)
        .filter(({ refId }) => refId !== 'release')
        .map(withoutRelease)
      const stages = [
        ...deployments,
        {
          ...last,
          refId: 'password',
          requisiteStageRefIds: deployments.map(({ refId }) => refId),
        },
      ]
      const { image, file } = serving
      const message = `New password of ${name}`
      const { id } = await this.#records.start(
        { here, kind: 'restart', image, file, message, definition: { ...definition, stages } },
        as,
      )
      return { id, environment, name }
    })
  }

  /** The last run that has deployed what serves. */
  async #servingRun(here: AppHere, as: Caller): Promise<AppRun | undefined> {
    const serving = await this.#records.servingVersion(here, as)
    return this.#records.store
      .runs(here.application, here.environment, runsLookedAt)
      .find(({ version }) => version === serving)
  }

  /** The file that was deployed last, or that of a preview. */
  #fileOf({ application, environment }: DatabaseOrder) {
    const { store } = this.#records
    const preview = store
      .previews(application)
      .find(({ branch }) => previewOf(branch) === environment)
    if (preview !== undefined) return { ...preview, environment }
    return { file: store.app(application)?.file ?? '', environment }
  }

  /** Stages for services of the last file that this one no longer has, and which still run. */
  async #stopsOf(here: AppHere, place: AppPlace, as: Caller): Promise<JsonObject[]> {
    const { application, environment } = here
    const [former] = this.#records.store.runs(application, environment, 1)
    if (former === undefined) return []
    const before = this.#records
      .readFormer(former.file, here)
      .environments.find((each) => each.environment === environment)
    // What runs in another account goes on until the user ends it.
    if (before === undefined || before.account !== here.account) return []
    const groups = await this.#records.context.ports.infrastructure.serverGroups(application, as)
    if (isClusterPlace(place))
      return [...removalStages(before, here, place), ...otherWorkloadStages(here, place, groups)]
    const gone = servingClusters(before).filter(
      (cluster) => !servingClusters(here).includes(cluster),
    )
    const present = new Set(groups.map(({ cluster }) => cluster))
    return appStopStages({ here, place, clusters: gone.filter((cluster) => present.has(cluster)) })
  }

  /** Versions that were deployed to the environment and whose images are there, the newest first. */
  async #keptVersions(here: AppHere, as: Caller): Promise<AppRun[]> {
    const { application, environment } = here
    const runs = this.#records.store
      .runs(application, environment, runsLookedAt)
      .filter(({ executionId }) => {
        const status = this.#records.engine.options.store.load(executionId)?.status
        // The record of an old run may have been deleted.
        return status === undefined || status === 'SUCCEEDED'
      })
    const newest = [...Map.groupBy(runs, ({ version }) => version).values()].flatMap(
      ([first]) => first ?? [],
    )
    const { region, provider } = await this.#records.placeOf(here, as)
    const isHere = ({ file }: AppRun) =>
      this.#records
        .readFile(file)
        .environments.some(
          (each) => each.environment === environment && each.account === here.account,
        )
    const names = await this.#records.context.ports.infrastructure.images(
      { provider, text: application, region, tags: {} },
      as,
    )
    const known = new Set(names.flatMap(({ imageId, imageName }) => [imageId, imageName]))
    return newest.filter((run) => (run.image.includes('/') || known.has(run.image)) && isHere(run))
  }

  #keepFile({ application, file, branch }: DeploymentOrder, digest: string): void {
    if (branch === undefined) this.#records.store.keepFile(application, { file, digest })
    else
      this.#records.store.keepPreview(application, {
        branch,
        file,
        deployedMs: this.#records.context.now(),
      })
  }
}

function beforeOf(app: ReadApp, here: AppHere, placeOf: (here: AppHere) => AppPlace) {
  const index = app.environments.findIndex(({ environment }) => environment === here.environment)
  const before = app.environments[index - 1]
  return before && { here: before, place: placeOf(before) }
}

/** Stages with further ones before them. */
function after(first: readonly JsonObject[], stages: readonly JsonObject[]): JsonObject[] {
  const refIds = first.map(({ refId }) => refId)
  return [...first, ...behind(refIds, stages)]
}

/** Same form as the commits of build services. */
function describeCommit({ commit, commitDetails = {}, branch }: DeploymentOrder) {
  if (commit === undefined) return undefined
  const { author: committer, email, branch: checkedOut = branch, ...details } = commitDetails
  return definedOf({
    ...details,
    committer,
    contact: email && { email },
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
