/** What a user may do, as the permission service says; without one everything is allowed. */
import type { BackendContext } from './backend.ts'
import { fieldOf, isTrue, objectsOf, textOf, textsOf } from './json-values.ts'

export interface Access {
  /** Accounts that the user may change, for the identity headers. */
  accounts: string[]
  mayOnApplication(application: string, authorization: 'READ' | 'WRITE' | 'EXECUTE'): boolean
}

const unchecked: Access = { accounts: [], mayOnApplication: () => true }
const none: Access = { accounts: [], mayOnApplication: () => false }

/** A user whom the permission service does not know, or for whom it cannot be asked, may do nothing. */
export async function loadAccess(context: BackendContext, user: string): Promise<Access> {
  if (context.settings.authorization !== true) return unchecked
  try {
    const answer = await context.call('fiat', { method: 'GET', path: `/authorize/${encodeURIComponent(user)}` })
    if (answer.status === 200) return toAccess(answer.body)
  } catch (error) {
    context.log.warn({ err: error, user }, 'The permission service cannot be asked.')
  }
  return none
}

/** @see Authentication contract, section 4.2 */
function toAccess(view: unknown): Access {
  const grants = (list: string, authorization: string) =>
    objectsOf(fieldOf(view, list)).filter((item) => textsOf(item['authorizations']).includes(authorization))
  return {
    accounts: grants('accounts', 'WRITE').flatMap((account) => textOf(account['name']) ?? []),
    mayOnApplication(application, authorization) {
      if (isTrue(fieldOf(view, 'admin')) || isTrue(fieldOf(view, 'legacyFallback'))) return true
      const isIt = ({ name }: Record<string, unknown>) => String(name).toLowerCase() === application.toLowerCase()
      const known = objectsOf(fieldOf(view, 'applications')).some(isIt)
      if (!known) return isTrue(fieldOf(view, 'allowAccessToUnknownApplications'))
      return grants('applications', authorization).some(isIt)
    },
  }
}
