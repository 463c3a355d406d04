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
import { StepRows, toStep } from '../components/step-rows.tsx'
import { Duration, Time } from '../components/time.tsx'
import { executionStatus, isComplete } from '../model/status.ts'
import { readableVariables } from '../model/task-variables.ts'
import type { ScreenProps } from '../screen.ts'
import { DoAgain } from './do-again.tsx'
import { confirmCancelTask, userOf } from './tasks.tsx'

export function TaskScreen({ params }: ScreenProps) {
  const { id = '' } = params
  const events = { path: `/tasks/${encodeURIComponent(id)}/events` }
  const live = useLive('/tasks/{id}', { path: { id } }, { refresh: 'live', isBusy: ({ status }) => !isComplete(status), events })
  const none = <EmptyState icon="search" text="There is no such task, or you may not read it." />
  return (
    <Loaded live={live} title="Task" rows={8} empty={none}>
      {(task) => <Details task={task} />}
    </Loaded>
  )
}

function Details({ task }: { task: Task }) {
  const { id, application, startTime, endTime, buildTime, steps, variables } = task
  const { reason } = useRight({ operation: changeOperation, application })
  const failure = failureOf(task)
  const by = userOf(task)
  const title = task.name ?? id
  const cancel = (
    <Button denied={reason} onClick={() => confirmCancelTask(task)}>
      Cancel task
    </Button>
  )
  return (
    <>
      <PageHead
        tab={title}
        title={<Name text={title} max={100} />}
        crumbs={[...applicationCrumbs(application), { label: 'Tasks', href: to.tasks(application) }]}
        state={
          <span class="row">
            <StatusBadge status={executionStatus(task.status)} />
            <Duration from={startTime} until={endTime} />
          </span>
        }
        actions={isComplete(task.status) ? <DoAgain task={task} /> : cancel}
      >
        <p class="muted">
          {by !== undefined && <Name text={`Started by ${by},`} max={60} />} <Time at={startTime ?? buildTime} />
        </p>
      </PageHead>
      {failure !== undefined && (
        <Banner tone="failed">
          <PlainText text={failure} />
        </Banner>
      )}
      <div class="stack">
        <Panel title="Steps" flush>
          <StepRows steps={steps.map((step) => toStep(step))} />
        </Panel>
        <Panel title="Variables">
          <JsonTree value={readableVariables(variables)} name="variables" />
        </Panel>
      </div>
    </>
  )
}
