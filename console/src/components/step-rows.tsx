/** Steps of a stage or a task, in their order. */
import { stepWords } from '../model/names.ts'
import { executionStatus } from '../model/status.ts'
import { Name } from './name.tsx'
import { StatusMark } from './status-mark.tsx'
import { Duration, Time } from './time.tsx'

interface Step {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly startTime?: number | null | undefined
  readonly endTime?: number | null | undefined
}

interface StepRowsProps<Item extends Step> {
  readonly steps: readonly Item[]
  readonly errorOf?: (step: Item) => string | undefined
  readonly class?: string
}

export function StepRows<Item extends Step>({ steps, errorOf, class: style = '' }: StepRowsProps<Item>) {
  return (
    <ol class={`rows ${style}`}>
      {steps.map((step) => {
        const { kind, word } = executionStatus(step.status)
        const error = errorOf?.(step)
        return (
          <li key={step.id} class="run-row">
            <StatusMark kind={kind} label={word} />
            <span>{stepWords(step.name)}</span>
            <span class="grow cut muted">{error !== undefined && <Name text={error} max={160} />}</span>
            <span class="muted hide-phone">
              <Time at={step.startTime} />
            </span>
            <Duration from={step.startTime} until={step.endTime} />
          </li>
        )
      })}
    </ol>
  )
}
