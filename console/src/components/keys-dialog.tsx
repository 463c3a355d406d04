/** The list of keys, and the switch of those that are single letters. */
import { signal } from '@preact/signals'
import { words } from '../words.ts'
import { Dialog, openDialog } from './dialog.tsx'

const storageKey = 'fairlead.singleKeys'

/** Single letters can be switched off, for people who dictate. @see WCAG 2.2, 2.1.4 */
export const singleKeys = signal(load())

export function openKeys(): void {
  openDialog(<KeysDialog />)
}

function KeysDialog() {
  const choose = (isOn: boolean) => {
    singleKeys.value = isOn
    try {
      localStorage.setItem(storageKey, isOn ? 'on' : 'off')
    } catch {
      // Storage is switched off: the choice holds for this page.
    }
  }
  return (
    <Dialog title={words.keys} class="is-narrow">
      <label class="check">
        <input type="checkbox" checked={singleKeys.value} onChange={(event) => choose(event.currentTarget.checked)} />{' '}
        {words.singleKeys}
      </label>
      <dl class="keys">
        {words.keyList.map(([keys, meaning]) => (
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

function load(): boolean {
  try {
    return localStorage.getItem(storageKey) !== 'off'
  } catch {
    return true
  }
}
