/**
 * Types of artifact accounts: their settings, and how their artifacts are fetched.
 *
 * To add one, export an `ArtifactAccountType` from a file of this folder and list it in `all.ts`.
 */

import { off, type SettingsReport, setting, settings } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { OutsideAccount } from '@fairlead/ports/rights/outside-account.ts'
import { z } from 'zod'
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

interface ListedAccounts<Account> {
  readonly id: string
  /** Description of the setting `artifacts.<id>.enabled`. */
  readonly enabled: string
  /** Description of the setting `artifacts.<id>.accounts`. */
  readonly accounts: string
  readonly account: z.ZodType<Account>
  /** Beyond the names, which have to differ. @param key Of the list */
  check?(accounts: readonly Account[], key: string, report: SettingsReport): void
  open(accounts: readonly Account[], context: BackendContext): readonly ArtifactAccount[]
}

/** A type whose accounts are listed in the settings, and which is off unless it is switched on. */
export function listedAccounts<Account extends OutsideAccount>(type: ListedAccounts<Account>): ArtifactAccountType {
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
