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

type TriggerEvent = Schemas['TriggerEvent']

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
  const live = useLive(
    '/applications/{application}/triggerEvents',
    chosen === ''
      ? undefined
      : { path: { application }, query: { ...(outcome && { outcome }), ...(pipeline && { pipeline }), limit: 50 } },
    { refresh: 'steady' },
  )
  if (chosen === '') return null
  const choices = pipelines.map(({ id, name }) => [id ?? name, name] as const)
  const empty = outcome || pipeline ? 'No event matches the filters.' : noEvents
  return (
    <Panel
      title="Trigger events"
      flush
      actions={<FilterField name="of" label="Of pipeline" any="Any pipeline" choices={choices} />}
    >
      <Loaded live={live} rows={4} empty={<EmptyState icon="pipeline" text={empty} />}>
        {(events) => <StepRows steps={events.map(toRow)} />}
      </Loaded>
    </Panel>
  )
}

function toRow(event: TriggerEvent) {
  const { id, type, source, outcome, time, reason, triggers } = event
  return {
    key: id,
    status: marks[outcome],
    title: <Name text={[type, source, ...summaryOf(event)].filter(Boolean).join(' ')} max={90} />,
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

/** Digests and commits as short as people compare them. */
function summaryOf({ summary }: TriggerEvent): readonly string[] {
  return Object.entries(summary).flatMap(([name, value]) => {
    const text = name === 'action' ? undefined : textOf(value)
    return (name === 'commit' || name === 'digest' ? text?.replace(/^sha\d+:/, '').slice(0, 8) : text) ?? []
  })
}
