/** What each expression of the draft would give with the results of a run, and whether the engine accepts the draft. */

import { type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type ApiError, asApiError, client } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { Filters } from '../components/filter-field.tsx'
import { act } from '../components/notices.tsx'
import { ErrorState, Loaded, Loading, Panel } from '../components/screen.tsx'
import { Icon, Name, StatusText } from '../components/text.tsx'
import { type Execution, newestFirst, shortId, statusOf } from '../model/execution.ts'
import { markHidden } from '../model/names.ts'
import { formatRelative, now } from '../model/time.ts'
import { plural } from '../words.ts'
import { DefinitionDiff } from './definition-diff.tsx'
import type { Draft, TabProps } from './draft.ts'
import { notesOf, toQuestion, withValues } from './dry-run.ts'
import { type StageTypes, stagesOf } from './stages.ts'

const maxRuns = 20

export function DryRunTab({ draft }: TabProps) {
  const wanted = useLocation().query['execution']
  const pipelineConfigIds = scalarOf(draft.stored.value?.['id']) ?? ''
  const runs = useLive(
    '/executions',
    { query: { pipelineConfigIds, limit: maxRuns, expand: false } },
    'open',
  )
  const [last, ...earlier] = newestFirst(runs.body ?? [])
  const id = wanted ?? last?.id
  const run = useLive('/pipelines/{id}', id === undefined ? undefined : { path: { id } }, 'open')
  const none =
    'There are no results to evaluate with, because this pipeline has not run. Start it once.'
  return (
    <Panel title="Dry run" actions={<PlanCheck draft={draft} />}>
      <p class="muted">
        What each expression of the draft gives with the results of a former run. Nothing is stored
        or started.
      </p>
      <Filters
        filters={[
          {
            name: 'execution',
            label: 'Run',
            any: 'With the last run',
            choices: earlier.map(toChoice),
            least: 1,
          },
        ]}
      />
      {id === undefined ? (
        <Loaded live={runs} icon="play" empty={none}>
          {() => null}
        </Loaded>
      ) : (
        <Loaded live={run} rows={6}>
          {(body) => <Verdict key={id} draft={draft} run={body} />}
        </Loaded>
      )}
    </Panel>
  )
}

function toChoice(run: Execution): [id: string, text: string] {
  const time = formatRelative(run.startTime ?? run.buildTime ?? 0, now.peek())
  return [run.id, `${shortId(run.id)}, ${statusOf(run).word}, ${time}`]
}

function Verdict({ draft, run }: TabProps & { readonly run: Execution }) {
  const { found, error, retry } = useEvaluation(draft, run)
  if (error !== undefined) return <ErrorState error={error} onRetry={retry} />
  if (found === undefined) return <Loading rows={6} />
  const { definition, notes, hasExpressions } = found
  const verdict =
    notes.length === 0
      ? 'All expressions give a value.'
      : `${plural(notes.length, 'expression')} without a value`
  return (
    <>
      <p role="status">
        <strong>{hasExpressions ? verdict : 'The draft has no expressions.'}</strong>
      </p>
      <ul class="plain-list dry-notes">
        {notes.map(({ title, expression, message, isError }) => (
          <li key={`${title} ${expression}`} class={isError ? 'is-failed' : 'is-warning'}>
            <Icon name={isError ? 'warn' : 'info'} />
            <span>
              <Name text={title} max={60} />: <code>{markHidden(expression)}</code>{' '}
              {markHidden(message)}
            </span>
          </li>
        ))}
      </ul>
      {hasExpressions && <DefinitionDiff before={draft.definition.value} after={definition} />}
    </>
  )
}

type Evaluated = Awaited<ReturnType<typeof evaluateDraft>>

/** What was found stays until the draft has changed and is evaluated again. */
function useEvaluation(draft: Draft, run: Execution) {
  const definition = draft.definition.value
  const types = draft.types.value
  const [{ found, error }, setState] = useState<{
    readonly found?: Evaluated
    readonly error?: ApiError
  }>({})
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    if (types === undefined) return
    const evaluated = evaluateDraft(definition, types, run).then(
      (result) => ({ found: result }),
      (cause: unknown) => ({ error: asApiError(cause) }),
    )
    void evaluated.then((next) => definition === draft.definition.peek() && setState(next))
  }, [run, definition, types, attempt])
  return { found, error, retry: () => setAttempt(attempt + 1) }
}

/** The draft with values instead of expressions, and what has none. @throws {ApiError} */
async function evaluateDraft(definition: JsonObject, types: StageTypes, run: Execution) {
  const inRun = new Set(
    run.stages.flatMap(({ refId, parentStageId }) => (refId && !parentStageId ? [refId] : [])),
  )
  const parts = await Promise.all(
    stagesOf(definition).map(async (stage) => {
      const question = toQuestion(stage, definition, inRun, types)
      if (question === undefined) return { stage }
      const query = {
        executionId: run.id,
        requisiteStageRefIds: question.requisites.join(','),
        spelVersion: 'v4',
      } as const
      const params = { path: { id: run.id }, query }
      const answer = await client.POST('/pipelines/{id}/evaluateVariables', {
        params,
        body: [...question.variables],
      })
      return { stage: withValues(stage, question, answer), notes: notesOf(stage, answer) }
    }),
  )
  return {
    definition: { ...definition, stages: parts.map(({ stage }) => stage) },
    notes: parts
      .flatMap(({ notes = [] }) => notes)
      .toSorted((one, other) => Number(other.isError) - Number(one.isError)),
    hasExpressions: parts.some(({ notes }) => notes !== undefined),
  }
}

/** The engine's own check of a draft. */
function PlanCheck({ draft }: TabProps) {
  const definition = draft.definition.value
  const [accepted, setAccepted] = useState<JsonObject>()
  const name = scalarOf(definition['name']) ?? ''
  const check = () =>
    act(`Check ${name}`, async () => {
      const body = { ...definition, name, application: draft.application, plan: true }
      await client.POST('/pipelines/start', { body })
      setAccepted(definition)
    })
  return (
    <div class="row" aria-live="polite">
      {/* Of the draft as it is now. */}
      {accepted === definition && (
        <StatusText status={{ kind: 'succeeded', word: 'The engine accepts the draft.' }} />
      )}
      <Button onClick={check}>Check with the engine</Button>
    </div>
  )
}
