/** An action of this tab that runs at an object, or has failed there. */
import { to } from '../address.ts'
import { dismiss, pendingOf } from '../api/actions.ts'
import { IconButton } from './button.tsx'
import { Duration, Name, NameLink, StatusMark } from './text.tsx'

export function PendingChip({ object }: { object: string }) {
  const pending = pendingOf(object)
  if (pending === undefined) return null
  const { id, description, failure, startedAtMs } = pending
  if (failure === undefined) {
    return (
      <a class="chip is-running" href={to.task(id)}>
        <StatusMark kind="running" /> <Name text={description} max={50} /> <Duration from={startedAtMs} />
      </a>
    )
  }
  return (
    <span class="chip is-failed wraps">
      <StatusMark kind="failed" />
      <NameLink href={to.task(id)} text={description} max={50} />
      <span>
        <Name text={failure} max={200} />
      </span>
      <IconButton icon="close" label="Close" small onClick={() => dismiss(id)} />
    </span>
  )
}
