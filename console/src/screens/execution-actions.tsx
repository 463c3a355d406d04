/** What can be done to an execution and its stages, with what each says before it is done. */

import { signal } from '@preact/signals'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { actionHeaders, client, unwrap } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { startOperation, useRight } from '../api/rights.ts'
import { confirm } from '../components/confirm-dialog.tsx'
import type { IconName } from '../components/icon.tsx'
import type { MenuItem } from '../components/menu.tsx'
import { act } from '../components/notices.tsx'
import { type Execution, type Stage, shortId, titleOf } from '../model/execution.ts'
import { isComplete } from '../model/status.ts'

/** The most wanted first. */
export function useExecutionActions(execution: Execution): readonly MenuItem[] {
  const { route: navigate } = useLocation()
  const denied = useRight({ operation: startOperation, application: execution.application }).reason
  const { id, status, pipelineConfigId, application } = execution
  const failed = execution.stages.filter((stage) => stage.status === 'TERMINAL' && !stage.parentStageId)
  const items: MenuItem[] = []
  const offer = (label: string, icon: IconName, onSelect: () => void, destructive = false) =>
    items.push({ label, icon, denied, destructive, onSelect })
  if (status === 'RUNNING') offer('Pause', 'pause', () => pause(execution))
  if (status === 'PAUSED') offer('Resume', 'play', () => resume(execution))
  if (pipelineConfigId && execution.type === 'PIPELINE') {
    const again = denied === undefined ? { href: to.startPipeline(application, pipelineConfigId, { from: id }) } : { denied }
    items.push({ label: 'Start again', icon: 'play', ...again })
    if (status !== 'SUCCEEDED')
      items.push({
        label: 'Compare with the last success',
        icon: 'resize',
        href: to.compare({ left: 'last-success', right: id }),
      })
    items.push({ label: 'Compare with the run before', icon: 'resize', href: to.compare({ left: 'previous', right: id }) })
    items.push({ label: 'Edit pipeline', icon: 'edit', href: to.editPipeline(application, pipelineConfigId) })
  }
  if (isComplete(status) && failed.length > 1) offer('Restart failed stages', 'refresh', () => restartFailed(execution, failed))
  if (isComplete(status)) offer('Delete the record', 'trash', () => deleteRecord(execution, navigate), true)
  else offer('Cancel run', 'stop', () => cancelExecution(execution), true)
  return items
}

/** What a stage offers in its present state. */
export function useStageActions(execution: Execution, stage: Stage): readonly MenuItem[] {
  const denied = useRight({ operation: startOperation, application: execution.application }).reason
  const items: MenuItem[] = []
  if (stage.status === 'RUNNING' && (stage.type === 'wait' || stage.type === 'restrictExecutionDuringTimeWindow')) {
    items.push({ label: 'Stop waiting', icon: 'skip', denied, onSelect: () => skipWait(execution, stage) })
  }
  if (stage.status === 'RUNNING' && stage.context['canManuallySkip'] === true) {
    items.push({ label: 'Skip', icon: 'skip', denied, onSelect: () => skipStage(execution, stage) })
  }
  if (isComplete(stage.status) && !stage.parentStageId && execution.type === 'PIPELINE') {
    items.push({ label: 'Restart from here', icon: 'refresh', denied, onSelect: () => restart(execution, stage) })
  }
  const edit = editAddress(execution, stage)
  if (edit !== undefined) items.push({ label: 'Edit this stage', icon: 'edit', href: edit })
  return items
}

/** Undefined for stages that are not of a stored definition. */
function editAddress(
  { id, application, pipelineConfigId, type }: Execution,
  { refId, parentStageId }: Stage,
): string | undefined {
  if (!pipelineConfigId || type !== 'PIPELINE' || parentStageId || !refId) return undefined
  return to.editPipeline(application, pipelineConfigId, { stage: refId, run: id })
}

export function followers({ stages }: Execution, { refId }: Stage): readonly Stage[] {
  return stages.filter(({ requisiteStageRefIds }) => requisiteStageRefIds?.includes(refId ?? '') === true)
}

/** How many stages run after it. */
function countAfter(execution: Execution, stage: Stage): number {
  const found = new Set(followers(execution, stage))
  // What is added to a set while it is walked is walked as well.
  for (const next of found) for (const after of followers(execution, next)) found.add(after)
  return found.size
}

function cancelExecution(execution: Execution): void {
  const reason = signal('')
  const run = shortId(execution.id)
  confirm({
    title: `Cancel run ${run}?`,
    effect: <p>Running stages are asked to stop. Operations already sent to the cloud are not undone.</p>,
    action: `Cancel run ${run}`,
    dismissal: 'Keep running',
    destructive: true,
    fields: <ReasonField reason={reason} />,
    run: () => {
      const query = reason.value.trim() === '' ? {} : { reason: reason.value.trim() }
      return change(
        execution,
        client.PUT('/pipelines/{id}/cancel', { params: { path: { id: execution.id }, query }, headers: actionHeaders }),
      )
    },
  })
}

