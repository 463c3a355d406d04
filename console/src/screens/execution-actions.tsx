/** What can be done to an execution and its stages, with what each says before it is done. */

import { signal } from '@preact/signals'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { ApiError } from '../api/api-error.ts'
import { actionHeaders, client, unwrap } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { startOperation, useRight } from '../api/rights.ts'
import { confirm } from '../components/confirm-dialog.tsx'
import type { IconName } from '../components/icon.tsx'
import type { MenuItem } from '../components/menu.tsx'
import { act } from '../components/notices.tsx'
import { type Execution, isWaiting, type Stage, shortId, titleOf } from '../model/execution.ts'
import { textOf } from '../model/read.ts'
import { isComplete } from '../model/status.ts'
import { words } from '../words.ts'

export function useExecutionActions(execution: Execution): readonly MenuItem[] {
  const { route: navigate } = useLocation()
  const denied = useRight({ operation: startOperation, application: execution.application }).reason
  const { id, status, pipelineConfigId, application } = execution
  const complete = isComplete(status)
  const failed = execution.stages.filter((stage) => stage.status === 'TERMINAL' && !stage.parentStageId)
  const items: MenuItem[] = []
  const offer = (label: string, icon: IconName, onSelect: () => void, destructive = false) =>
    items.push({ label, icon, denied, destructive, onSelect })
  if (complete && failed.length > 0) offer(words.restartFailed, 'refresh', () => restartFailed(execution, failed))
  if (status === 'RUNNING') offer(words.pause, 'pause', () => pause(execution))
  if (status === 'PAUSED') offer(words.resume, 'play', () => resume(execution))
  if (pipelineConfigId && execution.type === 'PIPELINE') {
    const again = denied === undefined ? { href: to.startPipeline(application, pipelineConfigId, { from: id }) } : { denied }
    items.push({ label: words.startAgain, icon: 'play', ...again })
    items.push({ label: words.compareRun, icon: 'resize', href: to.compare({ left: id }) })
  }
  if (complete) offer(words.deleteRecord, 'trash', () => deleteRecord(execution, navigate), true)
  else offer(words.cancelRun, 'stop', () => cancelExecution(execution), true)
  return items
}

/** What a stage offers in its present state. */
export function useStageActions(execution: Execution, stage: Stage): readonly MenuItem[] {
  const right = useRight({ operation: startOperation, application: execution.application })
  const denied = right.reason
  const items: MenuItem[] = []
  if (stage.status === 'RUNNING' && (stage.type === 'wait' || stage.type === 'restrictExecutionDuringTimeWindow')) {
    items.push({ label: words.skipWait, icon: 'skip', denied, onSelect: () => skipWait(execution, stage) })
  }
  if (stage.status === 'RUNNING' && stage.context['canManuallySkip'] === true) {
    items.push({ label: words.skipStage, icon: 'skip', denied, onSelect: () => skipStage(execution, stage) })
  }
  if (isComplete(stage.status) && !stage.parentStageId && execution.type === 'PIPELINE') {
    items.push({ label: words.restartFrom, icon: 'refresh', denied, onSelect: () => restart(execution, stage) })
  }
  return items
}

/** A blanked answer means that the role was refused; a failure of the read after it says nothing about it. @throws {ApiError} */
export async function judge(
  execution: Execution,
  stage: Stage,
  judgmentStatus: 'continue' | 'stop',
  judgmentInput: string | undefined,
): Promise<void> {
  await patch(execution, stage, { judgmentStatus, ...(judgmentInput !== undefined && { judgmentInput }) })
  const current = await unwrap(client.GET('/pipelines/{id}', { params: { path: { id: execution.id } } })).catch(() => undefined)
  refreshMatching(execution.id)
  const now = current?.stages.find(({ id }) => id === stage.id)
  if (now !== undefined && isWaiting(now)) throw new ApiError({ status: 403, message: words.judgmentRefused })
}

export function confirmJudgment(
  execution: Execution,
  stage: Stage,
  status: 'continue' | 'stop',
  input: string | undefined,
): void {
  const name = execution.name ?? execution.id
  confirm({
    title: status === 'continue' ? words.continueTitle(name) : words.stopTitle(name),
    effect: (
      <p>
        {status === 'continue' ? words.continueEffect(input, followers(execution, stage).map(titleOf)) : words.stopEffect(name)}
      </p>
    ),
    action: status === 'continue' ? words.continueAction(name) : words.stopAction(name),
    destructive: status === 'stop',
    run: () => judge(execution, stage, status, input),
  })
}

function followers({ stages }: Execution, { refId }: Stage): readonly Stage[] {
  return stages.filter(({ requisiteStageRefIds }) => requisiteStageRefIds?.includes(refId ?? '') === true)
}

/** Everything that runs after it. */
function allFollowers(execution: Execution, stage: Stage): ReadonlySet<Stage> {
  const found = new Set<Stage>()
  const collect = (from: Stage): void => {
    for (const next of followers(execution, from)) {
      if (found.has(next)) continue
      found.add(next)
      collect(next)
    }
  }
  collect(stage)
  return found
}

