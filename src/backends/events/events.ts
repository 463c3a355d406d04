/** Embedded event service: it receives events and starts the pipelines that they trigger. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { maxStoredJsonDepth, parseJson } from '../../json/json.ts'
import { fieldOf, isObject, type JsonObject, objectOf, textOf } from '../../json/values.ts'
import { inTransaction } from '../../storage/database.ts'
import { type Backend, type BackendContext, BackendError, type Caller, type OpenBackend, trustedCallerOf } from '../backend.ts'
import { logUndelivered } from '../notifications/check-at-start.ts'
import { noticesOfEvent } from '../notifications/life-cycle-notices.ts'
import { type DeliveryPauses, Notifier, settingsOf, usualPauses } from '../notifications/notifier.ts'
import { notificationMigrations } from '../notifications/outbox.ts'
import { notificationRoutes } from '../notifications/routes.ts'
import { EffectivePipelines } from '../pipelines/effective-pipelines.ts'
import { acceptBytes } from '../requests/accept-bodies.ts'
import { pathValue } from '../requests/request-values.ts'
import { WorkLine } from '../stores/in-turns.ts'
import { CronScheduler, cronMigrations } from './cron/scheduler.ts'
import { validateWithTimes } from './cron/validation.ts'
import { type Event, toEvent } from './event.ts'
import { triggerKinds } from './kinds/all.ts'
import { toManualStart } from './manual.ts'
import { toTriggeredStarts } from './matching.ts'
import { isDropped, toQuietPeriodView } from './quiet-period.ts'
import type { Start } from './start.ts'
import { type StartPauses, Starts, startMigrations } from './starts.ts'
import { cloudEventData, toWebhookEvent } from './webhooks.ts'

/** In milliseconds. */
interface EventPauses extends StartPauses {
  /** How often the scheduler looks for changed cron triggers. */
  cronMs: number
  notifications?: Partial<DeliveryPauses>
}

/** @param pauses Shorter ones are for tests. */
export function createEventsBackend(pauses: EventPauses = { orchestratorMs: 5_000, buildMs: 2_000, cronMs: 1_000 }): Backend {
  return {
    service: 'echo',
    migrations: [...startMigrations, ...cronMigrations],
    partMigrations: { notifications: notificationMigrations },
    open: (context) => openEvents(context, pauses),
  }
}

export const eventsBackend: Backend = createEventsBackend()

/** Events that are looked at together; each may be compared with thousands of triggers. */
const maxEvents = 4

function openEvents(context: BackendContext, pauses: EventPauses): OpenBackend {
  const line = new WorkLine(maxEvents)
  /** Events ask other services; a user who starts a pipeline does not wait for those. */
  const manualLine = new WorkLine(maxEvents)
  const starts = new Starts(context, pauses)
  const pipelines = new EffectivePipelines(context)
  const scheduler = new CronScheduler({ context, starts, pipelines, lookEveryMs: pauses.cronMs })

  const notifier = new Notifier(context, { ...usualPauses, ...pauses.notifications })

  /** Stores all starts at once before any is sent: what was answered with 200 happens, also after a crash. */
  async function handle(event: Event, caller: Caller): Promise<void> {
    const ownLine = event.type === 'manual' ? manualLine : line
    const found = await ownLine.run(() => toStarts(context, pipelines, event, caller))
    const caused = found.filter((start) => !isDropped(context, start))
    if (caused.length === 0) return
    const stored = inTransaction(context.db, () => caused.map((start) => starts.store(start)))
    for (const one of stored) starts.send(one)
  }

  /** What an orchestrator reports starts nothing: the engine starts what follows from its runs itself. */
  function notify(body: unknown): void {
    const { links } = settingsOf(context)
    notifier.accept(noticesOfEvent(objectOf(body), { links, now: context.now() }))
  }

  return {
    routes(app) {
      acceptBytes(app, context.settings, maxStoredJsonDepth)
      mountLists(app, context)
      notificationRoutes(app, { context, notifier, parse: parseObject })
      mountEvents(app, context, { handle, notify })
    },
    start() {
      starts.resume()
      scheduler.start()
      notifier.start()
      // Another store's definitions would all have to be read.
      if (context.isEmbedded('front50'))
        logUndelivered(context).catch((error: unknown) =>
          context.log.debug({ err: error }, 'stored notifications cannot be read'),
        )
    },
    deliveriesOf: (executionId) => notifier.deliveriesOf(executionId),
    close() {
      notifier.close()
      scheduler.close()
      starts.close()
    },
  }
}

