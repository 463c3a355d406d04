/** Definitions across applications: lists, revisions, strategies, the order that the web UI shows, and saving many at once. */

import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { pathTo } from '../../http/encode-path.ts'
import { misfit, noPage } from '../../upstreams/answer-form.ts'
import { checkDone, readJson } from '../../upstreams/upstreams.ts'
import {
  filteredByApplication,
  readsDefinition,
  readsStrategy,
  writesApplication,
  writesApplicationInBody,
  writesDefinitions,
} from '../demands.ts'
import { Task } from '../models/executions.ts'
import { DefinitionMove, Pipeline } from '../models/pipelines.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { AnyObject, integer, nothing, ObjectList, text } from '../schemas.ts'
import { checkObject } from '../upstream-shape.ts'
import { callerOf, type Task as FinishedTask, runTask, toBase64Json, variableOf } from './task-polling.ts'

const Order = z
  .looseObject({
    application: z.string().min(1),
    idsToIndices: z.record(z.string(), z.int()).describe('Place of each definition, counted from 0.'),
  })
  .meta({ id: 'DefinitionOrder' })

const Move = z.looseObject({ application: z.string(), from: z.string(), to: z.string() })

const BulkSaveResult = z
  .looseObject({
    successful_pipelines_count: z.int().optional(),
    successful_pipelines: z.array(z.string()).optional(),
    failed_pipelines_count: z.int().optional(),
    failed_pipelines: z.array(AnyObject).optional().describe('Each with its `errorMsg`.'),
  })
  .meta({ id: 'BulkSaveResult' })

const taskFailures = { 400: 'The task that makes the change failed or did not finish in time.' }

export const definitionOperations: Operation[] = [
  {
    id: 'getAllPipelineConfigsUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/pipelineConfigs',
    demands: filteredByApplication,
    summary: 'List all pipelines',
    description: 'Pipeline definitions of all applications that the caller may read.',
    forward: { service: 'front50', path: '/pipelines' },
    answer: z.array(Pipeline),
  },
  {
    id: 'getPipelineConfigHistoryUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/pipelineConfigs/{pipelineConfigId}/history',
    demands: readsDefinition,
    summary: 'List revisions of a pipeline',
    description: 'Revisions of a pipeline definition, newest first. An unknown definition has none.',
    query: { limit: integer.default(20) },
    forward: { service: 'front50', path: '/pipelines/{pipelineConfigId}/history', query: ['limit'] },
    // Asked for one revision, the store says 404 where it otherwise lists none; Terraform takes the empty list for "gone".
    on404: { answer: [] },
    answer: z.array(Pipeline),
  },
  {
    id: 'convertPipelineConfigToPipelineTemplateUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/pipelineConfigs/{pipelineConfigId}/convertToTemplate',
    demands: readsDefinition,
    summary: 'Convert a pipeline to a template',
    description: 'A pipeline definition, rewritten as the text of a template.',
    handle: convertToTemplate,
    answer: z.string(),
    errors: { 404: 'There is no such definition.' },
  },
  {
    id: 'getAllStrategyConfigsUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/strategyConfigs',
    demands: filteredByApplication,
    summary: 'List all strategies',
    description: 'Deployment strategies of all applications that the caller may read.',
    forward: { service: 'front50', path: '/strategies' },
    answer: z.array(Pipeline),
  },
  {
    id: 'getStrategyConfigHistoryUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/strategyConfigs/{strategyConfigId}/history',
    demands: readsStrategy,
    summary: 'List revisions of a strategy',
    description: 'Revisions of a deployment strategy, newest first. An unknown strategy has none.',
    query: { limit: integer.default(20) },
    forward: { service: 'front50', path: '/strategies/{strategyConfigId}/history', query: ['limit'] },
    on404: { answer: [] },
    answer: z.array(Pipeline),
  },
  {
    id: 'saveStrategyUsingPOST',
    section: 'beyond',
    method: 'POST',
    path: '/strategies',
    demands: writesDefinitions,
    summary: 'Save a strategy',
    description: 'Creates a deployment strategy, or replaces the one with the same id.',
    body: { schema: AnyObject, shown: Pipeline, required: true },
    forward: { service: 'front50', path: '/strategies' },
    answer: nothing,
  },
  {
    id: 'moveStrategyUsingPOST',
    section: 'beyond',
    method: 'POST',
    path: '/strategies/move',
    demands: writesApplicationInBody,
    summary: 'Rename a strategy',
    body: { schema: Move, shown: DefinitionMove, required: true },
    forward: { service: 'front50', path: '/strategies/move' },
    answer: nothing,
  },
  {
    id: 'updateStrategyUsingPUT',
    section: 'beyond',
    method: 'PUT',
    path: '/strategies/{id}',
    demands: writesDefinitions,
    summary: 'Update a strategy',
    body: { schema: AnyObject, shown: Pipeline, required: true },
    forward: { service: 'front50', path: '/strategies/{id}' },
    answer: Pipeline,
  },
  {
    id: 'deleteStrategyUsingDELETE',
    section: 'beyond',
    method: 'DELETE',
    path: '/strategies/{application}/{strategyName}',
    demands: writesApplication,
    summary: 'Delete a strategy',
    forward: { service: 'front50', path: '/strategies/{application}/{strategyName}' },
    answer: nothing,
  },
  {
    id: 'reorderPipelinesUsingPOST',
    section: 'beyond',
    method: 'POST',
    path: '/actions/pipelines/reorder',
    demands: writesDefinitions,
    summary: 'Reorder pipelines',
    description: 'Stores the order of the pipelines of an application, and returns when it is stored.',
    body: { schema: Order, required: true },
    handle: (request, platform) => reorder(request, platform, false),
    answer: Task,
    errors: taskFailures,
  },
  {
    id: 'reorderStrategiesUsingPOST',
    section: 'beyond',
    method: 'POST',
    path: '/actions/strategies/reorder',
    demands: writesDefinitions,
    summary: 'Reorder strategies',
    description: 'Stores the order of the deployment strategies of an application, and returns when it is stored.',
    body: { schema: Order, required: true },
    handle: (request, platform) => reorder(request, platform, true),
    answer: Task,
    errors: taskFailures,
  },
  {
    id: 'bulksavePipelineUsingPOST',
    section: 'beyond',
    method: 'POST',
    path: '/pipelines/bulksave',
    demands: writesDefinitions,
    summary: 'Save several pipelines',
    description: 'Saves many pipeline definitions at once, and reports which of them were refused.',
    query: { application: text.default('bulk_save_placeholder_app') },
    body: { schema: ObjectList, shown: z.array(Pipeline), required: true },
    handle: savePipelines,
    answer: BulkSaveResult,
    errors: taskFailures,
  },
]

