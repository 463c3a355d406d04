/** Runs as a table: state, what each is of, who started it; the cause of a failure in one line. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { type Execution, failureOf, newestFirst, shortId, startedBy, statusOf, titleOf } from '../model/execution.ts'
import { contentOf, triggerWord } from '../model/runs.ts'
import { isComplete, isFailed } from '../model/status.ts'
import { type Column, DataTable } from './data-table.tsx'
import { Name } from './name.tsx'
import { StatusText } from './status-mark.tsx'
import { Duration, Time } from './time.tsx'

interface RunTableProps {
  readonly runs: readonly Execution[]
  readonly label: string
  /** What stands beside it and so is not repeated. */
  readonly without?: 'application' | 'pipeline' | undefined
  /** The filter: rows of the same keep their places. */
  readonly heldOf: string
}

const columns: readonly Column<Execution>[] = [
  { key: 'state', head: 'Status', cell: (run) => <StatusText status={statusOf(run)} /> },
  {
    key: 'content',
    head: 'Version and parameters',
    hideBelow: 'narrow',
    cell: (run) => <Name text={contentOf(run).join(' · ')} max={60} />,
  },
  {
    key: 'start',
    head: 'Started by',
    hideBelow: 'phone',
    cell: (run) => (
      <>
        <Name text={startedBy(run) ?? ''} max={24} /> <span class="muted">{triggerWord(run.trigger.type)}</span>
      </>
    ),
  },
  { key: 'time', head: 'Started', cell: (run) => <Time at={run.startTime ?? run.buildTime} /> },
  {
    key: 'length',
    head: 'Duration',
    hideBelow: 'phone',
    align: 'end',
    cell: ({ status, startTime, endTime }) =>
      isComplete(status) && !endTime ? '–' : <Duration from={startTime} until={endTime} />,
  },
]

export function RunTable({ runs, label, without, heldOf }: RunTableProps) {
  const causes = useCauses(runs)
  const [state, content, ...rest] = columns as [Column<Execution>, Column<Execution>, ...Column<Execution>[]]
  const run: Column<Execution> = {
    key: 'run',
    head: 'Run',
    grow: true,
    cell: (each) => <Run run={each} without={without} cause={causes.get(each.id)} />,
  }
  // Below a narrow screen, and on the page of a pipeline, the cell of the run has the content.
  const hasContent = without !== 'pipeline' && runs.some((each) => contentOf(each).length > 0)
  return (
    <div class="run-table">
      <DataTable
        label={label}
        rows={newestFirst(runs)}
        keyOf={({ id }) => id}
        heldOf={heldOf}
        columns={[state, run, ...(hasContent ? [content] : []), ...rest]}
      />
    </div>
  )
}

interface RunProps extends Pick<RunTableProps, 'without'> {
  readonly run: Execution
  readonly cause: string | undefined
}

function Run({ run, without, cause }: RunProps) {
  return (
    <>
      <a class="row-link" href={to.execution(run.id)}>
        {without === undefined && (
          <span class="muted">
            <Name text={run.application} max={30} /> /{' '}
          </span>
        )}
        {without !== 'pipeline' && <Name text={run.name ?? 'Run'} max={50} />} <span class="run-id">{shortId(run.id)}</span>
      </a>{' '}
      <span class={`muted ${without === 'pipeline' ? '' : 'narrow-only'}`}>
        <Name text={contentOf(run).join(' · ')} max={80} />
      </span>
      {cause !== undefined && (
        <p class="run-cause clamped">
          <Name text={cause} max={320} />
        </p>
      )}
    </>
  )
}

/** Lists come without the details that have the reasons: they are read for the failed ones alone. */
function useCauses(runs: readonly Execution[]): ReadonlyMap<string, string> {
  const executionIds = runs.flatMap(({ id, status }) => (isFailed(status) ? [id] : [])).join()
  const parameters = executionIds === '' ? undefined : { query: { executionIds, expand: true } }
  const { body = [] } = useLive('/executions', parameters, { refresh: 'open' }).reading.value
  return new Map(body.map((run) => [run.id, causeOf(run)]))
}

function causeOf(run: Execution): string {
  const failure = failureOf(run)
  if (failure === undefined) return String(run['cancellationReason'] ?? 'It failed before a stage began.')
  return `${titleOf(failure.path[0] ?? failure.stage)}: ${failure.reason ?? 'failed without a reason'}`
}
