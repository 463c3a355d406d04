/** Builds of build servers, as other capabilities use them. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Caller } from './caller.ts'

export interface BuildJob {
  /** Name of the build server. */
  readonly host: string
  /** Jobs in folders hold slashes. */
  readonly job: string
}

export interface Build extends BuildJob {
  readonly number: number
}

/** Package of a registry, as an artifact names it. */
export interface PackageVersion {
  readonly location: string
  readonly name: string
  readonly version: string
}

/** Absent builds, files and packages are undefined. All throw a `PortError` for a refusal. */
export interface Builds {
  build(build: Build, as: Caller): Promise<JsonObject | undefined>
  /** @param fileName Of the archived file that holds them */
  properties(build: Build, fileName: string, as: Caller): Promise<JsonObject | undefined>
  /** @param propertyFile Where it may name artifacts */
  artifacts(build: Build, propertyFile: string | undefined, as: Caller): Promise<readonly JsonObject[] | undefined>
  /** Content of an archived file. */
  file(build: Build, path: string, as: Caller): Promise<Buffer | undefined>
  /** Artifact of a package. */
  package(version: PackageVersion, as: Caller): Promise<JsonObject | undefined>
  /** Whether a build of this process still runs. */
  isRunning(id: string): boolean
}
