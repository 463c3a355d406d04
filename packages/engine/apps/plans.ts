/** Plans of deployments: what an app file needs, compared with what is there. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ownDatabases } from '@fairlead/model/app-file/databases.ts'
import type { AppHere } from '@fairlead/model/app-file/merge-environment.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { type AppPlace, readAccountPlace } from './account-places.ts'
import { type ReadApp, readApp, secretsOf } from './app-environment.ts'
import { loadPresent, type ObjectPlan, planObjects } from './app-objects.ts'
import { type AppRecords, chooseEnvironment } from './app-records.ts'
import type { WrittenObject } from './app-store.ts'
import { compileApplication, compileEnvironment, keyOf } from './compile.ts'
import { checkClusterApp, clusterNotes, isClusterPlace } from './compile-manifests.ts'
import { type Connection, compileConnection, connectionOf, pushPipelineName } from './connection.ts'
import {
  backupPipelineName,
  compileBackups,
  type PortOf,
  type RunningDatabase,
} from './databases.ts'
import { hasPreviews, isOfPreview, readPreview } from './previews.ts'

export interface AppOrder {
  /** Branch of a preview, whose environment is the only one then. */
  readonly branch?: string | undefined
  readonly application: string
  readonly file: string
  /** Undefined: the first one of the file. */
  readonly environment: string | undefined
}

/** An app file with the objects that it needs. */
interface PlannedApp {
  readonly app: ReadApp
  readonly here: AppHere
  readonly placeOf: (here: AppHere) => AppPlace
  readonly portOf: PortOf
  readonly running: readonly RunningDatabase[]
  readonly objects: readonly ObjectPlan[]
  readonly isEjected: boolean
  /** For people. */
  readonly notes: readonly string[]
  /** Stages that start databases. */
  readonly attachStages: readonly JsonObject[]
  /** Whether all databases have an address, which the objects name. */
  readonly isReserved: boolean
}

export const pushPipeline = { kind: 'pipeline', name: pushPipelineName } as const
/** Runs of an environment whose files may name another account. */
const formerLookedAt = 20

export class AppPlans {
  readonly #records: AppRecords

  constructor(records: AppRecords) {
    this.#records = records
  }

  async plan(
    { application, file, environment, branch }: AppOrder,
    as: Caller,
  ): Promise<PlannedApp> {
    const { ports } = this.#records.context
    const main = this.#records.store.app(application)?.file ?? file
    const read = branch === undefined ? readApp(file) : readPreview(file, branch, main)
    if (read.application !== application)
      throw new PortError(
        400,
        `The file is that of the application "${read.application}", and was sent for "${application}".`,
      )
    this.#refuseFilledSecrets(chooseEnvironment(read, environment))
    const { databases } = this.#records
    const portOf = await databases.ports(application, as)
    const app = this.#records.withScales(databases.withAddresses(read, portOf))
    const here = chooseEnvironment(app, environment)
    const accounts = await ports.infrastructure.accounts(as)
    const placeOf = ({ account }: AppHere) => readAccountPlace(accounts, account)
    const place = placeOf(here)
    if (isClusterPlace(place)) checkClusterApp(here, place)
    this.#checkSecrets(here)
    const isEjected = this.#records.store.app(application)?.isEjected === true
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
    const running = await databases.running(application, as)
    const attachStages = isEjected
      ? []
      : await databases.attachStages({ here, place, portOf, running }, as)
    const left = running.filter(
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
    const written = this.writtenOf(application, branch && here.environment)
    const objects = isEjected
      ? []
      : planObjects(compiled, present, written).filter((each) => !isLeft(each))
    const notes = [
      ...notesOf(here, place),
      ...(await databases.checkDisks(here, running, as)),
      ...(branch === undefined ? await this.#notesOfLeft(app, as) : []),
      ...left.filter((each) => each.environment === here.environment).map(describeLeft),
    ]
    const isReserved = databases.isReserved(app, placeOf, portOf)
    return {
      ...{ app, here, placeOf, portOf, running, objects },
      ...{ isEjected, notes, attachStages, isReserved },
    }
  }

  /** Sentences about what still runs in accounts that the file does not name any more. */
  async #notesOfLeft(app: ReadApp, as: Caller): Promise<string[]> {
    const former = this.formerIn(app)
    if (former.length === 0) return []
    const groups = await this.#records.context.ports.infrastructure.serverGroups(
      app.application,
      as,
    )
    const running = new Set(groups.map(({ account }) => account))
    return [...new Set(former.map(({ account }) => account))]
      .filter((account) => running.has(account))
      .map(
        (account) =>
          `${account}: the app still runs there, and serves its hosts. Once no request reaches it, stop it: fairlead leave ${account}`,
      )
  }

  /** Environments as former files had them in accounts that this one does not name; the newest of each. */
  formerIn({ application, environments }: ReadApp, account?: string): AppHere[] {
    const named = new Set(environments.map((here) => here.account))
    const found = new Map<string, AppHere>()
    for (const { environment } of environments)
      for (const { file } of this.#records.store.runs(application, environment, formerLookedAt)) {
        const here = this.#records
          .readFile(file)
          .environments.find((each) => each.environment === environment)
        if (here === undefined || named.has(here.account)) continue
        if (account === undefined || here.account === account)
          found.getOrInsert(`${environment} ${here.account}`, here)
      }
    return [...found.values()]
  }

  /** Objects of a preview, or of all other environments. */
  writtenOf(application: string, preview: string | undefined): Map<string, WrittenObject> {
    const own = [...this.#records.store.objects(application)].filter(
      ([key]) => isOfPreview(key, application, preview) !== (preview === undefined),
    )
    return new Map(own)
  }

  /** @throws {PortError} 400 for secrets that are set and would be a database's variable */
  #refuseFilledSecrets(here: AppHere): void {
    const { application, account } = here
    const store = this.#records.context.ports.secrets
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
    const store = this.#records.context.ports.secrets
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
}

export function compilePush(
  connection: Connection | undefined,
  { application, digest }: ReadApp,
  file: string,
) {
  if (connection === undefined) return []
  return [compileConnection(connection, { application, digest, hasPreviews: hasPreviews(file) })]
}

function describeLeft({ name }: RunningDatabase): string {
  return `attach: ${name} is not in the file any more. It runs on with its data and is backed up. To delete it: fairlead db remove ${name}`
}

export function toPlanView({ app, objects, isEjected, notes }: PlannedApp): JsonObject {
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
