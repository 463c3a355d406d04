/** What was done to an application by hand or by tools. */
import { to } from '../address.ts'
import { failureOf, type Task } from '../api/actions.ts'
import { useLive } from '../api/live.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { FilteredList } from '../components/filtered-list.tsx'
import { Name } from '../components/name.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Duration, Time } from '../components/time.tsx'
import { hasActive } from '../model/execution.ts'
import { objectOf, textOf } from '../model/read.ts'
import { executionStatus } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'

const rowHeight = 45
const limit = 100

export function Tasks({ params, query: { q = '' } }: ScreenProps) {
  const application = params['application'] ?? ''
  const live = useLive(
    '/applications/{application}/tasks',
    { path: { application }, query: { limit } },
    { refresh: 'live', isBusy: hasActive },
  )
  return (
    <>
      <ApplicationHead application={application} tab={words.tasks} />
      <Loaded live={live} rows={8} empty={<EmptyState icon="task" text={words.tasksEmpty} />}>
        {(tasks) => (
          <FilteredList
            filter={q}
            items={tasks.filter(({ name }) => (name ?? '').toLowerCase().includes(q.toLowerCase()))}
            noMatch={words.noTaskMatches(q)}
            keyOf={({ id }) => id}
            rowHeight={rowHeight}
            label={words.tasks}
            row={(task) => <Row task={task} />}
          />
        )}
      </Loaded>
    </>
  )
}

function Row({ task }: { task: Task }) {
  const status = executionStatus(task.status)
  const failure = status.kind === 'failed' ? failureOf(task) : undefined
  const by = userOf(task)
  return (
    <div class="run-row">
      <StatusMark kind={status.kind} label={status.word} />
      <a class="row-link row-title" href={to.task(task.id)}>
        <Name text={task.name ?? task.id} max={80} />
      </a>
      <span class="grow cut muted">{failure !== undefined && <Name text={failure} max={140} />}</span>
      <span class="muted hide-phone">{by !== undefined && <Name text={by} max={24} />}</span>
      <span class="muted aside">
        <Time at={task.startTime ?? task.buildTime} />
      </span>
      <span class="aside">
        <Duration from={task.startTime} until={task.endTime} />
      </span>
    </div>
  )
}

export function userOf({ variables, execution }: Task): string | undefined {
  return textOf(objectOf(execution?.authentication)['user']) ?? textOf(variables.find(({ key }) => key === 'user')?.value)
}
