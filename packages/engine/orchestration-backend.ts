/** The embedded orchestration engine, which replaces `orca`. */
import http from 'node:http'
import { createOutsideCalls } from '@fairlead/base/outside/call-outside.ts'
import type { OutsideSettings } from '@fairlead/base/outside/settings.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { createUlids } from '@fairlead/base/storage/ulid.ts'
import type { Backend, BackendContext, OpenBackend } from '@fairlead/ports/backend.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import { automaticUserOfChild } from '@fairlead/ports/rights/automatic-user.ts'
import { toStorageError } from '@fairlead/ports/storage-error.ts'
import type { FastifyError, FastifyInstance } from 'fastify'
import { appMigrations } from './apps/app-store.ts'
import { Apps } from './apps/apps.ts'
import { appRoutes } from './apps/routes.ts'
import type { AppRevisions } from './orchestration/app-revisions.ts'
import { checkControl } from './orchestration/authorization.ts'
import { Engine } from './orchestration/engine.ts'
import { executionsOf } from './orchestration/executions.ts'
import { createLifeCyclePublisher } from './orchestration/life-cycle-events.ts'
import { Notices, noticeMigrations } from './orchestration/notices.ts'
import { oldExecutions } from './orchestration/old-executions.ts'
import { adminRoutes } from './orchestration/routes/admin.ts'
import { changeRoutes } from './orchestration/routes/changes.ts'
import { executionRoutes } from './orchestration/routes/executions.ts'
import { expressionRoutes } from './orchestration/routes/expressions.ts'
import { KeptTexts } from './orchestration/routes/kept-texts.ts'
import { listRoutes } from './orchestration/routes/lists.ts'
import { preconfiguredRoutes, stageTypeRoutes } from './orchestration/routes/preconfigured.ts'
import { stageRoutes } from './orchestration/routes/stages.ts'
import { submitRoutes } from './orchestration/routes/submit.ts'
import { taskRoutes } from './orchestration/routes/tasks.ts'
import { templatePlanRoutes } from './orchestration/routes/templates.ts'
import { orchestrationMigrations } from './orchestration/schema.ts'
import { createStageTypes } from './orchestration/stages/registry.ts'
import { ExecutionStore } from './orchestration/store.ts'
import { EffectivePipelines } from './pipelines/effective-pipelines.ts'

/** Calls have shorter bounds of their own. */
const defaultAttemptMs = 15 * 60_000

export const orchestrationBackend: Backend = {
  service: 'orca',
  migrations: orchestrationMigrations,
  partMigrations: { notices: noticeMigrations, apps: appMigrations },
  open: openOrchestration,
}

function openOrchestration(context: BackendContext): OpenBackend {
  const outside = context.settings.outside
  const store = new ExecutionStore(context.db, context.commits)
  const notices = createNotices(context, store)
  const engine = createEngine(context, { outside, store, notices, apps: () => apps.connections })
  engine.changes.listen(context.stateChanged)
  const texts = new KeptTexts()
  const apps: Apps = new Apps(context, engine)
  return {
    ports: { executions: executionsOf(engine) },
    routes(app) {
      answerErrors(app, context)
      app.addHook('onRequest', async () => engine.catchUp())
      joinRepeated(app)
      checkControl(app, engine)
      submitRoutes(app, engine)
      templatePlanRoutes(app, engine.options)
      taskRoutes(app, engine, context, texts)
      listRoutes(app, engine, context, texts)
      adminRoutes(app, engine)
      preconfiguredRoutes(app, context, outside)
      stageTypeRoutes(app, context, outside)
      changeRoutes(app, engine)
      executionRoutes(app, engine, texts)
      stageRoutes(app, engine)
      expressionRoutes(app, engine)
      appRoutes(app, apps)
    },
    start: () => {
      engine.start()
      if (context.settings.restoredAt !== undefined)
        engine.noteRestored(context.settings.restoredAt)
      notices.start()
    },
    observe: () => engine.observe(),
    retained: oldExecutions(engine, context),
    isMentioned: (text) => store.isMentioned(text),
    settle: (ms) => engine.settle(ms),
    close: () => {
      notices.stop()
      engine.stop()
    },
  }
}

function createNotices(
  { db, commits, log, now, ports }: BackendContext,
  store: ExecutionStore,
): Notices {
  return new Notices({ db, commits, store, log, now, nextId: createUlids(now), ports })
}

interface EngineSurroundings {
  readonly outside: OutsideSettings
  readonly store: ExecutionStore
  readonly notices: Notices
  readonly apps: () => AppRevisions
}

function createEngine(
  context: BackendContext,
  { outside, store, notices, apps }: EngineSurroundings,
): Engine {
  const { commits, now, steady, log, settings, ports } = context
  const publish = createLifeCyclePublisher({ ports, log }, (execution) => store.sizeOf(execution))
  return new Engine({
    commits,
    store,
    stageTypes: createStageTypes({ ...settings, preconfigured: outside.preconfigured }),
    limits: settings.limits,
    timeZone: settings.timeZone,
    now,
    steady,
    nextId: createUlids(now),
    callOutside: createOutsideCalls(outside),
    attemptMs: settings.attemptMs ?? defaultAttemptMs,
    log,
    pipelines: new EffectivePipelines(context),
    judges: settings.authorization === true,
    accessOf: (user) => requireAccess(context, user || 'anonymous'),
    vouchersOf: (definition) => automaticUserOfChild(context, definition),
    secrets: ports.secrets,
    notices,
    ports,
    apps,
    publish: (events) => {
      // What notifications need comes as notices.
      if (ports.events.takesLifeCycle) publish(events)
    },
  })
}

/** Query parameters that are given repeatedly are lists, which every route knows with commas. */
function joinRepeated(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    const query = Object.entries(request.query as Record<string, unknown>)
    request.query = Object.fromEntries(
      query.map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]),
    )
  })
}

/** The error body of this service: its time is in milliseconds (docs/contracts/orchestration.md#errors). */
function answerErrors(app: FastifyInstance, { log, now }: BackendContext): void {
  app.setErrorHandler<FastifyError>((thrown, _request, reply) => {
    const error = toStorageError(thrown)
    const status = error instanceof PortError ? error.status : (error.statusCode ?? 500)
    if (status >= 500) log.error({ err: thrown }, 'a request to the orchestration engine failed')
    const fields = error instanceof PortError ? error.fields : {}
    return reply.code(status).send({
      timestamp: now(),
      status,
      error: http.STATUS_CODES[status] ?? 'Error',
      message: error.message,
      ...fields,
    })
  })
}
