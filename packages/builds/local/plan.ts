/** The order of one build for its runner, and the places of both in the working directory. */
import type { BuildStep, ServiceContainer } from './job-definition.ts'
import type { ImageDefaults } from './sources/image-defaults.ts'

/** Files and folders in the working directory of the runner. */
export const planFile = 'plan.json'
export const repositoryFolder = 'repository'
export const sourceFolder = 'source'
export const archiveFolder = 'archive'
export const imageFolder = 'image'
export const reportFile = 'report.json'

/** Branch of the repository in the working directory: what is checked out. */
export const buildBranch = 'fairlead-build'

export interface BuildPlan {
  /** For the log: `web/main 7`. */
  readonly title: string
  /** Undefined: the build has no checkout. */
  readonly source: PlannedSource | undefined
  readonly steps: readonly BuildStep[]
  readonly services: Readonly<Record<string, ServiceContainer>>
  /** Variables of steps and services, with the values of secrets. */
  readonly environment: Readonly<Record<string, string>>
  /** Texts that the log must not show, longest first. */
  readonly secrets: readonly string[]
  /** Folder that builds of the job keep; the runner may write it. */
  readonly cache: string | undefined
  /** Folders of the checkout that are kept in it. */
  readonly cachedFolders: readonly string[]
  readonly archive: readonly string[]
  readonly tests: { readonly junit: readonly string[]; readonly tap: readonly string[] }
  /** Folder of the checkout that becomes an image. */
  readonly imageFrom: string | undefined
  /** What the image of an uploaded folder does not say itself; the folder is moved. */
  readonly imageDefaults?: ImageDefaults
  readonly bounds: { readonly maxFiles: number; readonly maxFileBytes: number }
}

interface PlannedSource {
  readonly commit: string
  /** Without credentials. */
  readonly url: string
}
