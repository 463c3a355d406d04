/** What a deployment changes: per object, the fields that it adds, changes and removes. */
import { Difference } from '../components/difference.tsx'
import { Name } from '../components/name.tsx'
import { StatusText } from '../components/status-mark.tsx'
import type { Status } from '../model/status.ts'
import type { PlannedChange, PlannedObject } from './plan.ts'
import { manifestWords } from './words.ts'

const marks: Readonly<Record<PlannedObject['change'], Status['kind']>> = {
  create: 'succeeded',
  update: 'warning',
  none: 'disabled',
  error: 'failed',
}

export function Plan({ objects }: { objects: readonly PlannedObject[] }) {
  return (
    <ul class="rows boxed-rows plan" aria-label="Plan">
      {objects.map((object) => (
        <li key={[object.account, object.location, object.name].join('\n')}>
          <PlannedRow object={object} />
        </li>
      ))}
    </ul>
  )
}

function PlannedRow({ object }: { object: PlannedObject }) {
  const { name, location, change, fields, message } = object
  const head = (
    <>
      <strong>
        <Name text={name} max={60} />
      </strong>
      <span class="muted">
        <Name text={location} max={40} />
      </span>
      <StatusText status={{ kind: marks[change], word: manifestWords.changes[change] }} />
      {change === 'update' && <span class="muted">{countsOf(fields)}</span>}
    </>
  )
  const text = message !== undefined && (
    <p class={change === 'error' ? 'error' : 'muted'}>
      <Name text={message} max={1000} />
    </p>
  )
  if (fields.length === 0) {
    return (
      <div class="plan-row">
        <p class="row">{head}</p>
        {text}
      </div>
    )
  }
  return (
    <details class="plan-row" open={change === 'update'}>
      <summary class="row">{head}</summary>
      {text}
      <Difference
        heads={manifestWords.planHeads}
        label={`Plan of ${name}`}
        values={fields.map(({ path, before, after }) => ({ name: path, before, after }))}
      />
    </details>
  )
}

function countsOf(fields: readonly PlannedChange[]): string {
  const words = Object.entries(manifestWords.fieldChanges)
  const counts = words.map(([change, word]) => [fields.filter((field) => field.change === change).length, word] as const)
  return manifestWords.planCounts(counts.filter(([count]) => count > 0))
}
