/** Settings of the embedded back ends where nothing is set. */
import { z } from 'zod'
import type { BackendSettings } from '../../src/backends/backend.ts'
import { backendGroups, readBackendGroups } from '../../src/backends/setting-groups.ts'
import { shapeOf } from '../../src/settings/setting.ts'

const report = { problem() {}, notice() {}, isSet: () => false }
const groups = z.strictObject(shapeOf(Object.values(backendGroups)))

export const defaults: BackendSettings = {
  ...readBackendGroups(groups.parse({}), report, '/'),
  adminRoles: ['admins'],
  timeZone: 'UTC',
  serviceAccounts: [],
  buildServers: {},
  notifications: { types: {} },
}
