/** What each expression of the draft would give with the results of a run, and whether the engine accepts the draft. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { client, unwrap } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, ErrorState, Loading } from '../components/states.tsx'
import { type Execution, newestFirst, shortId, statusOf } from '../model/execution.ts'
import { markHidden } from '../model/names.ts'
import { type Json, textOf, textsOf } from '../model/read.ts'
import { formatRelative, now } from '../model/time.ts'
import { plural } from '../words.ts'
import { showValue } from './describe-changes.ts'
import type { StageTypes } from './descriptions.ts'
import type { Draft, TabProps } from './draft.ts'
import { conditionField, type EvaluatedStage, findExpressions, type Outcome, toOutcome, toQuestion, wouldRun } from './dry-run.ts'
import { titleOfStage } from './stages.ts'

const maxRuns = 20
/** After the last change of the draft. */
const evaluateDelayMs = 400

export function DryRunTab({ draft }: TabProps) {
  const { query } = useLocation()
  const id = textOf(draft.stored.value?.definition['id'])
  const reads = { query: { pipelineConfigIds: id ?? '', limit: maxRuns, expand: false } }
  const live = useLive('/executions', id === undefined ? undefined : reads, { refresh: 'open' })
  const { body, error } = live.reading.value
  const runs = newestFirst(body ?? [])
  const chosen = query['execution'] ?? runs[0]?.id
  return (
    <Panel title="Dry run" actions={<PlanCheck draft={draft} />}>
      <p class="muted">What each expression of the draft gives with the results of a former run. Nothing is stored or started.</p>
      {error !== undefined && body === undefined ? (
        <ErrorState error={error} onRetry={() => live.refresh()} />
      ) : id !== undefined && body === undefined ? (
        <Loading rows={4} />
      ) : chosen === undefined ? (
        <EmptyState icon="play" text="This pipeline has not run yet, so there are no results to evaluate with. Start it once." />
      ) : (
        <Evaluation key={chosen} draft={draft} runId={chosen} choice={<RunChoice runs={runs} chosen={chosen} />} />
      )}
    </Panel>
  )
}

function RunChoice({ runs, chosen }: { runs: readonly Execution[]; chosen: string }) {
  const change = useQueryChange()
  return (
    <label class="row">
      <span>Run</span>
      <select value={chosen} onChange={(event) => change({ execution: event.currentTarget.value })}>
        {runs.map((run) => (
          <option key={run.id} value={run.id}>
            {shortId(run.id)}, {statusOf(run).word}, {formatRelative(run.startTime ?? run.buildTime ?? 0, now.peek())}
          </option>
        ))}
        {!runs.some(({ id }) => id === chosen) && <option value={chosen}>{shortId(chosen)}</option>}
      </select>
    </label>
  )
}

function Evaluation({ draft, runId, choice }: { draft: Draft; runId: string; choice: ComponentChildren }) {
  const run = useLive('/pipelines/{id}', { path: { id: runId } }, { refresh: 'open' })
  const { body, error: runError } = run.reading.value
  const { stages, error, retry } = useEvaluation(draft, body)
  if (runError !== undefined && body === undefined) return <ErrorState error={runError} onRetry={() => run.refresh()} />
  if (error !== undefined) return <ErrorState error={error} onRetry={retry} />
  if (stages === undefined) return <Loading rows={6} />
  if (stages.length === 0) return <EmptyState icon="check" text="The draft has no expressions." />
  const failures = stages.reduce((sum, stage) => sum + failuresOf(stage), 0)
  return (
    <>
      <div class="toolbar" role="status">
        {choice}
        <strong>{failures === 0 ? 'All expressions give a value.' : `${plural(failures, 'expression')} without a value.`}</strong>
      </div>
      {stages
        .toSorted((one, other) => Math.min(1, failuresOf(other)) - Math.min(1, failuresOf(one)))
        .map((stage, index) => (
          <StageRows key={index} stage={stage} />
        ))}
    </>
  )
}

function failuresOf({ rows }: EvaluatedStage): number {
  return rows.filter(({ expression, outcome }) => outcome.kind !== 'value' && !expression.hasOwnTime).length
}

