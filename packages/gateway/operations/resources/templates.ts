/** Pipeline templates of both versions: reads from their store, changes by tasks. */

import { GatewayError } from '@fairlead/base/errors.ts'
import {
  AnyObject,
  flagModel,
  maybeText,
  nonEmpty,
  Ref,
  submitted,
  textList,
  textModel,
} from '@fairlead/base/json/schemas.ts'
import { textsOf } from '@fairlead/base/json/values.ts'
import { PipelineModel, PipelineTemplate } from '@fairlead/model/environments/pipeline-models.ts'
import { z } from 'zod'
import { get, operationsWith, post, remove } from '../declare.ts'
import {
  application,
  createsTemplate,
  deletesFiledTemplate,
  filteredBy,
  readsDefinition,
  readsTemplate,
  readsTemplateSource,
  updatesTemplate,
} from '../demands.ts'
import { TaskModel } from '../models/executions.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { usernameOf } from './caller.ts'
import { andWarnings, findingsQuery, Saved, withFindings } from './findings.ts'
import {
  checkPlain,
  runTask,
  submitTask,
  type TaskSubmission,
  toBase64Json,
} from './task-polling.ts'

type Template = z.infer<typeof PipelineTemplate>

const Dependents = z.array(
  z.object({ application: z.unknown(), pipelineConfigId: z.unknown(), pipelineName: z.unknown() }),
)

const PlannedPipeline = PipelineModel.partial().meta({
  id: 'PlannedPipeline',
  description: 'The definition that would run.',
})

const templateBody = { schema: PipelineTemplate, required: true }
const scopes = textList
  .optional()
  .describe('Applications, or `global`; all templates unless given.')
const tag = maybeText.describe('latest, stable, unstable, experimental, test or canary.')
const digest = maybeText.describe('SHA-256 of one saved state; not together with `tag`.')
const skipPlanDependents = flagModel
  .default(false)
  .describe('Saves without checking that the pipelines built on it still work.')
const taskFailures = { 400: 'The task that makes the change failed or did not finish in time.' }

const templates = operationsWith({
  demands: filteredBy('scopes'),
  query: { scopes },
  forward: 'front50',
})
const template = operationsWith({
  demands: readsTemplate,
  forward: 'front50',
  answer: PipelineTemplate,
})
const dependents = operationsWith({
  demands: [...readsTemplate, ...filteredBy('application')],
  pick: toDependents,
  answer: Dependents,
})
const change = operationsWith({ success: 202, answer: TaskModel, errors: taskFailures })
const save = operationsWith({
  ...submitted,
  body: templateBody,
  query: findingsQuery,
  answer: z.union([Ref, Saved]),
})

export const templateOperations: Operation[] = [
  // Version 1: changes are submitted, and the caller follows the task.
  templates.get('listPipelineTemplatesUsingGET', '/pipelineTemplates', 'List version-1 templates', {
    answer: z.array(PipelineTemplate),
  }),
  save.post(
    'createPipelineTemplateUsingPOST',
    '/pipelineTemplates',
    'Create a version-1 template',
    {
      demands: createsTemplate,
      description: andWarnings.trim(),
      handle: (request, platform) =>
        submitTemplate(request, platform, createTemplate(request, 'createPipelineTemplate')),
    },
  ),
  get('resolveTemplatesUsingGET', '/pipelineTemplates/resolve', 'Resolve a template', {
    demands: [
      ...readsTemplateSource,
      ...application('READ', 'execution', 'executionId'),
      ...readsDefinition,
    ],
    description: 'The template that a source names, with what it takes from those that it extends.',
    query: {
      source: nonEmpty.describe(
        '`spinnaker://web`, also with a tag or digest: `spinnaker://web:stable`.',
      ),
      executionId: maybeText,
      pipelineConfigId: maybeText,
    },
    forward: 'orca /pipelineTemplate',
    answer: PipelineTemplate,
  }),
  template.get(
    'getPipelineTemplateUsingGET',
    '/pipelineTemplates/{id}',
    'Get a version-1 template',
    {},
  ),
  save.post(
    'updatePipelineTemplateUsingPOST',
    '/pipelineTemplates/{id}',
    'Update a version-1 template',
    {
      demands: updatesTemplate,
      query: { skipPlanDependents, ...findingsQuery },
      description: andWarnings.trim(),
      handle: (request, platform) =>
        submitTemplate(request, platform, updateTemplate(request, 'updatePipelineTemplate')),
    },
  ),
  remove(
    'deletePipelineTemplateUsingDELETE',
    '/pipelineTemplates/{id}',
    'Delete a version-1 template',
    {
      demands: deletesFiledTemplate,
      query: { application: textModel.default('spinnaker') },
      handle: (request) => submitTask(request, deleteTemplate(request, 'deletePipelineTemplate')),
      ...submitted,
    },
  ),
  dependents.get(
    'listPipelineTemplateDependentsUsingGET',
    '/pipelineTemplates/{id}/dependents',
    'List pipelines of a version-1 template',
    {
      query: {
        recursive: flagModel
          .default(false)
          .describe('Also those built on templates that are built on it.'),
      },
      forward: 'front50 /pipelineTemplates/{id}/dependentPipelines',
    },
  ),
  // Version 2: changes are awaited, and the finished task is the answer.
  templates.get('listV2PipelineTemplatesUsingGET', '/v2/pipelineTemplates', 'List templates', {
    answer: z.array(PipelineTemplate),
  }),
  templates.get(
    'listV2PipelineTemplateVersionsUsingGET',
    '/v2/pipelineTemplates/versions',
    'List versions of templates',
    {
      description: 'Version-2 templates by id, each with all its saved versions.',
      answer: z.record(z.string(), z.array(PipelineTemplate)),
    },
  ),
  post(
    'planV2PipelineTemplateUsingPOST',
    '/v2/pipelineTemplates/plan',
    'Plan a templated pipeline',
    {
      demands: application('READ', 'body'),
      changesNothing: true,
      description: 'The pipeline that a templated definition becomes, without starting it.',
      body: AnyObject,
      forward: 'orca',
      answer: PlannedPipeline,
    },
  ),
  change.post(
    'createV2PipelineTemplateUsingPOST',
    '/v2/pipelineTemplates/create',
    'Create a template',
    {
      demands: createsTemplate,
      description: `Creates a version-2 template, and returns when it is stored.${andWarnings}`,
      query: { tag, ...findingsQuery },
      answer: z.union([TaskModel, Saved]),
      body: templateBody,
      handle: (request, platform) =>
        changeTemplate(request, platform, createTemplate(request, 'createV2PipelineTemplate')),
    },
  ),
  change.post(
    'updateV2PipelineTemplateUsingPOST',
    '/v2/pipelineTemplates/update/{id}',
    'Update a template',
    {
      demands: updatesTemplate,
      description: `Changes a version-2 template, and returns when it is stored.${andWarnings}`,
      query: { tag, skipPlanDependents, ...findingsQuery },
      answer: z.union([TaskModel, Saved]),
      body: templateBody,
      handle: (request, platform) =>
        changeTemplate(request, platform, updateTemplate(request, 'updateV2PipelineTemplate')),
    },
  ),
  template.get('getV2PipelineTemplateUsingGET', '/v2/pipelineTemplates/{id}', 'Get a template', {
    description: 'One version-2 template, as it is now or as it was under a tag or digest.',
    query: { tag, digest },
  }),
  change.remove(
    'deleteV2PipelineTemplateUsingDELETE',
    '/v2/pipelineTemplates/{id}',
    'Delete a template',
    {
      demands: deletesFiledTemplate,
      description:
        'Deletes a version-2 template or one of its versions, and returns when it is deleted.',
      query: { tag, digest, application: textModel.default('spinnaker') },
      handle: (request, platform) =>
        runTask(request, platform, deleteTemplate(request, 'deleteV2PipelineTemplate')),
    },
  ),
  dependents.get(
    'listV2PipelineTemplateDependentsUsingGET',
    '/v2/pipelineTemplates/{id}/dependents',
    'List pipelines of a template',
    {
      forward: 'front50 /v2/pipelineTemplates/{id}/dependentPipelines',
    },
  ),
]

