/** One pipeline: what it does, how its last runs went, what starts it, and who changed it. */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { saveOperation, startOperation, useRight } from '../api/rights.ts'
import { applicationEvents } from '../api/streams.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { RunStrip } from '../components/run-strip.tsx'
import { RunTable } from '../components/run-table.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { summaryOf, toRevisions } from '../editor/history.ts'
import { pipelineActions } from '../editor/pipeline-actions.tsx'
import { type Execution, hasActive, newestFirst } from '../model/execution.ts'
import { findPipeline, levelsOf, type Pipeline } from '../model/pipelines.ts'
import { type Json, objectsOf, textOf } from '../model/read.ts'
import { formatTimes } from '../model/time.ts'
import { describeTrigger } from '../model/triggers.ts'
import type { ScreenProps } from '../screen.ts'

import { StartButton, startActions } from './pipelines.tsx'

const shownRuns = 30
const shownRevisions = 5

export function PipelineScreen({ params }: ScreenProps) {
  const { application = '', id = '' } = params
  const configs = useLive(
    '/applications/{application}/pipelineConfigs',
    { path: { application } },
    { refresh: 'steady', events: applicationEvents(application, 'definitions') },
  )
  // Asked at once, not only when the definition is known.
  const runs = useRuns(application, id)
  const history = useHistory(id)
  return (
    <Loaded
      live={configs}
      title="Pipeline"
      rows={8}
      empty={<EmptyState text={`There is no pipeline ${id} in ${application}. It may have been deleted.`} />}
    >
      {(pipelines) => {
        const pipeline = findPipeline(pipelines, id)
        if (pipeline === undefined)
          return <EmptyState icon="search" text={`There is no pipeline ${id} in ${application}. It may have been deleted.`} />
        return <Page application={application} pipeline={pipeline} pipelines={pipelines} runs={runs} history={history} />
      }}
    </Loaded>
  )
}

function useRuns(application: string, id: string) {
  return useLive(
    '/executions',
    { query: { pipelineConfigIds: id, limit: shownRuns, expand: false } },
    { refresh: 'live', isBusy: hasActive, events: applicationEvents(application, 'executions') },
  )
}

function useHistory(id: string) {
  const parameters = { path: { pipelineConfigId: id }, query: { limit: shownRevisions } }
  return useLive('/pipelineConfigs/{pipelineConfigId}/history', parameters, { refresh: 'open' })
}

interface PageProps {
  readonly application: string
  readonly pipeline: Pipeline
  readonly pipelines: readonly Pipeline[]
  readonly runs: ReturnType<typeof useRuns>
  readonly history: ReturnType<typeof useHistory>
}

function Page({ application, pipeline, pipelines, runs, history }: PageProps) {
  const { name, description } = pipeline
  const known = newestFirst(runs.reading.value.body ?? [])
  return (
    <>
      <PageHead
        tab={name}
        title={<Name text={name} max={80} />}
        crumbs={[...applicationCrumbs(application), { label: 'Pipelines', href: to.pipelines(application) }]}
        state={pipeline.disabled === true && <span class="chip">disabled</span>}
        actions={<Actions application={application} pipeline={pipeline} last={known[0]} />}
      >
        {description && (
          <p class="muted">
            <Name text={description} max={300} />
          </p>
        )}
      </PageHead>
      <div class="pipeline-page">
        <div class="stack">
          <Stages application={application} pipeline={pipeline} />
          <LastRuns application={application} pipeline={pipeline} runs={runs} known={known} />
        </div>
        <div class="stack">
          <Triggers pipeline={pipeline} pipelines={pipelines} application={application} />
          <Parameters pipeline={pipeline} />
          <Changes application={application} id={pipeline.id ?? name} history={history} />
        </div>
      </div>
    </>
  )
}

