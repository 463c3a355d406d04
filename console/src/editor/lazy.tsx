/** Parts of the console that are loaded when they are first shown. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { ErrorState, Loading } from '../components/states.tsx'

/** The parser and writer of YAML, and the editor for it. */
export const loadText = () => import('./definition-text.ts')
export const loadCodeEditor = async () => (await import('./code-editor.tsx')).CodeEditor

type Load<Props> = () => Promise<ComponentType<Props>>

/** Loaded once; a part that was shown before is shown at once. */
const loaded = new Map<unknown, unknown>()

export function Lazy<Props>({ load, props }: { load: Load<Props>; props: Props & object }) {
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const [, redraw] = useState(0)
  const start = async () => {
    setError(undefined)
    try {
      loaded.set(load, await load())
      redraw((count) => count + 1)
    } catch (cause) {
      setError(asApiError(cause))
    }
  }
  useEffect(() => {
    if (!loaded.has(load)) void start()
  }, [load])
  if (error !== undefined) return <ErrorState error={error} onRetry={start} />
  const Part = loaded.get(load) as ComponentType<Props> | undefined
  return Part === undefined ? <Loading rows={6} /> : <Part {...props} />
}
