/** Runs as a table: state, what each is of, who started it; the cause of a failure in one line. */
import { formatCause } from '@fairlead/base/causes/cause.ts'
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import {
  type Execution,
  failureOf,
  isComplete,
  isFailed,
  newestFirst,
  shortId,
  startedBy,
  statusOf,
  titleOf,
} from '../model/execution.ts'
import { contentOf, triggerWord } from '../model/runs.ts'
import { type Column, DataTable } from './data-table.tsx'
import { Duration, Name, StatusText, Time } from './text.tsx'

interface RunTableProps {
  readonly runs: readonly Execution[]
  readonly label: string
  /** What stands beside it and so is not repeated. */
  readonly without?: 'application' | 'pipeline'
  /** The filter: rows of the same keep their places. */
  readonly heldOf: string
}

export function RunTable({ runs, label, without, heldOf }: RunTableProps) {
  const causes = useCauses(runs)
  const content = (run: Execution) => contentOf(run).join(' · ')
  const contentColumn: Column<Execution> = {
    key: 'content',
    head: 'Version and parameters',
    hideBelow: 'narrow',
    cell: (run) => <Name text={content(run)} max={60} />,
  }
  const columns: readonly Column<Execution>[] = [
    { key: 'state', head: 'Status', cell: (run) => <StatusText status={statusOf(run)} /> },
    {
      key: 'run',
      head: 'Run',
      grow: true,
      cell: (run) => <Run run={run} without={without} cause={causes.get(run.id)} />,
    },
    // Below a narrow screen, and on the page of a pipeline, the cell of the run has it.
    ...(without !== 'pipeline' && runs.some((run) => content(run) !== '') ? [contentColumn] : []),
    { key: 'start', head: 'Started by', hideBelow: 'phone', cell: starterOf },
    { key: 'time', head: 'Started', cell: (run) => <Time at={run.startTime ?? run.buildTime} /> },
    { key: 'length', head: 'Duration', hideBelow: 'phone', align: 'end', cell: lengthOf },
  ]
  return (
    <div class="run-table">
      <DataTable
        label={label}
        rows={newestFirst(runs)}
        keyOf={({ id }) => id}
        heldOf={heldOf}
        columns={columns}
      />
    </div>
  )
}

function Run({
  run,
  without,
  cause,
}: Pick<RunTableProps, 'without'> & { run: Execution; cause: string | undefined }) {
  return (
    <>
      <a class="row-link" href={to.execution(run.id)}>
        {without === undefined && <Name class="muted" text={`${run.application} /`} max={32} />}{' '}
        {without !== 'pipeline' && <Name text={run.name ?? 'Run'} max={50} />}{' '}
        <span class="run-id">{shortId(run.id)}</span>
      </a>{' '}
      <Name
        class={`muted ${without === 'pipeline' ? '' : 'narrow-only'}`}
        text={contentOf(run).join(' · ')}
      />
      {cause !== undefined && (
        <p class="run-cause clamped">
          <Name text={cause} max={320} />
        </p>
      )}
    </>
  )
}

function starterOf(run: Execution) {
  return (
    <>
      <Name text={startedBy(run) ?? ''} max={24} />{' '}
      <span class="muted">{triggerWord(run.trigger.type)}</span>
    </>
  )
}

function lengthOf({ status, startTime, endTime }: Execution) {
  return isComplete(status) && !endTime ? '–' : <Duration from={startTime} until={endTime} />
}

/** Lists come without the details that have the reasons: they are read for the failed ones alone. */
function useCauses(runs: readonly Execution[]) {
  const executionIds = runs.flatMap(({ id, status }) => (isFailed(status) ? [id] : [])).join()
  const parameters = executionIds === '' ? undefined : { query: { executionIds, expand: true } }
  const { body = [] } = useLive('/executions', parameters, 'open')
  return new Map(body.map((run) => [run.id, causeOf(run)]))
}

function causeOf(run: Execution) {
  const failure = failureOf(run)
  if (failure === undefined)
    return String(run['cancellationReason'] ?? 'It failed before a stage began.')
  const { cause, reason = 'failed without a reason' } = failure
  return `${titleOf(failure.path[0] ?? failure.stage)}: ${cause === undefined ? reason : formatCause(cause)}`
}
