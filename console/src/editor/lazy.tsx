/** Parts of the editor that are loaded when they are first shown. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { ErrorState, Loading } from '../components/states.tsx'

type Load<Props> = () => Promise<ComponentType<Props>>

/** Loaded once; a part that was shown before is shown at once. */
const loaded = new Map<unknown, unknown>()

export function Lazy<Props>({ load, props }: { load: Load<Props>; props: Props }) {
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const [, redraw] = useState(0)
  const start = () => {
    setError(undefined)
    load().then(
      (component) => {
        loaded.set(load, component)
        redraw((count) => count + 1)
      },
      (cause: unknown) => setError(asApiError(cause)),
    )
  }
  useEffect(() => {
    if (!loaded.has(load)) start()
  }, [load])
  if (error !== undefined) return <ErrorState error={error} onRetry={start} />
  const Part = loaded.get(load) as ComponentType<Props> | undefined
  return Part === undefined ? <Loading rows={6} /> : <Part {...(props as Props & object)} />
}
