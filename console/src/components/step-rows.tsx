/** Things with a state, in their order: steps, inner stages, instances, deliveries. */
import type { ComponentChildren } from 'preact'
import { stepWords } from '../model/names.ts'
import { executionStatus, type Status } from '../model/status.ts'
import { Name } from './name.tsx'
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

interface EngineStep extends Pick<Step, 'startTime' | 'endTime'> {
  readonly id: string
  readonly name: string
  readonly status: string
}

/** A step of a stage or a task. */
export function toStep({ id, name, status, startTime, endTime }: EngineStep, note = ''): Step {
  const title = stepWords(name)
  return { key: id, status: executionStatus(status), title, note: <Name text={note} max={160} />, startTime, endTime }
}

export function StepRows({ steps, isBoxed = false }: { steps: readonly Step[]; isBoxed?: boolean }) {
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
