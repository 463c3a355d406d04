/** Things with a state, in their order: steps, inner stages, instances, deliveries. */

import type { ComponentChildren } from 'preact'
import { executionStatus, reasonIn, type Stage, type Status } from '../model/execution.ts'
import { stepWords } from '../model/names.ts'
import { Duration, Name, StatusMark, Time } from './text.tsx'

interface Step {
  readonly key: string
  readonly status: Status
  readonly title: ComponentChildren
  readonly note?: ComponentChildren
  readonly startTime?: number | null
  readonly endTime?: number | null
  readonly action?: ComponentChildren
}

/** A step of a stage or a task, with why it failed. */
export function toStep({
  id,
  name,
  status,
  startTime,
  endTime,
  ...step
}: Stage['tasks'][number]): Step {
  const reason = reasonIn(step.taskExceptionDetails?.['exception']) ?? ''
  const times = { startTime, endTime }
  return {
    key: id,
    status: executionStatus(status),
    title: stepWords(name),
    note: <Name text={reason} max={160} />,
    ...times,
  }
}

export function StepRows({
  steps,
  isBoxed = false,
}: {
  steps: readonly Step[]
  isBoxed?: boolean
}) {
  return (
    <ol class={`rows ${isBoxed ? 'boxed-rows' : ''}`}>
      {steps.map(({ key, status, title, note, startTime, endTime, action }) => (
        <li key={key} class="run-row">
          <StatusMark kind={status.kind} label={status.word} />
          <span>{title}</span>
          <span class="grow muted">{note}</span>
          <span class="row-times">
            {startTime && (
              <span class="muted hide-phone">
                <Time at={startTime} />
              </span>
            )}
            <Duration from={startTime} until={endTime} />
          </span>
          {action}
        </li>
      ))}
    </ol>
  )
}
