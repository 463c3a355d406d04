/** Two runs side by side: what changed, in sentences; the values that differ are behind a fold. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { refreshAll, useLive } from '../api/live.ts'
import { useRunsOf } from '../api/pipelines.ts'
import { Button } from '../components/button.tsx'
import { Check } from '../components/check.tsx'
import { Difference } from '../components/difference.tsx'
import { FilterField, useQueryChange } from '../components/filter-field.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { type Baseline, ChangeList, useEarlierRun, useRunChanges } from '../components/run-changes.tsx'
import { RunTable } from '../components/run-table.tsx'
import { EmptyState, ErrorState, Loading } from '../components/states.tsx'
import { compareExecutions } from '../model/compare.ts'
import { type Execution, newestFirst, shortId, statusOf } from '../model/execution.ts'
import { isComplete } from '../model/status.ts'
import { formatRelative, now } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'

const maxOthers = 50

/** @param query `left` is the older one, or how it is found; `right` the newer. An only one is compared with the run before. */
export function Compare({ query }: ScreenProps) {
  const { left = '', right = '' } = query
  const base = right === '' || left === '' ? 'previous' : left
  return (
    <>
      <PageHead tab="Compare runs" title="Compare runs" />
      {right || left ? (
        <Chosen id={right || left} base={base} onlyChanges={query['only'] !== 'all'} />
      ) : (
        <EmptyState icon="resize" text="Open a run and compare it with the run before, or with the last success." />
      )}
    </>
  )
}

function useExecution(id: string | undefined) {
  return useLive('/pipelines/{id}', id === undefined ? undefined : { path: { id } }, {
    refresh: 'live',
    isBusy: ({ status }) => !isComplete(status),
  }).reading.value
}

/** @param base An id, or how the other run is found */
function Chosen({ id, base, onlyChanges }: { id: string; base: string; onlyChanges: boolean }) {
  const baseline: Baseline | undefined = base === 'previous' || base === 'last-success' ? base : undefined
  const newer = useExecution(id)
  const named = useExecution(baseline === undefined ? base : undefined)
  const earlier = useEarlierRun(baseline && newer.body, baseline ?? 'previous')
  const older = baseline === undefined ? named.body : earlier.found?.[0]
  const error = newer.body === undefined ? newer.error : older === undefined ? (named.error ?? earlier.error) : undefined
  if (error !== undefined) return <ErrorState error={error} onRetry={() => refreshAll()} />
  if (earlier.found?.length === 0 && baseline !== undefined) {
    return <EmptyState icon="search" text={`There is no earlier run${base === 'previous' ? '' : ' that succeeded'}.`} />
  }
  if (newer.body === undefined || older === undefined) return <Loading rows={8} />
  return (
    <>
      <BaselineChoice newer={newer.body} older={older} base={base} />
      <Both older={older} newer={newer.body} onlyChanges={onlyChanges} />
    </>
  )
}

interface BothProps {
  readonly older: Execution
  readonly newer: Execution
}

function BaselineChoice({ older, newer, base }: BothProps & { readonly base: string }) {
  const { route: navigate } = useLocation()
  const { id, buildTime, pipelineConfigId } = newer
  const { body = [] } = useRunsOf(pipelineConfigId, maxOthers).reading.value
  const runs = newestFirst(body)
    .filter((run) => run.id !== id && (run.buildTime ?? 0) <= (buildTime ?? 0))
    .map((run) => {
      const time = formatRelative(run.buildTime ?? 0, now.peek())
      return [run.id, `${shortId(run.id)}, ${statusOf(run).word}, ${time}`] as const
    })
  return (
    <div class="filters">
      <span>Compared with</span>
      <FilterField
        name="left"
        label="Compared with"
        value={base === 'previous' ? undefined : base}
        any="the run before"
        choices={[['last-success', 'the last success'], ...runs]}
      />
      <Button icon="undo" onClick={() => navigate(to.compare({ left: id, right: older.id }))}>
        Swap
      </Button>
    </div>
  )
}

function Both({ older, newer, onlyChanges }: BothProps & { readonly onlyChanges: boolean }) {
  const changes = useRunChanges(older, newer)
  return (
    <div class="stack">
      <div class="panel is-flush">
        <RunTable runs={[older, newer]} label="Compared runs" heldOf={older.id} />
      </div>
      <Panel title="What changed" count={changes.length}>
        {changes.length === 0 && <p class="quiet">Nothing: input, definition, stages and durations are the same.</p>}
        <ChangeList changes={changes} />
      </Panel>
      <Values older={older} newer={newer} onlyChanges={onlyChanges} />
    </div>
  )
}

/** All values of both records, for what no sentence says. */
function Values({ older, newer, onlyChanges }: BothProps & { readonly onlyChanges: boolean }) {
  const change = useQueryChange()
  const [isOpen, setOpen] = useState(!onlyChanges)
  const values = isOpen ? compareExecutions(older, newer) : []
  const heads = { field: 'Field', before: 'Before', after: 'After' }
  return (
    <details class="panel compare" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Values of both records</summary>
      <div class="panel-note">
        <Check checked={onlyChanges} onChange={(isOn) => change({ only: isOn ? undefined : 'all' })}>
          Only differences
        </Check>
      </div>
      <Difference
        values={values.filter(({ before, after }) => !onlyChanges || before !== after)}
        heads={heads}
        label="Values of both records"
      />
    </details>
  )
}
