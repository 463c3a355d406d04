/** Keys that work on every screen, and the list of all keys. */
import { useRef } from 'preact/hooks'
import { applicationHere, basePath, to, useNavigate } from './address.ts'
import { refreshAll } from './api/live.ts'
import { copyText } from './components/button.tsx'
import { Dialog, openDialog } from './components/dialog.tsx'
import { Check } from './components/form-fields.tsx'
import { openPalette } from './components/palette.tsx'
import {
  chooseSingleKeys,
  isLetterKey,
  letterEvent,
  singleKeys,
  useKeyDown,
} from './letter-keys.ts'
import { recents } from './model/recent.ts'
import { places } from './places.ts'

const keyList: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'Search or jump to anything'],
  ['/', 'The same'],
  ...places.flatMap(({ goKey, label }) =>
    goKey === undefined ? [] : [[`g ${goKey}`, label] as const],
  ),
  ['g p', 'Pipelines of the application'],
  ['g t', 'Tasks of the application'],
  ['Tab', 'In the search: start or edit the pipeline'],
  ['j k', 'Next and previous row; arrows do the same'],
  ['Enter', 'Open the row'],
  ['.', 'Actions of the row'],
  ['s', 'Start the pipeline of the row'],
  ['e h', 'Edit the pipeline of the row; its history'],
  ['d', 'Deploy the image of the row'],
  ['*', 'Favourite: the application of the row'],
  ['f', 'Audit log: filter by the value'],
  ['[ ]', 'Previous and next run, or server group'],
  ['m', 'Home: mine or all'],
  ['1 2 3', 'Home: waiting, failed, running'],
  ['n p', 'Next and previous failed stage'],
  ['t', 'Next tab of the stage'],
  ['l', 'Output: mark the line of the hit in the address'],
  ['c', 'Compare the execution; cancel the task of the row'],
  ['+ - 0', 'Zoom the graph'],
  ['r', 'Read everything on this page again'],
  ['y', 'Copy the address of this page'],
  ['?', 'This list'],
  ['← →', 'Follow the edges of a graph, the bars of a strip, tabs'],
  ['Ctrl Enter', 'Start, in the start dialog'],
  ['Esc', 'Close the innermost'],
]

export function openKeys(): void {
  openDialog(<KeysDialog />)
}

function KeysDialog() {
  return (
    <Dialog title="Keyboard shortcuts" class="is-narrow">
      <Check checked={singleKeys.value} onChange={chooseSingleKeys}>
        Single-letter shortcuts
      </Check>
      <dl class="keys">
        {keyList.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

export function useKeys(): void {
  const navigate = useNavigate()
  const goAtMs = useRef(Number.NEGATIVE_INFINITY)
  const letters: Readonly<Record<string, (at: number) => void>> = {
    g: (at) => {
      goAtMs.current = at
    },
    r: refreshAll,
    y: () => void copyText(location.href),
    '?': openKeys,
  }
  useKeyDown((event) => {
    const { key, ctrlKey, metaKey, shiftKey, altKey, timeStamp } = event
    const isLetter = isLetterKey(event)
    // How long `g` waits for its second letter.
    if (isLetter && timeStamp - goAtMs.current < 1200) {
      goAtMs.current = Number.NEGATIVE_INFINITY
      // The second letter is no shortcut of the screen.
      event.stopImmediatePropagation()
      const address = addressOf(key)
      if (address !== undefined) navigate(address)
    } else if (
      (isLetter && key === '/') ||
      ((ctrlKey || metaKey) && key.toLowerCase() === 'k' && !shiftKey && !altKey)
    ) {
      event.preventDefault()
      openPalette()
    } else if (isLetter && Object.hasOwn(letters, key)) letters[key]?.(timeStamp)
  }, true)
}

/** Pipelines and tasks are those of the application in view, else of the one that was opened last. */
function addressOf(key: string) {
  const place = places.find(({ goKey }) => goKey === key)
  if (place !== undefined) return basePath + place.path
  const screen = { p: to.pipelines, t: to.tasks }[key]
  const application = applicationHere() ?? recents.peek()[0]
  return screen && (application === undefined ? to.applications() : screen(application))
}

/*
 * Keys of lists and tables, wherever they are: `j`, `k` and arrows move between rows, Enter opens, Space selects, `.` opens the menu of a
 * row, and letters that a row offers press what has them in `data-key`, or the entry of its menu.
 */

const rowSelector = '#main :is(.rows > :is(li, div), .stage-list > li, tbody > tr)'
const targetSelectors = ['.row-link', '.row-title[href]', '.stage-row', 'a[href]', 'button']
/** Arrows have a meaning of their own there. */
const ownArrows =
  '[role="group"], [role="tablist"], [role="menu"], [role="log"], dialog, input, select, textarea'

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  const target = event.target instanceof HTMLElement ? event.target : document.body
  const row = target.closest<HTMLElement>(rowSelector)
  const next = nextRow(event, target, row) ?? nextInRow(event.key, target, row)
  next?.focus()
  if (
    next !== undefined ||
    (row !== null && isLetterKey(event) && pressInRow(event.key, row, target))
  )
    event.preventDefault()
})

function nextRow(event: KeyboardEvent, target: HTMLElement, row: HTMLElement | null) {
  // Without a row, arrows scroll the page.
  const arrow =
    row === null || target.closest(ownArrows) ? undefined : { ArrowDown: 1, ArrowUp: -1 }[event.key]
  const step = arrow ?? (isLetterKey(event) ? { j: 1, k: -1 }[event.key] : undefined)
  if (step === undefined) return undefined
  const rows = [...document.querySelectorAll<HTMLElement>(rowSelector)].filter(
    (one) => targetOf(one) !== undefined,
  )
  const next = row === null ? rows.at(step === 1 ? 0 : -1) : rows[rows.indexOf(row) + step]
  return next && targetOf(next)
}

/** Left and right, from a server group into its instances and back. */
function nextInRow(key: string, target: HTMLElement, row: HTMLElement | null) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
  const items = [...(row?.querySelectorAll<HTMLElement>('.row-link, .marks a') ?? [])]
  return step === undefined || !items.includes(target)
    ? undefined
    : items[items.indexOf(target) + step]
}

function targetOf(row: HTMLElement) {
  const found = targetSelectors.flatMap(
    (selector) => row.querySelector<HTMLElement>(selector) ?? [],
  )
  return found.find(({ tabIndex }) => tabIndex >= 0)
}

function pressInRow(key: string, row: HTMLElement, target: HTMLElement) {
  const letter = CSS.escape(key)
  const selector = key === '.' ? '.menu > button' : `[data-key="${letter}"]`
  const isLink = key === ' ' && target instanceof HTMLAnchorElement
  const pressed = isLink
    ? target
    : (target.closest<HTMLElement>(selector) ?? row.querySelector<HTMLElement>(selector))
  const menu = row.querySelector(`.menu > button[data-letters~="${letter}"]`)
  if (pressed !== null) pressed.click()
  else menu?.dispatchEvent(new CustomEvent(letterEvent, { detail: key }))
  return (pressed ?? menu) !== null
}
