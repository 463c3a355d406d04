/** Sends a form of a dialog: once at a time, and a failure is shown while the dialog stays. */
import { useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/api-error.ts'

interface Submission {
  readonly busy: boolean
  readonly error: ApiError | undefined
  readonly submit: (event: Event) => void
}

/** @param run Ends with the dialog closed or replaced. @throws {ApiError} */
export function useSubmit(isReady: boolean, run: () => Promise<void>): Submission {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const send = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await run()
    } catch (cause) {
      setError(asApiError(cause))
      setBusy(false)
    }
  }
  const submit = (event: Event) => {
    event.preventDefault()
    if (!busy && isReady) void send()
  }
  return { busy, error, submit }
}
