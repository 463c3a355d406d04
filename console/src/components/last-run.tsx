/** The last run of a pipeline: how it stands, since when, and who started it. */
import { to } from '../address.ts'
import { type Execution, shortId, startedBy, statusOf } from '../model/execution.ts'
import { isComplete } from '../model/status.ts'
import { Name } from './name.tsx'
import { StatusMark } from './status-mark.tsx'
import { Duration, Time } from './time.tsx'

export function LastRun({ run }: { run: Execution }) {
  const status = statusOf(run)
  return (
    <a class="last-run-link" href={to.execution(run.id)}>
      <StatusMark kind={status.kind} />
      <span class="strong">{status.word}</span>
      <span class="muted">
        {isComplete(run.status) ? <Time at={run.endTime ?? run.startTime} /> : <Duration from={run.startTime ?? run.buildTime} />}
        {startedBy(run) !== undefined && (
          <>
            {', by '}
            <Name text={startedBy(run) ?? ''} max={24} />
          </>
        )}
      </span>
      <span class="run-id">{shortId(run.id)}</span>
    </a>
  )
}
