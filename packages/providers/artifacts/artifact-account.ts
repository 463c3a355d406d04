/** An account of artifacts, which lists and fetches them. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { OutsideAccount } from '@fairlead/ports/rights/outside-account.ts'

export interface ArtifactAccount {
  readonly name: string
  /** Types of artifacts that it fetches. */
  readonly types: readonly string[]
  /** Who may use it; undefined: it judges itself, or has nothing of the operator's. */
  readonly use?: OutsideAccount
  /** Its artifacts may name another account, or none. */
  readonly isImplied?: true
  /**
   * @param user In whose name it is fetched; undefined: Fairlead itself asks
   * @throws {PortError} 400 for a wrong artifact, 404 for a missing one, 502 and 504 for failures of its source
   */
  fetch(artifact: JsonObject, user?: string): Promise<Buffer>
  /** `metadata.digest` of its artifacts is that of a manifest, which it checks itself, and not of the content. */
  readonly checksDigest?: true
  /** Names of its artifacts, where its source lists them. @param user Sees only what they may read; undefined: a trigger asks */
  names?(user: string | undefined): Promise<readonly string[]>
  /** Versions of one of them, the newest first where they have an order. @param user As for names */
  versions?(name: string, user: string | undefined): Promise<readonly string[]>
  /** Host of a registry. */
  readonly host?: string
  /** The digest of a version, where its source tells it without the content. */
  digestOf?(name: string, version: string): Promise<string | undefined>
}
