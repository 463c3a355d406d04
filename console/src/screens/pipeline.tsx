/** One pipeline: what it does, how its last runs went, what starts it, and who changed it. */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { type Live, useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { Icon } from '../components/icon.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { RunStrip } from '../components/run-strip.tsx'
import { RunTable } from '../components/run-table.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { summaryOf, toRevisions } from '../editor/history.ts'
import { type Execution, hasActive, newestFirst } from '../model/execution.ts'
import { stageWord } from '../model/names.ts'
import { findPipeline, levelsOf, type Pipeline } from '../model/pipelines.ts'
import { type Json, objectsOf, textOf } from '../model/read.ts'
import { formatTimes } from '../model/time.ts'
import { describeTrigger } from '../model/triggers.ts'
import type { ScreenProps } from '../screen.ts'
import { PipelineButtons } from './pipelines.tsx'

const shownRuns = 30
const shownRevisions = 5
const shownTimes = 3

export function PipelineScreen({ params }: ScreenProps) {
  const { application = '', id = '' } = params
  const path = { application }
  const events = applicationEvents(application, 'definitions')
  const configs = useLive('/applications/{application}/pipelineConfigs', { path }, { refresh: 'steady', events })
  // Asked at once, not only when the definition is known.
  const runs = useLive(
    '/executions',
    { query: { pipelineConfigIds: id, limit: shownRuns, expand: false } },
    { refresh: 'live', isBusy: hasActive, events: applicationEvents(application, 'executions') },
  )
  const revisions = { path: { pipelineConfigId: id }, query: { limit: shownRevisions } }
  const history = useLive('/pipelineConfigs/{pipelineConfigId}/history', revisions, { refresh: 'open' })
  const missing = <EmptyState icon="search" text={`There is no pipeline ${id} in ${application}. It may have been deleted.`} />
  return (
    <Loaded live={configs} title="Pipeline" rows={8} empty={missing}>
      {(pipelines) => {
        const pipeline = findPipeline(pipelines, id)
        if (pipeline === undefined) return missing
        return (
          <>
            <Head pipeline={pipeline} application={application} last={newestFirst(runs.reading.value.body ?? [])[0]} />
            <div class="pipeline-page">
              <div class="stack">
                <Stages application={application} pipeline={pipeline} />
                <LastRuns application={application} pipeline={pipeline} runs={runs} />
              </div>
              <div class="stack">
                <Triggers pipeline={pipeline} pipelines={pipelines} application={application} />
                <Parameters pipeline={pipeline} />
                <Changes href={to.editPipeline(application, pipeline.id ?? id, { tab: 'history' })} history={history} />
              </div>
            </div>
          </>
        )
      }}
    </Loaded>
  )
}

interface PartProps {
  readonly application: string
  readonly pipeline: Pipeline
}

function Head({ application, pipeline, last }: PartProps & { readonly last: Execution | undefined }) {
  const { route: navigate } = useLocation()
  const { id, name, description, disabled } = pipeline
  const onDeleted = () => navigate(to.pipelines(application), true)
  return (
    <PageHead
      tab={name}
      title={<Name text={name} max={80} />}
      crumbs={[...applicationCrumbs(application), { label: 'Pipelines', href: to.pipelines(application) }]}
      state={disabled === true && <span class="chip">disabled</span>}
      actions={
        <>
          <a class="button" href={to.editPipeline(application, id ?? name)} data-key="e">
            <Icon name="edit" /> Edit
          </a>
          <PipelineButtons application={application} pipeline={pipeline} last={last} isPrimary onDeleted={onDeleted} />
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

/** In the order of the definition; what runs at the same time stands in one column. */
function Stages({ application, pipeline }: PartProps) {
  const levels = levelsOf(objectsOf(pipeline.stages))
  const edit = (stage?: string) => to.editPipeline(application, pipeline.id ?? pipeline.name, { stage })
  return (
    <Panel title="Stages" count={levels.length === 0 ? undefined : levels.flat().length}>
      {levels.length === 0 && (
        <p class="quiet">
          It has no stage yet. <a href={edit()}>Add the first one</a>.
        </p>
      )}
      <ol class="stage-strip">
        {levels.map((stages, index) => (
          <li key={index}>
            {stages.map(({ refId, name, type }) => (
              <a key={textOf(refId)} href={edit(textOf(refId))}>
                <Name text={textOf(name) ?? textOf(type) ?? 'Stage'} max={36} />
                <span class="muted">{stageWord(textOf(type) ?? 'stage')}</span>
              </a>
            ))}
          </li>
        ))}
      </ol>
    </Panel>
  )
}

function LastRuns({ application, pipeline: { name }, runs: live }: PartProps & { runs: Live<readonly Execution[]> }) {
  const none = <EmptyState icon="pipeline" text={`${name} has not run in the last two weeks.`} />
  return (
    <Panel title="Last runs" actions={<a href={to.runs(application, { pipeline: name })}>All runs</a>} flush>
      <Loaded live={live} rows={5} empty={none}>
        {(runs) => (
          <>
            <div class="panel-note">
              <RunStrip runs={newestFirst(runs)} label={`Last runs of ${name}`} />
            </div>
            <RunTable runs={runs} label={`Last runs of ${name}`} without="pipeline" heldOf={name} />
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function Triggers({ application, pipeline, pipelines }: PartProps & { readonly pipelines: readonly Pipeline[] }) {
  const triggers = objectsOf(pipeline.triggers)
  const nameOf = (id: string) => findPipeline(pipelines, id)?.name
  const events = to.pipelines(application, { events: 'all', of: pipeline.id ?? pipeline.name })
  return (
    <Panel title="What starts it" actions={triggers.length > 0 && <a href={events}>Events</a>}>
      {triggers.length === 0 && <p class="quiet">It starts by hand only.</p>}
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
    </Panel>
  )
}

function NextTimes({ trigger }: { trigger: Json }) {
  const expression = textOf(trigger['cronExpression'])
  const query = expression?.includes('${') === false ? { query: { expression } } : undefined
  const { body } = useLive('/cron/validate', query, { refresh: 'slow' }).reading.value
  if (body === undefined) return null
  if (!body.valid) return <Fact>It never fires: {body.message}</Fact>
  const { description, nextTimes = [] } = body
  return (
    <>
      {description && <Fact>{description}</Fact>}
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

function Parameters({ pipeline }: Pick<PartProps, 'pipeline'>) {
  const parameters = objectsOf(pipeline.parameterConfig)
  if (parameters.length === 0) return null
  return (
    <Panel title="Parameters">
      <ul class="facts-list">
        {parameters.map(({ name, label, description, required, default: initial }) => (
          <li key={textOf(name)}>
            <span>
              <strong>
                <Name text={textOf(label) ?? textOf(name) ?? ''} max={40} />
              </strong>{' '}
              <Fact>{textOf(initial) !== undefined ? `usually ${initial}` : required === true && 'required'}</Fact>
            </span>
            <Fact>
              <Name text={textOf(description) ?? ''} max={160} />
            </Fact>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Changes({ href, history }: { readonly href: string; readonly history: Live<unknown> }) {
  return (
    <Panel title="Changes" actions={<a href={href}>All changes</a>}>
      <Loaded live={history} rows={3} empty={<p class="quiet">No revision is kept.</p>}>
        {(answer) => (
          <ol class="facts-list">
            {toRevisions(answer).map((revision) => (
              <li key={revision.id}>
                <NameLink href={`${href}&revision=${revision.id}`} text={summaryOf(revision).join(', ') || 'Saved'} max={90} />
                <Fact>
                  {revision.author !== undefined && <Name text={`${revision.author}, `} max={40} />}
                  <Time at={revision.savedAtMs} />
                </Fact>
              </li>
            ))}
          </ol>
        )}
      </Loaded>
    </Panel>
  )
}
