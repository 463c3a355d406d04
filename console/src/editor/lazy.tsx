/** Screens, and parts of them, that are loaded when they are first shown. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Banner, Button } from '../components/button.tsx'
import { Loading } from '../components/screen.tsx'

/** The parser and writer of YAML, and the editor for it. */
export const loadText = () => import('./definition-text.ts')
export const loadCodeEditor = async () => (await import('./code-editor.tsx')).CodeEditor

type Load<Props> = () => Promise<ComponentType<Props>>

/** Loaded once; a part that was shown before is shown at once. */
const loaded = new Map<unknown, unknown>()

export function Lazy<Props>({ load, props }: { load: Load<Props>; props: Props }) {
  const [, redraw] = useState(0)
  const [failed, setFailed] = useState<Load<Props>>()
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
  if (failed !== load) return <Loading rows={6} />
  // A part that was not loaded before an upgrade does not exist any more.
  return (
    <Banner
      tone="info"
      actions={<Button onClick={() => location.reload()}>Load the page again</Button>}
    >
      Fairlead was updated, or does not answer.
    </Banner>
  )
}
