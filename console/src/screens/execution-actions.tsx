/** What can be done to an execution and its stages, with what each says before it is done. */
import { signal } from '@preact/signals'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { actionHeaders, client, unwrap } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { startOperation, useRight } from '../api/rights.ts'
import { confirm, type Question } from '../components/confirm-dialog.tsx'
import type { IconName } from '../components/icon.tsx'
import type { MenuItem } from '../components/menu.tsx'
import { act } from '../components/notices.tsx'
import { type Execution, type Stage, shortId, titleOf } from '../model/execution.ts'
import { isComplete, isFailed } from '../model/status.ts'

/** The most wanted first. */
export function useExecutionActions(execution: Execution): readonly MenuItem[] {
  const { route: navigate } = useLocation()
  const denied = useRight({ operation: startOperation, application: execution.application }).reason
  const { id, status, application } = execution
  const run = shortId(id)
  const failed = execution.stages.filter((stage) => isFailed(stage.status) && !stage.parentStageId)
  const remove = async (_reason: unknown, isOpen: () => boolean) => {
    await unwrap(client.DELETE('/pipelines/{id}', { params: { path: { id } }, headers: actionHeaders } as never))
    refreshMatching('/executions')
    if (isOpen()) navigate(to.pipelines(application))
  }
  const resume = () => act(`Resume run ${run}`, () => put(execution, 'resume'))
  return [
    ...offer(status === 'RUNNING', 'Pause', 'pause', denied, {
      action: `Pause run ${run}`,
      effect: 'Running steps stop at their next step until the run is resumed.',
      run: () => put(execution, 'pause'),
    }),
    ...(status === 'PAUSED' ? [{ label: 'Resume', icon: 'play', denied, onSelect: resume } as const] : []),
    ...linksOf(execution, denied),
    ...offer(isComplete(status) && failed.length > 1, 'Restart failed stages', 'refresh', denied, {
      action: `Restart ${failed.length} failed stages`,
      effect: `${failed.map(titleOf).join(', ')} and the stages after them run again. What they deployed before stays.`,
      run: () => restart(execution, failed),
    }),
    ...offer(isComplete(status), 'Delete the record', 'trash', denied, {
      action: `Delete the record of run ${run}`,
      effect: 'The record and its logs are removed. What it deployed stays. This cannot be undone.',
      ...{ level: 2, typed: run, destructive: true, run: remove },
    }),
    ...offer(!isComplete(status), 'Cancel run', 'stop', denied, {
      action: `Cancel run ${run}`,
      effect: 'Running stages are asked to stop. Operations already sent to the cloud are not undone.',
      ...{ dismissal: 'Keep running', destructive: true, hasReason: true, run: (reason) => put(execution, 'cancel', reason) },
    }),
  ]
}

function linksOf(execution: Execution, denied: string | undefined): readonly MenuItem[] {
  const { id, status, application, type, pipelineConfigId } = execution
  if (!pipelineConfigId || type !== 'PIPELINE') return []
  const compare = (label: string, left: string): MenuItem => ({ label, icon: 'resize', href: to.compare({ left, right: id }) })
  return [
    { label: 'Start again', icon: 'play', denied, href: to.startPipeline(application, pipelineConfigId, { from: id }) },
    ...(status === 'SUCCEEDED' ? [] : [compare('Compare with the last success', 'last-success')]),
    compare('Compare with the run before', 'previous'),
    { label: 'Edit pipeline', icon: 'edit', href: to.editPipeline(application, pipelineConfigId) },
  ]
}

