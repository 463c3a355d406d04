/** Interface of the values behind references such as `secret:NAME`, for back ends that carry something out. */

/** Who uses secrets, and where; recorded for the list of uses. */
export interface SecretUse {
  /** Its secrets may be used; undefined: those of no application. */
  readonly application?: string
  /** Its secrets may be used too, unless the application has one of that name. */
  readonly account?: string
  readonly user: string
  /** For people: `build web/main 7`, `stage Deploy of pipeline web/main`. Uses of the same place are counted together. */
  readonly place: string
  /** The run that has the value until it ends; as long as it does, a rotated secret names it. */
  readonly run?: SecretRun
}

export interface SecretRun {
  /** The back end that knows whether it still runs, by `isRunning` of its port. */
  readonly service: 'orca' | 'igor'
  readonly id: string
}

/** The version of a secret that something was given. */
export interface SecretVersion {
  /** Form of `SecretScope`: `application:web`, `account:dev`, `vault` or `file`. */
  readonly scope: string
  readonly name: string
  readonly version: number
}

/** What runs with a version of a secret, as the back end that runs it reports. */
export interface SecretHolder extends SecretVersion {
  /** For people: `server group web-v001 in dev/east`. */
  readonly place: string
  /** Instances or jobs there that have the version. */
  readonly count: number
}

export interface Revealed<T> {
  readonly value: T
  readonly secrets: readonly string[]
  readonly versions: readonly SecretVersion[]
}

export interface SecretValues {
  /** Whether a name of a stored secret has a value for the application or account; false where secrets are not kept. */
  isSet(name: string, of: Pick<SecretUse, 'application' | 'account'>): boolean
  /** Sets a secret of an application to a random text of letters, digits, `-` and `_`. Undefined where secrets are not kept. */
  create?(name: string, of: { readonly application: string; readonly user: string }): void
  /** Removes a secret of an application, if there is one. Undefined where secrets are not kept. */
  discard?(name: string, of: { readonly application: string }): void
  /**
   * A copy of JSON data with values in place of references; itself where there are none.
   *
   * @throws {PortError} 400 naming the reference and the remedy: unknown, or its store cannot be read; 503 while Vault is away
   */
  reveal<T>(value: T, use: SecretUse): Promise<Revealed<T>>
  /**
   * Encrypts a text that has to be stored together with what uses it.
   *
   * @param place Has to be the same when it is decrypted
   * @throws {PortError} 400 when there is no key
   */
  seal(text: string, place: string): string
  /** @throws {PortError} 400 when the key is missing, or the text is not of this place */
  unseal(sealed: string, place: string): string
  /** The same text encrypted with the newest key; itself where it is already. */
  reseal(sealed: string, place: string): string
}
