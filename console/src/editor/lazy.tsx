/** Screens, and parts of them, that are loaded when they are first shown. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { basePath } from '../address.ts'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { Loading } from '../components/states.tsx'

/** The parser and writer of YAML, and the editor for it. */
export const loadText = () => import('./definition-text.ts')
export const loadCodeEditor = async () => (await import('./code-editor.tsx')).CodeEditor

type Load<Props> = () => Promise<ComponentType<Props>>

/** Loaded once; a part that was shown before is shown at once. */
const loaded = new Map<unknown, unknown>()

export function Lazy<Props>({ load, props }: { load: Load<Props>; props: Props }) {
  const [failed, setFailed] = useState<Load<Props> | undefined>(undefined)
  const [, redraw] = useState(0)
  useEffect(() => {
    if (loaded.has(load)) return
    load().then(
      (component) => {
        loaded.set(load, component)
        redraw((count) => count + 1)
      },
      () => setFailed(() => load),
    )
  }, [load])
  const Part = loaded.get(load) as ComponentType<Props> | undefined
  if (Part !== undefined) return <Part {...(props as Props & object)} />
  return failed === load ? <Missing /> : <Loading rows={6} />
}

/** A part that was not loaded before an upgrade does not exist any more; without a connection nothing is loaded. */
function Missing() {
  const [isReachable, setReachable] = useState<boolean | undefined>(undefined)
  useEffect(() => {
    void fetch(basePath, { method: 'HEAD' }).then(
      () => setReachable(true),
      () => setReachable(false),
    )
  }, [])
  if (isReachable === undefined) return <Loading rows={6} />
  return (
    <Banner
      tone="info"
      actions={<Button onClick={() => location.reload()}>{isReachable ? 'Load the new console' : 'Try again'}</Button>}
    >
      {isReachable ? 'Fairlead was updated.' : 'Fairlead does not answer.'}
    </Banner>
  )
}
