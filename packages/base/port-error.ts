/** Refusal of a capability, with the status of its HTTP answer. */

/** `exception` of an answer: the same request fails again, whatever its status says. */
export const authorFault = 'AuthorError'

/** `fields` are merged into the body of the answer. */
export class PortError extends Error {
  readonly status: number
  readonly fields: Record<string, unknown>

  constructor(status: number, message: string, fields: Record<string, unknown> = {}) {
    super(message)
    // Clients read this name as `exception` of the answer.
    this.name = 'BackendError'
    this.status = status
    this.fields = fields
  }
}

/** Whether the same request may succeed later. */
export function isPassing(error: unknown): boolean {
  return (
    !(error instanceof PortError) ||
    error.status >= 500 ||
    error.status === 408 ||
    error.status === 429
  )
}

/** Why a check of this process rejects something; undefined when it does not. */
export function refusalOf(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    return error.message
  }
}
