/** Identity of the caller of a port. */

export interface Caller {
  user: string | undefined
  accounts: string[]
  origin: string | undefined
  /** Every X-SPINNAKER-* header, lower-case names, decoded. */
  identity: Record<string, string>
}

/** User of requests that name none. */
export const anonymous = 'anonymous'

/** A capability that asks for itself, and for no user. */
export const itself: Caller = { user: undefined, accounts: [], origin: undefined, identity: {} }

export function toCaller(identity: Record<string, string>): Caller {
  return {
    user: identity['x-spinnaker-user'],
    accounts: (identity['x-spinnaker-accounts'] ?? '')
      .split(',')
      .filter((account) => account !== ''),
    origin: identity['x-spinnaker-user-origin'],
    identity,
  }
}
