/** Events of the triggers of an application: what each has started, or why it has started nothing. */
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { type Filter, FilterField } from '../components/filter-field.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StepRows } from '../components/step-rows.tsx'
import { Time } from '../components/time.tsx'
import { shortId } from '../model/execution.ts'
import { textOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'

const marks = {
  started: { kind: 'succeeded', word: 'started' },
  nothing: { kind: 'skipped', word: 'started nothing' },
  failed: { kind: 'failed', word: 'failed' },
} as const

/** Opens the panel, and chooses what it shows. */
export const eventFilter: Filter = {
  name: 'events',
  label: 'Trigger events',
  any: 'Hide trigger events',
  clears: ['of'],
  choices: [
    ['all', 'All events'],
    ['started', 'Events that started runs'],
    ['nothing', 'Events that started nothing'],
    ['failed', 'Failed events'],
  ],
}

interface TriggerEventsProps {
  readonly application: string
  readonly pipelines: readonly { readonly id?: string | null | undefined; readonly name: string }[]
  readonly query: ScreenProps['query']
}

const noEvents = 'No trigger has received an event yet. Add a trigger to a pipeline, then push a commit or send a webhook.'

export function TriggerEvents({ application, pipelines, query: { events: chosen = '', of: pipeline } }: TriggerEventsProps) {
  const outcome = Object.hasOwn(marks, chosen) ? (chosen as keyof typeof marks) : undefined
  const query = { ...(outcome && { outcome }), ...(pipeline && { pipeline }), limit: 50 }
  const parameters = chosen === '' ? undefined : { path: { application }, query }
  const live = useLive('/applications/{application}/triggerEvents', parameters, { refresh: 'steady' })
  if (chosen === '') return null
  const choices = pipelines.map(({ id, name }) => [id ?? name, name] as const)
  const empty = <EmptyState icon="pipeline" text={outcome || pipeline ? 'No event matches the filters.' : noEvents} />
  const filter = <FilterField name="of" label="Of pipeline" any="Any pipeline" choices={choices} />
  return (
    <Panel title="Trigger events" flush actions={filter}>
      <Loaded live={live} rows={4} empty={empty}>
        {(events) => <StepRows steps={events.map(toRow)} />}
      </Loaded>
    </Panel>
  )
}

function toRow({ id, type, source, outcome, time, reason, triggers, summary }: Schemas['TriggerEvent']) {
  // Digests and commits as short as people compare them.
  const words = Object.entries(summary).map(([name, value]) => {
    const text = name === 'action' ? undefined : textOf(value)
    return name === 'commit' || name === 'digest' ? text?.replace(/^sha\d+:/, '').slice(0, 8) : text
  })
  return {
    key: id,
    status: marks[outcome],
    title: <Name text={[type, source, ...words].filter(Boolean).join(' ')} max={90} />,
    note: (
      <ul>
        {outcome === 'failed' && reason && (
          <li>
            <Name text={reason} max={300} />
          </li>
        )}
        {triggers.map(({ pipeline, executionId, reason: why }, index) => (
          <li key={index}>
            <NameLink href={executionId ? to.execution(executionId) : undefined} text={pipeline} max={60} />{' '}
            {executionId && <span class="run-id">{shortId(executionId)}</span>}
            {why && <Name text={`: ${why}`} max={300} />}
          </li>
        ))}
      </ul>
    ),
    action: <Time at={time} />,
  }
}
