/** One project: what its applications serve, and how their pipelines ended. */
import { useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { type Landscape, useForesight, useLandscape } from '../components/deployed.tsx'
import { openDialog } from '../components/dialog.tsx'
import { EnvironmentMatrix } from '../components/environment-matrix.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { PipelineRow } from '../components/pipeline-row.tsx'
import { EmptyState, ErrorState, Loaded, Stale } from '../components/states.tsx'
import { hasActive, newestFirst } from '../model/execution.ts'
import { isOfProject, type Project, partsOf } from '../model/project.ts'
import type { ScreenProps } from '../screen.ts'
import { showing } from '../words.ts'
import { EditProject, projectTasks } from './edit-project.tsx'

/** What one call for runs may name. */
const maxPipelines = 50

export function ProjectScreen({ params }: ScreenProps) {
  const name = params['name'] ?? ''
  const live = useLive('/projects/{id}', { path: { id: name } }, { refresh: 'slow' })
  // Asked for at once.
  const landscape = useLandscape()
  useForesight(`project ${name}`)
  const none = <EmptyState icon="search" text={`There is no project ${name}, or you may not read it.`} />
  return (
    <Loaded live={live} title={name} empty={none}>
      {(project) => <Shown project={project} landscape={landscape} />}
    </Loaded>
  )
}

interface ProjectProps {
  readonly project: Project
  readonly landscape: Landscape
}

function Shown({ project, landscape }: ProjectProps) {
  const { route: navigate } = useLocation()
  const { name, email } = project
  const { applications, clusters } = partsOf(project)
  const remove = () => confirmDeletion(project, () => navigate(to.projects()))
  return (
    <>
      <PageHead
        tab={name}
        title={<Name text={name} max={60} />}
        crumbs={[{ label: 'Projects', href: to.projects() }]}
        state={email && <span class="muted">{email}</span>}
        actions={
          <>
            <Button onClick={() => openDialog(<EditProject project={project} />)}>Edit</Button>
            <Menu
              label={`Actions of ${name}`}
              items={[{ label: 'Delete', icon: 'trash', destructive: true, onSelect: remove }]}
            />
          </>
        }
      />
      <div class="stack">
        {applications.length === 0 ? (
          <EmptyState icon="apps" text="The project has no application yet. Edit it to add some." />
        ) : (
          <EnvironmentMatrix
            screen={`project ${name}`}
            label={`Versions of ${name} by environment`}
            applications={applications}
            landscape={landscape}
            isShown={(group) => isOfProject(group, clusters)}
          />
        )}
        <Pipelines project={project} landscape={landscape} />
      </div>
    </>
  )
}

function confirmDeletion(project: Project, onDeleted: () => void): void {
  const { name } = project
  const action = `Delete ${name}`
  confirm({
    title: `Delete the project ${name}?`,
    effect: 'Its applications, pipelines and server groups stay.',
    action,
    level: 2,
    typed: name,
    destructive: true,
    run: () =>
      completeTask({
        application: projectTasks,
        description: action,
        job: [{ type: 'deleteProject', project }],
        object: objectKey('project', project.id),
      }),
    refreshes: '/projects',
    onDone: onDeleted,
  })
}

function Pipelines({ project, landscape }: ProjectProps) {
  const { pipelines } = partsOf(project)
  const shown = pipelines.slice(0, maxPipelines)
  const query = { pipelineConfigIds: shown.map((one) => one.pipelineConfigId).join(','), limit: 30, expand: false }
  const live = useLive('/executions', shown.length === 0 ? undefined : { query }, { refresh: 'live', isBusy: hasActive })
  const { body: runs, error } = live.reading.value
  const byPipeline = useMemo(() => Map.groupBy(newestFirst(runs ?? []), (run) => run.pipelineConfigId), [runs])
  const names = new Map(landscape.pipelines.map(({ id, name }) => [id, name]))
  return (
    <Panel title="Pipelines" count={pipelines.length} flush>
      {shown.length === 0 && <p class="panel-note">No pipeline is chosen. Edit the project to choose some.</p>}
      {pipelines.length > shown.length && <p class="panel-note">{showing(shown.length, pipelines.length)}</p>}
      {runs === undefined && error !== undefined && <ErrorState error={error} onRetry={() => live.refresh()} />}
      <Stale reading={live.reading.value} />
      <ul class="rows">
        {shown.map(({ pipelineConfigId: id, application }) => (
          <li key={id}>
            <PipelineRow
              application={application}
              id={id}
              name={names.get(id) ?? id}
              note={application}
              runs={runs && (byPipeline.get(id) ?? [])}
            />
          </li>
        ))}
      </ul>
    </Panel>
  )
}
