/** Embedded event service: it receives events and starts the pipelines that they trigger. */

import { maxStoredJsonDepth, parseJson } from '@fairlead/base/json/json.ts'
import { fieldOf, isObject, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Backend, BackendContext, OpenBackend } from '@fairlead/ports/backend.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { Events } from '@fairlead/ports/events.ts'
import { acceptBytes } from '@fairlead/ports/requests/accept-bodies.ts'
import { trustedCallerOf, userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { noticesOfEvent, noticesOfRequest } from '../notifications/life-cycle-notices.ts'
import { type DeliveryPauses, Notifier, usualPauses } from '../notifications/notifier.ts'
import { notificationMigrations } from '../notifications/outbox.ts'
import { notificationRoutes } from '../notifications/routes.ts'
import { describeUndeliveredTypes, logUndelivered } from '../notifications/warnings.ts'
import { EffectivePipelines } from '../pipelines/effective-pipelines.ts'
import { CronScheduler, cronMigrations } from './cron/scheduler.ts'
import { validateWithTimes } from './cron/validation.ts'
import { type Event, toEvent } from './event.ts'
import { EventLog, eventLogRoutes } from './event-log.ts'
import { eventLogMigrations } from './event-log-store.ts'
import { eventTriggerTypes } from './kinds/all.ts'
import { gitRefs } from './polls/git-refs.ts'
import { pollMigrations } from './polls/poll-states.ts'
import { Polls } from './polls/polls.ts'
import { registrySources } from './polls/registry-tags.ts'
import { toQuietPeriodView } from './quiet-period.ts'
import { EventReceiver } from './receiver.ts'
import { toRegistryEvents } from './registry-webhooks.ts'
import { StartMarks, startMarkMigrations } from './start-marks.ts'
import { type StartPauses, Starts, startMigrations } from './starts.ts'
import { cloudEventData, describeNoEvent, toWebhookEvents } from './webhooks.ts'

/** In milliseconds. */
interface EventPauses extends StartPauses {
  /** How often the scheduler looks for changed cron triggers. */
  cronMs: number
  /** Time between two polls for triggers, instead of the settings. */
  pollMs?: number
  notifications?: Partial<DeliveryPauses>
}

/** @param pauses Shorter ones are for tests. */
export function createEventsBackend(
  pauses: EventPauses = { orchestratorMs: 5_000, buildMs: 2_000, cronMs: 1_000 },
): Backend {
  return {
    service: 'echo',
    migrations: [...startMigrations, ...cronMigrations],
    partMigrations: {
      notifications: notificationMigrations,
      log: eventLogMigrations,
      polls: pollMigrations,
      marks: startMarkMigrations,
    },
    open: (context) => openEvents(context, pauses),
  }
}

export const eventsBackend: Backend = createEventsBackend()

function openEvents(context: BackendContext, pauses: EventPauses): OpenBackend {
  const starts = new Starts(context, pauses)
  const pipelines = new EffectivePipelines(context)
  const log = new EventLog(context)
  const scheduler = new CronScheduler({
    context,
    starts,
    pipelines,
    log,
    lookEveryMs: pauses.cronMs,
  })
  const notifier = new Notifier(context, { ...usualPauses, ...pauses.notifications })
  const marks = new StartMarks(context.db, context.now)
  const receiver = new EventReceiver({ context, starts, marks, pipelines, log })
  let polls: Polls | undefined

  const { links, types } = context.settings.notifications
  const notify = {
    /** Reports of an orchestrator start nothing: the engine starts what follows from its executions itself. */
    event: (event: object, { user }: Caller) =>
      notifier.accept(noticesOfEvent(event, { links, now: context.now() }), user || undefined),
    request: (request: JsonObject, { user }: Caller) =>
      notifier.accept(noticesOfRequest(request, { links, now: context.now() }), user || undefined),
  }
  const events: Events = {
    takesLifeCycle: false,
    triggerTypes: eventTriggerTypes,
    report: async (event, as) => void (await receiver.handle(toEvent(event), as)),
    announce: (told, as) =>
      told.kind === 'event' ? notify.event(told.event, as) : notify.request(told.request, as),
    record: (record) => log.add(record),
    deliveriesOf: (executionId) => notifier.deliveriesOf(executionId),
    describeUndelivered: (kinds) => describeUndeliveredTypes(kinds, types),
  }

  return {
    ports: { events },
    routes(app) {
      acceptBytes(app, context.settings, maxStoredJsonDepth)
      mountLists(app, context)
      notificationRoutes(app, { context, notifier, accept: notify.request, parse: parseObject })
      eventLogRoutes(app, log)
      mountEvents(app, context, { receiver, log, notify: notify.event })
    },
    start() {
      starts.resume()
      scheduler.start()
      // Only now every back end is open: what the infrastructure reads is known.
      polls = new Polls({
        context,
        pipelines,
        sources: [gitRefs, ...registrySources].filter(
          (source) => source.isPolled?.(context) ?? true,
        ),
        log,
        handle: async (event, advance) => void (await receiver.handle(event, undefined, advance)),
        pauses: { lookMs: pauses.cronMs, intervalMs: pauses.pollMs },
      })
      polls.start()
      notifier.start()
      // Another store's definitions would all have to be read.
      if (context.ports.definitions.version('pipelines') !== undefined)
        logUndelivered(context).catch((error: unknown) =>
          context.log.debug({ err: error }, 'stored notifications cannot be read'),
        )
    },
    close() {
      notifier.close()
      scheduler.close()
      polls?.close()
      starts.close()
      log.close()
    },
  }
}

interface EventSinks {
  readonly receiver: EventReceiver
  readonly log: EventLog
  readonly notify: (event: object, as: Caller) => Promise<void>
}

function mountEvents(
  app: FastifyInstance,
  context: BackendContext,
  { receiver, log, notify }: EventSinks,
): void {
  app.post('/', async (request, reply) => {
    const body = parseBody(request.body)
    const as = trustedCallerOf(request)
    await notify(objectOf(body), { ...as, user: userOf(request) })
    await receiver.handle(toEvent(body), as)
    return reply.code(200).send()
  })
  const handleWebhook = async (
    request: FastifyRequest,
    type: string,
    source: string,
    body: JsonObject,
  ) => {
    const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const headers = headersOf(request)
    const reported = toWebhookEvents({ type, source, headers, raw, body }, context)
    const events = reported.flatMap(toRegistryEvents)
    const [event] = reported
    const ignored =
      event === undefined
        ? describeNoEvent(headers)
        : 'It reports no image that was pushed with a tag.'
    if (events.length === 0)
      log.add({ type, source, summary: {}, reason: ignored, share: 'unknown', triggers: [] })
    const reasons = await handleAll(receiver, events, trustedCallerOf(request))
    const [reason = ignored] = reasons
    // It says whether the event was taken in, not whether it started anything.
    return {
      eventProcessed: event !== undefined,
      eventId: event?.id ?? null,
      ...(reasons.every((each) => each !== undefined) && { reason }),
    }
  }
  app.post('/webhooks/cdevents/:source', (request) =>
    handleWebhook(
      request,
      'cdevents',
      pathValue(request, 'source'),
      cloudEventData(headersOf(request)),
    ),
  )
  app.post('/webhooks/:type/:source', (request) =>
    handleWebhook(
      request,
      pathValue(request, 'type'),
      pathValue(request, 'source'),
      parseObject(request.body),
    ),
  )
  app.post('/webhooks/:type', (request) => {
    const body = parseObject(request.body)
    return handleWebhook(request, pathValue(request, 'type'), textOf(body['source']) ?? '', body)
  })
}

/**
 * One that fails holds up no other.
 *
 * @returns why no trigger waits for each
 * @throws what the first has failed with
 */
async function handleAll(
  receiver: EventReceiver,
  events: readonly Event[],
  caller: Caller | undefined,
): Promise<readonly (string | undefined)[]> {
  const failures: unknown[] = []
  const reasons: (string | undefined)[] = []
  for (const event of events)
    await receiver.handle(event, caller).then(
      (reason) => reasons.push(reason),
      (error: unknown) => failures.push(error),
    )
  if (failures.length > 0) throw failures[0]
  return reasons
}

function headersOf(request: FastifyRequest): Record<string, string> {
  const single = Object.entries(request.headers).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return Object.fromEntries(single)
}

/** Empty lists of an installation without message queues, plug-ins and scheduled actions; and checks of cron. */
function mountLists(app: FastifyInstance, context: BackendContext): void {
  app.get('/validateCronExpression', (request) =>
    validateWithTimes(expressionIn(request), {
      nowMs: context.now(),
      timeZone: context.settings.timeZone,
    }),
  )
  app.get('/quietPeriod', () => toQuietPeriodView(context.now(), context.settings.quietPeriod))
  for (const path of [
    '/pubsub/subscriptions',
    '/pubsub/publishers',
    '/installedPlugins',
    '/scheduledActions',
  ]) {
    app.get(path, () => [])
  }
}

/** @throws {PortError} 400 when there is none, or more than one. */
function expressionIn(request: FastifyRequest): string {
  const expression = fieldOf({ ...(request.query as object) }, 'cronExpression')
  if (typeof expression !== 'string')
    throw new PortError(400, 'The query parameter "cronExpression" is required, once.')
  return expression
}

/** @throws {PortError} 400 when the body is not JSON. An empty body counts as `{}`. */
function parseBody(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return {}
  try {
    // Some senders write a byte order mark.
    return parseJson(new TextDecoder().decode(body), { maxDepth: maxStoredJsonDepth })
  } catch (error) {
    throw new PortError(400, `The body is not usable JSON: ${(error as Error).message}`)
  }
}

/** @throws {PortError} 400 when the body is not a JSON object. */
function parseObject(body: unknown): JsonObject {
  const parsed = parseBody(body)
  if (!isObject(parsed)) throw new PortError(400, 'The body of a webhook must be a JSON object.')
  return parsed
}
