/** The list of keys, and the switch of those that are single letters. */

import { chooseSingleKeys, singleKeys } from '../letter-keys.ts'
import { words } from '../words.ts'
import { Check } from './check.tsx'
import { Dialog, openDialog } from './dialog.tsx'

export function openKeys(): void {
  openDialog(<KeysDialog />)
}

function KeysDialog() {
  return (
    <Dialog title={words.keys} class="is-narrow">
      <Check checked={singleKeys.value} onChange={chooseSingleKeys}>
        Single-letter shortcuts
      </Check>
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
