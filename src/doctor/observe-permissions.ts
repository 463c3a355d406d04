/** A read-only permission service: lookups work as usual, logins are not reported. */
import type { User } from '../http/request-state.ts'
import { joinNames } from '../login/trace.ts'
import type { Permissions } from '../permissions/fiat-permissions.ts'
import type { LoginReport } from '../rights/permissions.ts'

interface Observation {
  /** It is configured and does not run at present. */
  readonly isAbsent: boolean
  /** Told what would have been reported. */
  readonly onReport: (text: string) => void
}

/** What a login asks is answered; everything else is that of the real one. */
export function observePermissions(real: Permissions, { isAbsent, onReport }: Observation): Permissions {
  const absent = { kind: 'unavailable', cause: new Error('it is not running') } as const
  const own: Partial<Permissions> = {
    enabled: real.enabled || isAbsent,
    lookUp: async (user) => (isAbsent ? absent : real.lookUp(user)),
    viewOf: async (user) => (isAbsent ? undefined : real.viewOf(user)),
    reportLogin: async (user, report) => onReport(describe(user, report)),
    reportLogout: async () => {},
    syncRoles: async () => {},
    close: () => {},
  }
  return new Proxy(real, {
    get: (target, name) => {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function describe({ username, roles }: User, report: LoginReport | undefined): string {
  const withRoles = report?.call !== 'roles-if-any' || roles.length > 0
  return `the login tells the permission service that ${username} is here, ${
    withRoles ? `with the roles ${joinNames(roles)}` : 'without saying anything about roles'
  }`
}
