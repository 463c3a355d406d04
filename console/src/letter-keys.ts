/** When a letter is a shortcut: not inside fields and dialogs, and never where the reader has switched them off. */
import { signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { loadStored, store } from './model/stored.ts'

/** Single letters can be switched off, for people who dictate. @see WCAG 2.2, 2.1.4 */
export const singleKeys = signal(loadStored('singleKeys') !== 'off')

export function chooseSingleKeys(isOn: boolean): void {
  singleKeys.value = isOn
  store('singleKeys', isOn ? 'on' : 'off')
}

/** Sent to the button of a menu whose `data-letters` has the letter that was pressed in its row; the letter is its detail. */
export const letterEvent = 'fairlead:letter'

/** Listens while the component is shown, always with the listener of the present render. */
export function useKeyDown(listen: (event: KeyboardEvent) => void, capture = false): void {
  useLayoutEffect(() => {
    addEventListener('keydown', listen, { capture })
    return () => removeEventListener('keydown', listen, { capture })
  })
}

/** Letters of one screen: each does what the map says. */
export function useLetters(letters: Readonly<Record<string, (() => void) | undefined>>): void {
  useKeyDown((event) => {
    if (event.defaultPrevented || !isLetterKey(event) || !Object.hasOwn(letters, event.key)) return
    event.preventDefault()
    letters[event.key]?.()
  })
}

export function isLetterKey({ ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  if (!singleKeys.peek() || ctrlKey || metaKey || altKey) return false
  const isTyping =
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input, textarea, select'))
  return !isTyping && document.querySelector('dialog[open], [role="menu"]') === null
}