/** @see Orchestration contract, section 6.1: each field is base64 of its own JSON. */
function reorder(request: OperationRequest, platform: Platform, isStrategy: boolean): Promise<FinishedTask> {
  const { application, idsToIndices } = request.body as z.infer<typeof Order>
  return runTask(request, platform, {
    application,
    description: `Reorder ${isStrategy ? 'strategies' : 'pipelines'}`,
    job: [
      {
        type: 'reorderPipelines',
        application: toBase64Json(application),
        idsToIndices: toBase64Json(idsToIndices),
        isStrategy: toBase64Json(isStrategy),
        user: callerOf(request),
      },
    ],
  })
}

async function savePipelines(request: OperationRequest, platform: Platform): Promise<unknown> {
  const { bulkSavePolls, bulkSavePollIntervalMs } = platform.settings
  const job = {
    type: 'savePipeline',
    pipelines: toBase64Json(request.body),
    isBulkSavingPipelines: true,
    user: callerOf(request),
  }
  const task = await runTask(
    request,
    platform,
    { application: request.query['application'] as string, description: 'Bulk save pipelines', job: [job] },
    { polls: bulkSavePolls, intervalMs: bulkSavePollIntervalMs },
  )
  return variableOf(task, 'bulksave') ?? {}
}

/** @throws {GatewayError} NOT_FOUND */
async function convertToTemplate(request: OperationRequest): Promise<string> {
  const id = request.path['pipelineConfigId'] as string
  const stored = await request.call('front50', { path: pathTo`/pipelines/${id}/get` })
  if (stored.status === 404) throw new GatewayError('NOT_FOUND', `There is no pipeline definition with the id ${id}.`)
  checkObject(readJson(stored, 'front50'), 'front50')
  const converted = await request.call('orca', {
    method: 'POST',
    path: '/convertPipelineToTemplate',
    rawBody: stored.text,
    headers: { 'content-type': 'application/json; charset=UTF-8' },
  })
  checkDone(converted, 'orca')
  if (converted.text === '') throw misfit(noPage, 'orca', 'nothing')
  return converted.text
}
