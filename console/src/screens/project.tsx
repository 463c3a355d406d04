/** One project: what its applications serve, and how their pipelines ended. */
import { useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { LastRun } from '../components/last-run.tsx'
import { Menu } from '../components/menu.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { RunStrip } from '../components/run-strip.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { type Execution, hasActive, newestFirst } from '../model/execution.ts'
import { cellsOf, type Project, type ProjectCell, toProjectDraft } from '../model/project.ts'
import type { ScreenProps } from '../screen.ts'
import { settingsWords } from '../settings-words.ts'
import { words } from '../words.ts'
import { EditProject, projectTasks } from './edit-project.tsx'

const stripRuns = 30
/** What one call for runs may name. */
const maxPipelines = 50

export function ProjectScreen({ params }: ScreenProps) {
  const name = params['name'] ?? ''
  const live = useLive('/projects/{id}', { path: { id: name } }, { refresh: 'slow' })
  return (
    <Loaded live={live} title={name} empty={<EmptyState icon="search" text={settingsWords.noSuchProject(name)} />}>
      {(project) => <Shown project={project} />}
    </Loaded>
  )
}

function Shown({ project }: { project: Project }) {
  const { route: navigate } = useLocation()
  const { name, email, applications } = toProjectDraft(project)
  const remove = () => confirmDeletion(project, () => navigate(to.projects()))
  return (
    <>
      <PageHead
        tab={name}
        title={<Name text={name} max={60} />}
        crumbs={[{ label: words.projects, href: to.projects() }]}
        actions={
          <>
            <Button onClick={() => openDialog(<EditProject project={project} />)}>{settingsWords.edit}</Button>
            <Menu
              label={words.actionsOf(name)}
              items={[{ label: settingsWords.delete, icon: 'trash', destructive: true, onSelect: remove }]}
            />
          </>
        }
      >
        <p class="chips">
          {applications.map((application) => (
            <a key={application} class="chip" href={to.application(application)}>
              <Icon name="apps" /> <Name text={application} max={40} />
            </a>
          ))}
          {email !== '' && (
            <span class="muted">
              <Name text={email} max={60} />
            </span>
          )}
        </p>
      </PageHead>
      <div class="stack">
        <Clusters project={project} />
        <Pipelines project={project} />
      </div>
    </>
  )
}

function confirmDeletion(project: Project, onDeleted: () => void): void {
  const { name } = project
  confirm({
    title: settingsWords.deleteProjectTitle(name),
    effect: <p>{settingsWords.deleteProjectEffect}</p>,
    action: settingsWords.deleteProject(name),
    level: 2,
    typed: name,
    destructive: true,
    run: async (isOpen) => {
      await completeTask({
        application: projectTasks,
        description: settingsWords.deleteProject(name),
        job: [{ type: 'deleteProject', project }],
        object: objectKey('project', project.id),
      })
      refreshMatching('/projects')
      if (isOpen()) onDeleted()
    },
  })
}

function Clusters({ project }: { project: Project }) {
  const live = useLive('/projects/{id}/clusters', { path: { id: project.id ?? project.name } }, { refresh: 'steady' })
  return (
    <Panel title={settingsWords.clustersOf} flush>
      <Loaded live={live} rows={2} empty={<p class="panel-note">{settingsWords.noClusters}</p>}>
        {(clusters) => (
          <ul class="rows">
            {clusters.map((cluster, at) => (
              <li key={at} class="run-row project-line">
                <span class="row-title">
                  <Name text={[cluster.account, cluster.stack, cluster.detail].filter(Boolean).join(' / ')} max={60} />
                </span>
                <span class="grow project-cells">
                  {cellsOf(cluster).map((cell) => (
                    <Cell key={cell.application} cell={cell} />
                  ))}
                </span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Panel>
  )
}

function Cell({ cell: { application, lastPush, up, total } }: { cell: ProjectCell }) {
  const kind = total === 0 ? 'disabled' : up < total ? 'failed' : 'succeeded'
  return (
    <span class="project-cell">
      <StatusMark kind={kind} />
      <NameLink href={to.application(application)} text={application} max={40} />
      <span class="muted number">{total === 0 ? settingsWords.nothingDeployed : words.upOf(up, total)}</span>
      {lastPush !== undefined && (
        <span class="muted">
          <Time at={lastPush} />
        </span>
      )}
    </span>
  )
}

function Pipelines({ project }: { project: Project }) {
  const { pipelines } = toProjectDraft(project)
  const shown = pipelines.slice(0, maxPipelines)
  const live = useLive(
    '/executions',
    shown.length === 0
      ? undefined
      : { query: { pipelineConfigIds: shown.map(({ id }) => id).join(','), limit: stripRuns, expand: false } },
    { refresh: 'live', isBusy: hasActive },
  )
  const runs = live.reading.value.body
  const byPipeline = useMemo(() => Map.groupBy(runs ?? [], ({ pipelineConfigId }) => pipelineConfigId ?? ''), [runs])
  const applications = [...new Set(shown.map(({ application }) => application))]
  return (
    <Panel title={settingsWords.pipelinesOf} count={pipelines.length} flush>
      {shown.length === 0 && <p class="panel-note">{settingsWords.noPipelines}</p>}
      {pipelines.length > shown.length && <p class="panel-note">{words.cut(shown.length, pipelines.length)}</p>}
      {applications.map((application) => (
        <PipelinesOf
          key={application}
          application={application}
          ids={shown.filter((one) => one.application === application).map(({ id }) => id)}
          runs={byPipeline}
        />
      ))}
    </Panel>
  )
}

interface PipelinesOfProps {
  readonly application: string
  readonly ids: readonly string[]
  readonly runs: ReadonlyMap<string, readonly Execution[]>
}

/** Names come with the definitions of the application, which a reader may not see. */
function PipelinesOf({ application, ids, runs }: PipelinesOfProps) {
  const definitions = useLive('/applications/{application}/pipelineConfigs', { path: { application } }, { refresh: 'slow' })
    .reading.value.body
  return (
    <ul class="rows">
      {ids.map((id) => {
        const own = newestFirst(runs.get(id) ?? [])
        const [last] = own
        const name = definitions?.find((one) => one.id === id)?.name ?? last?.name ?? id
        return (
          <li key={id} class="run-row pipeline-row">
            <div class="pipeline-name">
              <NameLink class="row-title" href={to.pipelines(application, { q: name })} text={name} max={60} />
              <span class="muted">
                <Name text={application} max={40} />
              </span>
            </div>
            <RunStrip runs={own} label={words.runsOf(name)} />
            <span class="grow last-run">
              {last === undefined ? <span class="muted">{words.neverRan}</span> : <LastRun run={last} />}
            </span>
          </li>
        )
      })}
    </ul>
  )
}