/**
 * With authorization, triggers lend the rights of their `runAsUser`: a sender without login must not pass for a build server.
 *
 * @throws {BackendError} 403
 */
function checkSender({ settings }: BackendContext, { type }: Event, { user = 'anonymous' }: Caller): void {
  if (settings.authorization !== true || user !== 'anonymous') return
  const isReported = triggerKinds.some((kind) => kind.eventType === type && kind.reportedByServices === true)
  if (!isReported) return
  const message = `Events of the type ${type} start triggers without a secret. Send them with an API token, or use a webhook trigger.`
  throw new BackendError(403, message)
}

type Handle = (event: Event, caller: Caller) => Promise<void>

interface EventReceivers {
  readonly handle: Handle
  readonly notify: (body: unknown) => void
}

function mountEvents(app: FastifyInstance, context: BackendContext, { handle, notify }: EventReceivers): void {
  app.post('/', async (request, reply) => {
    const body = parseBody(request.body)
    notify(body)
    await handle(toEvent(body), trustedCallerOf(request))
    return reply.code(200).send()
  })
  const handleWebhook = async (request: FastifyRequest, type: string, source: string, body: JsonObject) => {
    const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const event = toWebhookEvent({ type, source, headers: headersOf(request), raw, body })
    // It says whether the event was taken in, not whether it started anything.
    if (event === undefined) return { eventProcessed: false, eventId: null }
    const caller = trustedCallerOf(request)
    checkSender(context, event, caller)
    await handle(event, caller)
    return { eventProcessed: true, eventId: event.id }
  }
  app.post('/webhooks/cdevents/:source', (request) =>
    handleWebhook(request, 'cdevents', pathValue(request, 'source'), cloudEventData(headersOf(request))),
  )
  app.post('/webhooks/:type/:source', (request) =>
    handleWebhook(request, pathValue(request, 'type'), pathValue(request, 'source'), parseObject(request.body)),
  )
  app.post('/webhooks/:type', (request) => {
    const body = parseObject(request.body)
    return handleWebhook(request, pathValue(request, 'type'), textOf(body['source']) ?? '', body)
  })
}

/** The runs that an event causes. */
async function toStarts(context: BackendContext, pipelines: EffectivePipelines, event: Event, caller: Caller): Promise<Start[]> {
  if (event.type !== 'manual') return toTriggeredStarts(context, pipelines, event)
  const start = await toManualStart(context, event, caller)
  return start === undefined ? [] : [start]
}

function headersOf(request: FastifyRequest): Record<string, string> {
  const single = Object.entries(request.headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return Object.fromEntries(single)
}

/** What an installation without message queues has to say about them. */
function mountLists(app: FastifyInstance, context: BackendContext): void {
  app.get('/validateCronExpression', (request) =>
    validateWithTimes(expressionIn(request), { nowMs: context.now(), timeZone: context.settings.timeZone }),
  )
  app.get('/quietPeriod', () => toQuietPeriodView(context.now(), context.settings.quietPeriod))
  for (const path of ['/pubsub/subscriptions', '/pubsub/publishers', '/installedPlugins', '/scheduledActions']) {
    app.get(path, () => [])
  }
}

/** @throws {BackendError} 400 when there is none, or more than one. */
function expressionIn(request: FastifyRequest): string {
  const expression = fieldOf({ ...(request.query as object) }, 'cronExpression')
  if (typeof expression !== 'string') throw new BackendError(400, 'The query parameter "cronExpression" is required, once.')
  return expression
}

/** @throws {BackendError} 400 when the body is not JSON. An empty body counts as `{}`. */
function parseBody(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return {}
  try {
    return parseJson(body.toString(), { maxDepth: maxStoredJsonDepth })
  } catch (error) {
    throw new BackendError(400, `The body is not usable JSON: ${(error as Error).message}`)
  }
}

/** @throws {BackendError} 400 when the body is not a JSON object. */
function parseObject(body: unknown): JsonObject {
  const parsed = parseBody(body)
  if (!isObject(parsed)) throw new BackendError(400, 'The body of a webhook must be a JSON object.')
  return parsed
}
