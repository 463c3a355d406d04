/** One pipeline: what it does, how its last runs went, what starts it, and who changed it. */

import { type JsonObject, objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import type { ComponentChildren } from 'preact'
import { type ScreenProps, to, useNavigate } from '../address.ts'
import { useLive } from '../api/live.ts'
import { usePipelines, useRevisions, useRunsOf } from '../api/pipelines.ts'
import { ActionButton } from '../components/button.tsx'
import { RunStrip } from '../components/pipeline-row.tsx'
import { RunTable } from '../components/run-table.tsx'
import { EmptyState, Loaded, PageHead, Panel, pipelineCrumbs } from '../components/screen.tsx'
import { Name, NameLink, Time } from '../components/text.tsx'
import { summaryOf, toRevisions } from '../editor/describe-changes.ts'
import { newestFirst } from '../model/execution.ts'
import { stageWord } from '../model/names.ts'
import { describeTrigger, findPipeline, type Pipeline } from '../model/pipelines.ts'
import { levelsOf } from '../model/stage-links.ts'
import { formatTimes } from '../model/time.ts'
import { PipelineButtons } from './pipelines.tsx'

export function PipelineScreen({ params }: ScreenProps) {
  const { application = '', id = '' } = params
  const configs = usePipelines(application)
  // Asked at once, not only when the definition is known.
  const runs = useRunsOf(id, 30, application)
  const history = useRevisions(id, 5)
  const gone = `There is no pipeline ${id} in ${application}. It may have been deleted.`
  const missing = (
    <EmptyState
      icon="search"
      text={gone}
      children={<a href={to.pipelines(application)}>Pipelines of {application}</a>}
    />
  )
  return (
    <Loaded live={configs} title="Pipeline" rows={8} empty={missing}>
      {(pipelines) => {
        const pipeline = findPipeline(pipelines, id)
        if (pipeline === undefined) return missing
        const props = { application, pipeline, pipelines, runs, history }
        return (
          <>
            <Head {...props} />
            <div class="pipeline-page">
              <Work {...props} />
              <About {...props} />
            </div>
          </>
        )
      }}
    </Loaded>
  )
}

interface PageProps {
  readonly application: string
  readonly pipeline: Pipeline
  readonly pipelines: readonly Pipeline[]
  readonly runs: ReturnType<typeof useRunsOf>
  readonly history: ReturnType<typeof useRevisions>
}

function Head({ application, pipeline, runs }: PageProps) {
  const navigate = useNavigate()
  const { id, name, description, disabled } = pipeline
  const [last] = newestFirst(runs.body ?? [])
  const buttons = {
    application,
    pipeline,
    last,
    isPrimary: true,
    onDeleted: () => navigate(to.pipelines(application), true),
  }
  return (
    <PageHead
      tab={name}
      crumbs={pipelineCrumbs(application)}
      state={disabled === true && <span class="chip">disabled</span>}
      actions={
        <>
          <ActionButton
            action={{ label: 'Edit', icon: 'edit', href: to.editPipeline(application, id ?? name) }}
            data-key="e"
          />
          <PipelineButtons {...buttons} />
        </>
      }
    >
      {description && (
        <p class="muted">
          <Name text={description} max={300} />
        </p>
      )}
    </PageHead>
  )
}

/** Its stages in the order of the definition, of which those that run at the same time stand in one column; and its last runs. */
function Work({ application, pipeline: { id, name, stages, type }, runs: live }: PageProps) {
  const levels = levelsOf(objectsOf(stages))
  const edit = (stage?: string) => to.editPipeline(application, id ?? name, { stage })
  const label = `Last runs of ${name}`
  const none = `${name} has not run in the last two weeks.`
  return (
    <div class="stack">
      <Panel title="Stages" count={stages?.length || undefined}>
        {levels.length === 0 && type === 'templatedPipeline' && (
          <p class="muted">Its stages come from a template.</p>
        )}
        {levels.length === 0 && type !== 'templatedPipeline' && (
          <p class="muted">
            It has no stage yet. <a href={edit()}>Add the first one</a>.
          </p>
        )}
        <ol class="stage-strip">
          {levels.map((level, index) => (
            <li key={index}>
              {level.map(({ refId, name: title, type }) => (
                <a key={scalarOf(refId)} href={edit(scalarOf(refId))}>
                  <Name text={scalarOf(title) ?? scalarOf(type) ?? 'Stage'} max={36} />
                  <span class="muted">{stageWord(scalarOf(type) ?? 'stage')}</span>
                </a>
              ))}
            </li>
          ))}
        </ol>
      </Panel>
      <Panel
        title="Last runs"
        actions={<a href={to.runs(application, { pipeline: name })}>All runs</a>}
        flush
      >
        <Loaded live={live} rows={5} icon="pipeline" empty={none}>
          {(runs) => (
            <>
              <div class="panel-note">
                <RunStrip runs={newestFirst(runs)} label={label} />
              </div>
              <RunTable runs={runs} label={label} without="pipeline" heldOf={name} />
            </>
          )}
        </Loaded>
      </Panel>
    </div>
  )
}

/** What starts it, what it asks for, and who changed it. */
function About({ application, pipeline, pipelines, history }: PageProps) {
  const id = pipeline.id ?? pipeline.name
  const [triggers, parameters] = [objectsOf(pipeline.triggers), objectsOf(pipeline.parameterConfig)]
  const events = <a href={to.pipelines(application, { events: 'all', of: id })}>Events</a>
  const changes = (revision?: string) =>
    to.editPipeline(application, id, { tab: 'history', revision })
  return (
    <div class="stack">
      <Panel title="What starts it" actions={triggers.length > 0 && events}>
        {triggers.length === 0 && <p class="muted">It starts by hand only.</p>}
        <Facts facts={triggers.map((trigger) => toTrigger(trigger, pipelines))} />
      </Panel>
      {parameters.length > 0 && (
        <Panel title="Parameters">
          <Facts facts={parameters.map(toParameter)} />
        </Panel>
      )}
      <Panel title="Changes" actions={<a href={changes()}>All changes</a>}>
        <Loaded live={history} rows={3} empty={<p class="muted">No revision is kept.</p>}>
          {(answer) => (
            <Facts
              facts={toRevisions(answer).map((revision) =>
                toChange(revision, changes(revision.id)),
              )}
            />
          )}
        </Loaded>
      </Panel>
    </div>
  )
}

type Fact = readonly [title: ComponentChildren, note: ComponentChildren]

function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <ul class="facts-list">
      {facts.map(([title, note], at) => (
        <li key={at}>
          <span>{title}</span>
          {note && <span class="muted">{note}</span>}
        </li>
      ))}
    </ul>
  )
}

