/** Checks what a second user may do, and which accounts run programs as the own user of Fairlead. */

import { type Check, createCheck, type Finding } from '@fairlead/base/findings/finding.ts'
import {
  areRolesBuiltIn,
  builtInAdvice,
  isUndecided,
} from '@fairlead/engine/permissions/settings.ts'
import { ownAccountAdvice, ownAccounts } from '@fairlead/model/rights/built-in-roles.ts'
import type { Config } from '../config/config.ts'
import { isNewData } from '../hosting/data-age.ts'

/** Nothing where users or their rights are elsewhere. */
export function checkUsers({
  backends: { permissions, infrastructure, dataDir },
}: Pick<Config, 'backends'>): Check[] {
  if (permissions?.keepsUsers !== true) return []
  return [
    createCheck('Users', (report): Finding[] => {
      const isNew = isNewData(dataDir)
      const tried = 'look at what users without a role may do'
      if (isUndecided(permissions, isNew))
        return [
          report.warning(
            tried,
            'users without a role change and run everything, as in older versions',
            builtInAdvice,
          ),
        ]
      if (!areRolesBuiltIn(permissions, isNew)) return [report.ok(tried, 'what your rules say')]
      const own = ownAccounts(infrastructure)
      const shown =
        own.length === 0
          ? ''
          : `; in the accounts without a user (${own.map(({ name }) => name).join(', ')}): ${ownAccountAdvice}`
      return [report.ok(tried, `users without a role may read${shown}`)]
    }),
  ]
}
