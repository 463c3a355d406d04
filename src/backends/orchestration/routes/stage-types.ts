/** Stage types with their fields, for the forms of clients. */
import type { FastifyInstance } from 'fastify'
import { describeRefusal } from '../../../settings/standalone.ts'
import { toStageTypesAnswer } from '../../../stage-types/answer.ts'
import type { BackendContext } from '../../backend.ts'
import type { OutsideSettings } from '../../outside/settings.ts'
import { runCommandStage } from '../stages/infrastructure/jobs.ts'
import { createStageTypes } from '../stages/registry.ts'
import { readablePreconfigured } from './preconfigured.ts'

export function stageTypeRoutes(app: FastifyInstance, context: BackendContext, outside: OutsideSettings): void {
  const refusals = new Map(
    context.settings.bakery?.allowsCommands === true ? [] : [[runCommandStage.type, describeRefusal('The stage')]],
  )
  app.get('/capabilities/stageTypes', async (request) => {
    const preconfigured = await readablePreconfigured(request, context, outside)
    const descriptions = [...createStageTypes({ preconfigured }).values()].flatMap(({ description }) => description ?? [])
    return toStageTypesAnswer(descriptions, 'embedded', refusals)
  })
}
