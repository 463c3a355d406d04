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
import { type Project, partsOf } from '../model/project.ts'
import type { ScreenProps } from '../screen.ts'
import { plural } from '../words.ts'
import { EditProject } from './edit-project.tsx'

export function Projects({ query: { q = '' } }: ScreenProps) {
  const live = useLive('/projects', {}, { refresh: 'slow' })
  const all = live.reading.value.body
  const wanted = q.toLowerCase()
  const create = (
    <Button kind="primary" icon="plus" onClick={() => openDialog(<EditProject />)}>
      Create project
    </Button>
  )
  const none = (
    <EmptyState icon="project" text="No project. A project shows several applications on one page.">
      {create}
    </EmptyState>
  )
  return (
    <>
      <PageHead
        tab="Projects"
        title="Projects"
        state={all !== undefined && <span class="count">{all.length.toLocaleString()}</span>}
        actions={create}
      />
      <Loaded live={live} rows={4} empty={none}>
        {(projects) => {
          const shown = projects
            .filter(({ name, email }) => `${name}\n${email ?? ''}`.toLowerCase().includes(wanted))
            .toSorted((a, b) => a.name.localeCompare(b.name))
          return (
            <Filters
              filters={[{ name: 'q', label: 'Filter' }]}
              noMatch={shown.length === 0 ? `No project matches “${q}”.` : undefined}
            >
              <div class="panel is-flush">
                <VirtualList
                  items={shown}
                  keyOf={({ id, name }) => id ?? name}
                  rowHeight={45}
                  label="Projects"
                  heldOf={q}
                  row={(project) => <Row project={project} />}
                />
              </div>
            </Filters>
          )
        }}
      </Loaded>
    </>
  )
}

function Row({ project }: { project: Project }) {
  const { applications, pipelines } = partsOf(project)
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
        <Time at={project.updateTs} />
      </span>
    </div>
  )
}
