/** Starting work: pipelines and ad-hoc tasks (docs/contracts/orchestration.md#submission). */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fieldOf, isTrue, type JsonObject, objectOf } from '../../../json/values.ts'
import type { Caller } from '../../../ports/caller.ts'
import { PortError } from '../../../ports/port-error.ts'
import { shownTo } from '../../pipelines/trigger-secrets.ts'
import { trustedCallerOf } from '../../requests/request-caller.ts'
import { pathValue } from '../../requests/request-values.ts'
import type { Engine } from '../engine.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { definitionWarnings } from '../submission/definition-warnings.ts'
import { judgeTask } from '../submission/judge-task.ts'
import { loadDefinition, preparePipeline, recordFailure } from '../submission/prepare-pipeline.ts'
import { prepareTask } from '../submission/prepare-task.ts'
import { checkParentReadable } from '../submission/trigger.ts'
import { objectAnswer, sendRecord } from './answers.ts'

export function submitRoutes(app: FastifyInstance, engine: Engine): void {
  const { options } = engine
  const start = (request: FastifyRequest, body: unknown) => startPipeline(request, body, engine)

  app.post('/orchestrate', (request) => start(request, request.body))

  app.post('/ops', async (request) => {
    const task = await prepareTask(request.body, trustedCallerOf(request), options)
    return { ref: `/tasks/${engine.transact((unit) => unit.submit(task)).id}` }
  })

  app.post('/ops/judge', async (request, reply) =>
    sendRecord(reply, await judgeTask(request.body, trustedCallerOf(request), engine)),
  )

  app.post('/definitions/warnings', (request) => definitionWarnings(bodyOf(request.body), options, trustedCallerOf(request)))

  app.post('/v2/pipelineTemplates/plan', (request) =>
    start(request, { ...bodyOf(request.body), type: 'templatedPipeline', plan: true }),
  )

  app.post('/plan', (request) => start(request, { ...bodyOf(request.body), plan: true }))

  for (const more of [{}, { plan: true }]) {
    app.post(`${'plan' in more ? '/plan' : '/orchestrate'}/:configId`, async (request) => {
      const definition = await storedDefinition(pathValue(request, 'configId'), trustedCallerOf(request), options)
      return start(request, { ...definition, trigger: bodyOf(request.body), ...more })
    })
  }

  app.post('/fail', async (request, reply) => {
    await recordFailedStart(request, engine)
    return reply.send()
  })
}

async function recordFailedStart(request: FastifyRequest, engine: Engine): Promise<void> {
  const { options } = engine
  const body = bodyOf(request.body)
  const caller = trustedCallerOf(request)
  await checkParentReadable(body['trigger'], caller, options)
  const execution = recordFailure(body, String(body['errorMessage'] ?? ''), caller, options)
  engine.transact((unit) => unit.record(execution))
}

async function startPipeline(request: FastifyRequest, body: unknown, engine: Engine): Promise<JsonObject> {
  const { options } = engine
  const caller = trustedCallerOf(request)
  const { executionId, application, trigger } = objectOf(body)
  const known = typeof executionId === 'string' ? options.store.load(executionId) : undefined
  if (known?.type === 'PIPELINE' && known.application === application) return { ref: `/pipelines/${known.id}` }
  if (known !== undefined) throw new PortError(400, '"executionId" is taken. Leave it out, and the engine makes one.')
  await checkParentReadable(trigger, caller, options)
  const prepared = await preparePipeline(body, caller, options)
  if (prepared.kind === 'plan') return shownTo(request)(prepared.definition)
  if (prepared.kind === 'failed') {
    // A plan has requested no run that could be shown as failed.
    if (!isTrue(fieldOf(body, 'plan'))) engine.transact((unit) => unit.record(prepared.execution))
    throw new PortError(400, prepared.message)
  }
  return { ref: `/pipelines/${engine.transact((unit) => unit.submit(prepared.execution)).id}` }
}

function bodyOf(body: unknown): JsonObject {
  return body === undefined || body === null ? {} : objectAnswer(body)
}

async function storedDefinition(configId: string, caller: Caller, options: EngineOptions): Promise<JsonObject> {
  const stored = await loadDefinition(configId, caller, options)
  if (stored !== undefined) return stored
  throw new PortError(404, `There is no stored pipeline with the id ${configId}.`)
}
