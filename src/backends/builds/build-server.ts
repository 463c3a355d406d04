/**
 * A kind of build server, such as Jenkins, and one server of it.
 *
 * To add a kind, export a `BuildServerType` from a file of this folder, and list it in `build-servers.ts`. Shapes of jobs and builds:
 * docs/contracts/builds.md.
 */
import type { z } from 'zod'
import type { JsonObject } from '../../json/values.ts'
import type { SettingsReport } from '../../settings/setting.ts'
import type { BackendContext } from '../backend.ts'

export interface BuildServerType<Settings extends object = object, Keys = object> {
  /** As `GET /masters?type=` names it: `jenkins`. */
  readonly id: string
  readonly keys: z.ZodObject
  /** Plain data, which is handed to a worker thread; undefined while no such server is connected. */
  toSettings(keys: Keys, report: SettingsReport): Settings | undefined
  open(settings: Settings, context: BackendContext): readonly BuildServer[]
}

/** Undefined means that there is no such job, build, file or item; other failures of the server are errors. */
export interface BuildServer {
  /** As `BuildServerType.id`. */
  readonly type: string
  /** Unique among all build servers. */
  readonly name: string
  /** Names of jobs; those in folders hold slashes. */
  jobs(): Promise<readonly string[]>
  job(job: string): Promise<JsonObject | undefined>
  /** Newest first. */
  builds(job: string): Promise<readonly JsonObject[] | undefined>
  build(job: string, number: number): Promise<JsonObject | undefined>
  /** The content of a file of the build that holds properties. */
  properties(job: string, number: number, fileName: string): Promise<JsonObject | undefined>
  artifacts(job: string, number: number): Promise<readonly JsonObject[] | undefined>
  queueItem(item: string): Promise<JsonObject | undefined>
  /**
   * The number of the queue item or build, as text; undefined while the same order is still in progress.
   *
   * @throws {BackendError} 400 when the job cannot be started with these parameters
   */
  start(job: string, order: BuildOrder): Promise<string | undefined>
  /** @param number 0 while the item is queued */
  stop(job: string, item: string, number: number): Promise<void>
  describe(job: string, number: number, description: string): Promise<void>
  /**
   * Jobs whose builds may have changed since the last call, with their newest builds; at the first call all jobs. A server that
   * says what has changed, or answers conditional requests, is asked for little.
   */
  recentBuilds(signal: AbortSignal): Promise<readonly RecentBuilds[]>
  /** Calls the listener as soon as a build changes, besides the polls. */
  watch?(changed: () => void): void
  /** @param build Its id, as `GET /ci/builds` lists it */
  output(build: string): Promise<string | undefined>
  close?(): void
}

export interface RecentBuilds {
  readonly job: string
  /** Newest first. */
  readonly builds: readonly JsonObject[]
}

export interface BuildOrder {
  readonly parameters: Readonly<Record<string, string>>
  /** The execution and the time of its stage: equal orders start one build. */
  readonly id: string
}