async function submitTemplate(
  request: OperationRequest,
  platform: Platform,
  submission: TaskSubmission,
): Promise<unknown> {
  const task = await submitTask(request, submission)
  return withFindings(request, platform, 'template', request.body, task, 202)
}

async function changeTemplate(
  request: OperationRequest,
  platform: Platform,
  submission: TaskSubmission,
): Promise<unknown> {
  const { schema = 'v2' } = request.body as Template
  if (schema !== 'v2') {
    throw new GatewayError(
      'BAD_ARGUMENT',
      `"schema" of the template is "${schema}"; this operation stores templates of schema "v2".`,
    )
  }
  const task = await runTask(request, platform, submission)
  return withFindings(request, platform, 'template', request.body, task, 202)
}

function createTemplate(request: OperationRequest, type: string): TaskSubmission {
  return submissionFor(request, 'Create', { type })
}

function updateTemplate(request: OperationRequest, type: string): TaskSubmission {
  const id = request.path['id'] as string
  return submissionFor(request, 'Update', {
    type,
    id,
    skipPlanDependents: request.query['skipPlanDependents'],
  })
}

function submissionFor(
  request: OperationRequest,
  verb: string,
  job: Record<string, unknown>,
): TaskSubmission {
  checkPlain({ ...request.query, ...request.path })
  const isSecondVersion = String(job['type']).includes('V2')
  const template = isSecondVersion
    ? { schema: 'v2', ...(request.body as Template) }
    : (request.body as Template)
  const name = template.metadata?.name ?? template.id ?? request.path['id'] ?? 'without a name'
  return {
    application: applicationOf(template),
    description: `${verb} pipeline template '${name}'`,
    job: [
      {
        ...job,
        pipelineTemplate: toBase64Json(template),
        tag: request.query['tag'],
        user: usernameOf(request),
      },
    ],
  }
}

/** A template that belongs to one application is changed in its name. */
function applicationOf({ metadata }: Template): string {
  const [only, ...others] = textsOf(metadata?.scopes)
  return only === undefined || others.length > 0 || only === 'global' ? 'spinnaker' : only
}

function deleteTemplate(request: OperationRequest, type: string): TaskSubmission {
  checkPlain({ ...request.query, ...request.path })
  const id = request.path['id'] as string
  const { application, tag, digest } = request.query as {
    application: string
    tag?: string
    digest?: string
  }
  return {
    application,
    description: `Delete pipeline template '${id}'`,
    job: [{ type, id, pipelineTemplateId: id, tag, digest, user: usernameOf(request) }],
  }
}

function toDependents(body: unknown): z.infer<typeof Dependents> {
  const pipelines = Array.isArray(body)
    ? (body as { application?: unknown; id?: unknown; name?: unknown }[])
    : []
  return pipelines.map(({ application, id, name }) => ({
    application,
    pipelineConfigId: id,
    pipelineName: name,
  }))
}
