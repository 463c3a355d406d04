/** Two runs side by side: what changed, in sentences; the values that differ are behind a fold. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { refreshAll, useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { Check } from '../components/check.tsx'
import { Difference } from '../components/difference.tsx'
import { FilterField, useQueryChange } from '../components/filter-field.tsx'
import { TextField } from '../components/form-fields.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { RunTable } from '../components/run-table.tsx'
import { EmptyState, ErrorState, Loading } from '../components/states.tsx'
import { describeChanges as describeFields, showValue } from '../editor/describe-changes.ts'
import { type Revision, toRevisions } from '../editor/history.ts'
import { type Change, describeChanges } from '../model/compare.ts'
import { compareExecutions } from '../model/compared-values.ts'
import { type Execution, newestFirst, shortId, statusOf } from '../model/execution.ts'
import { isComplete } from '../model/status.ts'
import { formatRelative, now } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'

const maxOthers = 50
const maxRevisions = 50
/** Instead of an id in the address: the run that the other one is compared with. */
const baselines = [
  ['previous', 'the run before'],
  ['last-success', 'the last success'],
] as const

/** @param query `left` is the older one, `right` the newer; an only one is compared with the run before. */
export function Compare({ query }: ScreenProps) {
  const { left = '', right = '' } = query
  const id = right || left
  return (
    <>
      <PageHead tab="Compare runs" title="Compare runs" />
      {id === '' ? (
        <Choose />
      ) : (
        <Chosen key={id} id={id} base={right === '' ? 'previous' : left || 'previous'} onlyChanges={query['only'] !== 'all'} />
      )}
    </>
  )
}

/** For an address that names none. */
function Choose() {
  const { route: navigate } = useLocation()
  const [ids, setIds] = useState({ left: '', right: '' })
  const compare = (event: Event) => {
    event.preventDefault()
    if (ids.right.trim() !== '') navigate(to.compare({ left: ids.left.trim() || 'previous', right: ids.right.trim() }))
  }
  return (
    <Panel title="Which runs">
      <form onSubmit={compare}>
        <div class="question">
          <TextField
            label="Run"
            help="Id of a run, as in its address."
            required
            value={ids.right}
            onChange={(id) => setIds({ ...ids, right: id })}
          />
          <TextField
            label="Compared with"
            help="Id of an earlier run; the run before it unless given."
            value={ids.left}
            onChange={(id) => setIds({ ...ids, left: id })}
          />
        </div>
        <div class="foot">
          <Button kind="primary" type="submit">
            Compare runs
          </Button>
        </div>
      </form>
    </Panel>
  )
}

function useExecution(id: string | undefined) {
  return useLive('/pipelines/{id}', id === undefined ? undefined : { path: { id } }, {
    refresh: 'live',
    isBusy: ({ status }) => !isComplete(status),
  })
}

function Chosen({ id, base, onlyChanges }: { id: string; base: string; onlyChanges: boolean }) {
  const newer = useExecution(id).reading.value
  const pipelineConfigIds = newer.body?.pipelineConfigId ?? undefined
  const query = { pipelineConfigIds: pipelineConfigIds ?? '', limit: maxOthers, expand: false }
  const others = useLive('/executions', pipelineConfigIds === undefined ? undefined : { query }, { refresh: 'open' }).reading
    .value
  const isNamed = baselines.some(([name]) => name === base)
  const earlier = newestFirst(others.body ?? []).filter(({ id: other, buildTime }) => {
    return other !== id && (buildTime ?? 0) <= (newer.body?.buildTime ?? 0)
  })
  const found = isNamed ? earlier.find(({ status }) => base === 'previous' || status === 'SUCCEEDED')?.id : base
  const older = useExecution(found).reading.value
  const error = newer.body === undefined ? newer.error : older.body === undefined ? (older.error ?? others.error) : undefined
  if (error !== undefined) return <ErrorState error={error} onRetry={() => refreshAll()} />
  const isAlone = newer.body !== undefined && isNamed && found === undefined && (others.body !== undefined || !pipelineConfigIds)
  if (isAlone)
    return <EmptyState icon="search" text={`There is no earlier run${base === 'previous' ? '' : ' that succeeded'}.`} />
  if (newer.body === undefined || older.body === undefined) return <Loading rows={8} />
  return (
    <>
      <Baseline id={id} base={base} found={older.body} earlier={earlier} />
      <Both older={older.body} newer={newer.body} onlyChanges={onlyChanges} />
    </>
  )
}

interface BaselineProps {
  readonly id: string
  readonly base: string
  readonly found: Execution
  readonly earlier: readonly Execution[]
}