/** Evaluates again when the draft changes; what was found stays until then. */
function useEvaluation(draft: Draft, run: Execution | undefined) {
  const definition = draft.definition.value
  const types = draft.types.value
  const [stages, setStages] = useState<readonly EvaluatedStage[] | undefined>(undefined)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    if (run === undefined || types === undefined) return
    let isCurrent = true
    const evaluate = async () => {
      const found = await evaluateDraft(definition, types, run).catch(asApiError)
      if (!isCurrent) return
      if (Array.isArray(found)) setStages(found as readonly EvaluatedStage[])
      setError(Array.isArray(found) ? undefined : (found as ApiError))
    }
    const timer = setTimeout(evaluate, stages === undefined ? 0 : evaluateDelayMs)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [run, definition, types, attempt])
  return { stages, error, retry: () => setAttempt(attempt + 1) }
}

/** @throws {ApiError} */
function evaluateDraft(definition: Json, types: StageTypes, run: Execution): Promise<readonly EvaluatedStage[]> {
  const inRun = new Set(run.stages.flatMap(({ refId, parentStageId }) => (refId && !parentStageId ? [refId] : [])))
  return Promise.all(
    findExpressions(definition, types).map(async (part) => {
      const { requisites, variables, missing } = toQuestion(part, definition, inRun)
      const query = { executionId: run.id, requisiteStageRefIds: requisites.join(','), spelVersion: 'v4' } as const
      const params = { path: { id: run.id }, query }
      const answer = await unwrap(client.POST('/pipelines/{id}/evaluateVariables', { params, body: [...variables] }))
      const first = variables.length - part.expressions.length
      const rows = part.expressions.map((expression, index) => ({
        expression,
        outcome: toOutcome(expression, first + index, answer),
      }))
      return { title: titleOfStage(part.node.stage), rows, missing }
    }),
  )
}

function StageRows({ stage: { title, rows, missing } }: { stage: EvaluatedStage }) {
  return (
    <section class="dry-stage">
      <h3>
        <Name text={title} max={60} />
      </h3>
      {missing.length > 0 && (
        <Banner tone="info">The run does not have these stages, so their results are missing: {missing.join(', ')}.</Banner>
      )}
      <dl>
        {rows.map(({ expression: { field, text, hasOwnTime }, outcome }) => (
          <div key={field} class={`dry-row is-${outcome.kind}`}>
            <dt>
              <code class="field-name">{field}</code>
              <div class="muted">
                <Code text={text} />
              </div>
            </dt>
            <dd>
              <OutcomeText outcome={outcome} />
              {field === conditionField && <Condition outcome={outcome} />}
              {hasOwnTime && <p class="muted">Evaluated at its own time, not when the stage begins.</p>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function OutcomeText({ outcome: { kind, value, message } }: { outcome: Outcome }) {
  return (
    <>
      {kind !== 'error' && <Code text={showValue(value)} />}
      {kind !== 'value' && (
        <p class={`status-text ${kind === 'error' ? 'is-failed' : 'is-warning'}`}>
          <Icon name={kind === 'error' ? 'warn' : 'info'} />
          <span>{markHidden(message) || 'Nothing is there.'}</span>
        </p>
      )}
    </>
  )
}

function Condition({ outcome }: { outcome: Outcome }) {
  const runs = wouldRun(outcome)
  return runs === undefined ? null : <p>{runs ? 'The stage would run.' : 'The stage would be skipped.'}</p>
}

const maxShown = 4000

function Code({ text }: { text: string }) {
  return (
    <pre>
      <bdi>{text.slice(0, maxShown).split('\n').map(markHidden).join('\n')}</bdi>
      {text.length > maxShown && '…'}
    </pre>
  )
}

/** The engine's own check of a draft. */
function PlanCheck({ draft }: { draft: Draft }) {
  const [errors, setErrors] = useState<readonly string[] | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const definition = draft.definition.value
  useEffect(() => setErrors(undefined), [definition])
  const check = async () => {
    setBusy(true)
    const body = { ...definition, name: textOf(definition['name']) ?? '', application: draft.application, plan: true }
    try {
      await unwrap(client.POST('/pipelines/start', { body }))
      setErrors([])
    } catch (cause) {
      const error = asApiError(cause)
      const listed = textsOf((error.body as Json | undefined)?.['errors'])
      setErrors(listed.length > 0 ? listed : [error.message])
    }
    setBusy(false)
  }
  return (
    <div class="row" aria-live="polite">
      {errors?.length === 0 && (
        <span class="status-text is-succeeded">
          <Icon name="check" /> The engine accepts the draft.
        </span>
      )}
      {errors?.map((message) => (
        <span key={message} class="status-text is-failed">
          <Icon name="warn" /> <Name text={message} max={200} />
        </span>
      ))}
      <Button aria-busy={isBusy} aria-disabled={isBusy} onClick={() => !isBusy && void check()}>
        Check with the engine
      </Button>
    </div>
  )
}
