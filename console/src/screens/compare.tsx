/** Two executions side by side: what differed. */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { adminWords } from '../admin-words.ts'
import { type Reading, refreshAll, useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { Check } from '../components/check.tsx'
import { DataTable } from '../components/data-table.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { TextField } from '../components/form-fields.tsx'
import { Icon } from '../components/icon.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, ErrorState, Loading } from '../components/states.tsx'
import { StatusText } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { type ComparedValue, compareExecutions } from '../model/compared-values.ts'
import { type Execution, newestFirst, shortId, startedBy, statusOf } from '../model/execution.ts'
import { isComplete } from '../model/status.ts'
import { formatDuration } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'

const maxOthers = 20

export function Compare({ query }: ScreenProps) {
  const { left = '', right = '' } = query
  const change = useQueryChange()
  return (
    <>
      <PageHead
        tab={adminWords.compareTitle}
        title={adminWords.compareTitle}
        actions={
          left !== '' &&
          right !== '' && (
            <>
              <Check checked={query['only'] === 'changes'} onChange={(isOn) => change({ only: isOn ? 'changes' : undefined })}>
                {adminWords.onlyChanges}
              </Check>
              <Button icon="undo" onClick={() => change({ left: right, right: left })}>
                {adminWords.swap}
              </Button>
            </>
          )
        }
      />
      {left === '' || right === '' ? (
        <div class="stack">
          <Choose key={`${left} ${right}`} left={left} right={right} />
          {left !== '' && <Others left={left} />}
        </div>
      ) : (
        <Both key={`${left} ${right}`} left={left} right={right} onlyChanges={query['only'] === 'changes'} />
      )}
    </>
  )
}

/** For an address that does not name both. */
function Choose({ left, right }: { left: string; right: string }) {
  const { route: navigate } = useLocation()
  const [values, setValues] = useState({ left, right })
  const compare = (event: Event) => {
    event.preventDefault()
    const ids = { left: values.left.trim(), right: values.right.trim() }
    if (ids.left !== '' && ids.right !== '') navigate(to.compare(ids))
  }
  return (
    <Panel title={adminWords.compareNeedsTwo}>
      <form onSubmit={compare}>
        <div class="question">
          {(['left', 'right'] as const).map((side) => (
            <TextField
              key={side}
              label={side === 'left' ? adminWords.leftRun : adminWords.rightRun}
              help={adminWords.chooseRun}
              required
              value={values[side]}
              onChange={(id) => setValues({ ...values, [side]: id })}
            />
          ))}
        </div>
        <div class="foot">
          <Button kind="primary" type="submit">
            {adminWords.compare}
          </Button>
        </div>
      </form>
    </Panel>
  )
}

/** Runs of the same pipeline, to choose the other side from. */
function Others({ left }: { left: string }) {
  const pipelineConfigIds = useExecution(left).reading.value.body?.pipelineConfigId ?? undefined
  const live = useLive(
    '/executions',
    pipelineConfigIds === undefined ? undefined : { query: { pipelineConfigIds, limit: maxOthers, expand: false } },
    { refresh: 'open' },
  )
  const runs = (live.reading.value.body ?? []).filter(({ id }) => id !== left)
  if (runs.length === 0) return null
  return (
    <Panel title={adminWords.samePipeline} flush>
      <DataTable
        label={adminWords.samePipeline}
        rows={newestFirst(runs)}
        keyOf={({ id }) => id}
        columns={[
          {
            key: 'run',
            head: words.execution,
            grow: true,
            cell: (run) => (
              <NameLink
                href={to.compare({ left: run.id, right: left, only: 'changes' })}
                text={`${run.name ?? ''} ${shortId(run.id)}`}
                max={60}
              />
            ),
          },
          { key: 'state', head: words.state, cell: (run) => <StatusText status={statusOf(run)} /> },
          { key: 'started', head: words.started, cell: (run) => <Time at={run.startTime} /> },
        ]}
      />
    </Panel>
  )
}

function useExecution(id: string) {
  return useLive('/pipelines/{id}', { path: { id } }, { refresh: 'live', isBusy: ({ status }) => !isComplete(status) })
}

function Both({ left, right, onlyChanges }: { left: string; right: string; onlyChanges: boolean }) {
  const lives = [useExecution(left), useExecution(right)] as const
  const readings = lives.map(({ reading }) => reading.value) as [Reading<Execution>, Reading<Execution>]
  const failed = readings.findIndex(({ body, error }) => body === undefined && error !== undefined)
  const error = readings[failed]?.error
  if (error !== undefined) return <ErrorState error={error} onRetry={() => refreshAll()} />
  const [{ body: one }, { body: other }] = readings
  if (one === undefined || other === undefined) return <Loading rows={8} />
  const { facts, stages } = compareExecutions(one, other)
  const sides = [one, other] as const
  return (
    <div class="stack">
      <Panel title={words.summary} flush>
        <div class="compare">
          <DataTable
            label={words.summary}
            rows={summaryOf(sides)}
            keyOf={({ name }) => name}
            columns={[
              { key: 'name', head: words.name, cell: ({ name }) => name },
              { key: 'left', head: adminWords.leftRun, cell: ({ values }) => values[0] },
              { key: 'right', head: adminWords.rightRun, cell: ({ values }) => values[1] },
            ]}
          />
        </div>
      </Panel>
      <Differences title={adminWords.parameters} differences={facts} onlyChanges={onlyChanges} />
      {stages.map(({ name, differences }) => (
        <Differences key={name} title={name} differences={differences} onlyChanges={onlyChanges} />
      ))}
    </div>
  )
}

function summaryOf(sides: readonly [Execution, Execution]) {
  const each = <Value,>(read: (execution: Execution) => Value) => sides.map(read) as [Value, Value]
  return [
    {
      name: words.execution,
      values: each((run) => <NameLink href={to.execution(run.id)} text={`${run.name ?? ''} ${shortId(run.id)}`} max={60} />),
    },
    { name: words.state, values: each((run) => <StatusText status={statusOf(run)} />) },
    { name: words.started, values: each((run) => <Time at={run.startTime} />) },
    {
      name: words.length,
      values: each((run) => (run.startTime && run.endTime ? formatDuration(run.endTime - run.startTime) : '–')),
    },
    { name: words.startedBy, values: each((run) => <Name text={startedBy(run) ?? '–'} max={40} />) },
  ]
}

interface DifferencesProps {
  readonly title: string
  readonly differences: readonly ComparedValue[]
  readonly onlyChanges: boolean
}

function Differences({ title, differences, onlyChanges }: DifferencesProps) {
  const shown = onlyChanges ? differences.filter(({ differs }) => differs) : differences
  const count = differences.filter(({ differs }) => differs).length
  if (onlyChanges && count === 0) return null
  return (
    <Panel
      title={<Name text={title} max={80} />}
      actions={<span class="muted">{count === 0 ? adminWords.same : adminWords.differs(count)}</span>}
      flush
    >
      {shown.length === 0 ? (
        <EmptyState text={adminWords.same} />
      ) : (
        <div class="compare">
          <DataTable
            label={title}
            rows={shown}
            keyOf={({ path }) => path}
            columns={[
              {
                key: 'path',
                head: adminWords.field,
                cell: ({ path, differs }) => (
                  <span class="mark-cell">
                    {differs && <Icon name="warn" />}
                    <Name text={path} max={60} />
                    {differs && <span class="visually-hidden">{adminWords.differs(1)}</span>}
                  </span>
                ),
              },
              { key: 'left', head: adminWords.leftRun, cell: ({ left }) => <Value text={left} /> },
              { key: 'right', head: adminWords.rightRun, cell: ({ right }) => <Value text={right} /> },
            ]}
          />
        </div>
      )}
    </Panel>
  )
}

function Value({ text }: { text: string | undefined }) {
  if (text === undefined) return <span class="muted">{adminWords.notThereRun}</span>
  return <Name text={text} max={400} />
}
