/** The embedded orchestration engine, which replaces `orca`. */

import type { FastifyError, FastifyInstance } from 'fastify'
import { maxStoredJsonDepth } from '../../json/json.ts'
import type { JsonObject } from '../../json/values.ts'
import { http } from '../../runtime/node-http.ts'
import { createUlids } from '../../storage/ulid.ts'
import { nameOfService } from '../../upstreams/services.ts'
import { type Backend, type BackendContext, BackendError, type Caller, type OpenBackend } from '../backend.ts'
import { pipelineLimitsOf } from '../limits.ts'
import { createOutsideCalls } from '../outside/call-outside.ts'
import { defaultOutsideSettings } from '../outside/settings.ts'
import { EffectivePipelines } from '../pipelines/effective-pipelines.ts'
import { acceptJson } from '../requests/accept-bodies.ts'
import { requireAccess } from '../rights/access.ts'
import { toStorageError } from '../stores/storage-error.ts'
import { judgeControl } from './authorization.ts'
import { Engine } from './engine.ts'
import { createLifeCyclePublisher } from './life-cycle-events.ts'
import type { Execution } from './model.ts'
import { adminRoutes } from './routes/admin.ts'
import { changeRoutes } from './routes/changes.ts'
import { executionRoutes } from './routes/executions.ts'
import { expressionRoutes } from './routes/expressions.ts'
import { KeptTexts } from './routes/kept-texts.ts'
import { listRoutes } from './routes/lists.ts'
import { preconfiguredRoutes } from './routes/preconfigured.ts'
import { stageTypeRoutes } from './routes/stage-types.ts'
import { stageRoutes } from './routes/stages.ts'
import { submitRoutes } from './routes/submit.ts'
import { taskRoutes } from './routes/tasks.ts'
import { templatePlanRoutes } from './routes/templates.ts'
import { orchestrationMigrations } from './schema.ts'
import { createStageTypes } from './stages/registry.ts'
import { ExecutionStore } from './store.ts'
import { preparePipeline, recordFailure } from './submission/prepare-pipeline.ts'
import type { SubmissionSources } from './submission/sources.ts'

/** Calls have shorter bounds of their own. */
const defaultAttemptMs = 15 * 60_000

export const orchestrationBackend: Backend = {
  service: 'orca',
  migrations: orchestrationMigrations,
  open: openOrchestration,
}

function openOrchestration(context: BackendContext): OpenBackend {
  const { db, now, steady, log, call } = context
  const store = new ExecutionStore(db)
  const nextId = createUlids(now)
  const accessOf = (user: string | undefined) => requireAccess(context, user || 'anonymous')
  const judges = context.settings.authorization === true
  const limits = pipelineLimitsOf(context.settings)
  const outside = context.settings.outside ?? defaultOutsideSettings
  const stageTypes = createStageTypes(outside)
  const sources: SubmissionSources = {
    judges,
    accessOf,
    now,
    nextId,
    limits,
    stageTypes,
    call,
    log,
    findExecution: (id) => store.load(id),
    newestRun: (configId) => {
      const newest = store.newestOfConfig(configId, 1, undefined)[0]
      return newest === undefined ? undefined : store.load(newest.id)
    },
  }
  const publish = createLifeCyclePublisher(call, log, (execution) => store.sizeOf(execution))
  const engine = new Engine({
    db,
    store,
    stageTypes,
    limits,
    timeZone: context.settings.timeZone,
    now,
    steady,
    nextId,
    call,
    callOutside: createOutsideCalls(outside),
    attemptMs: context.settings.attemptMs ?? defaultAttemptMs,
    log,
    pipelines: new EffectivePipelines(context),
    judges,
    accessOf,
    nameOf: (service) => nameOfService(service, context.isEmbedded(service)),
    prepareExecution: (definition, parent, headers) => prepareChild(definition, callerAs(headers, parent), sources),
    failedExecution: (definition, message, parent, headers) =>
      recordFailure(definition, message, callerAs(headers, parent), sources),
    publish: (events) => {
      // The embedded event service sends no notifications, and no trigger waits for these events.
      if (!context.isEmbedded('echo')) publish(events)
    },
  })
  engine.changes.listen(context.stateChanged)
  const texts = new KeptTexts()
  return {
    routes(app) {
      answerErrors(app, context)
      acceptJson(app, context.settings, maxStoredJsonDepth)
      app.addHook('onRequest', async () => engine.drain())
      judgeControl(app, engine)
      submitRoutes(app, engine, sources)
      templatePlanRoutes(app, sources)
      taskRoutes(app, engine, context, texts)
      listRoutes(app, engine, context, texts)
      adminRoutes(app, engine)
      preconfiguredRoutes(app, context, outside)
      stageTypeRoutes(app, context, outside)
      changeRoutes(app, engine)
      executionRoutes(app, engine)
      stageRoutes(app, engine)
      expressionRoutes(app, engine)
    },
    start: () => engine.start(),
    observe: () => engine.observe(),
    close: () => engine.stop(),
  }
}

/** Whom a run acts for that another one starts. */
function callerAs(headers: Record<string, string>, { origin }: Execution): Caller {
  const accounts = (headers['x-spinnaker-accounts'] ?? '').split(',').filter((account) => account !== '')
  return { user: headers['x-spinnaker-user'], accounts, origin, identity: headers }
}

async function prepareChild(definition: JsonObject, caller: Caller, sources: SubmissionSources): Promise<Execution> {
  const prepared = await preparePipeline(definition, caller, sources)
  if (prepared.kind === 'run') return prepared.execution
  throw new BackendError(400, prepared.kind === 'failed' ? prepared.message : 'A plan cannot be started.')
}

/** The error body of this service: its time is in milliseconds (docs/contracts/orchestration.md#errors). */
function answerErrors(app: FastifyInstance, { log, now }: BackendContext): void {
  app.setErrorHandler<FastifyError>((thrown, _request, reply) => {
    const error = toStorageError(thrown)
    const status = error instanceof BackendError ? error.status : (error.statusCode ?? 500)
    if (status >= 500) log.error({ err: thrown }, 'a request to the orchestration engine failed')
    const fields = error instanceof BackendError ? error.fields : {}
    return reply
      .code(status)
      .send({ timestamp: now(), status, error: http.STATUS_CODES[status] ?? 'Error', message: error.message, ...fields })
  })
}
