/**
 * Events about executions, stages and tasks for the event service: best effort, never delaying a run.
 *
 * @see docs/contracts/orchestration.md#life-cycle-events
 */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, listOf, objectsOf } from '@fairlead/base/json/values.ts'
import { type Caller, toCaller } from '@fairlead/ports/caller.ts'
import type { ReportedEvent } from '@fairlead/ports/events.ts'
import type { Ports } from '@fairlead/ports/ports.ts'
import type { EngineOptions } from './engine-parts.ts'
import { executionView } from './execution-view.ts'
import { identityHeaders } from './identity.ts'
import type { LifeCycleEvent } from './machine/turn.ts'
import { type Execution, isTopLevel } from './model.ts'
import { executionSecretsOf, maskIn } from './secrets.ts'
import { formatStored } from './store.ts'

/** Events that wait while the event service is slow, and characters of what they tell of; beyond it the oldest are dropped. */
const mostWaiting = 2000
const mostCharacters = 32 * 1024 * 1024
/** Characters of a record, and of its trigger, that are sent with each event of a stage; of a larger one its head is. */
const mostInStageEvent = 64 * 1024
const mostAtOnce = 4

/** @param sizeOf Characters of the record of an execution. @returns what publishes events */
export function createLifeCyclePublisher(
  {
    ports,
    log,
  }: Pick<EngineOptions, 'log'> & { readonly ports: Pick<Ports, 'events' | 'definitions'> },
  sizeOf: (execution: Execution) => number,
): (events: readonly LifeCycleEvent[]) => void {
  let waiting: LifeCycleEvent[] = []
  let sending = 0
  const views = new WeakMap<Execution, JsonObject>()

  const viewInStage = (execution: Execution): JsonObject => {
    const view = views.get(execution) ?? shortView(execution, sizeOf(execution))
    views.set(execution, view)
    return view
  }

  const sendNext = (): void => {
    const event = sending < mostAtOnce ? waiting.shift() : undefined
    if (event === undefined) return
    sending++
    toReport(event, ports, viewInStage)
      .then(({ report, as }) => ports.events.report(report, as))
      .catch((error: unknown) =>
        log.debug({ err: error, execution: event.execution.id }, 'an event could not be sent'),
      )
      .finally(() => {
        sending--
        sendNext()
      })
    sendNext()
  }

  return (events) => {
    const all = waiting.concat(events)
    waiting = newestOf(all, sizeOf)
    const dropped = all.length - waiting.length
    if (dropped > 0) log.warn({ dropped }, 'the event service is too slow; events were dropped')
    sendNext()
  }
}

/** The newest events that may wait. Events of one step share their execution. */
function newestOf(
  events: readonly LifeCycleEvent[],
  sizeOf: (execution: Execution) => number,
): LifeCycleEvent[] {
  const executions = new Set<Execution>()
  let characters = 0
  const latest = events.slice(-mostWaiting)
  const tooOld = latest.findLastIndex(({ execution }) => {
    if (!executions.has(execution)) characters += sizeOf(execution)
    executions.add(execution)
    return characters > mostCharacters
  })
  return latest.slice(tooOld + 1)
}

async function toReport(
  event: LifeCycleEvent,
  { definitions }: Pick<Ports, 'definitions'>,
  viewInStage: (execution: Execution) => JsonObject,
): Promise<{ report: ReportedEvent; as: Caller }> {
  const { execution, stage, task, phase } = event
  const kind =
    task !== undefined ? 'task' : stage !== undefined ? 'stage' : execution.type.toLowerCase()
  const as = toCaller(identityHeaders(event))
  const content =
    stage === undefined
      ? await executionContent(event, definitions, as)
      : stageContent(event, viewInStage(execution))
  const details = {
    source: 'orca',
    type: `orca:${kind}:${phase}`,
    application: execution.application,
  }
  return { report: { details, content }, as }
}

/** The notifications of the application join those of the pipeline, so that the event service needs no other source. */
async function executionContent(
  { execution }: LifeCycleEvent,
  definitions: Ports['definitions'],
  as: Caller,
): Promise<JsonObject> {
  const ofApplication = await definitions
    .notificationsOf(execution.application, as)
    .catch(() => undefined)
  const notifications = mergedNotifications(execution.notifications, ofApplication)
  return { execution: { ...executionView(execution), notifications }, executionId: execution.id }
}

function stageContent({ execution, stage, task }: LifeCycleEvent, view: JsonObject): JsonObject {
  if (stage === undefined) return {}
  return {
    standalone: execution.type === 'ORCHESTRATION',
    canceled: execution.canceled,
    context: maskIn(stage.context, executionSecretsOf(execution)),
    startTime: stage.startTime,
    endTime: stage.endTime,
    executionId: execution.id,
    stageId: stage.id,
    isSynthetic: !isTopLevel(stage),
    name: stage.name,
    ...(task !== undefined && { taskName: `${stage.type}.${task.name}` }),
    execution: view,
  }
}

/** The record; of a large one without stages, and with no more of its trigger than what it was: both stay the same from stage to stage. */
function shortView(execution: Execution, size: number): JsonObject {
  const { trigger } = execution
  if (size <= mostInStageEvent && formatStored(trigger).length <= mostInStageEvent)
    return executionView(execution)
  return {
    ...executionView({ ...execution, stages: [] }),
    trigger: { type: trigger.type, user: trigger.user },
  }
}

/**
 * Joins the notifications of an application to those of one of its pipelines.
 *
 * @see docs/contracts/events.md#notifications
 * @param ofApplication One list of entries per kind; other members are ignored.
 */
export function mergedNotifications(
  ofPipeline: readonly JsonObject[],
  ofApplication: JsonObject = {},
): JsonObject[] {
  const entries = Object.values(ofApplication).flatMap(objectsOf)
  return [...ofPipeline, ...entries.flatMap((entry) => uncovered(entry, ofPipeline))]
}

const toMoments = shape({ when: listOf })
const targetKeys = ['type', 'address', 'publisherName']

/** The entry with those moments for which the pipeline does not already notify the same address. */
function uncovered(entry: JsonObject, ofPipeline: readonly JsonObject[]): JsonObject[] {
  const same = ofPipeline.filter((other) => targetKeys.every((key) => entry[key] === other[key]))
  if (same.length === 0) return [entry]
  const covered = same.flatMap((other) => toMoments(other).when)
  const when = toMoments(entry).when.filter((moment) => !covered.includes(moment))
  return when.length === 0 ? [] : [{ ...entry, when }]
}
