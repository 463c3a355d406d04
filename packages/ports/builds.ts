/** Builds of build servers, as other capabilities use them. */
import { type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import type { PermissionRecord } from '@fairlead/model/rights/permissions.ts'
import type { Caller } from './caller.ts'
import type { PortRules } from './rules.ts'
import type { SecretHolder } from './secrets.ts'

export interface BuildJob {
  /** Name of the build server. */
  readonly host: string
  /** Jobs in folders hold slashes. */
  readonly job: string
}

export interface Build extends BuildJob {
  readonly number: number
}

/** How often builds may be asked for, in milliseconds. */
interface BuildPauses {
  /** Pause while it runs: when it has just begun, and later. */
  readonly least: number
  readonly most: number
  /** Longest one while it is in the queue. */
  readonly queued: number
  /** While the same order is in progress. */
  readonly order: number
}

export interface BuildOrder extends BuildJob {
  readonly parameters: Readonly<Record<string, string>>
  /** When the stage began that orders it, as text: its equal orders are one build. */
  readonly startTime: string
}

export interface QueuedBuild extends BuildJob {
  readonly item: string
}

/** One that waits and why, or the build that it has become. */
export const toQueueItem = shape({
  number: numberOf,
  isCancelled: [isTrue, 'cancelled'],
  why: textOf,
})
export type QueueItem = ShapeOf<typeof toQueueItem>

/** Package of a registry, as an artifact names it. */
interface PackageVersion {
  readonly location: string
  readonly name: string
  readonly version: string
}

export interface SourceFileQuery {
  readonly application: string
  /** Id of the uploaded folder. */
  readonly source: string
  readonly path: string
  readonly maxBytes: number
}

/** Absent builds, files and packages are undefined. All throw a `PortError` for a refusal. */
export interface Builds {
  /** In messages. */
  readonly name: string
  /** Whether it puts values in place of references to secrets by itself, where they are needed. */
  readonly takesReferences: boolean
  readonly pauses: BuildPauses
  /** Whether files of its builds are offered as artifacts. */
  readonly offersFiles: boolean
  /** Build server that makes images of uploaded folders: see `toAppBuildStage`. Undefined: none does. */
  readonly sourceServer: string | undefined
  /**
   * A file of an uploaded folder; undefined: it has none, or a larger one.
   *
   * @throws {PortError} 403; 404 where the folder is not there
   */
  sourceFile(file: SourceFileQuery, as: Caller): Promise<Buffer | undefined>
  /**
   * Keeps the files of a tar archive, compressed with gzip or not, as an uploaded folder.
   *
   * @returns its id
   * @throws {PortError} 400 for what no folder may have; 403, 404, 413
   */
  keepSource(
    order: { readonly application: string; readonly archive: Buffer },
    as: Caller,
  ): Promise<string>
  /** Build servers. */
  services(as: Caller): Promise<PermissionRecord[]>
  /** @returns the queue item; undefined while an equal order is still in progress */
  start(order: BuildOrder, as: Caller): Promise<string | undefined>
  /** @param build With the number 0 while it is in the queue; one that is over stays as it is */
  stop(build: Build & QueuedBuild, as: Caller): Promise<void>
  queueItem(queued: QueuedBuild, as: Caller): Promise<QueueItem | undefined>
  build(build: Build, as: Caller): Promise<JsonObject | undefined>
  /** @param fileName Of the archived file that holds them */
  properties(build: Build, fileName: string, as: Caller): Promise<JsonObject | undefined>
  /** @param propertyFile Where it may name artifacts */
  artifacts(
    build: Build,
    propertyFile: string | undefined,
    as: Caller,
  ): Promise<readonly JsonObject[] | undefined>
  /** Content of an archived file. */
  file(build: Build, path: string, as: Caller): Promise<Buffer | undefined>
  /** Artifact of a package. */
  package(version: PackageVersion, as: Caller): Promise<JsonObject | undefined>
  /** Whether a build of this process still runs. */
  isRunning(id: string): boolean
  /** Builds of this process that have values of secrets at this moment. */
  secretHolders(): readonly SecretHolder[]
}

export const buildRules: PortRules<Builds> = {
  service: 'igor',
  changes: ['start', 'stop', 'keepSource'],
  holdsSecrets: ['start'],
  once: [],
}
