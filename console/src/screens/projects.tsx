/** Projects: several applications on one page each. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Filters } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { type Project, toProjectDraft } from '../model/project.ts'
import { numberOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { plural } from '../words.ts'
import { EditProject } from './edit-project.tsx'

const rowHeight = 45

export function Projects({ query: { q = '' } }: ScreenProps) {
  const live = useLive('/projects', {}, { refresh: 'slow' })
  const all = live.reading.value.body
  const create = (
    <Button kind="primary" icon="plus" onClick={() => openDialog(<EditProject project={undefined} />)}>
      Create project
    </Button>
  )
  return (
    <>
      <PageHead
        tab="Projects"
        title="Projects"
        state={all !== undefined && <span class="count">{all.length.toLocaleString()}</span>}
        actions={create}
      />
      <Loaded
        live={live}
        rows={4}
        empty={
          <EmptyState icon="project" text="No project. A project shows several applications on one page.">
            {create}
          </EmptyState>
        }
      >
        {(projects) => <List projects={projects} filter={q} />}
      </Loaded>
    </>
  )
}

function List({ projects, filter }: { projects: readonly Project[]; filter: string }) {
  const wanted = filter.toLowerCase()
  const shown = projects.filter(
    ({ name, email }) => name.toLowerCase().includes(wanted) || (email ?? '').toLowerCase().includes(wanted),
  )
  return (
    <Filters
      filters={[{ name: 'q', label: 'Filter' }]}
      noMatch={shown.length === 0 ? `No project matches “${filter}”.` : undefined}
    >
      <div class="panel is-flush">
        <VirtualList
          items={shown.toSorted((a, b) => a.name.localeCompare(b.name))}
          keyOf={({ id, name }) => id ?? name}
          rowHeight={rowHeight}
          label="Projects"
          heldOf={filter}
          row={(project) => <Row project={project} />}
        />
      </div>
    </Filters>
  )
}

function Row({ project }: { project: Project }) {
  const { applications, pipelines } = toProjectDraft(project)
  return (
    <div class="run-row">
      <Icon name="project" />
      <NameLink class="row-link row-title" href={to.project(project)} text={project.name} max={60} />
      <span class="grow muted cut">
        <Name text={applications.join(', ')} max={120} />
      </span>
      <span class="muted hide-narrow">{project.email && <Name text={project.email} max={40} />}</span>
      <span class="muted hide-phone">{plural(pipelines.length, 'pipeline')}</span>
      <span class="muted hide-phone aside">
        <Time at={numberOf(project.updateTs)} />
      </span>
    </div>
  )
}
