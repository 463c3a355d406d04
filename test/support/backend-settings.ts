/** Settings of the embedded back ends where nothing is set. */
import { z } from 'zod'
import { backendGroups, readBackendGroups } from '../../packages/app/hosting/setting-groups.ts'
import { keysOf } from '../../packages/base/settings/setting.ts'
import type { BackendSettings } from '../../packages/ports/backend.ts'

const report = { problem() {}, notice() {}, isSet: () => false }
const groups = z.strictObject(keysOf(Object.values(backendGroups)))

export const defaults: BackendSettings = {
  ...readBackendGroups(groups.parse({}), report, '/'),
  adminRoles: ['admins'],
  timeZone: 'UTC',
  serviceAccounts: [],
  buildServers: {},
  notifications: { types: {} },
}
