/** One task: its error first, then its steps and variables. */
import { to } from '../address.ts'
import { failureOf, type Task } from '../api/actions.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { Banner } from '../components/banner.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { PlainText } from '../components/plain-text.tsx'
import { RightButton } from '../components/right-button.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { StepRows } from '../components/step-rows.tsx'
import { Duration, Time } from '../components/time.tsx'
import { executionStatus, isComplete } from '../model/status.ts'
import { readableVariables } from '../model/task-variables.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'
import { DoAgain } from './do-again.tsx'
import { confirmCancelTask, userOf } from './tasks.tsx'

export function TaskScreen({ params }: ScreenProps) {
  const id = params['id'] ?? ''
  const live = useLive(
    '/tasks/{id}',
    { path: { id } },
    {
      refresh: 'live',
      isBusy: ({ status }) => !isComplete(status),
      events: { path: `/tasks/${encodeURIComponent(id)}/events` },
    },
  )
  return (
    <Loaded live={live} title={words.task} rows={8} empty={<EmptyState icon="search" text={words.noSuchTask} />}>
      {(task) => <Details task={task} />}
    </Loaded>
  )
}

function Details({ task }: { task: Task }) {
  const status = executionStatus(task.status)
  const name = task.name ?? task.id
  const failure = failureOf(task)
  const by = userOf(task)
  return (
    <>
      <PageHead
        tab={name}
        title={<Name text={name} max={100} />}
        crumbs={[
          { label: words.applications, href: to.applications() },
          { label: <Name text={task.application} />, href: to.application(task.application) },
          { label: words.tasks, href: to.tasks(task.application) },
        ]}
        state={
          <span class="row">
            <span class={`status-badge is-${status.kind}`}>
              <StatusMark kind={status.kind} /> {status.word}
            </span>
            <Duration from={task.startTime} until={task.endTime} />
          </span>
        }
        actions={isComplete(task.status) ? <DoAgain task={task} /> : <CancelButton task={task} />}
      >
        <p class="muted">
          {by !== undefined && (
            <>
              {words.startedBy} <Name text={by} max={40} />,{' '}
            </>
          )}
          <Time at={task.startTime ?? task.buildTime} />
        </p>
      </PageHead>
      {failure !== undefined && (
        <Banner tone="failed">
          <PlainText text={failure} />
        </Banner>
      )}
      <div class="stack">
        <Panel title={words.steps} flush>
          <StepRows steps={task.steps} />
        </Panel>
        <Panel title={words.variables}>
          <JsonTree value={readableVariables(task.variables)} name="variables" />
        </Panel>
      </div>
    </>
  )
}

function CancelButton({ task }: { task: Task }) {
  const right = useRight({ operation: changeOperation, application: task.application })
  return (
    <RightButton right={right} onClick={() => confirmCancelTask(task)}>
      {words.cancelTask}
    </RightButton>
  )
}
