/** Pipelines, the definitions: read from their store, changed and put in order by tasks of the orchestrator. */

import { GatewayError } from '@fairlead/base/errors.ts'
import {
  AnyObject,
  flagModel,
  integer,
  maybeText,
  model,
  nothing,
  ObjectList,
  TextList,
  textModel,
} from '@fairlead/base/json/schemas.ts'
import { type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { DefinitionMove, PipelineModel } from '@fairlead/model/environments/pipeline-models.ts'
import { z } from 'zod'
import { checkDone, misfit, noPage } from '../../upstreams/answer-form.ts'
import { findByName, findDefinition, listDefinitions } from '../access/find-definition.ts'
import { get, operationsWith, polledByUsers, post, put } from '../declare.ts'
import {
  application,
  filteredBy,
  readsApplication,
  readsDefinition,
  writesApplication,
  writesApplicationInBody,
  writesDefinitions,
  writesFiledDefinitions,
} from '../demands.ts'
import { TaskModel } from '../models/executions.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { readObject } from '../upstream-shape.ts'
import { usernameOf } from './caller.ts'
import { andWarnings, findingsQuery, Saved, withFindings, withFindingsOf } from './findings.ts'
import {
  type FinishedTask,
  runTask,
  type TaskSubmission,
  taskVariable,
  toBase64Json,
} from './task-polling.ts'

const Definition = z.looseObject({
  application: z.string().trim().min(1).describe('The application that the pipeline belongs to.'),
})

const BulkSaveResult = model('BulkSaveResult', {
  successful_pipelines_count: z.int().optional(),
  successful_pipelines: TextList.optional(),
  failed_pipelines_count: z.int().optional(),
  failed_pipelines: z.array(AnyObject).optional().describe('Each with its `errorMsg`.'),
})

const Order = model('DefinitionOrder', {
  application: z.string().min(1),
  idsToIndices: z.record(z.string(), z.int()).describe('Place of each definition, counted from 0.'),
})

const taskUnfinished = { 400: 'The task that makes the change failed or did not finish in time.' }
const taskFailed = {
  400: 'The task that changes the definition failed or did not finish in time; the message has the reason.',
}

const change = operationsWith({ core: true, answer: nothing, errors: taskFailed })
const core = operationsWith({ core: true })

export const pipelineOperations: Operation[] = [
  core.get(
    'getPipelineConfigsForApplicationUsingGET',
    '/applications/{application}/pipelineConfigs',
    'List pipelines of an application',
    {
      ...polledByUsers,
      demands: readsApplication,
      description: 'Pipeline definitions of an application, in their order.',
      query: {
        pipelineNameFilter: maybeText.describe('Keep pipelines whose name contains this.'),
        pipelineLimit: integer.optional().describe('At most so many.'),
      },
      forward: {
        service: 'front50',
        path: '/pipelines/{application}',
        constants: { refresh: 'true' },
      },
      answer: z.array(PipelineModel),
    },
  ),
  core.get(
    'getPipelineConfigUsingGET',
    '/applications/{application}/pipelineConfigs/{pipelineName}',
    'Get a pipeline',
    {
      // An id may be that of a definition of another application.
      demands: [...readsApplication, ...application('READ', 'definition', 'pipelineName')],
      description: 'One pipeline definition, by its exact name or by its id.',
      handle: (request) =>
        findDefinition(
          request,
          request.path['application'] as string,
          request.path['pipelineName'] as string,
        ),
      answer: PipelineModel,
      errors: { 404: 'No definition has that name or id.' },
    },
  ),
  change.post('savePipelineUsingPOST', '/pipelines', 'Save a pipeline', {
    demands: writesDefinitions,
    description: `Creates or overwrites a pipeline definition. The new id is found in the list of definitions.${andWarnings}`,
    query: {
      staleCheck: flagModel
        .default(false)
        .describe('Refuse when the stored definition is newer than the one sent.'),
      ...findingsQuery,
    },
    body: { schema: Definition, shown: PipelineModel, required: true },
    handle: saveDefinition,
    answer: Saved.optional(),
  }),
  core.put('updatePipelineUsingPUT', '/pipelines/{id}', 'Update a pipeline', {
    demands: writesDefinitions,
    description: `Updates a pipeline definition, including its name, and returns the stored one.${andWarnings}`,
    body: { schema: Definition, shown: PipelineModel, required: true },
    query: findingsQuery,
    handle: updateDefinition,
    answer: z.union([PipelineModel, Saved]).optional(),
    errors: { 400: `${taskFailed[400]} Or the body has another id than the path.` },
  }),
  put('releasePipeline', '/pipelines/{id}/release', 'Release held parts of a pipeline', {
    demands: application('WRITE', 'definition', 'id'),
    description:
      'Takes over what a pipeline holds back: triggers of service accounts that did not exist when it was saved, which the caller has to be allowed to use, and ' +
      'stages whose expressions name another application or pipeline, which need the rights of the caller from now on. Answers with what stays held.',
    forward: { service: 'front50', path: '/pipelines/{id}/release' },
    answer: z.array(AnyObject),
  }),
  change.remove(
    'deletePipelineUsingDELETE',
    '/pipelines/{application}/{pipelineName}',
    'Delete a pipeline',
    {
      demands: writesApplication,
      description:
        'Deletes a pipeline definition, by its name without regard to case, or by its id. One that does not exist is deleted already.',
      handle: deleteDefinition,
    },
  ),
  core.post('renamePipelineUsingPOST', '/pipelines/move', 'Rename a pipeline', {
    demands: writesApplicationInBody,
    description:
      'Renames a pipeline definition: `application`, `from`, `to`. Newer definition stores know PUT /pipelines/{id} only.',
    body: { schema: AnyObject, shown: DefinitionMove, required: true },
    forward: 'front50',
    answer: nothing,
  }),
  get('getAllPipelineConfigsUsingGET', '/pipelineConfigs', 'List all pipelines', {
    demands: filteredBy('application'),
    description: 'Pipeline definitions of all applications that the caller may read.',
    forward: 'front50 /pipelines',
    answer: z.array(PipelineModel),
  }),
  get(
    'getPipelineConfigHistoryUsingGET',
    '/pipelineConfigs/{pipelineConfigId}/history',
    'List revisions of a pipeline',
    {
      demands: readsDefinition,
      description:
        'Revisions of a pipeline definition, newest first. An unknown definition has none.',
      query: { limit: integer.default(20) },
      forward: 'front50 /pipelines/{pipelineConfigId}/history',
      // Asked for one revision, the store says 404 where it otherwise lists none; Terraform takes the empty list for "gone".
      on404: { answer: [] },
      answer: z.array(PipelineModel),
    },
  ),
  get(
    'convertPipelineConfigToPipelineTemplateUsingGET',
    '/pipelineConfigs/{pipelineConfigId}/convertToTemplate',
    'Convert a pipeline to a template',
    {
      demands: readsDefinition,
      description: 'A pipeline definition, rewritten as the text of a template.',
      handle: convertToTemplate,
      answer: z.string(),
      errors: { 404: 'There is no such definition.' },
    },
  ),
  post('bulksavePipelineUsingPOST', '/pipelines/bulksave', 'Save several pipelines', {
    demands: writesFiledDefinitions,
    description:
      'Saves many pipeline definitions at once, and reports which of them were rejected.' +
      andWarnings,
    query: { application: textModel.default('bulk_save_placeholder_app'), ...findingsQuery },
    body: { schema: ObjectList, shown: z.array(PipelineModel), required: true },
    handle: savePipelines,
    answer: z.union([BulkSaveResult, Saved]),
    errors: taskUnfinished,
  }),
]

async function saveDefinition(request: OperationRequest, platform: Platform): Promise<unknown> {
  const { staleCheck } = request.query
  const definition = request.body as JsonObject
  await runTask(request, platform, toChange(request, 'save', definition, { staleCheck }))
  return withFindings(request, platform, 'pipeline', definition)
}

async function updateDefinition(request: OperationRequest, platform: Platform): Promise<unknown> {
  const id = request.path['id'] as string
  const definition = withId(request.body as JsonObject, id)
  await runTask(request, platform, toChange(request, 'update', definition))
  const stored = await listDefinitions(request, definition['application'] as string)
  const saved = stored.find((one) => one['id'] === id)
  return withFindings(request, platform, 'pipeline', definition, saved)
}

/** The id of the path decides what is updated; a body that names another one would update something else. */
function withId(definition: JsonObject, id: string): JsonObject {
  const given = definition['id'] ?? ''
  if (given === '') return { ...definition, id }
  if (given === id) return definition
  throw new GatewayError(
    'BAD_ARGUMENT',
    `The body is the definition of pipeline "${String(given)}", the path names "${id}". Send the definition with its own id.`,
  )
}

async function deleteDefinition(request: OperationRequest, platform: Platform): Promise<void> {
  const { application = '', pipelineName } = request.path
  const stored = await listDefinitions(request, application)
  const definition =
    findByName(stored, pipelineName) ?? stored.find(({ id }) => id === pipelineName)
  if (definition === undefined) return
  await runTask(
    request,
    platform,
    toChange(request, 'delete', {
      ...definition,
      application: definition['application'] ?? application,
    }),
  )
}

/** The definition travels as base64 of JSON text, exactly as the client wrote its values. */
function toChange(
  request: OperationRequest,
  action: 'save' | 'update' | 'delete',
  definition: JsonObject,
  options: JsonObject = {},
): TaskSubmission {
  const title = `${action[0]?.toUpperCase()}${action.slice(1)} pipeline '${String(definition['name'] ?? 'unnamed')}'`
  return {
    application: String(definition['application']),
    description: title,
    job: [
      {
        type: `${action}Pipeline`,
        pipeline: toBase64Json(definition),
        user: usernameOf(request),
        ...options,
      },
    ],
  }
}

async function savePipelines(request: OperationRequest, platform: Platform): Promise<unknown> {
  const { bulkSavePolls, bulkSavePollIntervalMs } = platform.settings
  const job = {
    type: 'savePipeline',
    pipelines: toBase64Json(request.body),
    isBulkSavingPipelines: true,
    user: usernameOf(request),
  }
  const task = await runTask(
    request,
    platform,
    {
      application: request.query['application'] as string,
      description: 'Bulk save pipelines',
      job: [job],
    },
    { polls: bulkSavePolls, intervalMs: bulkSavePollIntervalMs },
  )
  return withFindingsOf(request, platform, {
    saved: objectsOf(request.body).map((document) => ({ kind: 'pipeline', document })),
    answer: taskVariable(task, 'bulksave') ?? {},
    status: 200,
  })
}

async function convertToTemplate(request: OperationRequest): Promise<string> {
  const id = request.path['pipelineConfigId'] as string
  const stored = await request.call('front50', { path: pathTo`/pipelines/${id}/get` })
  if (stored.status === 404)
    throw new GatewayError('NOT_FOUND', `There is no pipeline definition with the id ${id}.`)
  readObject(stored, 'front50')
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

export const orderOperations: Operation[] = [
  reorders('reorderPipelinesUsingPOST', 'pipelines', 'pipelines'),
  reorders('reorderStrategiesUsingPOST', 'strategies', 'deployment strategies'),
]

function reorders(id: string, kind: 'pipelines' | 'strategies', what: string): Operation {
  return post(id, `/actions/${kind}/reorder`, `Reorder ${kind}`, {
    demands: writesDefinitions,
    description: `Stores the order of the ${what} of an application, and returns when it is stored.`,
    body: Order,
    handle: (request, platform) => reorder(request, platform, kind),
    answer: TaskModel,
    errors: taskUnfinished,
  })
}

/** @see docs/contracts/orchestration.md#jobs: each field is base64 of its own JSON. */
function reorder(
  request: OperationRequest,
  platform: Platform,
  kind: 'pipelines' | 'strategies',
): Promise<FinishedTask> {
  const { application, idsToIndices } = request.body as z.infer<typeof Order>
  return runTask(request, platform, {
    application,
    description: `Reorder ${kind}`,
    job: [
      {
        type: 'reorderPipelines',
        application: toBase64Json(application),
        idsToIndices: toBase64Json(idsToIndices),
        isStrategy: toBase64Json(kind === 'strategies'),
        user: usernameOf(request),
      },
    ],
  })
}
