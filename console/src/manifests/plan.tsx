/** What a deployment changes: per object, the fields that it adds, changes and removes. */
import { Difference } from '../components/difference.tsx'
import { Name } from '../components/name.tsx'
import { StatusText } from '../components/status-mark.tsx'
import type { Status } from '../model/status.ts'
import type { PlannedObject } from './stage.ts'

const statuses: Readonly<Record<PlannedObject['change'], Status>> = {
  create: { kind: 'succeeded', word: 'is created' },
  update: { kind: 'warning', word: 'changes' },
  none: { kind: 'disabled', word: 'stays as it is' },
  error: { kind: 'failed', word: 'is refused' },
}
const heads = { field: 'Field', before: 'In the cluster', after: 'After the deployment' }

export function Plan({ objects }: { objects: readonly PlannedObject[] }) {
  return (
    <ul class="rows boxed-rows plan" aria-label="Plan">
      {objects.map((object) => (
        <PlannedRow key={[object.account, object.location, object.name].join('\n')} object={object} />
      ))}
    </ul>
  )
}

function PlannedRow({ object: { name, location, change, fields, message } }: { object: PlannedObject }) {
  const counts = ['added', 'changed', 'removed'].flatMap((word) => {
    const { length } = fields.filter((field) => field.change === word)
    return length > 0 ? `${length} ${word}` : []
  })
  const head = (
    <>
      <strong>
        <Name text={name} max={60} />
      </strong>
      <span class="muted">
        <Name text={location} max={40} />
      </span>
      <StatusText status={statuses[change]} />
      {change === 'update' && <span class="muted">{counts.join(', ')}</span>}
    </>
  )
  const text = message !== undefined && (
    <p class={change === 'error' ? 'error' : 'muted'}>
      <Name text={message} max={1000} />
    </p>
  )
  if (fields.length === 0) {
    return (
      <li class="plan-row">
        <p class="row">{head}</p>
        {text}
      </li>
    )
  }
  return (
    <li>
      <details class="plan-row" open={change === 'update'}>
        <summary class="row">{head}</summary>
        {text}
        <Difference heads={heads} label={`Plan of ${name}`} values={fields} />
      </details>
    </li>
  )
}
