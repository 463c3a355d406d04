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
import { type Filter, Filters, filterWords, NoMatch } from '../components/filter-field.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Duration, Time } from '../components/time.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { hasActive } from '../model/execution.ts'
import { objectOf, textOf } from '../model/read.ts'
import { executionStatus, isComplete } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'

const filters: readonly Filter[] = [
  { name: 'q', label: 'Filter' },
  {
    name: 'status',
    label: 'State',
    choices: [
      ['RUNNING', 'Running'],
      ['SUCCEEDED', 'Succeeded'],
      ['TERMINAL', 'Failed'],
      ['CANCELED', 'Cancelled'],
    ],
  },
]

export function Tasks({ params, query }: ScreenProps) {
  const { application = '' } = params
  const { q = '', status } = query
  const live = useLive(
    '/applications/{application}/tasks',
    { path: { application }, query: { limit: 100, ...(status && { statuses: status }) } },
    { refresh: 'live', isBusy: hasActive, events: applicationEvents(application, 'tasks') },
  )
  const noMatch = <NoMatch text={`No task matches “${filterWords(filters, query)}”.`} filters={filters.map(({ name }) => name)} />
  return (
    <>
      <ApplicationHead application={application} tab="Tasks" />
      <Filters filters={filters} />
      <Loaded live={live} rows={8} empty={status ? noMatch : <EmptyState icon="task" text="Nothing was done here lately." />}>
        {(tasks) => {
          const shown = tasks.filter(({ name }) => (name ?? '').toLowerCase().includes(q.toLowerCase()))
          const list = { items: shown, rowHeight: 45, label: 'Tasks', heldOf: q }
          if (shown.length === 0) return noMatch
          return (
            <div class="panel is-flush">
              <VirtualList {...list} keyOf={({ id }) => id} row={(task) => <Row task={task} />} />
            </div>
          )
        }}
      </Loaded>
    </>
  )
}

function Row({ task }: { task: Task }) {
  const { id, name, application, startTime, endTime, buildTime } = task
  const { kind, word } = executionStatus(task.status)
  const { allowed } = useRight({ operation: changeOperation, application })
  const label = `Cancel “${name ?? id}”?`
  return (
    <div class="run-row">
      <StatusMark kind={kind} label={word} />
      <NameLink class="row-link row-title" href={to.task(id)} text={name ?? id} max={80} />
      <span class="grow cut muted">{kind === 'failed' && <Name text={failureOf(task) ?? ''} max={140} />}</span>
      <Name class="muted hide-phone" text={userOf(task) ?? ''} max={24} />
      <span class="row-times">
        <span class="muted aside">
          <Time at={startTime ?? buildTime} />
        </span>
        <span class="aside">
          <Duration from={startTime} until={endTime} />
        </span>
      </span>
      {!isComplete(task.status) && allowed && (
        <IconButton icon="stop" label={label} data-key="c" title="Cancel task" onClick={() => confirmCancelTask(task)} />
      )}
    </div>
  )
}

export function confirmCancelTask({ id, name }: Task): void {
  confirm({
    title: `Cancel “${name ?? id}”?`,
    effect: <p>The task stops at its next step. What it has sent is not undone.</p>,
    action: 'Cancel task',
    dismissal: 'Keep running',
    destructive: true,
    run: async () => {
      await unwrap(client.PUT('/tasks/{id}/cancel', { params: { path: { id } }, headers: actionHeaders } as never))
      refreshMatching('tasks')
    },
  })
}

export function userOf({ variables, execution }: Task): string | undefined {
  return textOf(objectOf(execution?.authentication)['user']) ?? textOf(variables.find(({ key }) => key === 'user')?.value)
}
