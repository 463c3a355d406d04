/** Keys that work on every screen. */
import { useEffect } from 'preact/hooks'
import { applicationHere, basePath, to } from './address.ts'
import { refreshAll } from './api/live.ts'
import { copyText } from './components/copy-button.tsx'
import { openKeys } from './components/keys-dialog.tsx'
import { openPalette } from './components/palette.tsx'
import { isLetterKey } from './letter-keys.ts'
import { recents } from './model/recent.ts'
import { places } from './places.ts'
import { followRowKeys } from './row-keys.ts'

/** How long `g` waits for its second letter. */
const goMs = 1200

export function useKeys(navigate: (url: string) => void): void {
  useEffect(followRowKeys, [])
  useEffect(() => {
    let goAtMs = Number.NEGATIVE_INFINITY
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k' && !event.shiftKey && !event.altKey) {
        event.preventDefault()
        openPalette()
        return
      }
      if (!isLetterKey(event)) return
      if (event.timeStamp - goAtMs < goMs) {
        goAtMs = Number.NEGATIVE_INFINITY
        // The second letter is no shortcut of the screen.
        event.stopImmediatePropagation()
        const address = addressOf(event.key)
        if (address !== undefined) navigate(address)
        return
      }
      if (event.key === 'g') goAtMs = event.timeStamp
      else if (event.key === 'r') refreshAll()
      else if (event.key === 'y') void copyText(location.href)
      else if (event.key === '?') openKeys()
      else if (event.key === '/') {
        event.preventDefault()
        openPalette()
      }
    }
    addEventListener('keydown', onKey, { capture: true })
    return () => removeEventListener('keydown', onKey, { capture: true })
  }, [navigate])
}

/** Pipelines and tasks are those of the application in view, else of the one that was opened last. */
function addressOf(key: string): string | undefined {
  const place = places.find(({ goKey }) => goKey === key)
  if (place !== undefined) return basePath + place.path
  const screen = { p: to.pipelines, t: to.tasks }[key]
  if (screen === undefined) return undefined
  const application = applicationHere() ?? recents.peek()[0]?.label
  return application === undefined ? to.applications() : screen(application)
}
