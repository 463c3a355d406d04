/** Two runs side by side: what changed, in sentences; the values that differ are behind a fold. */
import { useState } from 'preact/hooks'
import { type ScreenProps, to, useNavigate } from '../address.ts'
import { refreshAll } from '../api/live.ts'
import { useRun, useRunsOf } from '../api/pipelines.ts'
import { Button } from '../components/button.tsx'
import { Difference } from '../components/difference.tsx'
import { FilterField } from '../components/filter-field.tsx'
import {
  type Baseline,
  ChangeList,
  useEarlierRun,
  useRunChanges,
} from '../components/run-changes.tsx'
import { RunTable } from '../components/run-table.tsx'
import { EmptyState, ErrorState, Loading, PageHead, Panel } from '../components/screen.tsx'
import { compareExecutions } from '../model/compare.ts'
import { type Execution, newestFirst, shortId, statusOf } from '../model/execution.ts'
import { formatRelative, now } from '../model/time.ts'

/** @param query `left` is the older one, or how it is found; `right` the newer. An only one is compared with the run before. */
export function Compare({ query: { left = '', right = '' } }: ScreenProps) {
  const id = right || left
  return (
    <>
      <PageHead tab="Compare runs" />
      {id === '' ? (
        <EmptyState
          icon="resize"
          text="Open a run and compare it with the run before, or with the last success."
        />
      ) : (
        <Chosen id={id} base={right && left ? left : 'previous'} />
      )}
    </>
  )
}

/** @param base An id, or how the other run is found */
function Chosen({ id, base }: { id: string; base: string }) {
  const baseline: Baseline | undefined =
    base === 'previous' || base === 'last-success' ? base : undefined
  const newer = useRun(id)
  const named = useRun(baseline === undefined ? base : undefined)
  const earlier = useEarlierRun(baseline && newer.body, baseline ?? 'previous')
  const older = baseline === undefined ? named.body : earlier.found?.[0]
  const error =
    newer.body === undefined
      ? newer.error
      : older === undefined
        ? (named.error ?? earlier.error)
        : undefined
  if (error !== undefined) return <ErrorState error={error} onRetry={() => refreshAll()} />
  if (earlier.found?.length === 0 && baseline !== undefined) {
    const text = `There is no earlier run${base === 'previous' ? '' : ' that succeeded'}.`
    return (
      <EmptyState
        icon="search"
        text={text}
        children={<a href={to.execution(id)}>Open the run</a>}
      />
    )
  }
  if (newer.body === undefined || older === undefined) return <Loading rows={8} />
  return <Both older={older} newer={newer.body} base={base} />
}

interface BothProps {
  readonly older: Execution
  readonly newer: Execution
}

function Both({ older, newer, base }: BothProps & { readonly base: string }) {
  const navigate = useNavigate()
  const { body: runs = [] } = useRunsOf(newer.pipelineConfigId, 50)
  const earlier = runs.filter(
    ({ id, buildTime }) =>
      id !== newer.id && id !== older.id && (buildTime ?? 0) <= (newer.buildTime ?? 0),
  )
  const choices = newestFirst([...earlier, older]).map((run) => {
    const words = [
      shortId(run.id),
      statusOf(run).word,
      formatRelative(run.buildTime ?? 0, now.peek()),
    ]
    return [run.id, words.join(', ')] as const
  })
  const changes = useRunChanges(older, newer)
  return (
    <>
      <div class="filters">
        <span>Compared with</span>
        <FilterField
          name="left"
          label="Compared with"
          value={base === 'previous' ? undefined : base}
          any="the run before"
          choices={[['last-success', 'the last success'], ...choices]}
        />
        <Button
          icon="undo"
          onClick={() => navigate(to.compare({ left: newer.id, right: older.id }))}
        >
          Swap
        </Button>
      </div>
      <div class="stack">
        <div class="panel is-flush">
          <RunTable runs={[older, newer]} label="Compared runs" heldOf={older.id} />
        </div>
        <Panel title="What changed" count={changes.length}>
          {changes.length === 0 && (
            <p class="muted">Nothing: input, definition, stages and durations are the same.</p>
          )}
          <ChangeList changes={changes} />
        </Panel>
        <Values older={older} newer={newer} />
      </div>
    </>
  )
}

/** What differs between both records, for what no sentence says. */
function Values({ older, newer }: BothProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="panel compare" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Values that differ</summary>
      {isOpen && (
        <Difference
          values={compareExecutions(older, newer)}
          heads={['Field', 'Before', 'After']}
          label="Values that differ"
        />
      )}
    </details>
  )
}
