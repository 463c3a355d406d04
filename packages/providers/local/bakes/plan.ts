/** Templates of images, the order of one bake for its builder, and what the builder reports. */
import type { UnpackBounds } from '../../images/unpack.ts'

/** Name of the variable that holds the plan as JSON in the environment of the builder. */
export const planVariable = 'FAIRLEAD_BAKE_PLAN'

export const imageFolder = 'image'
export const sourceFolder = 'source'
export const reportFile = 'report.json'

/** Written once the builder runs, before the first step. */
export const startLine = 'The bake begins.'

export interface BakePlan {
  /** The working directory holds the content that the image starts with. */
  readonly hasContent: boolean
  readonly sources: readonly BakeSource[]
  readonly steps: readonly TemplateStep[]
  /** Variables that the account gives, also for the checkout. */
  readonly account: Readonly<Record<string, string>>
  /** Variables of all steps, before those that steps add. */
  readonly environment: Readonly<Record<string, string>>
  /** Folder that bakes of the same account keep packages in; the builder may write it. */
  readonly cache: string | undefined
  readonly bounds: UnpackBounds
}

export type BakeSource =
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'archive'; readonly path: string }
  | {
      readonly kind: 'git'
      readonly url: string
      /** Branch, tag or commit; undefined: what the repository has as its default. */
      readonly revision: string | undefined
      /** Folder within the repository. */
      readonly path: string | undefined
    }

/** Written by the builder when all steps are done; readers must not trust it. */
export interface BakeReport {
  readonly commit?: string
}

export type TemplateStep = { readonly ifExists?: string } & (
  | { readonly kind: 'copy'; readonly from: string; readonly to: string }
  | {
      readonly kind: 'run'
      readonly command: readonly string[]
      readonly in: 'image' | 'source'
      /** Not done if the image has this path. */
      readonly unlessExists?: string
      /** Sentences for the log if it fails. */
      readonly remedy?: string
    }
  | { readonly kind: 'environment'; readonly variables: Readonly<Record<string, string>> }
  /** Fails if `ifExists` is there, contains the pattern, and `without` is missing. */
  | {
      readonly kind: 'refuse'
      readonly containing: string
      readonly without: string
      readonly message: string
    }
)

export interface BakeTemplate {
  readonly id: string
  readonly description: string
  readonly details: string
  readonly from?: string
  readonly environment: Readonly<Record<string, string>>
  readonly steps: readonly TemplateStep[]
  /** `fairlead-image.yml` as JSON; what the file of the source says comes first. */
  readonly image?: string
}
