/** What each expression of the draft would give with the results of a run. Nothing is stored or started. */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { client, unwrap } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { Banner } from '../components/banner.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, ErrorState, FailedAction, Loading } from '../components/states.tsx'
import { type Execution, shortId, statusOf } from '../model/execution.ts'
import { showHidden } from '../model/names.ts'
import { type Json, textOf, textsOf } from '../model/read.ts'
import { formatRelative, now } from '../model/time.ts'
import { showValue } from './describe-changes.ts'
import type { Draft, TabProps } from './draft.ts'
import {
  conditionHolds,
  findExpressions,
  nextCondition,
  type Outcome,
  type StageExpression,
  type StageExpressions,
  toOutcome,
  toQuestion,
} from './dry-run.ts'
import { words } from './text-words.ts'

const maxRuns = 20
/** After the last change of the draft. */
const evaluateDelayMs = 400

export function DryRunTab({ draft }: TabProps) {
  const { query } = useLocation()
  const change = useQueryChange()
  const id = textOf(draft.stored.value?.definition['id'])
  const runs = useLive(
    '/executions',
    id === undefined ? undefined : { query: { pipelineConfigIds: id, limit: maxRuns, expand: false } },
    { refresh: 'open' },
  )
  const { body, error } = runs.reading.value
  const list = (body ?? []).toSorted((one, other) => (other.buildTime ?? 0) - (one.buildTime ?? 0))
  const chosen = query['execution'] ?? list[0]?.id
  return (
    <div class="stack">
      <PlanCheck draft={draft} />
      <Panel title={words.dryRun}>
        <p class="muted">{words.dryRunIntro}</p>
        {list.length > 0 && (
          <div class="toolbar">
            <label class="row">
              <span>{words.run}</span>
              <select value={chosen} onChange={(event) => change({ execution: event.currentTarget.value })}>
                {list.map((run) => (
                  <option key={run.id} value={run.id}>
                    {describeRun(run)}
                  </option>
                ))}
                {chosen !== undefined && !list.some((run) => run.id === chosen) && (
                  <option value={chosen}>{shortId(chosen)}</option>
                )}
              </select>
            </label>
          </div>
        )}
        {error !== undefined && body === undefined ? (
          <ErrorState error={error} onRetry={() => runs.refresh()} />
        ) : id !== undefined && body === undefined ? (
          <Loading rows={4} />
        ) : chosen === undefined ? (
          <EmptyState icon="play" text={words.noRuns} />
        ) : (
          <Evaluation key={chosen} draft={draft} runId={chosen} />
        )}
      </Panel>
    </div>
  )
}

function describeRun(run: Execution): string {
  const at = run.startTime ?? run.buildTime
  return [shortId(run.id), statusOf(run).word, at ? formatRelative(at, now.peek()) : ''].filter((text) => text !== '').join(', ')
}

interface Row {
  readonly expression: StageExpression
  readonly outcome: Outcome
}

interface EvaluatedStage {
  readonly part: StageExpressions
  readonly rows: readonly Row[]
  readonly missing: readonly string[]
}

