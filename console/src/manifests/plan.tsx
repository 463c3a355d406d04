/** What a deployment changes: per object, the fields that it adds, changes and removes. */
import { Difference } from '../components/difference.tsx'
import { Name, StatusText } from '../components/text.tsx'
import type { Status } from '../model/execution.ts'
import type { PlannedObject } from './stage.ts'

const statuses: Readonly<Record<PlannedObject['change'], Status>> = {
  create: { kind: 'succeeded', word: 'is created' },
  update: { kind: 'warning', word: 'changes' },
  none: { kind: 'disabled', word: 'stays as it is' },
  error: { kind: 'failed', word: 'is refused' },
}
const heads = ['Field', 'In the cluster', 'After the deployment'] as const

export function Plan({ objects }: { objects: readonly PlannedObject[] }) {
  return (
    <ul class="rows boxed-rows" aria-label="Plan">
      {objects.map((object) => (
        <PlannedRow
          key={[object.account, object.location, object.name].join('\n')}
          object={object}
        />
      ))}
    </ul>
  )
}

function PlannedRow({
  object: { name, location, change, fields, message },
}: {
  object: PlannedObject
}) {
  const counts = ['added', 'changed', 'removed'].flatMap((word) => {
    const { length } = fields.filter((field) => field.change === word)
    return length > 0 ? `${length} ${word}` : []
  })
  const head = (
    <>
      <Name class="strong" text={name} max={60} />
      <Name class="muted" text={location} max={40} />
      <StatusText status={statuses[change]} />
      {change === 'update' && <span class="muted">{counts.join(', ')}</span>}
    </>
  )
  return (
    <li class="plan-row">
      {fields.length === 0 ? (
        <p class="row">{head}</p>
      ) : (
        <details open={change === 'update'}>
          <summary class="row">{head}</summary>
          <Difference heads={heads} label={`Plan of ${name}`} values={fields} />
        </details>
      )}
      {message !== undefined && (
        <Name class={change === 'error' ? 'error' : 'muted'} text={message} max={1000} />
      )}
    </li>
  )
}
