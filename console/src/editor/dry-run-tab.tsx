/** What each expression of the draft would give with the results of a run. Nothing is stored or started. */

import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { client, unwrap } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { Check } from '../components/check.tsx'
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
import { textWords } from './text-words.ts'

const maxRuns = 20
/** After the last change of the draft. */
const evaluateDelayMs = 400

export function DryRunTab({ draft }: TabProps) {
  const { query } = useLocation()
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
      <Panel title={textWords.dryRun}>
        <p class="muted">{textWords.dryRunIntro}</p>
        {list.length > 0 && <RunChoice runs={list} chosen={chosen} />}
        {error !== undefined && body === undefined ? (
          <ErrorState error={error} onRetry={() => runs.refresh()} />
        ) : id !== undefined && body === undefined ? (
          <Loading rows={4} />
        ) : chosen === undefined ? (
          <EmptyState icon="play" text={textWords.noRuns} />
        ) : (
          <Evaluation key={chosen} draft={draft} runId={chosen} />
        )}
      </Panel>
    </div>
  )
}

function RunChoice({ runs, chosen }: { runs: readonly Execution[]; chosen: string | undefined }) {
  const change = useQueryChange()
  return (
    <div class="toolbar">
      <label class="row">
        <span>{textWords.run}</span>
        <select value={chosen} onChange={(event) => change({ execution: event.currentTarget.value })}>
          {runs.map((run) => (
            <option key={run.id} value={run.id}>
              {describeRun(run)}
            </option>
          ))}
          {chosen !== undefined && !runs.some(({ id }) => id === chosen) && <option value={chosen}>{shortId(chosen)}</option>}
        </select>
      </label>
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
      try {
        const found = await evaluateDraft(definition, findExpressions(definition, types), run)
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
  }, [run, definition, types, attempt])
  return { stages, error, retry: () => setAttempt(attempt + 1) }
}

function Evaluation({ draft, runId }: { draft: Draft; runId: string }) {
  const run = useLive('/pipelines/{id}', { path: { id: runId } }, { refresh: 'open' })
  const { body, error: runError } = run.reading.value
  const { stages, error, retry } = useEvaluation(draft, body)
  const [onlyFailures, setOnlyFailures] = useState(false)
  if (runError !== undefined && body === undefined) return <ErrorState error={runError} onRetry={() => run.refresh()} />
  if (error !== undefined) return <ErrorState error={error} onRetry={retry} />
  if (stages === undefined) return <Loading rows={6} />
  if (stages.length === 0) return <p>{textWords.noExpressions}</p>
  const failures = stages.flatMap(({ rows }) => rows).filter(isFailure).length
  return (
    <>
      <div class="toolbar" role="status">
        <strong>{textWords.failures(failures)}</strong>
        {failures > 0 && (
          <Check checked={onlyFailures} onChange={setOnlyFailures}>
            {textWords.onlyFailures}
          </Check>
        )}
      </div>
      {stages.map((stage) => (
        <StageRows key={stage.part.key} stage={stage} onlyFailures={onlyFailures} />
      ))}
    </>
  )
}

function StageRows({ stage: { part, rows, missing }, onlyFailures }: { stage: EvaluatedStage; onlyFailures: boolean }) {
  const shown = onlyFailures ? rows.filter(isFailure) : rows
  if (shown.length === 0) return null
  return (
    <section class="dry-stage">
      <h3>
        <Name text={part.title} max={60} />
      </h3>
      {missing.length > 0 && <Banner tone="info">{textWords.missingInRun(missing.join(', '))}</Banner>}
      <dl>
        {shown.map((row) => (
          <ExpressionRow key={row.expression.field} row={row} />
        ))}
      </dl>
    </section>
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
        <OutcomeText outcome={outcome} />
        {expression.isCondition && (
          <p class="outcome">{conditionHolds(outcome) ? textWords.conditionRuns : textWords.conditionSkips}</p>
        )}
        {expression.hasOwnTime && <p class="muted">{textWords.ownTime}</p>}
      </dd>
    </div>
  )
}

function OutcomeText({ outcome }: { outcome: Outcome }) {
  if (outcome.kind === 'error') {
    return (
      <p class="outcome">
        <Icon name="warn" /> {show(outcome.message)}
      </p>
    )
  }
  return (
    <>
      <pre>
        <bdi>{show(showValue(outcome.value))}</bdi>
      </pre>
      {outcome.kind === 'null' && (
        <p class="outcome">
          <Icon name="info" /> {outcome.message === '' ? textWords.nullValue : show(outcome.message)}
        </p>
      )}
    </>
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

interface Plan {
  readonly errors: readonly string[]
  readonly error?: ApiError
}

/** The engine's own check of a draft. */
function PlanCheck({ draft }: { draft: Draft }) {
  const [outcome, setOutcome] = useState<Plan | undefined>(undefined)
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
      title={textWords.plan}
      actions={
        <Button aria-busy={isBusy} aria-disabled={isBusy} onClick={() => !isBusy && void check()}>
          {textWords.checkPlan}
        </Button>
      }
    >
      <p class="muted">{textWords.planNote}</p>
      <div aria-live="polite">{outcome !== undefined && <PlanOutcome {...outcome} />}</div>
    </Panel>
  )
}

function PlanOutcome({ errors, error }: Plan) {
  if (error !== undefined) return <FailedAction error={error} />
  if (errors.length === 0) return <p>{textWords.planGood}</p>
  return (
    <ul class="plan-errors">
      {errors.map((message) => (
        <li key={message}>
          <Icon name="warn" /> {show(message)}
        </li>
      ))}
    </ul>
  )
}
