/** Things with a state, in their order: steps, inner stages, instances, deliveries. */
import type { ComponentChildren } from 'preact'
import type { Status } from '../model/status.ts'
import { StatusMark } from './status-mark.tsx'
import { Duration, Time } from './time.tsx'

interface Step {
  readonly key: string
  readonly status: Status
  readonly title: ComponentChildren
  readonly note?: ComponentChildren
  readonly startTime?: number | null | undefined
  readonly endTime?: number | null | undefined
  readonly action?: ComponentChildren
}

export function StepRows({ steps, isBoxed = false }: { steps: readonly Step[]; isBoxed?: boolean }) {
  return (
    <ol class={`rows ${isBoxed ? 'boxed-rows' : ''}`}>
      {steps.map(({ key, status, title, note, startTime, endTime, action }) => (
        <li key={key} class="run-row">
          <StatusMark kind={status.kind} label={status.word} />
          <span>{title}</span>
          <span class="grow muted">{note}</span>
          {startTime && (
            <span class="muted hide-phone">
              <Time at={startTime} />
            </span>
          )}
          <Duration from={startTime} until={endTime} />
          {action}
        </li>
      ))}
    </ol>
  )
}