/** What a stage offers in its present state. */
export function useStageActions(execution: Execution, stage: Stage): readonly MenuItem[] {
  const denied = useRight({ operation: startOperation, application: execution.application }).reason
  const { id, application, pipelineConfigId } = execution
  const { type, status, context, parentStageId, refId } = stage
  const title = titleOf(stage)
  const waits = type === 'wait' || type === 'restrictExecutionDuringTimeWindow'
  const ofDefinition = execution.type === 'PIPELINE' && !parentStageId
  const edit = () => to.editPipeline(application, pipelineConfigId ?? '', { stage: refId ?? '', run: id })
  return [
    ...offer(status === 'RUNNING' && waits, 'Stop waiting', 'skip', denied, {
      action: `Stop waiting in “${title}”`,
      effect: 'The rest of the wait is left out and the run goes on.',
      run: () => patchStage(execution, stage, { skipRemainingWait: true }),
    }),
    ...offer(status === 'RUNNING' && context['canManuallySkip'] === true, 'Skip', 'skip', denied, {
      action: `Skip “${title}”`,
      effect: `“${title}” ends as skipped and the run goes on.`,
      hasReason: true,
      run: (reason) => patchStage(execution, stage, { manualSkip: true, ...(reason && { reason }) }),
    }),
    ...offer(isComplete(status) && ofDefinition, 'Restart from here', 'refresh', denied, {
      action: `Restart from “${title}”`,
      effect: restartEffect(title, countAfter(execution, stage)),
      run: () => restart(execution, [stage]),
    }),
    ...(ofDefinition && pipelineConfigId && refId ? [{ label: 'Edit this stage', icon: 'edit', href: edit() } as const] : []),
  ]
}

function offer(isOffered: boolean, label: string, icon: IconName, denied: string | undefined, asked: Asked): readonly MenuItem[] {
  return isOffered ? [{ label, icon, denied, destructive: asked.destructive === true, onSelect: () => ask(asked) }] : []
}

function restartEffect(title: string, after: number): string {
  const what = after === 0 ? 'runs' : `and ${after === 1 ? 'the stage' : `the ${after} stages`} after it run`
  const definition = 'Stages are those of this run; preconditions come from the stored pipeline.'
  return `“${title}” ${what} again. What it deployed before stays. ${definition}`
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

interface Asked extends Pick<Question, 'action' | 'dismissal' | 'destructive' | 'level' | 'typed'> {
  readonly effect: string
  /** The reader may give a reason. */
  readonly hasReason?: boolean
  /** @throws {ApiError} */
  readonly run: (reason: string | undefined, isOpen: () => boolean) => Promise<void>
}

export function ask({ effect, hasReason, run, ...question }: Asked): void {
  const reason = signal('')
  const field = (
    <label class="field">
      <span>Reason (optional)</span>
      <input onInput={(event) => (reason.value = event.currentTarget.value)} />
    </label>
  )
  confirm({
    ...question,
    effect: <p>{effect}</p>,
    fields: hasReason && field,
    run: (isOpen) => run(reason.value.trim() || undefined, isOpen),
  })
}

/** @throws {ApiError} */
async function change({ id }: Execution, call: Promise<{ response: Response; error?: unknown }>): Promise<void> {
  await unwrap(call)
  refreshMatching(id)
}

function put(execution: Execution, verb: 'pause' | 'resume' | 'cancel', reason?: string): Promise<void> {
  const options = { params: { path: { id: execution.id }, query: { reason } }, headers: actionHeaders } as never
  // Whole paths: the types have those that are called by their names.
  if (verb === 'pause') return change(execution, client.PUT('/pipelines/{id}/pause', options))
  if (verb === 'resume') return change(execution, client.PUT('/pipelines/{id}/resume', options))
  return change(execution, client.PUT('/pipelines/{id}/cancel', options))
}

async function restart(execution: Execution, stages: readonly Stage[]): Promise<void> {
  for (const stage of stages) {
    const options = { params: { path: { id: execution.id, stageId: stage.id } }, body: {}, headers: actionHeaders } as never
    await change(execution, client.PUT('/pipelines/{id}/stages/{stageId}/restart', options))
  }
}

/** @throws {ApiError} */
export function patchStage(execution: Execution, stage: Stage, body: Record<string, unknown>): Promise<void> {
  const path = { id: execution.id, stageId: stage.id }
  return change(execution, client.PATCH('/pipelines/{id}/stages/{stageId}', { params: { path }, body, headers: actionHeaders }))
}
