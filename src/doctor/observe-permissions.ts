/** The permission service for somebody who only wants to know: it is asked as usual, and told nothing. */
import type { User } from '../http/request-state.ts'
import { listOf } from '../login/trace.ts'
import type { LoginReport, Permissions } from '../permissions/permissions.ts'

export interface Observation {
  /** It is configured and does not run at present. */
  readonly isAbsent: boolean
  /** Told what would have been reported. */
  readonly onReport: (text: string) => void
}

export function observePermissions(real: Permissions, { isAbsent, onReport }: Observation): Permissions {
  const absent = { kind: 'unavailable', cause: new Error('it is not running') } as const
  return {
    enabled: real.enabled || isAbsent,
    sessionFilter: real.sessionFilter,
    lookUp: async (user) => (isAbsent ? absent : real.lookUp(user)),
    viewOf: async (user) => (isAbsent ? undefined : real.viewOf(user)),
    isAdmin: async (user) => !isAbsent && real.isAdmin(user),
    mayOnApplication: async (user, application, authorization) =>
      !isAbsent && real.mayOnApplication(user, application, authorization),
    reportLogin: async (user, report) => onReport(describe(user, report)),
    reportLogout: async () => {},
    serviceAccountsOf: async (user, application) => (isAbsent ? [] : real.serviceAccountsOf(user, application)),
    syncRoles: async () => {},
    close: () => {},
  }
}

function describe({ username, roles }: User, report: LoginReport | undefined): string {
  const withRoles = report?.call !== 'roles-if-any' || roles.length > 0
  return `the login tells the permission service that ${username} is here, ${
    withRoles ? `with the roles ${listOf(roles)}` : 'without saying anything about roles'
  }`
}
