/** Failures of calls to sources of artifacts, as answers. */
import { BackendError } from '../../backend.ts'
import { OutsideError } from '../../outside/call-outside.ts'

const statuses = { forbidden: 400, 'unknown-host': 400, timeout: 504, failed: 502 } as const

export function toFetchError(error: unknown): unknown {
  if (!(error instanceof OutsideError)) return error
  return new BackendError(statuses[error.fault], `The artifact cannot be fetched: ${error.message}`)
}
