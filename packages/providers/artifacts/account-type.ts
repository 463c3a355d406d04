/**
 * Types of artifact accounts: their settings, and how their artifacts are fetched.
 *
 * To add one, export an `ArtifactAccountType` from a file of this folder and list it in `all.ts`.
 */

import { or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import type { OutsideAccount } from '@fairlead/base/outside/outside-account.ts'
import { off, type SettingsReport, setting, settings } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'

/** @typeParam Settings Plain data, which is handed to the thread of the back ends */
export interface ArtifactAccountType<Keys extends z.ZodObject = z.ZodObject, Settings = unknown> {
  readonly id: string
  /** Each name begins with `artifacts.`, the id and a dot. */
  readonly keys: Keys
  /** Undefined where it is switched off. */
  toSettings(keys: z.output<Keys>, report: SettingsReport): Settings | undefined
  open(settings: Settings, context: BackendContext): readonly ArtifactAccount[]
}

interface ListedAccounts<Account> {
  readonly id: string
  readonly enabled: string
  readonly accounts: string
  readonly account: z.ZodType<Account>
  /** Beyond the names, which have to differ. @param key Of the list */
  check?(accounts: readonly Account[], key: string, report: SettingsReport): void
  open(accounts: readonly Account[], context: BackendContext): readonly ArtifactAccount[]
}

export function listedAccounts<Account extends OutsideAccount>(
  type: ListedAccounts<Account>,
): ArtifactAccountType {
  const { id, enabled, accounts, account, check, open } = type
  const key = `artifacts.${id}.accounts`
  const group = settings({
    isEnabled: setting(`artifacts.${id}.enabled`, off).describe(enabled),
    listed: setting(key, z.array(account).default([])).describe(accounts),
  })
  return {
    id,
    keys: group.keys,
    toSettings(keys: object, report: SettingsReport) {
      const { isEnabled, listed } = group.read(keys) as { isEnabled: boolean; listed: Account[] }
      if (!isEnabled) return undefined
      const names = listed.map(({ name }) => name)
      for (const name of names.filter((each, index) => names.indexOf(each) < index))
        report.problem(key, `the account "${name}" is listed twice`)
      check?.(listed, key, report)
      return listed
    },
    open: (opened, context) => {
      const configured = opened as readonly Account[]
      return open(configured, context).map((each) => ({
        ...each,
        use: configured.find(({ name }) => name === each.name) ?? each,
      }))
    },
  }
}

export const toArtifact = shape({
  type: or(textOf, '(none)'),
  artifactAccount: textOf,
  name: textOf,
  location: textOf,
  reference: textOf,
  version: textOf,
  metadata: shape({ digest: textOf, subPath: textOf }),
})
export type Artifact = ShapeOf<typeof toArtifact>

export interface ArtifactAccount {
  readonly name: string
  readonly types: readonly string[]
  /** Who may use it; undefined: it checks itself, or has nothing of the operator's. */
  readonly use?: OutsideAccount
  /** Default: always. */
  isOffered?(): boolean
  /** Its artifacts may name another account, or none. */
  readonly isImplied?: true
  /**
   * @param user In whose name it is fetched; undefined: Fairlead itself asks
   * @throws {PortError} 400 for a wrong artifact, 404 for a missing one, 502 and 504 for failures of its source
   */
  fetch(artifact: Artifact, user?: string): Promise<Buffer>
  /** `metadata.digest` of its artifacts is that of a manifest, which it checks itself, and not of the content. */
  readonly checksDigest?: true
  /** Names of its artifacts, where its source lists them. @param user Sees only what they may read; undefined: a trigger asks */
  names?(user: string | undefined): Promise<readonly string[]>
  /** Versions of one of them, the newest first where they have an order. @param user As for names */
  versions?(name: string, user: string | undefined): Promise<readonly string[]>
  readonly host?: string
  /** The digest of a version, where its source tells it without the content. */
  digestOf?(name: string, version: string): Promise<string | undefined>
}
