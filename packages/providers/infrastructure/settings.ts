/** Settings of the embedded infrastructure, and of its providers. */

export interface InfrastructureSettings {
  readonly challengedEnvironments: readonly string[]
  readonly primaryAccountTypes: readonly string[]
  readonly providers: Readonly<Record<string, unknown>>
  /** Accounts of artifacts, by the id of their type. Default: content that is its own artifact. */
  readonly artifacts?: Readonly<Record<string, unknown>>
}
