/**
 * Types of manifests: what each needs of a request, and how it is rendered.
 *
 * To add one, export a `ManifestType` from a file of this folder and list it in `all.ts`.
 */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { ProgramCommand } from './programs.ts'
import type { ManifestRequest } from './request.ts'
import type { ManifestBakeSettings } from './settings.ts'
import type { WorkFolder } from './work-folder.ts'

export interface ManifestType {
  /** Name in the path of a request, in upper case. */
  readonly name: string
  /** Field of the request that must hold the input. */
  readonly input: 'inputArtifacts' | 'inputArtifact'
  /**
   * @returns the text of the manifest
   * @throws {PortError} 400 for a wrong request, or a program that is not installed; 500 with the words of a program that failed
   */
  render(request: ManifestRequest, bake: ManifestBake): Promise<string>
}

export interface ManifestBake {
  readonly settings: ManifestBakeSettings
  readonly allowsCommands: boolean
  readonly work: WorkFolder
  /** Content of an artifact, from the infrastructure service. @throws {PortError} with its status */
  fetch(artifact: JsonObject): Promise<Buffer>
  /** In the same order. @throws {PortError} as `fetch` does */
  fetchAll(artifacts: readonly JsonObject[]): Promise<FetchedArtifact[]>
  /** Runs a program in the work folder. @returns its output */
  run(command: ProgramCommand, args: readonly string[]): Promise<string>
}

export interface FetchedArtifact {
  readonly artifact: JsonObject
  readonly content: Buffer
}
