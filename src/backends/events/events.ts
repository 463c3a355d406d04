/** The embedded event service: takes events in, decides which pipelines they start, and asks the orchestrator to start them. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Backend, type BackendContext, BackendError, type Caller, callerOf, type OpenBackend } from '../backend.ts'
import { fieldOf } from '../json-values.ts'
import { validateCron } from './cron/validation.ts'
import { type Event, toEvent } from './event.ts'
import { toManualStart } from './manual.ts'
import { type Start, type StartPauses, Starts, startMigrations } from './starts.ts'

/** @param pauses Shorter ones are for tests. */
export function createEventsBackend(pauses: StartPauses = { orchestratorMs: 5_000, buildMs: 2_000 }): Backend {
  return {
    service: 'echo',
    migrations: startMigrations,
    open: (context) => openEvents(context, pauses),
  }
}

export const eventsBackend: Backend = createEventsBackend()

function openEvents(context: BackendContext, pauses: StartPauses): OpenBackend {
  const starts = new Starts(context, pauses)

  async function handle(event: Event, caller: Caller): Promise<void> {
    for (const start of await toStarts(context, event, caller)) starts.send(starts.store(start), start)
  }

  return {
    routes(app) {
      keepBodiesRaw(app)
      mountLists(app)
      app.post('/', async (request, reply) => {
        await handle(toEvent(parseBody(request.body)), callerOf(request))
        return reply.code(200).send()
      })
    },
    start: () => starts.resume(),
    close: () => starts.close(),
  }
}

/** The runs that an event causes. Life-cycle events of the orchestrator and unknown types cause none. */
async function toStarts(context: BackendContext, event: Event, caller: Caller): Promise<Start[]> {
  if (event.type === 'manual') {
    const start = await toManualStart(context, event, caller)
    return start === undefined ? [] : [start]
  }
  return []
}

/** What an installation without quiet period, message queues and notification plug-ins has to say about them. */
function mountLists(app: FastifyInstance): void {
  app.get('/validateCronExpression', (request) => validateCron(expressionIn(request)))
  app.get('/quietPeriod', () => ({ enabled: false, inQuietPeriod: false, startTime: -1, endTime: -1 }))
  for (const path of [
    '/pubsub/subscriptions',
    '/pubsub/publishers',
    '/notifications/metadata',
    '/installedPlugins',
    '/scheduledActions',
  ]) {
    app.get(path, () => [])
  }
  // A kind that nobody handles is accepted too (events contract, section 1).
  app.post('/notifications', (_request, reply) => reply.code(200).send())
  app.post('/notifications/callbacks/:source', () => {
    throw new BackendError(404, 'No chat tool is configured that could call back.')
  })
}

/** @throws {BackendError} 400 when there is none, or more than one. */
function expressionIn(request: FastifyRequest): string {
  const expression = fieldOf({ ...(request.query as object) }, 'cronExpression')
  if (typeof expression !== 'string') throw new BackendError(400, 'The query parameter "cronExpression" is required, once.')
  return expression
}

/** Signatures cover the body as sent, so routes get bytes and parse them themselves. */
function keepBodiesRaw(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

/** @throws {BackendError} 400 when the body is not JSON. An empty body counts as `{}`. */
function parseBody(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return {}
  try {
    return JSON.parse(body.toString())
  } catch (error) {
    throw new BackendError(400, `The body is not JSON: ${(error as Error).message}`)
  }
}
