/** The question before an object of infrastructure is deleted, and its deletion. */
import { type Change, completeTask } from '../api/actions.ts'
import { refreshMatching } from '../api/live.ts'
import { confirm } from '../components/confirm-dialog.tsx'

interface Deletion extends Pick<Change, 'application' | 'object'> {
  readonly name: string
  readonly effect: string
  readonly place?: { readonly account: string; readonly region: string }
  readonly job: Change['job'][number]
  /** Part of the path of the lists that have it. */
  readonly list: string
  /** Unless the reader has closed the dialog meanwhile. */
  readonly onDeleted?: () => void
}

export function askToDelete({ application, object, name, effect, place, job, list, onDeleted }: Deletion): void {
  confirm({
    title: `Delete ${name}?`,
    effect: <p>{effect} This cannot be undone.</p>,
    action: `Delete ${name}`,
    level: 2,
    typed: name,
    destructive: true,
    facts: place === undefined ? [] : Object.entries({ Account: place.account, Region: place.region }),
    run: async (isOpen) => {
      await completeTask({ application, description: `Delete ${name}`, job: [job], object })
      refreshMatching(list)
      if (isOpen()) onDeleted?.()
    },
  })
}
