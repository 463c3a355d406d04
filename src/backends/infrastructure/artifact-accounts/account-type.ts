/**
 * Types of artifact accounts: their settings, and how their artifacts are fetched.
 *
 * To add one, export an `ArtifactAccountType` from a file of this folder and list it in `all.ts`.
 */
import type { z } from 'zod'
import type { SettingsReport } from '../../../settings/setting.ts'
import type { BackendContext } from '../../backend.ts'
import type { ArtifactAccount } from './artifact-account.ts'

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

/** Content of one artifact. */
export const maxArtifactBytes = 64 * 1024 * 1024
/** The caller waits for the content, and stops after two minutes without a byte. */
export const fetchTimeoutMs = 50_000
