/** Events of the triggers of an application: what each has started, or why it has started nothing. */
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { type Filter, FilterField } from '../components/filter-field.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { shortId } from '../model/execution.ts'
import { textOf } from '../model/read.ts'
import type { Kind } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'

const eventOutcomes = [
  ['all', 'All events'],
  ['started', 'Events that started runs'],
  ['nothing', 'Events that started nothing'],
  ['failed', 'Failed events'],
] as const

const eventOutcome = { started: 'started', nothing: 'started nothing', failed: 'failed' }

type TriggerEvent = Schemas['TriggerEvent']
type TriggerOutcome = Schemas['TriggerOutcome']

const kinds: Readonly<Record<TriggerEvent['outcome'], Kind>> = { started: 'succeeded', nothing: 'skipped', failed: 'failed' }
const shownEvents = 50

/** The query of the address opens the panel, and chooses what it shows. */
export const eventFilter: Filter = {
  name: 'events',
  label: 'Trigger events',
  any: 'Hide trigger events',
  choices: eventOutcomes,
  clears: ['of'],
}

interface TriggerEventsProps {
  readonly application: string
  readonly pipelines: readonly { readonly id?: string | null | undefined; readonly name: string }[]
  readonly query: ScreenProps['query']
}

const noEvents = 'No trigger has received an event yet. Add a trigger to a pipeline, then push a commit or send a webhook.'

export function TriggerEvents({ application, pipelines, query }: TriggerEventsProps) {
  const { events: chosen, of: pipeline } = query
  const outcome = (['started', 'nothing', 'failed'] as const).find((each) => each === chosen)
  const filter = { ...(outcome && { outcome }), ...(pipeline && { pipeline }), limit: shownEvents }
  const live = useLive(
    '/applications/{application}/triggerEvents',
    chosen === undefined ? undefined : { path: { application }, query: filter },
    { refresh: 'steady' },
  )
  if (chosen === undefined) return null
  const isFiltered = outcome !== undefined || pipeline !== undefined
  const choices = pipelines.map(({ id, name }) => [id ?? name, name] as const)
  return (
    <Panel
      title="Trigger events"
      flush
      actions={<FilterField name="of" label="Of pipeline" any="Any pipeline" choices={choices} />}
    >
      <Loaded
        live={live}
        rows={4}
        empty={<EmptyState icon="pipeline" text={isFiltered ? 'No event matches the filters.' : noEvents} />}
      >
        {(events) => (
          <ol class="rows">
            {events.map((event) => (
              <EventRow key={event.id} event={event} />
            ))}
          </ol>
        )}
      </Loaded>
    </Panel>
  )
}

function EventRow({ event }: { event: TriggerEvent }) {
  const { type, source, outcome, time, reason, triggers } = event
  return (
    <li class="run-row">
      <StatusMark kind={kinds[outcome]} label={eventOutcome[outcome]} />
      <span>
        {type} <Name text={[source, ...summaryOf(event)].filter(Boolean).join(' ')} max={80} />
      </span>
      <span class="grow">
        {outcome === 'failed' && reason ? (
          <span class="muted">
            <Name text={reason} max={300} />
          </span>
        ) : (
          <ul>
            {triggers.map((trigger, index) => (
              <li key={index}>
                <Outcome trigger={trigger} />
              </li>
            ))}
          </ul>
        )}
      </span>
      <span class="muted hide-phone">
        <Time at={time} />
      </span>
    </li>
  )
}

function Outcome({ trigger: { pipeline, executionId, reason } }: { trigger: TriggerOutcome }) {
  return (
    <>
      {executionId ? (
        <>
          <NameLink href={to.execution(executionId)} text={pipeline} max={60} />{' '}
          <span class="run-id">{shortId(executionId)}</span>
        </>
      ) : (
        <Name text={pipeline} max={60} />
      )}
      {reason && (
        <span class="muted">
          : <Name text={reason} max={300} />
        </span>
      )}
    </>
  )
}

/** Digests and commits as short as people compare them. */
function summaryOf({ summary }: TriggerEvent): readonly string[] {
  return Object.entries(summary).flatMap(([name, value]) => {
    const text = textOf(value) ?? (typeof value === 'number' ? String(value) : undefined)
    if (text === undefined || name === 'action') return []
    return name === 'commit' || name === 'digest' ? text.replace(/^sha\d+:/, '').slice(0, 8) : text
  })
}
