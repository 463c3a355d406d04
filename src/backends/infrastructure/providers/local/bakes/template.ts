/** Templates of images, and the other settings of bakes, as plain data. */

export type TemplateStep = { readonly ifExists?: string | undefined } & (
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
  | { readonly kind: 'refuse'; readonly containing: string; readonly without: string; readonly message: string }
)

export interface BakeTemplate {
  readonly id: string
  readonly description: string
  readonly details: string
  readonly from?: string | undefined
  readonly environment: Readonly<Record<string, string>>
  readonly steps: readonly TemplateStep[]
  /** `fairlead-image.yml` of images without one, as text. */
  readonly image?: string | undefined
}
