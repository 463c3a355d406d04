/** Keys that work on every screen; single letters are off inside fields and can be switched off. */
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { basePath } from './address.ts'
import { refreshAll } from './api/live.ts'
import { copyText } from './components/copy-button.tsx'
import { openKeys, singleKeys } from './components/keys-dialog.tsx'
import { openPalette } from './components/palette.tsx'
import { routes } from './routes.ts'

/** How long `g` waits for its second letter. */
const goMs = 1200

export function useKeys(navigate: (url: string) => void): void {
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
        const route = routes.find(({ goKey }) => goKey === event.key)
        if (route !== undefined) navigate(basePath + route.path)
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
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [navigate])
}

/** Letters of one screen: each does what the map says, unless it belongs to a field, a dialog or nothing at all. */
export function useLetters(letters: Readonly<Record<string, (() => void) | undefined>>): void {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const act = isLetterKey(event) && Object.hasOwn(letters, event.key) ? letters[event.key] : undefined
      if (act === undefined || event.defaultPrevented) return
      event.preventDefault()
      act()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
}

/** Whether a key is meant as a shortcut. */
export function isLetterKey(event: KeyboardEvent): boolean {
  if (!singleKeys.peek() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return false
  return document.querySelector('dialog[open], [role="menu"]') === null
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
}
