/** Tells the event service what happens to executions and stages: best effort, never in the way of a run (orchestration contract, 8). */
import type { FastifyBaseLogger } from 'fastify'
import type { CallService } from '../backend.ts'
import { executionView } from './execution-view.ts'
import { identityHeaders } from './identity.ts'
import type { LifeCycleEvent } from './machine/turn.ts'
import { isTopLevel } from './model.ts'
import { mergedNotifications } from './notifications.ts'

export interface LifeCyclePublisher {
  publish(events: readonly LifeCycleEvent[]): void
}

/** Events that wait while the event service is slow; beyond it the oldest are dropped. */
const mostWaiting = 1000
const mostAtOnce = 4

export function createLifeCyclePublisher(call: CallService, log: FastifyBaseLogger): LifeCyclePublisher {
  const waiting: LifeCycleEvent[] = []
  let sending = 0

  const sendNext = (): void => {
    const event = sending < mostAtOnce ? waiting.shift() : undefined
    if (event === undefined) return
    sending++
    post(event, call)
      .catch((error: unknown) => log.debug({ err: error, execution: event.execution.id }, 'an event could not be told'))
      .finally(() => {
        sending--
        sendNext()
      })
    sendNext()
  }

  return {
    publish(events) {
      waiting.push(...events)
      if (waiting.length > mostWaiting) {
        const dropped = waiting.splice(0, waiting.length - mostWaiting).length
        log.warn({ dropped }, 'the event service is too slow; events were dropped')
      }
      sendNext()
    },
  }
}

async function post(event: LifeCycleEvent, call: CallService): Promise<void> {
  const { execution, stage, phase } = event
  const kind = stage !== undefined ? 'stage' : execution.type.toLowerCase()
  const headers = identityHeaders(execution, stage)
  const content = stage === undefined ? await executionContent(event, call, headers) : stageContent(event)
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

function stageContent({ execution, stage }: LifeCycleEvent): object {
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
    execution: executionView(execution),
  }
}
