/** Deployment strategies: definitions that a deployment stage runs as a pipeline of its own. */

import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import type { JsonObject } from '../../json/values.ts'
import { readsApplication } from '../demands.ts'
import { Pipeline } from '../models/pipelines.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import { checkList } from '../upstream-shape.ts'

export const strategyOperations: Operation[] = [
  {
    id: 'getStrategyConfigsForApplicationUsingGET',
    section: '4.2',
    method: 'GET',
    path: '/applications/{application}/strategyConfigs',
    demands: readsApplication,
    summary: 'List strategies of an application',
    forward: { service: 'front50', path: '/strategies/{application}' },
    answer: z.array(Pipeline),
  },
  {
    id: 'getStrategyConfigUsingGET',
    section: '4.2',
    method: 'GET',
    path: '/applications/{application}/strategyConfigs/{strategyName}',
    demands: readsApplication,
    summary: 'Get a strategy',
    description: 'One deployment strategy, by its exact name.',
    forward: { service: 'front50', path: '/strategies/{application}' },
    pick: pickStrategy,
    answer: Pipeline,
    errors: { 404: 'The application has no strategy of that name.' },
  },
]

function pickStrategy(body: unknown, { path }: OperationRequest): JsonObject {
  const { application, strategyName } = path
  const strategy = checkList(body, 'front50').find(({ name }) => name === strategyName)
  if (strategy !== undefined) return strategy
  throw new GatewayError('NOT_FOUND', `Application ${application} has no strategy with the name "${strategyName}".`)
}
