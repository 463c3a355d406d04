/** Rights and roles of users. */
import type { PermissionView } from '@fairlead/model/rights/permissions.ts'

export interface Rights {
  /** @returns undefined for a user who is not known @throws {PortError} 503 while the permission service is unavailable */
  viewOf(user: string): Promise<PermissionView | undefined>
  /** Whether the user may create an application that does not exist. @throws {PortError} 503 */
  mayCreateApplication(user: string, name: string): Promise<boolean>
  /** Reads the roles of users again who have one of these, after the permissions of roles have changed. @throws {PortError} */
  refreshRoles(roles: readonly string[]): Promise<void>
}
