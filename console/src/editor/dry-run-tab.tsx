/** What each expression of the draft would give with the results of a run, and whether the engine accepts the draft. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { client, unwrap } from '../api/client.ts'
import { useLive } from '../api/live.ts'
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
import { DefinitionDiff } from './definition-diff.tsx'
import type { StageTypes } from './descriptions.ts'
import type { Draft, TabProps } from './draft.ts'
import { type Failure, failuresIn, toQuestion, withValues } from './dry-run.ts'
import { stagesOf, titleOfStage } from './stages.ts'

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

interface EvaluationProps {
  readonly draft: Draft
  readonly runId: string
  readonly choice: ComponentChildren
}

function Evaluation({ draft, runId, choice }: EvaluationProps) {
  const run = useLive('/pipelines/{id}', { path: { id: runId } }, { refresh: 'open' })
  const { body, error: runError } = run.reading.value
  const { found, error, retry } = useEvaluation(draft, body)
  if (runError !== undefined && body === undefined) return <ErrorState error={runError} onRetry={() => run.refresh()} />
  if (error !== undefined) return <ErrorState error={error} onRetry={retry} />
  if (found === undefined) return <Loading rows={6} />
  const { definition, notes, expressions } = found
  return (
    <>
      <div class="toolbar" role="status">
        {choice}
        <strong>
          {expressions === 0
            ? 'The draft has no expressions.'
            : notes.length === 0
              ? 'All expressions give a value.'
              : `${plural(notes.length, 'expression')} without a value`}
        </strong>
      </div>
      {notes.length > 0 && (
        <ul class="plain-list dry-notes">
          {notes.map((note) => (
            <NoteRow key={`${note.title} ${note.expression}`} note={note} />
          ))}
        </ul>
      )}
      {expressions > 0 && <DefinitionDiff before={draft.definition.value} after={definition} labels={labels} />}
    </>
  )
}

const labels = { before: 'Draft', after: 'With this run' }

interface Note extends Failure {
  readonly title: string
}

function NoteRow({ note: { title, expression, message, isError } }: { note: Note }) {
  return (
    <li class={isError ? 'is-failed' : 'is-warning'}>
      <Icon name={isError ? 'warn' : 'info'} />
      <span>
        <Name text={title} max={60} />: <code>{markHidden(expression)}</code> {markHidden(message)}
      </span>
    </li>
  )
}

interface Evaluated {
  readonly definition: Json
  readonly notes: readonly Note[]
  /** Stages with expressions. */
  readonly expressions: number
}

/** Evaluates again when the draft changes; what was found stays until then. */
function useEvaluation(draft: Draft, run: Execution | undefined) {
  const definition = draft.definition.value
  const types = draft.types.value
  const [found, setFound] = useState<Evaluated | undefined>(undefined)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    if (run === undefined || types === undefined) return
    let isCurrent = true
    const show = (evaluated: Evaluated | undefined, failed: ApiError | undefined) => {
      if (!isCurrent) return
      if (evaluated !== undefined) setFound(evaluated)
      setError(failed)
    }
    const evaluate = () =>
      evaluateDraft(definition, types, run).then(
        (evaluated) => show(evaluated, undefined),
        (cause) => show(undefined, asApiError(cause)),
      )
    const timer = setTimeout(evaluate, found === undefined ? 0 : evaluateDelayMs)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [run, definition, types, attempt])
  return { found, error, retry: () => setAttempt(attempt + 1) }
}

/** @throws {ApiError} */
async function evaluateDraft(definition: Json, types: StageTypes, run: Execution): Promise<Evaluated> {
  const inRun = new Set(run.stages.flatMap(({ refId, parentStageId }) => (refId && !parentStageId ? [refId] : [])))
  const parts = await Promise.all(
    stagesOf(definition).map(async (stage) => {
      const question = toQuestion(stage, definition, inRun, types)
      if (question === undefined) return { stage, notes: [], expressions: 0 }
      const query = { executionId: run.id, requisiteStageRefIds: question.requisites.join(','), spelVersion: 'v4' } as const
      const params = { path: { id: run.id }, query }
      const answer = await unwrap(client.POST('/pipelines/{id}/evaluateVariables', { params, body: [...question.variables] }))
      const title = titleOfStage(stage)
      const missing = question.missing.map((name) => ({
        ...{ title, expression: name, isError: false },
        message: 'is no stage of the run, so its results are missing.',
      }))
      const notes = [...missing, ...failuresIn(answer).map((failure) => ({ ...failure, title }))]
      return { stage: withValues(stage, question, answer), notes, expressions: 1 }
    }),
  )
  const notes = parts.flatMap((part) => part.notes).toSorted((one, other) => Number(other.isError) - Number(one.isError))
  const expressions = parts.reduce((sum, part) => sum + part.expressions, 0)
  return { definition: { ...definition, stages: parts.map(({ stage }) => stage) }, notes, expressions }
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
