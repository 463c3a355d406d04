/** Sends a form of a dialog: once at a time, and a failure is shown while the dialog stays. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { refreshMatching } from '../api/live.ts'
import { reportFailure } from './notices.tsx'

interface SubmitOptions {
  /** What is done, for the page when it fails after the dialog was closed. */
  readonly what: string
  readonly isReady: boolean
  /** Ends with the dialog closed or replaced, if it is still there. @throws {ApiError} */
  readonly run: (isOpen: () => boolean) => Promise<void>
}

export function useSubmit({ what, isReady, run }: SubmitOptions) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const isOpen = useIsShown()
  const submit = async (event: Event) => {
    event.preventDefault()
    if (busy || !isReady) return
    setBusy(true)
    setError(undefined)
    try {
      await run(isOpen)
    } catch (cause) {
      if (!isOpen()) return reportFailure(what, cause)
      const failure = asApiError(cause)
      if (failure.status === 403) refreshMatching('/auth/explain')
      setError(failure)
    }
    setBusy(false)
  }
  return { busy, error, submit: (event: Event) => void submit(event) }
}

/** Whether the component is still in the page: what it waited for may come later. */
export function useIsShown(): () => boolean {
  const isShown = useRef(true)
  useLayoutEffect(() => {
    isShown.current = true
    return () => {
      isShown.current = false
    }
  }, [])
  return () => isShown.current
}
