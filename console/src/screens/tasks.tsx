/** What was done to an application by hand or by tools. */
import { to } from '../address.ts'
import { failureOf, type Task } from '../api/actions.ts'
import { actionHeaders, client, unwrap } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { IconButton } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { Filters, NoMatch } from '../components/filter-field.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Duration, Time } from '../components/time.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { hasActive } from '../model/execution.ts'
import { objectOf, textOf } from '../model/read.ts'
import { executionStatus, isComplete } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'

const taskStates = [
  ['RUNNING', 'Running'],
  ['SUCCEEDED', 'Succeeded'],
  ['TERMINAL', 'Failed'],
  ['CANCELED', 'Cancelled'],
] as const

const rowHeight = 45
const limit = 100
const filterNames = ['q', 'status']

function stateWord(status: string): string {
  return taskStates.find(([state]) => state === status)?.[1] ?? status
}

export function Tasks({ params, query: { q = '', status } }: ScreenProps) {
  const application = params['application'] ?? ''
  const live = useLive(
    '/applications/{application}/tasks',
    { path: { application }, query: { limit, ...(status !== undefined && { statuses: status }) } },
    { refresh: 'live', isBusy: hasActive, events: applicationEvents(application, 'tasks') },
  )
  return (
    <>
      <ApplicationHead application={application} tab="Tasks" />
      <Loaded
        live={live}
        rows={8}
        empty={
          status === undefined ? (
            <EmptyState icon="task" text="Nothing was done here lately." />
          ) : (
            <NoMatch text={`No task matches “${stateWord(status)}”.`} filters={filterNames} />
          )
        }
      >
        {(tasks) => <List tasks={tasks} q={q} status={status} />}
      </Loaded>
    </>
  )
}

function List({ tasks, q, status }: { tasks: readonly Task[]; q: string; status: string | undefined }) {
  const shown = tasks.filter(({ name }) => (name ?? '').toLowerCase().includes(q.toLowerCase()))
  return (
    <Filters
      filters={[
        { name: 'q', label: 'Filter' },
        { name: 'status', label: 'State', any: 'Any state', choices: taskStates },
      ]}
      noMatch={
        shown.length === 0 ? `No task matches “${[q, status && stateWord(status)].filter(Boolean).join(', ')}”.` : undefined
      }
    >
      <div class="panel is-flush">
        <VirtualList
          items={shown}
          keyOf={({ id }) => id}
          rowHeight={rowHeight}
          label="Tasks"
          heldOf={q}
          row={(task) => <Row task={task} />}
        />
      </div>
    </Filters>
  )
}

function Row({ task }: { task: Task }) {
  const status = executionStatus(task.status)
  const failure = status.kind === 'failed' ? failureOf(task) : undefined
  const by = userOf(task)
  return (
    <div class="run-row">
      <StatusMark kind={status.kind} label={status.word} />
      <NameLink class="row-link row-title" href={to.task(task.id)} text={task.name ?? task.id} max={80} />
      <span class="grow cut muted">{failure !== undefined && <Name text={failure} max={140} />}</span>
      <span class="muted hide-phone">{by !== undefined && <Name text={by} max={24} />}</span>
      <span class="row-times">
        <span class="muted aside">
          <Time at={task.startTime ?? task.buildTime} />
        </span>
        <span class="aside">
          <Duration from={task.startTime} until={task.endTime} />
        </span>
      </span>
      {!isComplete(task.status) && <CancelInRow task={task} />}
    </div>
  )
}

function CancelInRow({ task }: { task: Task }) {
  const right = useRight({ operation: changeOperation, application: task.application })
  if (!right.allowed) return null
  const label = `Cancel “${task.name ?? task.id}”?`
  return <IconButton icon="stop" label={label} data-key="c" title="Cancel task" onClick={() => confirmCancelTask(task)} />
}

export function confirmCancelTask({ id, name }: Task): void {
  confirm({
    title: `Cancel “${name ?? id}”?`,
    effect: <p>The task stops at its next step. What it has sent is not undone.</p>,
    action: 'Cancel task',
    dismissal: 'Keep running',
    destructive: true,
    run: async () => {
      const call = client.PUT('/tasks/{id}/cancel', { params: { path: { id } }, headers: actionHeaders } as never)
      await unwrap(call as Promise<{ data?: unknown; response: Response; error?: unknown }>)
      refreshMatching('tasks')
    },
  })
}

export function userOf({ variables, execution }: Task): string | undefined {
  return textOf(objectOf(execution?.authentication)['user']) ?? textOf(variables.find(({ key }) => key === 'user')?.value)
}
