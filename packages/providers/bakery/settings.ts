/** Settings of the embedded bakery, and of the providers that bake. */
import type { ManifestBakeSettings } from './manifests/settings.ts'

export interface BakerySettings {
  /** Whether users may run commands on this machine. */
  readonly allowsCommands: boolean
  readonly defaultProvider: string
  /** Programs that render manifests. Default: those in `PATH`. */
  readonly manifests?: ManifestBakeSettings
  readonly providers: Readonly<Record<string, unknown>>
}
