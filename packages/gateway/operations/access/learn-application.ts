/** Look-up of the application of an execution or task, for the identity header. */
import { setTimeout as pause } from 'node:timers/promises'
import type { GatewayError } from '@fairlead/base/errors.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { checkDone, readJson, type UpstreamAnswer } from '../../upstreams/answer-form.ts'
import type { OperationRequest } from '../operation.ts'

const retryPausesMs = [100, 200, 400, 800]
/** A call that is made without the header is better than one that is not made. */
const maxTimeoutMs = 2000

/**
 * Best effort: a failure leaves the header as it is. An execution that the orchestrator fails to read is asked for again,
 * unless it says 4xx or takes too long; a task is asked for once.
 *
 * @see docs/reference/operations.md, cancelPipelineUsingPUT1 and cancelTaskUsingPUT
 */
export async function learnApplication(
  request: OperationRequest,
  kind: 'pipelines' | 'tasks',
  id: string,
): Promise<void> {
  const answer = await askRepeatedly(
    request,
    pathOf(kind, id),
    kind === 'pipelines' ? retryPausesMs : [],
  )
  if (answer === undefined) return
  try {
    const found = readJson(answer, 'orca') as { application?: unknown } | null | undefined
    if (typeof found?.application === 'string') request.state.application = found.application
  } catch {
    // The call that follows tells the client what is wrong with the orchestrator.
  }
}

/** Changes a run. The orchestrator decides by the application in the header, so that is looked up first. */
export async function changeRun(
  request: OperationRequest,
  kind: 'pipelines' | 'tasks',
  method: 'PUT' | 'DELETE',
  action = '',
): Promise<void> {
  const { path, query } = request
  const id = path['id'] as string
  await learnApplication(request, kind, id)
  // One is expected, and not read.
  const body = method === 'PUT' ? '' : undefined
  checkDone(
    await request.call('orca', { method, path: pathOf(kind, id) + action, query, body }),
    'orca',
  )
}

function pathOf(kind: 'pipelines' | 'tasks', id: string): string {
  return kind === 'pipelines' ? pathTo`/pipelines/${id}` : pathTo`/tasks/${id}`
}

async function askRepeatedly(
  request: OperationRequest,
  path: string,
  pausesMs: readonly number[],
): Promise<UpstreamAnswer | undefined> {
  for (let attempt = 0; ; attempt++) {
    const answer = await request.call('orca', { path, maxTimeoutMs }).catch(isFinal)
    if (answer === true || (typeof answer === 'object' && answer.status < 500))
      return answer === true ? undefined : answer
    const pauseMs = pausesMs[attempt]
    if (pauseMs === undefined) return undefined
    await pause(pauseMs)
  }
}

/** Waiting five times for a hanging service, or calling a disabled one, is useless. */
function isFinal(error: unknown): boolean {
  return (error as GatewayError).code !== 'UPSTREAM_UNREACHABLE'
}
