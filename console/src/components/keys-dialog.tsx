/** The list of keys, and the switch of those that are single letters. */

import { chooseSingleKeys, singleKeys } from '../letter-keys.ts'

import { Check } from './check.tsx'
import { Dialog, openDialog } from './dialog.tsx'

export function openKeys(): void {
  openDialog(<KeysDialog />)
}

const keyList: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'Search or jump to anything'],
  ['/', 'The same'],
  ['g h', 'Home'],
  ['g a', 'Applications'],
  ['g e', 'Environments'],
  ['g r', 'Runs'],
  ['g p', 'Pipelines of the application'],
  ['g t', 'Tasks of the application'],
  ['g x', 'Access'],
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
