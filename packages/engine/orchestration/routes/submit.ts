/** Starting work: pipelines and ad-hoc tasks (docs/contracts/orchestration.md#submission). */

import { type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  describeOtherValues,
  describeParameterProblem,
} from '@fairlead/model/stage-types/check-parameters.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { maskDefinition } from '../../pipelines/trigger-secrets.ts'
import type { Engine } from '../engine.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { planOf, recordFailedStart, startPipeline } from '../executions.ts'
import { findingRoutes } from '../findings/routes.ts'
import { prepareTask } from '../submission/prepare-task.ts'
import { previewTask } from '../submission/preview-task.ts'
import { findOfApplication, loadDefinition } from '../submission/stored-definition.ts'
import { objectAnswer, sendRecord } from './answers.ts'

export function submitRoutes(app: FastifyInstance, engine: Engine): void {
  const { options } = engine
  const start = async (request: FastifyRequest, body: unknown) =>
    maskDefinition(await startPipeline(body, trustedCallerOf(request), engine))

  app.post('/orchestrate', (request) => start(request, request.body))

  app.post('/ops', async (request) => {
    const task = await prepareTask(request.body, trustedCallerOf(request), options)
    return { ref: `/tasks/${engine.submit(task).id}` }
  })

  app.post('/ops/judge', async (request, reply) =>
    sendRecord(reply, await previewTask(request.body, trustedCallerOf(request), engine)),
  )

  findingRoutes(app, options)

  app.post('/v2/pipelineTemplates/plan', (request) => start(request, planOf(bodyOf(request.body))))

  app.post('/plan', (request) => start(request, { ...bodyOf(request.body), plan: true }))

  for (const more of [{}, { plan: true }]) {
    app.post(`${'plan' in more ? '/plan' : '/orchestrate'}/:configId`, async (request) => {
      const definition = await storedDefinition(
        pathValue(request, 'configId'),
        trustedCallerOf(request),
        options,
      )
      return start(request, { ...definition, trigger: bodyOf(request.body), ...more })
    })
  }

  /** For the gateway, which has judged the application: status 404 where more is to be looked at than that. */
  app.post('/orchestrate/:application/:nameOrId', async (request) => {
    const caller = trustedCallerOf(request)
    const place = {
      application: pathValue(request, 'application'),
      nameOrId: pathValue(request, 'nameOrId'),
    }
    const definition = await findOfApplication(place, caller, options)
    const trigger = bodyOf(request.body)
    const given = objectOf(trigger['parameters'])
    if (definition === undefined || describeParameterProblem(definition, given) !== undefined)
      throw new PortError(404, 'There is no such pipeline that could be started so.')
    const body = { ...maskDefinition(definition), trigger }
    const started = await startPipeline(body, caller, engine, { definition })
    const warnings = describeOtherValues(definition, given)
    return warnings.length === 0 ? started : { ...started, warnings }
  })

  app.post('/fail', async (request, reply) => {
    await recordFailedStart(bodyOf(request.body), trustedCallerOf(request), engine)
    return reply.send()
  })
}

function bodyOf(body: unknown): JsonObject {
  return body === undefined || body === null ? {} : objectAnswer(body)
}

async function storedDefinition(
  configId: string,
  caller: Caller,
  options: EngineOptions,
): Promise<JsonObject> {
  const stored = await loadDefinition(configId, caller, options)
  if (stored !== undefined) return stored
  throw new PortError(404, `There is no stored pipeline with the id ${configId}.`)
}