function LastRuns({
  application,
  pipeline,
  runs,
  known,
}: Omit<PageProps, 'pipelines' | 'history'> & { known: readonly Execution[] }) {
  const { name, id } = pipeline
  return (
    <Panel title="Last runs" actions={<a href={to.runs(application, { pipeline: name })}>All runs</a>} flush>
      <Loaded live={runs} rows={5} empty={<EmptyState icon="pipeline" text={`${name} has not run in the last two weeks.`} />}>
        {() => (
          <>
            <div class="panel-note">
              <RunStrip runs={known} label={`Last runs of ${name}`} />
            </div>
            <RunTable runs={known} label={`Last runs of ${name}`} without="pipeline" heldOf={id ?? name} />
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function Actions({ application, pipeline, last }: Pick<PageProps, 'application' | 'pipeline'> & { last: Execution | undefined }) {
  const { route: navigate } = useLocation()
  const right = useRight({ operation: startOperation, application })
  const save = useRight({ operation: saveOperation, application })
  const id = pipeline.id ?? pipeline.name
  const denied = pipeline.disabled === true ? 'The pipeline is disabled.' : right.reason
  const onDeleted = () => navigate(to.pipelines(application), true)
  return (
    <>
      <a class="button" href={to.editPipeline(application, id)} data-key="e">
        <Icon name="edit" /> Edit
      </a>
      <StartButton application={application} id={id} name={pipeline.name} denied={denied} isPrimary />
      <Menu
        label={`Actions of ${pipeline.name}`}
        items={[
          ...startActions({ application, id, last, denied }),
          ...pipelineActions({ application, pipeline, denied: save.reason, onDeleted }),
        ]}
      />
    </>
  )
}

/** In the order of the definition; what runs at the same time stands in one column. */
function Stages({ application, pipeline }: Pick<PageProps, 'application' | 'pipeline'>) {
  const levels = levelsOf(objectsOf(pipeline.stages))
  const id = pipeline.id ?? pipeline.name
  if (levels.length === 0) {
    return (
      <Panel title="Stages">
        <p class="quiet">
          It has no stage yet. <a href={to.editPipeline(application, id)}>Add the first one</a>.
        </p>
      </Panel>
    )
  }
  return (
    <Panel title="Stages" count={levels.flat().length}>
      <ol class="stage-strip">
        {levels.map((stages, index) => (
          <li key={index}>
            {stages.map((stage) => (
              <a key={textOf(stage['refId'])} href={to.editPipeline(application, id, { stage: textOf(stage['refId']) })}>
                <Name text={textOf(stage['name']) ?? textOf(stage['type']) ?? 'Stage'} max={36} />
                <span class="muted">{typeWord(textOf(stage['type']))}</span>
              </a>
            ))}
          </li>
        ))}
      </ol>
    </Panel>
  )
}

/** `checkPreconditions` is "check preconditions". */
function typeWord(type = 'stage'): string {
  return type.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

function Triggers({ application, pipeline, pipelines }: Pick<PageProps, 'application' | 'pipeline' | 'pipelines'>) {
  const triggers = objectsOf(pipeline.triggers)
  const nameOf = (id: string) => findPipeline(pipelines, id)?.name
  const events = to.pipelines(application, { events: 'all', of: pipeline.id ?? pipeline.name })
  return (
    <Panel title="What starts it" actions={triggers.length > 0 && <a href={events}>Events</a>}>
      {triggers.length === 0 ? (
        <p class="quiet">It starts by hand only.</p>
      ) : (
        <ul class="facts-list">
          {triggers.map((trigger, index) => (
            <li key={textOf(trigger['id']) ?? index}>
              <span>
                <Name text={describeTrigger(trigger, nameOf)} max={120} />{' '}
                {trigger['enabled'] === false && <span class="chip">off</span>}
              </span>
              {trigger['type'] === 'cron' && trigger['enabled'] !== false && <NextTimes trigger={trigger} />}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

const shownTimes = 3

function NextTimes({ trigger }: { trigger: Json }) {
  const expression = textOf(trigger['cronExpression']) ?? ''
  const query = expression === '' || expression.includes('${') ? undefined : { query: { expression } }
  const { body } = useLive('/cron/validate', query, { refresh: 'slow' }).reading.value
  if (body === undefined) return null
  if (!body.valid) return <Fact>It never fires: {body.message}</Fact>
  const { description = '', nextTimes = [] } = body
  return (
    <>
      {description !== '' && <Fact>{description}</Fact>}
      {nextTimes.length > 0 && (
        <Fact>
          Next: <Time at={nextTimes[0]} />, {formatTimes(nextTimes.slice(0, shownTimes))}
        </Fact>
      )}
    </>
  )
}

function Fact({ children }: { children: ComponentChildren }) {
  return <span class="muted">{children}</span>
}

function Parameters({ pipeline }: Pick<PageProps, 'pipeline'>) {
  const parameters = objectsOf(pipeline.parameterConfig)
  if (parameters.length === 0) return null
  return (
    <Panel title="Parameters">
      <ul class="facts-list">
        {parameters.map((parameter) => {
          const text = (key: string) => textOf(parameter[key])
          const initial = text('default')
          return (
            <li key={text('name')}>
              <span>
                <strong>
                  <Name text={text('label') ?? text('name') ?? ''} max={40} />
                </strong>{' '}
                {initial !== undefined ? (
                  <Fact>{`usually ${initial}`}</Fact>
                ) : (
                  parameter['required'] === true && <Fact>required</Fact>
                )}
              </span>
              {text('description') !== undefined && (
                <Fact>
                  <Name text={text('description') ?? ''} max={160} />
                </Fact>
              )}
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}

function Changes({ application, id, history }: Pick<PageProps, 'application' | 'history'> & { readonly id: string }) {
  const all = to.editPipeline(application, id, { tab: 'history' })
  return (
    <Panel title="Changes" actions={<a href={all}>All changes</a>}>
      <Loaded live={history} rows={3} empty={<p class="quiet">No revision is kept.</p>}>
        {(answer) => (
          <ol class="facts-list">
            {toRevisions(answer).map((revision) => {
              const href = to.editPipeline(application, id, { tab: 'history', revision: revision.id })
              const titles = summaryOf(revision)
              return (
                <li key={revision.id}>
                  <NameLink href={href} text={titles.length === 0 ? 'Saved' : titles.join(', ')} max={90} />
                  <Fact>
                    {revision.author !== undefined && <Name text={revision.author} max={40} />}
                    {revision.author !== undefined && ', '}
                    <Time at={revision.savedAtMs} />
                  </Fact>
                </li>
              )
            })}
          </ol>
        )}
      </Loaded>
    </Panel>
  )
}
