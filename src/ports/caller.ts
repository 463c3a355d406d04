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
