/** Projects: several applications on one page each, with what they serve and how their pipelines ended. */
import { useMemo } from 'preact/hooks'
import { type ScreenProps, to, useNavigate } from '../address.ts'
import { objectKey } from '../api/actions.ts'
import { useLive } from '../api/live.ts'
import { startAction } from '../components/actions.tsx'
import { Button } from '../components/button.tsx'
import type { Column } from '../components/data-table.tsx'
import { type Landscape, useLandscape } from '../components/deployed.tsx'
import { openDialog } from '../components/dialog.tsx'
import { EnvironmentMatrix } from '../components/environment-matrix.tsx'
import { Menu } from '../components/menu.tsx'
import { PipelineRow } from '../components/pipeline-row.tsx'
import { EmptyState, ErrorState, Loaded, PageHead, Panel, Stale } from '../components/screen.tsx'
import { Name, NameLink, Time } from '../components/text.tsx'
import { hasActive, newestFirst } from '../model/execution.ts'
import { accountOf, type ServerGroup } from '../model/server-groups.ts'
import { showing } from '../words.ts'
import { EditProject, type Project, partsOf, projectTasks } from './edit-project.tsx'
import { List } from './place-list.tsx'

export function Projects(screen: ScreenProps) {
  const live = useLive('/projects', {}, 'slow')
  const create = (
    <Button kind="primary" icon="plus" onClick={() => openDialog(<EditProject />)}>
      Create project
    </Button>
  )
  return (
    <>
      <PageHead tab="Projects" count={live.body?.length} actions={create} />
      <List
        live={live}
        screen={screen}
        create={create}
        columns={columns}
        label="Projects"
        icon="project"
        empty="No project. A project shows several applications on one page."
        rowsOf={(projects) => projects.toSorted((a, b) => a.name.localeCompare(b.name))}
        placeOf={({ name, email }) => ({ name, email })}
        keyOf={({ id, name }) => id ?? name}
      />
    </>
  )
}

const columns: readonly Column<Project>[] = [
  {
    head: 'Name',
    cell: (project) => (
      <NameLink class="row-title" href={to.project(project)} text={project.name} max={60} />
    ),
  },
  {
    head: 'Applications',
    grow: true,
    cell: (project) => <Name text={partsOf(project).applications.join(', ')} max={120} />,
  },
  {
    head: 'Owner',
    hideBelow: 'narrow',
    cell: ({ email }) => email && <Name text={email} max={40} />,
  },
  {
    head: 'Pipelines',
    align: 'end',
    hideBelow: 'phone',
    cell: (project) => partsOf(project).pipelines.length,
  },
  { head: 'Changed', hideBelow: 'phone', cell: ({ updateTs }) => <Time at={updateTs} /> },
]

/** What one call for runs may name. */
const maxPipelines = 50

export function ProjectScreen({ params: { name = '' } }: ScreenProps) {
  const live = useLive('/projects/{id}', { path: { id: name } }, 'slow')
  // Asked for at once.
  const landscape = useLandscape(`project ${name}`)
  const none = `There is no project ${name}, or you may not read it.`
  return (
    <Loaded live={live} title={name} icon="search" empty={none}>
      {(project) => <Shown project={project} landscape={landscape} />}
    </Loaded>
  )
}

interface ProjectProps {
  readonly project: Project
  readonly landscape: Landscape
}

function Shown({ project, landscape }: ProjectProps) {
  const navigate = useNavigate()
  const { id, name, email } = project
  const { applications, clusters } = partsOf(project)
  const target = { application: projectTasks, name, object: objectKey('project', id) }
  const remove = () =>
    startAction(target, {
      label: 'Delete',
      type: 'deleteProject',
      job: () => ({ project }),
      effect: 'Its applications, pipelines and server groups stay.',
      destructive: true,
      list: '/projects',
      onDone: () => navigate(to.projects()),
    })
  return (
    <>
      <PageHead
        tab={name}
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

/** Without rules, all of its applications belong to it. */
function isOfProject(group: ServerGroup, rules: ReturnType<typeof partsOf>['clusters']) {
  const { stack, detail, app } = group.moniker ?? {}
  const fits = (wanted = '', value = '') => wanted === '*' || wanted === value
  const isOf = (rule: (typeof rules)[number]) =>
    rule.account === accountOf(group) &&
    fits(rule.stack ?? '', stack ?? '') &&
    fits(rule.detail ?? '', detail ?? '') &&
    (!rule.applications?.length || rule.applications.includes(group.application ?? app ?? ''))
  return rules.length === 0 || rules.some(isOf)
}

function Pipelines({ project, landscape }: ProjectProps) {
  const { pipelines } = partsOf(project)
  const shown = pipelines.slice(0, maxPipelines)
  const query = {
    pipelineConfigIds: shown.map((one) => one.pipelineConfigId).join(','),
    limit: 30,
    expand: false,
  }
  const live = useLive('/executions', shown.length === 0 ? undefined : { query }, {
    refresh: 'live',
    isBusy: hasActive,
  })
  const { body: runs, error } = live
  const byPipeline = useMemo(
    () => Map.groupBy(newestFirst(runs ?? []), (run) => run.pipelineConfigId),
    [runs],
  )
  const names = new Map(landscape.pipelines.map(({ id, name }) => [id, name]))
  return (
    <Panel title="Pipelines" count={pipelines.length} flush>
      {shown.length === 0 && (
        <p class="panel-note">No pipeline is chosen. Edit the project to choose some.</p>
      )}
      {pipelines.length > shown.length && (
        <p class="panel-note">{showing(shown.length, pipelines.length)}</p>
      )}
      {runs === undefined && error !== undefined && (
        <ErrorState error={error} onRetry={() => live.refresh()} />
      )}
      <Stale live={live} />
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