function pause(execution: Execution): void {
  const run = shortId(execution.id)
  confirm({
    title: `Pause run ${run}?`,
    effect: <p>Running steps stop at their next step until the run is resumed.</p>,
    action: `Pause run ${run}`,
    run: () =>
      change(execution, client.PUT('/pipelines/{id}/pause', { params: { path: { id: execution.id } }, headers: actionHeaders })),
  })
}

function resume(execution: Execution): void {
  const path = { id: execution.id }
  act(`Resume run ${shortId(execution.id)}`, () =>
    change(execution, client.PUT('/pipelines/{id}/resume', { params: { path }, headers: actionHeaders })),
  )
}

function restart(execution: Execution, stage: Stage): void {
  const [title, after] = [titleOf(stage), countAfter(execution, stage)]
  const what = after === 0 ? 'runs' : `and ${after === 1 ? 'the stage' : `the ${after} stages`} after it run`
  confirm({
    title: `Restart from “${title}”?`,
    effect: (
      <p>
        “{title}” {what} again. What it deployed before stays. Stages are those of this run; preconditions come from the stored
        pipeline.
      </p>
    ),
    action: `Restart from “${title}”`,
    run: () => restartStages(execution, [stage]),
  })
}

function restartFailed(execution: Execution, failed: readonly Stage[]): void {
  confirm({
    title: `Restart ${failed.length} failed stages?`,
    effect: (
      <>
        <p>These stages and those after them run again. What they deployed before stays.</p>
        <ul class="bullets">
          {failed.map((stage) => (
            <li key={stage.id}>{titleOf(stage)}</li>
          ))}
        </ul>
      </>
    ),
    action: `Restart ${failed.length} stages`,
    run: () => restartStages(execution, failed),
  })
}

async function restartStages(execution: Execution, stages: readonly Stage[]): Promise<void> {
  for (const stage of stages) {
    const params = { path: { id: execution.id, stageId: stage.id } }
    const options = { params, body: {}, headers: actionHeaders } as never
    await change(execution, client.PUT('/pipelines/{id}/stages/{stageId}/restart', options))
  }
}

function skipWait(execution: Execution, stage: Stage): void {
  confirm({
    title: `Stop waiting in “${titleOf(stage)}”?`,
    effect: <p>The rest of the wait is left out and the run goes on.</p>,
    action: 'Stop waiting',
    run: () => patchStage(execution, stage, { skipRemainingWait: true }),
  })
}

function skipStage(execution: Execution, stage: Stage): void {
  const reason = signal('')
  const title = titleOf(stage)
  confirm({
    title: `Skip “${title}”?`,
    effect: <p>“{title}” ends as skipped and the run goes on.</p>,
    action: `Skip “${title}”`,
    fields: <ReasonField reason={reason} />,
    run: () =>
      patchStage(execution, stage, { manualSkip: true, ...(reason.value.trim() !== '' && { reason: reason.value.trim() }) }),
  })
}

function deleteRecord({ id, application }: Execution, navigate: (url: string) => void): void {
  const name = shortId(id)
  confirm({
    title: `Delete the record of run ${name}?`,
    effect: <p>The record and its logs are removed. What it deployed stays. This cannot be undone.</p>,
    action: `Delete the record of ${name}`,
    level: 2,
    typed: name,
    destructive: true,
    run: async (isOpen) => {
      await unwrap(client.DELETE('/pipelines/{id}', { params: { path: { id } }, headers: actionHeaders }) as Call)
      refreshMatching('/executions')
      if (isOpen()) navigate(to.pipelines(application))
    },
  })
}

/** @throws {ApiError} */
export function patchStage(execution: Execution, stage: Stage, body: Record<string, unknown>): Promise<void> {
  const path = { id: execution.id, stageId: stage.id }
  return change(execution, client.PATCH('/pipelines/{id}/stages/{stageId}', { params: { path }, body, headers: actionHeaders }))
}

/** Answers of changes may be empty. */
type Call = Promise<{ data?: unknown; response: Response; error?: unknown }>

async function change({ id }: Execution, call: Promise<{ response: Response; error?: unknown }>): Promise<void> {
  await unwrap(call as Call)
  refreshMatching(id)
}

function ReasonField({ reason }: { reason: { value: string } }) {
  return (
    <label class="field">
      <span>Reason (optional)</span>
      <input value={reason.value} onInput={(event) => (reason.value = event.currentTarget.value)} />
    </label>
  )
}
