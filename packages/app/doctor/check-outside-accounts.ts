/** Checks which accounts at services outside all users with a pipeline may use, where applications have roles. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Check, createCheck } from '@fairlead/base/findings/finding.ts'
import {
  describeOpenAccounts,
  type OutsideAccount,
} from '@fairlead/base/outside/outside-account.ts'
import { notificationTypes } from '@fairlead/engine/notifications/types/all.ts'
import type { Config } from '../config/config.ts'

/** Nothing where users are not told apart, or each account names roles. */
export function checkOutsideAccounts({
  backends,
  upstreams,
}: Pick<Config, 'backends' | 'upstreams'>): Check[] {
  if (upstreams.services.fiat.kind === 'disabled') return []
  const found = describeOpenAccounts(accountsOf(backends))
  if (found === undefined || !haveRoles(backends)) return []
  const tried = 'look for accounts that name no roles'
  return [
    createCheck('Outside accounts', (report) => [
      report.warning(tried, found, 'add permissions.READ to them'),
    ]),
  ]
}

function accountsOf({
  infrastructure,
  canaries,
  notifications,
}: Config['backends']): OutsideAccount[] {
  const listed = Object.values(infrastructure?.artifacts ?? {}).filter((accounts) =>
    Array.isArray(accounts),
  )
  const kinds = notificationTypes.flatMap(({ id, keys }) => {
    const settings = notifications.types[id]
    const takesRoles = Object.keys(keys.shape).some((key) => key.endsWith('.permissions'))
    return settings !== undefined && takesRoles ? [{ ...settings, name: id }] : []
  })
  return [
    ...[...listed, ...Object.values(canaries?.accounts ?? {})].flat(),
    ...kinds,
  ] as OutsideAccount[]
}

/** Whether users have roles, by a rule of the configuration or as stored here. */
function haveRoles({ permissions, dataDir }: Config['backends']): boolean {
  if ((permissions?.applicationRules.rules.length ?? 0) > 0) return true
  const file = join(dataDir, 'backends.db')
  if (!existsSync(file)) return false
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const restricted =
      "SELECT 1 FROM definitions_documents WHERE kind = 'application-permission' AND json_extract(document, '$.permissions') != '{}'"
    return db.prepare(restricted).get() !== undefined
  } catch {
    // An older version, or one without this store, has no such table.
    return false
  } finally {
    db.close()
  }
}