/** Evaluates again when the draft changes; what was found stays until then. */
function Evaluation({ draft, runId }: { draft: Draft; runId: string }) {
  const run = useLive('/pipelines/{id}', { path: { id: runId } }, { refresh: 'open' })
  const { body, error: runError } = run.reading.value
  const definition = draft.definition.value
  const types = draft.types.value
  const [stages, setStages] = useState<readonly EvaluatedStage[] | undefined>(undefined)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const [attempt, setAttempt] = useState(0)
  const [onlyFailures, setOnlyFailures] = useState(false)
  useEffect(() => {
    if (body === undefined || types === undefined) return
    let isCurrent = true
    const evaluate = async () => {
      try {
        const found = await evaluateDraft(definition, findExpressions(definition, types), body)
        if (isCurrent) setStages(found)
        if (isCurrent) setError(undefined)
      } catch (cause) {
        if (isCurrent) setError(asApiError(cause))
      }
    }
    const timer = setTimeout(evaluate, stages === undefined ? 0 : evaluateDelayMs)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [body, definition, types, attempt])
  if (runError !== undefined && body === undefined) return <ErrorState error={runError} onRetry={() => run.refresh()} />
  if (error !== undefined) return <ErrorState error={error} onRetry={() => setAttempt(attempt + 1)} />
  if (stages === undefined) return <Loading rows={6} />
  if (stages.length === 0) return <p>{words.noExpressions}</p>
  const failures = stages.flatMap(({ rows }) => rows).filter(isFailure).length
  return (
    <>
      <div class="toolbar" role="status">
        <strong>{words.failures(failures)}</strong>
        {failures > 0 && (
          <label class="check">
            <input type="checkbox" checked={onlyFailures} onChange={(event) => setOnlyFailures(event.currentTarget.checked)} />{' '}
            {words.onlyFailures}
          </label>
        )}
      </div>
      {stages.map(({ part, rows, missing }) => {
        const shown = onlyFailures ? rows.filter(isFailure) : rows
        if (shown.length === 0) return null
        return (
          <section key={part.key} class="dry-stage">
            <h3>
              <Name text={part.title} max={60} />
            </h3>
            {missing.length > 0 && <Banner tone="info">{words.missingInRun(missing.join(', '))}</Banner>}
            <dl>
              {shown.map((row) => (
                <ExpressionRow key={row.expression.field} row={row} />
              ))}
            </dl>
          </section>
        )
      })}
    </>
  )
}

function isFailure({ expression, outcome }: Row): boolean {
  return outcome.kind !== 'value' && !expression.hasOwnTime
}

function ExpressionRow({ row: { expression, outcome } }: { row: Row }) {
  return (
    <div class={`dry-row is-${outcome.kind}`}>
      <dt>
        <code class="field-name">
          <Name text={expression.field} max={80} />
        </code>
        {expression.name !== undefined && (
          <span class="muted">
            {' '}
            <Name text={expression.name} max={40} />
          </span>
        )}
        <pre class="muted">
          <bdi>{show(expression.text)}</bdi>
        </pre>
      </dt>
      <dd>
        {outcome.kind === 'error' ? (
          <p class="outcome">
            <Icon name="warn" /> {show(outcome.message)}
          </p>
        ) : (
          <>
            <pre>
              <bdi>{show(showValue(outcome.value))}</bdi>
            </pre>
            {outcome.kind === 'null' && (
              <p class="outcome">
                <Icon name="info" /> {outcome.message === '' ? words.nullValue : show(outcome.message)}
              </p>
            )}
          </>
        )}
        {expression.isCondition && <p class="outcome">{conditionHolds(outcome) ? words.conditionRuns : words.conditionSkips}</p>}
        {expression.hasOwnTime && <p class="muted">{words.ownTime}</p>}
      </dd>
    </div>
  )
}

const maxShown = 4000

function show(text: string): string {
  const cut = text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
  return cut.split('\n').map(showHidden).join('\n')
}

/** @throws {ApiError} */
async function evaluateDraft(definition: Json, parts: readonly StageExpressions[], run: Execution): Promise<EvaluatedStage[]> {
  const inRun = new Set(run.stages.flatMap(({ refId, parentStageId }) => (refId && !parentStageId ? [refId] : [])))
  const found: EvaluatedStage[] = []
  for (const part of parts) {
    const question = toQuestion(part, definition, inRun)
    const ask = (variables: typeof question.variables) =>
      unwrap(
        client.POST('/pipelines/{id}/evaluateVariables', {
          params: {
            path: { id: run.id },
            query: { executionId: run.id, requisiteStageRefIds: question.requisites.join(','), spelVersion: 'v4' },
          },
          body: variables.map(({ key, value }) => ({ key, value })),
        }),
      )
    const answer = await ask(question.variables)
    const rows: Row[] = []
    for (const [index, expression] of part.expressions.entries()) {
      const outcome = toOutcome(expression, question.places[index] ?? -1, answer)
      const next = expression.isCondition ? nextCondition(outcome) : undefined
      if (next === undefined) rows.push({ expression, outcome })
      else {
        const variables = [...question.variables, { key: ' condition', value: next }]
        rows.push({
          expression,
          outcome: toOutcome({ ...expression, text: next }, question.variables.length, await ask(variables)),
        })
      }
    }
    found.push({ part, rows, missing: question.missing })
  }
  return found
}

/** The engine's own check of a draft. */
function PlanCheck({ draft }: { draft: Draft }) {
  const [outcome, setOutcome] = useState<{ readonly errors: readonly string[]; readonly error?: ApiError } | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const definition = draft.definition.value
  useEffect(() => setOutcome(undefined), [definition])
  const check = async () => {
    setBusy(true)
    try {
      await unwrap(
        client.POST('/pipelines/start', {
          body: { ...definition, name: textOf(definition['name']) ?? '', application: draft.application, plan: true },
        }),
      )
      setOutcome({ errors: [] })
    } catch (cause) {
      const error = asApiError(cause)
      const listed = textsOf((error.body as Json | undefined)?.['errors'])
      setOutcome(error.status === 400 ? { errors: listed.length > 0 ? listed : [error.message] } : { errors: [], error })
    }
    setBusy(false)
  }
  return (
    <Panel
      title={words.plan}
      actions={
        <button type="button" class="button" aria-busy={isBusy} aria-disabled={isBusy} onClick={() => !isBusy && void check()}>
          {words.checkPlan}
        </button>
      }
    >
      <p class="muted">{words.planNote}</p>
      <div aria-live="polite">
        {outcome?.error !== undefined && <FailedAction error={outcome.error} />}
        {outcome !== undefined && outcome.error === undefined && outcome.errors.length === 0 && <p>{words.planGood}</p>}
        {outcome !== undefined && outcome.errors.length > 0 && (
          <ul class="plan-errors">
            {outcome.errors.map((message) => (
              <li key={message}>
                <Icon name="warn" /> {show(message)}
              </li>
            ))}
          </ul>
        )}
      </div>
    </Panel>
  )
}
