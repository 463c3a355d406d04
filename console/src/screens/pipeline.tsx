/** One pipeline: what it does, how its last runs went, what starts it, and who changed it. */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { usePipelines, useRunsOf } from '../api/pipelines.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { ActionButton } from '../components/button.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { RunStrip } from '../components/run-strip.tsx'
import { RunTable } from '../components/run-table.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { summaryOf, toRevisions } from '../editor/history.ts'
import { newestFirst } from '../model/execution.ts'
import { stageWord } from '../model/names.ts'
import { describeTrigger, findPipeline, type Pipeline } from '../model/pipelines.ts'
import { type Json, objectsOf, textOf } from '../model/read.ts'
import { levelsOf } from '../model/stage-links.ts'
import { formatTimes } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'
import { PipelineButtons } from './pipelines.tsx'

export function PipelineScreen({ params }: ScreenProps) {
  const { application = '', id = '' } = params
  const configs = usePipelines(application)
  // Asked at once, not only when the definition is known.
  const runs = useRunsOf(id, 30, application)
  const revisions = { path: { pipelineConfigId: id }, query: { limit: 5 } }
  const history = useLive('/pipelineConfigs/{pipelineConfigId}/history', revisions, { refresh: 'open' })
  const missing = <EmptyState icon="search" text={`There is no pipeline ${id} in ${application}. It may have been deleted.`} />
  return (
    <Loaded live={configs} title="Pipeline" rows={8} empty={missing}>
      {(pipelines) => {
        const pipeline = findPipeline(pipelines, id)
        if (pipeline === undefined) return missing
        const props = { application, pipeline, id: pipeline.id ?? id, pipelines, runs, history }
        return (
          <>
            <Head {...props} />
            <div class="pipeline-page">
              <div class="stack">
                <Stages {...props} />
                <LastRuns {...props} />
              </div>
              <div class="stack">
                <Triggers {...props} />
                <Parameters {...props} />
                <Changes {...props} />
              </div>
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
  readonly id: string
  readonly pipelines: readonly Pipeline[]
  readonly runs: ReturnType<typeof useRunsOf>
  readonly history: ReturnType<typeof useLive<'/pipelineConfigs/{pipelineConfigId}/history'>>
}

function Head({ application, pipeline, id, runs }: PageProps) {
  const { route: navigate } = useLocation()
  const { name, description, disabled } = pipeline
  const [last] = newestFirst(runs.reading.value.body ?? [])
  const buttons = { application, pipeline, last, isPrimary: true, onDeleted: () => navigate(to.pipelines(application), true) }
  return (
    <PageHead
      tab={name}
      title={<Name text={name} max={80} />}
      crumbs={[...applicationCrumbs(application), { label: 'Pipelines', href: to.pipelines(application) }]}
      state={disabled === true && <span class="chip">disabled</span>}
      actions={
        <>
          <ActionButton action={{ label: 'Edit', icon: 'edit', href: to.editPipeline(application, id) }} data-key="e" />
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

/** In the order of the definition; what runs at the same time stands in one column. */
function Stages({ application, pipeline, id }: PageProps) {
  const levels = levelsOf(objectsOf(pipeline.stages))
  const edit = (stage?: string) => to.editPipeline(application, id, { stage })
  return (
    <Panel title="Stages" count={levels.flat().length || undefined}>
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

function LastRuns({ application, pipeline: { name }, runs: live }: PageProps) {
  const label = `Last runs of ${name}`
  const none = <EmptyState icon="pipeline" text={`${name} has not run in the last two weeks.`} />
  return (
    <Panel title="Last runs" actions={<a href={to.runs(application, { pipeline: name })}>All runs</a>} flush>
      <Loaded live={live} rows={5} empty={none}>
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
  )
}

type Fact = { key: string | number; title: ComponentChildren; note?: ComponentChildren }

function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <ul class="facts-list">
      {facts.map(({ key, title, note }) => (
        <li key={key}>
          <span>{title}</span>
          {note && <span class="muted">{note}</span>}
        </li>
      ))}
    </ul>
  )
}

function Triggers({ application, pipeline, id, pipelines }: PageProps) {
  const triggers = objectsOf(pipeline.triggers)
  const nameOf = (other: string) => findPipeline(pipelines, other)?.name
  const events = <a href={to.pipelines(application, { events: 'all', of: id })}>Events</a>
  const facts = triggers.map((trigger, at) => {
    const isOff = trigger['enabled'] === false
    const title = (
      <>
        <Name text={describeTrigger(trigger, nameOf)} max={120} /> {isOff && <span class="chip">off</span>}
      </>
    )
    return { key: textOf(trigger['id']) ?? at, title, note: trigger['type'] === 'cron' && !isOff && <Times trigger={trigger} /> }
  })
  return (
    <Panel title="What starts it" actions={triggers.length > 0 && events}>
      {triggers.length === 0 && <p class="quiet">It starts by hand only.</p>}
      <Facts facts={facts} />
    </Panel>
  )
}

/** When a schedule fires. */
function Times({ trigger }: { trigger: Json }) {
  const expression = textOf(trigger['cronExpression'])
  const query = expression?.includes('${') === false ? { query: { expression } } : undefined
  const { body } = useLive('/cron/validate', query, { refresh: 'slow' }).reading.value
  if (body === undefined) return null
  if (!body.valid) return <>It never fires: {body.message}</>
  const { description = '', nextTimes = [] } = body
  if (nextTimes.length === 0) return <>{description}</>
  return (
    <>
      {description && `${description}. `}Next: <Time at={nextTimes[0]} />, {formatTimes(nextTimes.slice(0, 3))}
    </>
  )
}

function Parameters({ pipeline }: PageProps) {
  const facts = objectsOf(pipeline.parameterConfig).map(({ name, label, description, required, default: initial }, at) => {
    const usual = textOf(initial) !== undefined ? ` usually ${initial}` : required === true ? ' required' : ''
    const title = (
      <>
        <strong>
          <Name text={textOf(label) ?? textOf(name) ?? ''} max={40} />
        </strong>
        <span class="muted">{usual}</span>
      </>
    )
    return { key: textOf(name) ?? at, title, note: <Name text={textOf(description) ?? ''} max={160} /> }
  })
  if (facts.length === 0) return null
  return (
    <Panel title="Parameters">
      <Facts facts={facts} />
    </Panel>
  )
}

function Changes({ application, id, history }: PageProps) {
  const address = (revision?: string) => to.editPipeline(application, id, { tab: 'history', revision })
  const toFact = (revision: ReturnType<typeof toRevisions>[number]) => ({
    key: revision.id,
    title: <NameLink href={address(revision.id)} text={summaryOf(revision).join(', ') || 'Saved'} max={90} />,
    note: (
      <>
        <Name text={revision.author === undefined ? '' : `${revision.author},`} max={40} /> <Time at={revision.savedAtMs} />
      </>
    ),
  })
  return (
    <Panel title="Changes" actions={<a href={address()}>All changes</a>}>
      <Loaded live={history} rows={3} empty={<p class="quiet">No revision is kept.</p>}>
        {(answer) => <Facts facts={toRevisions(answer).map(toFact)} />}
      </Loaded>
    </Panel>
  )
}