function Baseline({ id, base, found, earlier }: BaselineProps) {
  const { route: navigate } = useLocation()
  const runs = earlier.map((run) => {
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
        choices={[...baselines.slice(1), ...runs]}
      />
      <Button icon="undo" onClick={() => navigate(to.compare({ left: id, right: found.id }))}>
        Swap
      </Button>
    </div>
  )
}

interface BothProps {
  readonly older: Execution
  readonly newer: Execution
}

const icons: Readonly<Record<Change['kind'], IconName>> = {
  parameter: 'settings',
  image: 'box',
  commit: 'link',
  definition: 'edit',
  stage: 'pipeline',
  duration: 'clock',
  trigger: 'play',
}

function Both({ older, newer, onlyChanges }: BothProps & { readonly onlyChanges: boolean }) {
  const changes = useChanges(older, newer)
  return (
    <div class="stack">
      <div class="panel is-flush">
        <RunTable runs={[older, newer]} label="Compared runs" heldOf={older.id} />
      </div>
      <Panel title="What changed" count={changes.length}>
        {changes.length === 0 ? (
          <p class="quiet">Nothing: input, definition, stages and durations are the same.</p>
        ) : (
          <ul class="changes">
            {changes.map(({ kind, text, href }) => (
              <li key={text}>
                <Icon name={icons[kind]} />
                {href === undefined ? (
                  <Name text={text} max={300} />
                ) : (
                  <a href={href}>
                    <Name text={text} max={300} />
                  </a>
                )}
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Values older={older} newer={newer} onlyChanges={onlyChanges} />
    </div>
  )
}

/** What the store knows of the definition is better than what the records of both runs hint at. */
function useChanges(older: Execution, newer: Execution): readonly Change[] {
  const id = newer.pipelineConfigId ?? undefined
  const isSame = id !== undefined && older.pipelineConfigId === id
  const parameters = isSame ? { path: { pipelineConfigId: id }, query: { limit: maxRevisions } } : undefined
  const { body } = useLive('/pipelineConfigs/{pipelineConfigId}/history', parameters, { refresh: 'open' }).reading.value
  const changes = describeChanges(older, newer)
  const revisions = toRevisions(body)
  const [from, until] = [older.buildTime ?? 0, newer.buildTime ?? 0]
  const isKnown = revisions.some(({ savedAtMs = Number.POSITIVE_INFINITY }) => savedAtMs <= Math.min(from, until))
  if (!isKnown) return changes
  const between = revisions.filter(({ savedAtMs = 0 }) => savedAtMs > from && savedAtMs <= until)
  const saved = between.flatMap((revision) => savedChanges(revision, newer.application, id ?? ''))
  const isResult = ({ kind }: Change) => kind === 'stage' || kind === 'duration'
  const input = changes.filter((change) => change.kind !== 'definition' && !isResult(change))
  return [...input, ...saved, ...changes.filter(isResult)]
}

const maxFields = 8

function savedChanges(
  { id, author, savedAtMs, definition, previous }: Revision,
  application: string,
  pipeline: string,
): readonly Change[] {
  if (previous === undefined) return []
  const by = `${author ?? 'someone'}, ${formatRelative(savedAtMs ?? 0, now.peek())}`
  const href = to.editPipeline(application, pipeline, { tab: 'history', revision: id })
  const sentences = describeFields(previous, definition).flatMap(({ title, kind, fields }) =>
    fields.length === 0
      ? [`${title} was ${kind}`]
      : fields
          .filter(({ field }) => field !== 'index')
          .map(({ field, before, after }) => `${title}: ${fieldSentence(field, before, after)}`),
  )
  return sentences.slice(0, maxFields).map((text) => ({ kind: 'definition', text: `${text} (by ${by})`, href }))
}

const maxValue = 60

function fieldSentence(field: string, before: unknown, after: unknown): string {
  const [one, other] = [showValue(before), showValue(after)]
  if (Math.max(one.length, other.length) > maxValue) return `${field} changed`
  return one === ''
    ? `${field} is now ${other}`
    : other === ''
      ? `${field} is no longer ${one}`
      : `${field} went from ${one} to ${other}`
}

/** All values of both records, for what no sentence says. */
function Values({ older, newer, onlyChanges }: BothProps & { readonly onlyChanges: boolean }) {
  const change = useQueryChange()
  const [isOpen, setOpen] = useState(!onlyChanges)
  const values = isOpen ? valuesOf(older, newer).filter(({ differs }) => differs || !onlyChanges) : []
  return (
    <details class="panel compare" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Values of both records</summary>
      {isOpen && (
        <>
          <div class="panel-note">
            <Check checked={onlyChanges} onChange={(isOn) => change({ only: isOn ? undefined : 'all' })}>
              Only differences
            </Check>
          </div>
          {values.length === 0 ? (
            <EmptyState text="The records do not differ." />
          ) : (
            <Difference values={values} heads={heads} label="Values of both records" />
          )}
        </>
      )}
    </details>
  )
}

const heads = { field: 'Field', before: 'Before', after: 'After' }

function valuesOf(older: Execution, newer: Execution) {
  const { facts, stages } = compareExecutions(older, newer)
  const ofStages = stages.flatMap(({ name, differences }) =>
    differences.map((each) => ({ ...each, path: `${name}: ${each.path}` })),
  )
  return [...facts, ...ofStages].map(({ path, left, right, differs }) => ({ name: path, before: left, after: right, differs }))
}
