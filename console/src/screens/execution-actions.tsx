/** What can be done to an execution and its stages, with what each says before it is done. */

import { type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'
import { to, useNavigate } from '../address.ts'
import { client } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { startOperation, useDenial } from '../api/rights.ts'
import { confirm, type Question } from '../components/confirm-dialog.tsx'
import type { MenuItem } from '../components/menu.tsx'
import { act } from '../components/notices.tsx'
import type { IconName } from '../components/text.tsx'
import { deploymentsOf } from '../model/deployment.ts'
import {
  type Execution,
  isComplete,
  isFailed,
  type Stage,
  shortId,
  titleOf,
} from '../model/execution.ts'

/** The most wanted first. */
export function useExecutionActions(execution: Execution): readonly MenuItem[] {
  const navigate = useNavigate()
  const denied = useDenial(startOperation, execution.application)
  const { id, status, application } = execution
  const run = shortId(id)
  const failed = execution.stages.filter((stage) => isFailed(stage.status) && !stage.parentStageId)
  const call = (reason?: string) => ({ params: { path: { id }, query: { reason } } }) as never
  const resume = () =>
    act(`Resume run ${run}`, () => change(execution, client.PUT('/pipelines/{id}/resume', call())))
  return [
    ...offer(status === 'RUNNING', 'Pause', 'pause', denied, {
      action: `Pause run ${run}`,
      effect: 'Running steps stop at their next step until the run is resumed.',
      run: () => change(execution, client.PUT('/pipelines/{id}/pause', call())),
    }),
    ...(status === 'PAUSED'
      ? [{ label: 'Resume', icon: 'play', denied, onSelect: resume } as const]
      : []),
    ...linksOf(execution, denied),
    ...rollBackOf(execution),
    ...offer(isComplete(status) && failed.length > 1, 'Restart failed stages', 'refresh', denied, {
      action: `Restart ${failed.length} failed stages`,
      effect: `${failed.map(titleOf).join(', ')} and the stages after them run again. What they deployed before stays.`,
      run: () => restart(execution, failed),
    }),
    ...offer(isComplete(status), 'Delete the record', 'trash', denied, {
      action: `Delete the record of run ${run}`,
      effect: 'The record and its logs are removed. What it deployed stays. This cannot be undone.',
      typed: run,
      destructive: true,
      refreshes: '/executions',
      run: () => client.DELETE('/pipelines/{id}', call()),
      onDone: () => navigate(to.pipelines(application)),
    }),
    ...offer(!isComplete(status), 'Cancel run', 'stop', denied, {
      action: `Cancel run ${run}`,
      effect:
        'Running stages are asked to stop. Operations already sent to the cloud are not undone.',
      dismissal: 'Keep running',
      destructive: true,
      ...withReason,
      run: (values) =>
        change(execution, client.PUT('/pipelines/{id}/cancel', call(reasonOf(values)))),
    }),
  ]
}

/** Rolls back what the run has deployed, by a choice where it serves in several clusters. */
function rollBackOf(execution: Execution): readonly MenuItem[] {
  const deployed = deploymentsOf(execution).filter(({ fresh }) => fresh.length > 0)
  if (!isComplete(execution.status) || deployed.length === 0) return []
  const choose = async () => {
    const { chooseRollBack } = await import('./roll-back.tsx')
    await chooseRollBack(execution.application, deployed)
  }
  return [{ label: 'Roll back what it deployed', icon: 'undo', onSelect: () => void choose() }]
}

function linksOf(execution: Execution, denied: string | undefined): readonly MenuItem[] {
  const { id, status, application, type, pipelineConfigId } = execution
  if (!pipelineConfigId || type !== 'PIPELINE') return []
  const compare = (label: string, left: string): MenuItem => ({
    label,
    icon: 'resize',
    href: to.compare({ left, right: id }),
  })
  return [
    {
      label: 'Start again',
      icon: 'play',
      denied,
      href: to.startPipeline(application, pipelineConfigId, { from: id }),
    },
    ...(status === 'SUCCEEDED' ? [] : [compare('Compare with the last success', 'last-success')]),
    compare('Compare with the run before', 'previous'),
    { label: 'Edit pipeline', icon: 'edit', href: to.editPipeline(application, pipelineConfigId) },
  ]
}

export function useStageActions(execution: Execution, stage: Stage): readonly MenuItem[] {
  const denied = useDenial(startOperation, execution.application)
  const { id, application, pipelineConfigId } = execution
  const { type, status, context, parentStageId, refId } = stage
  const title = titleOf(stage)
  const waits = type === 'wait' || type === 'restrictExecutionDuringTimeWindow'
  const ofDefinition = execution.type === 'PIPELINE' && !parentStageId
  const edit = () =>
    to.editPipeline(application, pipelineConfigId ?? '', { stage: refId ?? '', run: id })
  return [
    ...offer(status === 'RUNNING' && waits, 'Stop waiting', 'skip', denied, {
      action: `Stop waiting in “${title}”`,
      effect: 'The rest of the wait is left out and the run goes on.',
      run: () => patchStage(execution, stage, { skipRemainingWait: true }),
    }),
    ...offer(status === 'RUNNING' && context['canManuallySkip'] === true, 'Skip', 'skip', denied, {
      action: `Skip “${title}”`,
      effect: `“${title}” ends as skipped and the run goes on.`,
      ...withReason,
      run: (values) => patchStage(execution, stage, { manualSkip: true, reason: reasonOf(values) }),
    }),
    ...offer(isComplete(status) && ofDefinition, 'Restart from here', 'refresh', denied, {
      action: `Restart from “${title}”`,
      effect: restartEffect(execution, stage),
      run: () => restart(execution, [stage]),
    }),
    ...(ofDefinition && pipelineConfigId && refId
      ? [{ label: 'Edit this stage', icon: 'edit', href: edit() } as const]
      : []),
  ]
}

function offer(
  isOffered: boolean,
  label: string,
  icon: IconName,
  denied: string | undefined,
  asked: Question,
): MenuItem[] {
  return isOffered
    ? [
        {
          label,
          icon,
          denied,
          destructive: asked.destructive === true,
          onSelect: () => confirm(asked),
        },
      ]
    : []
}

function restartEffect(execution: Execution, stage: Stage) {
  const found = new Set(followers(execution, stage))
  // What is added to a set while it is walked is walked as well.
  for (const next of found) for (const after of followers(execution, next)) found.add(after)
  const what =
    found.size === 0
      ? 'runs'
      : `and ${found.size === 1 ? 'the stage' : `the ${found.size} stages`} after it run`
  const definition = 'Stages are those of this run; preconditions come from the stored pipeline.'
  return `“${titleOf(stage)}” ${what} again. What it deployed before stays. ${definition}`
}

export function followers({ stages }: Execution, { refId }: Stage): readonly Stage[] {
  return stages.filter(
    ({ requisiteStageRefIds }) => requisiteStageRefIds?.includes(refId ?? '') === true,
  )
}

/** For what the reader may give a reason. */
const withReason = { values: { reason: '' }, fields: { reason: { label: 'Reason (optional)' } } }

function reasonOf({ reason }: JsonObject) {
  return scalarOf(reason)?.trim() || undefined
}

/** @throws {ApiError} */
async function change({ id }: Pick<Execution, 'id'>, call: Promise<unknown>) {
  await call
  refreshMatching(id)
}

async function restart(execution: Execution, stages: readonly Stage[]): Promise<void> {
  for (const stage of stages) {
    const options = { params: { path: { id: execution.id, stageId: stage.id } }, body: {} } as never
    await change(execution, client.PUT('/pipelines/{id}/stages/{stageId}/restart', options))
  }
}

/** @throws {ApiError} */
export function patchStage(
  execution: Pick<Execution, 'id'>,
  stage: Pick<Stage, 'id'>,
  body: Record<string, unknown>,
): Promise<void> {
  const path = { id: execution.id, stageId: stage.id }
  return change(
    execution,
    client.PATCH('/pipelines/{id}/stages/{stageId}', { params: { path }, body }),
  )
}
