/**
 * A kind of build server, such as Jenkins, and one server of it.
 *
 * To add a kind, export a `BuildServerDeclaration` and a `BuildServerType` from files of a folder of its own, and list them in `declarations.ts`
 * and `build-servers.ts`. Shapes of jobs and builds: docs/contracts/builds.md.
 */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import type { RoleLists } from '@fairlead/model/rights/permissions.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { SecretHolder } from '@fairlead/ports/secrets.ts'
import type { z } from 'zod'
import type { ListedBuild } from './listed-build.ts'
import type { SourceUploads } from './local/sources/source-routes.ts'
import type { Position } from './polls/position.ts'

/** What the configuration needs of a kind. It imports nothing of what opens one: the gateway's thread would load it. */
export interface BuildServerDeclaration<Settings extends object = object, Keys = object> {
  /** Name in `GET /masters?type=`: `jenkins`. */
  readonly id: string
  readonly keys: z.ZodObject
  /** Plain data, which is handed to a worker thread; undefined while no such server is connected. */
  toSettings(keys: Keys, report: SettingsReport): Settings | undefined
}

export interface BuildServerType<Settings extends object = object, Keys = object>
  extends BuildServerDeclaration<Settings, Keys> {
  /** SQL scripts of its own tables, `builds_…`, oldest first; as `Backend.migrations`. */
  readonly migrations?: readonly string[]
  open(settings: Settings, context: BackendContext): readonly BuildServer[]
}

/**
 * Undefined means that there is no such job, build, file or item; other failures of the server are errors.
 *
 * A server whose jobs belong to applications checks the rights of the user that it is given; without one, Fairlead itself asks.
 */
export interface BuildServer {
  /** A `BuildServerType.id`. */
  readonly type: string
  /** Unique among all build servers. */
  readonly name: string
  /** Roles that may see it and start its builds, by `READ` and `WRITE`. Default: all users. */
  readonly permissions?: RoleLists | undefined
  /** It puts values of secrets in place of references in parameters itself; others are given the values. */
  readonly keepsReferences?: true
  /** Pause between two polls. Default: the setting for all servers. */
  readonly pollMs?: number
  /** Files of a build may come after its end: what is missing is looked up again. */
  readonly archivesLate?: true
  /** Most jobs with new builds of one poll. Default: the setting for all servers. */
  readonly maxChanges?: number
  /** Where folders are uploaded that it builds. */
  readonly sources?: SourceUploads
  /** Names of jobs; those in folders hold slashes. */
  jobs(user?: string): Promise<readonly string[]>
  job(job: string, user?: string): Promise<JsonObject | undefined>
  /** Newest first. */
  builds(job: string, user?: string): Promise<readonly JsonObject[] | undefined>
  build(job: string, number: number, user?: string): Promise<JsonObject | undefined>
  /** Commits that builds after the one up to the other have, the newest first; with the fields of a revision of a build. */
  changes?(
    job: string,
    numbers: BuildRange,
    user?: string,
  ): Promise<readonly JsonObject[] | undefined>
  /** The content of a file of the build that holds properties. */
  properties(
    job: string,
    number: number,
    fileName: string,
    user?: string,
  ): Promise<JsonObject | undefined>
  artifacts(job: string, number: number, user?: string): Promise<readonly JsonObject[] | undefined>
  /** Content of an archived file, where the server gives it. @throws {PortError} 413 beyond `maxArtifactBytes` */
  file?(job: string, number: number, path: string, user?: string): Promise<Buffer | undefined>
  /** @param job Of the item, as far as it is known: a server that forgets items finds its build there */
  queueItem(item: string, job?: string): Promise<JsonObject | undefined>
  /**
   * The number of the queue item or build, as text; undefined while the same order is still in progress.
   *
   * @throws {PortError} 400 when the job cannot be started with these parameters
   */
  start(job: string, order: JobOrder): Promise<string | undefined>
  /** @param number 0 while the item is queued */
  stop(job: string, item: string, number: number, user?: string): Promise<void>
  describe(job: string, number: number, description: string, user?: string): Promise<void>
  /**
   * Jobs whose builds may have changed since the last call, with their newest builds; at the first call all jobs. A server that
   * says what has changed, or answers conditional requests, is asked for little.
   *
   * @param positions Of each known job, what has been reported: a build that is not newer, and was not run again, can be left out
   */
  recentBuilds(
    signal: AbortSignal,
    positions: ReadonlyMap<string, Position>,
  ): Promise<readonly RecentBuilds[]>
  /** Calls the listener as soon as a build changes, besides the polls. */
  watch?(changed: () => void): void
  /** The log. */
  output(job: string, number: number, user?: string): Promise<string | undefined>
  /** See `Builds.secretHolders`. */
  secretHolders?(): readonly SecretHolder[]
  /** See `Builds.isRunning`. */
  isRunning?(id: string): boolean
  /** Goes on with its background work, once every back end listens. */
  resume?(): void
  close?(): void | Promise<void>
}

export interface BuildRange {
  readonly after: number
  readonly until: number
}

export interface RecentBuilds {
  readonly job: string
  /** Newest first. */
  readonly builds: readonly ListedBuild[]
}

export interface JobOrder {
  readonly parameters: Readonly<Record<string, string>>
  /** Who asks, and for which application, as far as the caller says. */
  readonly user?: string
  readonly application?: string
  /** The job as `BuildServer.job` has just described it. */
  readonly config: JsonObject
}

/** The name of a kind in answers and events: `JENKINS`, `GITLAB_CI`. */
export function toProvider(type: string): string {
  return type.toUpperCase().replaceAll('-', '_')
}
