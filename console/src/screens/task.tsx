/** One task: its error first, then its steps and variables. */

import { to } from '../address.ts'
import { failureOf, type Task } from '../api/actions.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { PlainText } from '../components/plain-text.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusBadge } from '../components/status-mark.tsx'
import { StepRows } from '../components/step-rows.tsx'
import { Duration, Time } from '../components/time.tsx'
import { executionStatus, isComplete } from '../model/status.ts'
import { readableVariables } from '../model/task-variables.ts'
import type { ScreenProps } from '../screen.ts'
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
    <Loaded
      live={live}
      title="Task"
      rows={8}
      empty={<EmptyState icon="search" text="There is no such task, or you may not read it." />}
    >
      {(task) => <Details task={task} />}
    </Loaded>
  )
}

function Details({ task }: { task: Task }) {
  const status = executionStatus(task.status)
  const name = task.name ?? task.id
  const failure = failureOf(task)
  return (
    <>
      <PageHead
        tab={name}
        title={<Name text={name} max={100} />}
        crumbs={[...applicationCrumbs(task.application), { label: 'Tasks', href: to.tasks(task.application) }]}
        state={
          <span class="row">
            <StatusBadge status={status} />
            <Duration from={task.startTime} until={task.endTime} />
          </span>
        }
        actions={isComplete(task.status) ? <DoAgain task={task} /> : <CancelButton task={task} />}
      >
        <Start task={task} />
      </PageHead>
      {failure !== undefined && (
        <Banner tone="failed">
          <PlainText text={failure} />
        </Banner>
      )}
      <div class="stack">
        <Panel title="Steps" flush>
          <StepRows steps={task.steps} />
        </Panel>
        <Panel title="Variables">
          <JsonTree value={readableVariables(task.variables)} name="variables" />
        </Panel>
      </div>
    </>
  )
}

/** Who started it, and when. */
function Start({ task }: { task: Task }) {
  const by = userOf(task)
  return (
    <p class="muted">
      {by !== undefined && (
        <>
          Started by <Name text={by} max={40} />,{' '}
        </>
      )}
      <Time at={task.startTime ?? task.buildTime} />
    </p>
  )
}

function CancelButton({ task }: { task: Task }) {
  const { reason } = useRight({ operation: changeOperation, application: task.application })
  return (
    <Button denied={reason} onClick={() => confirmCancelTask(task)}>
      Cancel task
    </Button>
  )
}
