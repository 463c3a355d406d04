/** Rights on jobs and builds of this machine. Without a user, Fairlead itself asks. */

import type { OutsideAccount } from '@fairlead/base/outside/outside-account.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { type Access, checkOnApplication, describeMissing } from '@fairlead/ports/access.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import { mayCreateApplication, requireAccess } from '@fairlead/ports/rights/access.ts'
import { openAccountAccess } from '@fairlead/ports/rights/account-use.ts'

/** A job or build; one without an application belongs to all users. */
interface OwnedJob {
  readonly application?: string
}

interface OwnedRun extends OwnedJob {
  readonly account: string
}

export class JobRights {
  readonly #context: BackendContext

  constructor(context: BackendContext) {
    this.#context = context
  }

  /** A build runs as the user of the account, for the application. @throws {PortError} 403, 503 */
  async checkRun({ account, application }: OwnedRun, user: string | undefined): Promise<void> {
    const access = await this.#accessOf(user)
    if (access === undefined) return
    if (!access.mayOnAccount(account, 'WRITE')) {
      const advice =
        'An operator can add a role of yours to local.accounts, permissions, or set `user` of the account.'
      throw new PortError(403, `This build needs WRITE on the account "${account}". ${advice}`, {
        exception: 'AccessDenied',
      })
    }
    if (isOwned(application)) checkOnApplication(access, application, 'EXECUTE')
  }

  /** A build can show all of its checkout. @param account That fetches it @throws {PortError} 403, 503 */
  async checkCheckout(
    account: OutsideAccount | undefined,
    user: string | undefined,
  ): Promise<void> {
    if (account === undefined) return
    const access = await openAccountAccess(this.#context, user)
    access.check({ use: account }, 'artifact account')
  }

  /** Whether the user may upload a folder; an application that does not exist is created. @throws {PortError} 403, 503 */
  async checkUpload(application: string, user: string): Promise<void> {
    const access = await requireAccess(this.#context, user)
    if (access.isAdmin) return
    const { definitions } = this.#context.ports
    if ((await definitions.application(application, itself)) !== undefined)
      return checkOnApplication(access, application, 'WRITE')
    if (await mayCreateApplication(this.#context, access, application)) return
    throw new PortError(
      403,
      `${access.user} may not create the application ${application}. An administrator can permit it.`,
      { exception: 'AccessDenied' },
    )
  }

  /** Accounts that get the image of a build that the user starts, as with a bake. @throws {PortError} 503 */
  async changeable(accounts: readonly string[], user: string | undefined): Promise<string[]> {
    const access = await this.#accessOf(user)
    return accounts.filter((account) => access?.mayOnAccount(account, 'WRITE') ?? true)
  }

  /** For what a build has written: its log, files and properties. @throws {PortError} 403, 503 */
  async checkRead({ application }: OwnedJob, user: string | undefined): Promise<void> {
    const access = await this.#accessOf(user)
    if (access !== undefined && isOwned(application))
      checkOnApplication(access, application, 'READ')
  }

  /** Who may start a job may follow its builds. @throws {PortError} 403, 503 */
  async checkFollow({ application }: OwnedJob, user: string | undefined): Promise<void> {
    const access = await this.#accessOf(user)
    if (access === undefined || !isOwned(application)) return
    if (
      access.mayOnApplication(application, 'READ') ||
      access.mayOnApplication(application, 'EXECUTE')
    )
      return
    throw new PortError(403, describeMissing(access, 'READ', application), {
      exception: 'AccessDenied',
    })
  }

  /** Jobs that the user may read. @throws {PortError} 503 */
  async readable<T extends OwnedJob>(all: readonly T[], user: string | undefined): Promise<T[]> {
    const access = await this.#accessOf(user)
    return all.filter(
      ({ application }) =>
        access === undefined ||
        !isOwned(application) ||
        access.mayOnApplication(application, 'READ'),
    )
  }

  /** Undefined: everything is allowed. */
  async #accessOf(user: string | undefined): Promise<Access | undefined> {
    return user === undefined ? undefined : requireAccess(this.#context, user)
  }
}

function isOwned(application: string | undefined): application is string {
  return application !== undefined && application !== ''
}