function toTrigger(trigger: JsonObject, pipelines: readonly Pipeline[]): Fact {
  const isOff = trigger['enabled'] === false
  const text = describeTrigger(trigger, (other) => findPipeline(pipelines, other)?.name)
  return [
    <>
      <Name text={text} max={120} /> {isOff && <span class="chip">off</span>}
    </>,
    trigger['type'] === 'cron' && !isOff && (
      <Times expression={scalarOf(trigger['cronExpression'])} />
    ),
  ]
}

/** When a schedule fires. */
function Times({ expression }: { expression: string | undefined }) {
  const query = expression?.includes('${') === false ? { query: { expression } } : undefined
  const { body } = useLive('/cron/validate', query, 'slow')
  if (body === undefined) return null
  if (!body.valid) return <>It never fires: {body.message}</>
  const { description = '', nextTimes = [] } = body
  if (nextTimes.length === 0) return <>{description}</>
  return (
    <>
      {description && `${description}. `}Next: <Time at={nextTimes[0]} />,{' '}
      {formatTimes(nextTimes.slice(0, 3))}
    </>
  )
}

function toParameter({ name, label, description, required, default: usual }: JsonObject): Fact {
  return [
    <>
      <Name class="strong" text={scalarOf(label) ?? scalarOf(name) ?? ''} max={40} />
      <span class="muted">
        {scalarOf(usual) !== undefined ? ` usually ${usual}` : required === true ? ' required' : ''}
      </span>
    </>,
    <Name text={scalarOf(description) ?? ''} max={160} />,
  ]
}

function toChange(revision: ReturnType<typeof toRevisions>[number], href: string): Fact {
  const { author, savedAtMs } = revision
  return [
    <NameLink href={href} text={summaryOf(revision).join(', ') || 'Saved'} max={90} />,
    <>
      <Name text={author === undefined ? '' : `${author},`} max={40} /> <Time at={savedAtMs} />
    </>,
  ]
}
