/** When a letter is a shortcut: not inside fields and dialogs, and never where the reader has switched them off. */
import { signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'

const storageKey = 'fairlead.singleKeys'

/** Single letters can be switched off, for people who dictate. @see WCAG 2.2, 2.1.4 */
export const singleKeys = signal(load())

export function chooseSingleKeys(isOn: boolean): void {
  singleKeys.value = isOn
  try {
    localStorage.setItem(storageKey, isOn ? 'on' : 'off')
  } catch {
    // Storage is switched off: the choice holds for this page.
  }
}

function load(): boolean {
  try {
    return localStorage.getItem(storageKey) !== 'off'
  } catch {
    return true
  }
}

/** Sent to the button of a menu whose `data-letters` has the letter that was pressed in its row; the letter is its detail. */
export const letterEvent = 'fairlead:letter'

/** Letters of one screen: each does what the map says. */
export function useLetters(letters: Readonly<Record<string, (() => void) | undefined>>): void {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || !isLetterKey(event) || !Object.hasOwn(letters, event.key)) return
      event.preventDefault()
      letters[event.key]?.()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
}

export function isLetterKey(event: KeyboardEvent): boolean {
  if (!singleKeys.peek() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return false
  return document.querySelector('dialog[open], [role="menu"]') === null
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
}
