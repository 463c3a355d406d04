/**
 * Types of artifact accounts: their settings, and how their artifacts are fetched.
 *
 * To add one, export an `ArtifactAccountType` from a file of this folder and list it in `all.ts`.
 */
import type { z } from 'zod'
import type { JsonObject } from '../../../json/values.ts'
import type { SettingsReport } from '../../../settings/setting.ts'
import type { BackendContext } from '../../backend.ts'

/** @typeParam Settings Plain data, which is handed to the thread of the back ends */
export interface ArtifactAccountType<Keys extends z.ZodObject = z.ZodObject, Settings = unknown> {
  /** Unique. */
  readonly id: string
  /** Each name begins with `artifacts.`, the id and a dot. */
  readonly keys: Keys
  /** Undefined where it is switched off. */
  toSettings(keys: z.output<Keys>, report: SettingsReport): Settings | undefined
  open(settings: Settings, context: BackendContext): readonly ArtifactAccount[]
}

export interface ArtifactAccount {
  readonly name: string
  /** Types of artifacts that it fetches. */
  readonly types: readonly string[]
  /** Its artifacts may name another account, or none. */
  readonly isImplied?: true
  /** @throws {BackendError} 400 for a wrong artifact, 404 for a missing one, 502 and 504 for failures of its source */
  fetch(artifact: JsonObject): Promise<Buffer>
  /** `metadata.digest` of its artifacts is that of a manifest, which it checks itself, and not of the content. */
  readonly checksDigest?: true
  /** Names of its artifacts, where its source lists them. */
  names?(): Promise<readonly string[]>
  /** Versions of one of them, the newest first where they have an order. */
  versions?(name: string): Promise<readonly string[]>
  /** Host of a registry. */
  readonly host?: string
  /** The digest of a version, where its source tells it without the content. */
  digestOf?(name: string, version: string): Promise<string | undefined>
}

/** Content of one artifact. */
export const maxArtifactBytes = 64 * 1024 * 1024
/** The caller waits for the content, and stops after two minutes without a byte. */
export const fetchTimeoutMs = 50_000