function cancelExecution(execution: Execution): void {
  const reason = signal('')
  confirm({
    title: words.cancelTitle(shortId(execution.id)),
    effect: <p>{words.cancelEffect}</p>,
    action: words.cancelAction(shortId(execution.id)),
    dismissal: words.keepRunning,
    destructive: true,
    fields: <ReasonField reason={reason} />,
    run: async () => {
      const query = reason.value.trim() === '' ? {} : { reason: reason.value.trim() }
      await done(client.PUT('/pipelines/{id}/cancel', { params: { path: { id: execution.id }, query }, headers: actionHeaders }))
      refreshMatching(execution.id)
    },
  })
}

function pause(execution: Execution): void {
  confirm({
    title: words.pauseTitle(shortId(execution.id)),
    effect: <p>{words.pauseEffect}</p>,
    action: words.pauseAction(shortId(execution.id)),
    run: async () => {
      await done(client.PUT('/pipelines/{id}/pause', { params: { path: { id: execution.id } }, headers: actionHeaders }))
      refreshMatching(execution.id)
    },
  })
}

function resume({ id }: Execution): void {
  act(words.resumeAction(shortId(id)), async () => {
    await done(client.PUT('/pipelines/{id}/resume', { params: { path: { id } }, headers: actionHeaders }))
    refreshMatching(id)
  })
}

function restart(execution: Execution, stage: Stage): void {
  const after = allFollowers(execution, stage).size
  confirm({
    title: words.restartTitle(titleOf(stage)),
    effect: <p>{words.restartEffect(titleOf(stage), after)}</p>,
    action: words.restartAction(titleOf(stage)),
    run: () => restartStages(execution, [stage]),
  })
}

function restartFailed(execution: Execution, failed: readonly Stage[]): void {
  confirm({
    title: words.restartFailedTitle(failed.length),
    effect: (
      <>
        <p>{words.restartFailedEffect}</p>
        <ul class="bullets">
          {failed.map((stage) => (
            <li key={stage.id}>{titleOf(stage)}</li>
          ))}
        </ul>
      </>
    ),
    action: words.restartFailedAction(failed.length),
    run: () => restartStages(execution, failed),
  })
}

async function restartStages(execution: Execution, stages: readonly Stage[]): Promise<void> {
  for (const stage of stages) {
    const path = { id: execution.id, stageId: stage.id }
    await done(
      client.PUT('/pipelines/{id}/stages/{stageId}/restart', { params: { path }, body: {}, headers: actionHeaders } as never),
    )
  }
  refreshMatching(execution.id)
}

function skipWait(execution: Execution, stage: Stage): void {
  confirm({
    title: words.skipWaitTitle(titleOf(stage)),
    effect: <p>{words.skipWaitEffect}</p>,
    action: words.skipWaitAction,
    run: () => patch(execution, stage, { skipRemainingWait: true }),
  })
}

function skipStage(execution: Execution, stage: Stage): void {
  const reason = signal('')
  confirm({
    title: words.skipTitle(titleOf(stage)),
    effect: <p>{words.skipEffect(titleOf(stage))}</p>,
    action: words.skipAction(titleOf(stage)),
    fields: <ReasonField reason={reason} />,
    run: () => patch(execution, stage, { manualSkip: true, ...(reason.value.trim() !== '' && { reason: reason.value.trim() }) }),
  })
}

function deleteRecord(execution: Execution, navigate: (url: string) => void): void {
  const name = shortId(execution.id)
  confirm({
    title: words.deleteTitle(name),
    effect: <p>{words.deleteEffect}</p>,
    action: words.deleteAction(name),
    level: 2,
    typed: name,
    destructive: true,
    run: async (isOpen) => {
      await done(client.DELETE('/pipelines/{id}', { params: { path: { id: execution.id } }, headers: actionHeaders }))
      refreshMatching('/executions')
      if (isOpen()) navigate(to.pipelines(execution.application))
    },
  })
}

async function patch(execution: Execution, stage: Stage, body: Record<string, unknown>): Promise<void> {
  const path = { id: execution.id, stageId: stage.id }
  await done(client.PATCH('/pipelines/{id}/stages/{stageId}', { params: { path }, body, headers: actionHeaders }))
  refreshMatching(execution.id)
}

/** Answers of changes may be empty. */
async function done(call: Promise<{ response: Response; error?: unknown }>): Promise<void> {
  await unwrap(call as Promise<{ data?: unknown; response: Response; error?: unknown }>)
}

function ReasonField({ reason }: { reason: { value: string } }) {
  return (
    <label class="field">
      <span>{words.reason}</span>
      <input value={reason.value} onInput={(event) => (reason.value = event.currentTarget.value)} />
    </label>
  )
}

/** Who judged it, once judged. */
export function judgedBy({ context, lastModified }: Stage): string | undefined {
  return textOf(context['lastModifiedBy']) ?? textOf((lastModified as Record<string, unknown> | null | undefined)?.['user'])
}
