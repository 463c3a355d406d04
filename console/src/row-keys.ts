/**
 * Keys of lists and tables, wherever they are: `j`, `k` and arrows move between rows, Enter opens, Space selects, `.` opens the menu of a row,
 * and letters that a row offers press what has them in `data-key`, or the entry of its menu.
 */
import { isLetterKey, letterEvent } from './letter-keys.ts'

const rowSelector = '#main :is(.rows > :is(li, div), .stage-list > li, tbody > tr)'
const targetSelectors = ['.row-link', '.row-title[href]', '.stage-row', 'a[href]', 'button']
/** Arrows have a meaning of their own there. */
const ownArrows = '[role="group"], [role="tablist"], [role="menu"], [role="log"], dialog, input, select, textarea'

export function followRowKeys(): () => void {
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  const target = event.target instanceof HTMLElement ? event.target : document.body
  const row = target.closest<HTMLElement>(rowSelector)
  const isDone =
    move(event, target, row) ||
    (row !== null && (moveWithin(event.key, row, target) || (isLetterKey(event) && pressInRow(event.key, row, target))))
  if (isDone) event.preventDefault()
}

function move(event: KeyboardEvent, target: HTMLElement, row: HTMLElement | null): boolean {
  // Without a row, arrows scroll the page.
  const arrow = row === null || target.closest(ownArrows) ? undefined : { ArrowDown: 1, ArrowUp: -1 }[event.key]
  const step = arrow ?? (isLetterKey(event) ? { j: 1, k: -1 }[event.key] : undefined)
  if (step === undefined) return false
  const rows = [...document.querySelectorAll<HTMLElement>(rowSelector)].filter((one) => targetOf(one) !== undefined)
  const next = row === null ? rows.at(step === 1 ? 0 : -1) : rows[rows.indexOf(row) + step]
  const focused = next && targetOf(next)
  focused?.focus()
  return focused !== undefined
}

/** Left and right, from a server group into its instances and back. */
function moveWithin(key: string, row: HTMLElement, target: HTMLElement): boolean {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
  const items = [...row.querySelectorAll<HTMLElement>('.row-link, .marks a')]
  const at = items.indexOf(target)
  const next = step === undefined || at === -1 ? undefined : items[at + step]
  next?.focus()
  return next !== undefined
}

function targetOf(row: HTMLElement): HTMLElement | undefined {
  return (
    targetSelectors.map((selector) => row.querySelector<HTMLElement>(selector)).find((found) => (found?.tabIndex ?? -1) >= 0) ??
    undefined
  )
}

function pressInRow(key: string, row: HTMLElement, target: HTMLElement): boolean {
  const letter = CSS.escape(key)
  const selector = key === '.' ? '.menu > button' : `[data-key="${letter}"]`
  const isLink = key === ' ' && target instanceof HTMLAnchorElement
  const pressed = isLink ? target : (target.closest<HTMLElement>(selector) ?? row.querySelector<HTMLElement>(selector))
  const menu = row.querySelector(`.menu > button[data-letters~="${letter}"]`)
  if (pressed !== null) pressed.click()
  else menu?.dispatchEvent(new CustomEvent(letterEvent, { detail: key }))
  return pressed !== null || menu !== null
}
