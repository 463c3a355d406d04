/** Deployment strategies: definitions that a deployment stage runs as a pipeline of its own. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { AnyObject, integer, nothing } from '@fairlead/base/json/schemas.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { DefinitionMove, PipelineModel } from '@fairlead/model/environments/pipeline-models.ts'
import { z } from 'zod'
import { get, operationsWith } from '../declare.ts'
import {
  filteredBy,
  readsApplication,
  readsStrategy,
  writesApplication,
  writesApplicationInBody,
  writesDefinitions,
} from '../demands.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { checkList } from '../upstream-shape.ts'
import { andWarnings, findingsQuery, Saved, withFindings } from './findings.ts'

const change = operationsWith({ answer: nothing })
const ofApplication = operationsWith({ core: true, demands: readsApplication })

export const strategyOperations: Operation[] = [
  ofApplication.get(
    'getStrategyConfigsForApplicationUsingGET',
    '/applications/{application}/strategyConfigs',
    'List strategies of an application',
    {
      forward: 'front50 /strategies/{application}',
      answer: z.array(PipelineModel),
    },
  ),
  ofApplication.get(
    'getStrategyConfigUsingGET',
    '/applications/{application}/strategyConfigs/{strategyName}',
    'Get a strategy',
    {
      description: 'One deployment strategy, by its exact name.',
      forward: 'front50 /strategies/{application}',
      pick: pickStrategy,
      answer: PipelineModel,
      errors: { 404: 'The application has no strategy of that name.' },
    },
  ),
  get('getAllStrategyConfigsUsingGET', '/strategyConfigs', 'List all strategies', {
    demands: filteredBy('application'),
    description: 'Deployment strategies of all applications that the caller may read.',
    forward: 'front50 /strategies',
    answer: z.array(PipelineModel),
  }),
  get(
    'getStrategyConfigHistoryUsingGET',
    '/strategyConfigs/{strategyConfigId}/history',
    'List revisions of a strategy',
    {
      demands: readsStrategy,
      description:
        'Revisions of a deployment strategy, newest first. An unknown strategy has none.',
      query: { limit: integer.default(20) },
      forward: 'front50 /strategies/{strategyConfigId}/history',
      on404: { answer: [] },
      answer: z.array(PipelineModel),
    },
  ),
  change.post('saveStrategyUsingPOST', '/strategies', 'Save a strategy', {
    demands: writesDefinitions,
    description: `Creates a deployment strategy, or replaces the one with the same id.${andWarnings}`,
    query: findingsQuery,
    body: { schema: AnyObject, shown: PipelineModel, required: true },
    handle: (request, platform) => save(request, platform, 'POST', '/strategies'),
    answer: Saved.optional(),
  }),
  change.post('moveStrategyUsingPOST', '/strategies/move', 'Rename a strategy', {
    demands: writesApplicationInBody,
    forward: 'front50',
    body: DefinitionMove,
  }),
  change.put('updateStrategyUsingPUT', '/strategies/{id}', 'Update a strategy', {
    demands: writesDefinitions,
    description: andWarnings.trim(),
    query: findingsQuery,
    body: { schema: AnyObject, shown: PipelineModel, required: true },
    handle: (request, platform) =>
      save(request, platform, 'PUT', pathTo`/strategies/${request.path['id'] ?? ''}`),
    answer: z.union([PipelineModel, Saved]),
  }),
  change.remove(
    'deleteStrategyUsingDELETE',
    '/strategies/{application}/{strategyName}',
    'Delete a strategy',
    {
      demands: writesApplication,
      forward: 'front50',
    },
  ),
]

async function save(
  request: OperationRequest,
  platform: Platform,
  method: 'POST' | 'PUT',
  path: string,
): Promise<unknown> {
  const { body } = request
  const answer = await request.json('front50', { method, path, body })
  return withFindings(request, platform, 'strategy', body, method === 'PUT' ? answer : undefined)
}

function pickStrategy(body: unknown, { path }: OperationRequest): JsonObject {
  const { application, strategyName } = path
  const strategy = checkList(body, 'front50').find(({ name }) => name === strategyName)
  if (strategy !== undefined) return strategy
  throw new GatewayError(
    'NOT_FOUND',
    `Application ${application} has no strategy with the name "${strategyName}".`,
  )
}
