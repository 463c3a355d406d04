/** Tells the event service what happens to executions and stages: best effort, never in the way of a run (orchestration contract, 8). */
import type { FastifyBaseLogger } from 'fastify'
import type { CallService } from '../backend.ts'
import { executionView, unexpandedView } from './execution-view.ts'
import { identityHeaders } from './identity.ts'
import type { LifeCycleEvent } from './machine/turn.ts'
import type { Execution } from './model.ts'
import { isTopLevel } from './model.ts'
import { mergedNotifications } from './notifications.ts'

export interface LifeCyclePublisher {
  publish(events: readonly LifeCycleEvent[]): void
}

/** Events that wait while the event service is slow, and characters of what they tell of; beyond it the oldest are dropped. */
const mostWaiting = 1000
const mostCharacters = 32 * 1024 * 1024
/** A stage of a larger execution tells of it without contexts and outputs, which would be sent anew with each stage. */
const mostInStageEvent = 256 * 1024
const mostAtOnce = 4

/** @param sizeOf Characters of the record of an execution. */
export function createLifeCyclePublisher(
  call: CallService,
  log: FastifyBaseLogger,
  sizeOf: (execution: Execution) => number,
): LifeCyclePublisher {
  let waiting: LifeCycleEvent[] = []
  /** Events of one step share their execution. */
  const held = new Map<Execution, number>()
  let characters = 0
  let sending = 0

  const hold = ({ execution }: LifeCycleEvent): void => {
    const count = held.get(execution) ?? 0
    if (count === 0) characters += sizeOf(execution)
    held.set(execution, count + 1)
  }

  const release = ({ execution }: LifeCycleEvent): void => {
    const count = held.get(execution) ?? 0
    if (count > 1) held.set(execution, count - 1)
    else if (held.delete(execution)) characters -= sizeOf(execution)
  }

  const sendNext = (): void => {
    const event = sending < mostAtOnce ? waiting.shift() : undefined
    if (event === undefined) return
    sending++
    release(event)
    post(event, call, sizeOf(event.execution) > mostInStageEvent)
      .catch((error: unknown) => log.debug({ err: error, execution: event.execution.id }, 'an event could not be told'))
      .finally(() => {
        sending--
        sendNext()
      })
    sendNext()
  }

  return {
    publish(events) {
      waiting = waiting.concat(events)
      events.forEach(hold)
      let dropped = 0
      for (const event of waiting) {
        if (waiting.length - dropped <= mostWaiting && characters <= mostCharacters) break
        release(event)
        dropped++
      }
      if (dropped > 0) {
        waiting = waiting.slice(dropped)
        log.warn({ dropped }, 'the event service is too slow; events were dropped')
      }
      sendNext()
    },
  }
}

async function post(event: LifeCycleEvent, call: CallService, isLarge: boolean): Promise<void> {
  const { execution, stage, phase } = event
  const kind = stage !== undefined ? 'stage' : execution.type.toLowerCase()
  const headers = identityHeaders(execution, stage)
  const content = stage === undefined ? await executionContent(event, call, headers) : stageContent(event, isLarge)
  const details = { source: 'orca', type: `orca:${kind}:${phase}`, application: execution.application }
  await call('echo', { method: 'POST', path: '/', body: { details, content }, headers })
}

/** The notifications of the application join those of the pipeline, so that the event service needs no other source. */
async function executionContent(
  { execution }: LifeCycleEvent,
  call: CallService,
  headers: Record<string, string>,
): Promise<object> {
  const path = `/notifications/application/${encodeURIComponent(execution.application)}`
  const ofApplication = await call('front50', { method: 'GET', path, headers }).then(
    (answer) => (answer.status === 200 ? answer.body : undefined),
    () => undefined,
  )
  const notifications = mergedNotifications(execution.notifications, ofApplication)
  return { execution: { ...executionView(execution), notifications }, executionId: execution.id }
}

function stageContent({ execution, stage }: LifeCycleEvent, isLarge: boolean): object {
  if (stage === undefined) return {}
  return {
    standalone: execution.type === 'ORCHESTRATION',
    canceled: execution.canceled,
    context: stage.context,
    startTime: stage.startTime,
    endTime: stage.endTime,
    executionId: execution.id,
    stageId: stage.id,
    isSynthetic: !isTopLevel(stage),
    name: stage.name,
    execution: isLarge ? unexpandedView(execution) : executionView(execution),
  }
}
