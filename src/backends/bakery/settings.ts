/** Settings of the embedded bakery, and of the providers that bake. */

export interface BakerySettings {
  /** Whether users may run commands on this machine. */
  readonly allowsCommands: boolean
  readonly defaultProvider: string
  /** By provider. */
  readonly providers: Readonly<Record<string, unknown>>
}
