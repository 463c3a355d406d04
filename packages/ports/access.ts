/** What a user may do, for those who decide by it. */
import { PortError } from '@fairlead/base/port-error.ts'

export type ApplicationRight = 'READ' | 'WRITE' | 'EXECUTE'

export interface Access {
  readonly user: string
  /** Accounts that the user may change, for the identity headers. */
  readonly accounts: string[]
  readonly isAdmin: boolean
  /** Whether the user may run or change pipelines of an application, whichever. */
  readonly mayRunSomething: boolean
  /** Whether the user has one of the roles, or is an administrator. */
  hasRole(roles: readonly string[]): boolean
  mayOnApplication(application: string, authorization: ApplicationRight): boolean
  /** An account that the permission service does not list may not be used. */
  mayOnAccount(account: string, authorization: 'READ' | 'WRITE'): boolean
  mayOnBuildService(name: string, authorization: 'READ' | 'WRITE'): boolean
  /** Whether the user may let something run as a service account. */
  mayUse(serviceAccount: string): boolean
  /** Access of each user whose rights count, where a call acts for several. */
  readonly each?: readonly Access[]
}

/** What is missing and how to grant it. */
export function describeMissing(
  access: Access,
  authorization: ApplicationRight,
  application: string,
): string {
  const user = lackingOf(access, (one) => one.mayOnApplication(application, authorization))
  return (
    `This needs ${authorization} on the application ${application}; ${user} has not got it. ` +
    `An owner of ${application} can grant it${access.each === undefined ? '' : ', or another user starts a new run'}.`
  )
}

/** The first of the users who lacks something. */
export function lackingOf({ user, each }: Access, has: (one: Access) => boolean): string {
  return each?.find((one) => !has(one))?.user ?? user
}

/** @throws {PortError} 403 */
export function checkOnApplication(
  access: Access,
  application: string,
  authorization: ApplicationRight,
): void {
  if (access.mayOnApplication(application, authorization)) return
  throw new PortError(403, describeMissing(access, authorization, application), {
    exception: 'AccessDenied',
  })
}
