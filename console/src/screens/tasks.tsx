/** What was done to an application by hand or by tools: the list, and one task with its error first. */

import { scalarOf } from '@fairlead/base/json/values.ts'
import { type ScreenProps, to } from '../address.ts'
import { failureOf, type Task } from '../api/actions.ts'
import { client } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useDenial } from '../api/rights.ts'
import { Banner, Button, IconButton } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { type Filter, Filters, filterWords } from '../components/filter-field.tsx'
import { RecordText } from '../components/record-panel.tsx'
import {
  ApplicationHead,
  applicationCrumbs,
  Loaded,
  PageHead,
  Panel,
} from '../components/screen.tsx'
import { StepRows, toStep } from '../components/step-rows.tsx'
import {
  Duration,
  Name,
  NameLink,
  PlainText,
  StatusBadge,
  StatusMark,
  Time,
} from '../components/text.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { executionStatus, hasActive, isComplete, mainStates } from '../model/execution.ts'
import { DoAgain } from './do-again.tsx'

const filters: readonly Filter[] = [
  { name: 'q', label: 'Filter' },
  { name: 'status', label: 'State', choices: mainStates },
]

export function Tasks({ params, query }: ScreenProps) {
  const { application = '' } = params
  const { q = '', status } = query
  const live = useLive(
    '/applications/{application}/tasks',
    { path: { application }, query: { limit: 100, ...(status && { statuses: status }) } },
    { refresh: 'live', isBusy: hasActive, events: 'tasks' },
  )
  const { body } = live
  const shown =
    body?.filter(({ name }) => (name ?? '').toLowerCase().includes(q.toLowerCase())) ?? []
  const chosen = filterWords(filters, query)
  const isFiltered = chosen !== '' && body !== undefined && shown.length === 0
  return (
    <>
      <ApplicationHead application={application} tab="Tasks" />
      <Filters filters={filters} noMatch={isFiltered ? `No task matches “${chosen}”.` : undefined}>
        <Loaded live={live} rows={8} icon="task" empty="Nothing was done here lately.">
          {() => (
            <div class="panel is-flush">
              <VirtualList
                items={shown}
                rowHeight={45}
                label="Tasks"
                heldOf={q}
                keyOf={({ id }) => id}
                row={(task) => <Row task={task} />}
              />
            </div>
          )}
        </Loaded>
      </Filters>
    </>
  )
}

function Row({ task }: { task: Task }) {
  const { id, application, startTime, endTime, buildTime } = task
  const name = task.name ?? id
  const { kind, word } = executionStatus(task.status)
  const denied = useDenial(changeOperation, application)
  return (
    <div class="run-row">
      <StatusMark kind={kind} label={word} />
      <NameLink class="row-link row-title" href={to.task(id)} text={name} />
      <span class="grow cut muted">
        {kind === 'failed' && <Name text={failureOf(task) ?? ''} max={140} />}
      </span>
      <Name class="muted hide-phone" text={userOf(task) ?? ''} max={24} />
      <span class="row-times">
        <span class="muted aside">
          <Time at={startTime ?? buildTime} />
        </span>
        <span class="aside">
          <Duration from={startTime} until={endTime} />
        </span>
      </span>
      {!isComplete(task.status) && denied === undefined && (
        <IconButton
          icon="stop"
          label={`Cancel “${name}”?`}
          data-key="c"
          title="Cancel task"
          onClick={() => cancel(task)}
        />
      )}
    </div>
  )
}

export function TaskScreen({ params }: ScreenProps) {
  const { id = '' } = params
  const events = { path: `/tasks/${encodeURIComponent(id)}/events` }
  const live = useLive(
    '/tasks/{id}',
    { path: { id } },
    { refresh: 'live', isBusy: ({ status }) => !isComplete(status), events },
  )
  const none = 'There is no such task, or you may not read it.'
  return (
    <Loaded live={live} title="Task" rows={8} icon="search" empty={none}>
      {(task) => <Details task={task} />}
    </Loaded>
  )
}

function Details({ task }: { task: Task }) {
  const { id, application, startTime, endTime, buildTime, steps, variables } = task
  const name = task.name ?? id
  const reason = useDenial(changeOperation, application)
  const failure = failureOf(task)
  const by = userOf(task)
  const stop = (
    <Button denied={reason} onClick={() => cancel(task)}>
      Cancel task
    </Button>
  )
  return (
    <>
      <PageHead
        tab={name}
        crumbs={[
          ...applicationCrumbs(application),
          { label: 'Tasks', href: to.tasks(application) },
        ]}
        state={
          <span class="row">
            <StatusBadge status={executionStatus(task.status)} />
            <Duration from={startTime} until={endTime} />
          </span>
        }
        actions={isComplete(task.status) ? <DoAgain task={task} /> : stop}
      >
        <p class="muted">
          {by !== undefined && <Name text={`Started by ${by},`} max={60} />}{' '}
          <Time at={startTime ?? buildTime} />
        </p>
      </PageHead>
      {failure !== undefined && (
        <Banner tone="failed">
          <PlainText text={failure} />
        </Banner>
      )}
      <div class="stack">
        <Panel title="Steps" flush>
          <StepRows steps={steps.map(toStep)} />
        </Panel>
        <Panel title="Variables">
          <RecordText
            value={Object.fromEntries(variables.map(({ key, value }) => [key, unpack(value)]))}
            name={name}
          />
        </Panel>
      </div>
    </>
  )
}

function cancel({ id, name }: Task): void {
  confirm({
    title: `Cancel “${name ?? id}”?`,
    effect: 'The task stops at its next step. What it has sent is not undone.',
    action: 'Cancel task',
    dismissal: 'Keep running',
    destructive: true,
    run: () => client.PUT('/tasks/{id}/cancel', { params: { path: { id } } } as never),
    refreshes: 'tasks',
  })
}

/** Clients send pipelines that are to be saved as JSON in base64. */
function unpack(value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith('ey')) return value
  try {
    const bytes = Uint8Array.from(atob(value), (each) => each.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown
  } catch {
    return value
  }
}

function userOf({ variables, execution }: Task) {
  return (
    scalarOf(execution?.authentication?.user) ??
    scalarOf(variables.find(({ key }) => key === 'user')?.value)
  )
}
