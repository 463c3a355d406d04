/** Finding executions, explaining their failures, and trying expressions against them. */

import { z } from 'zod'
import { pathTo } from '../../http/encode-path.ts'
import { application, filteredByApplication, readsApplication, readsExecution } from '../demands.ts'
import { Evaluation, Execution, FailedStage } from '../models/executions.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import { AnyObject, flag, integer, nonEmpty, text } from '../schemas.ts'

/** Milliseconds since the epoch; larger than `integer` allows. */
const moment = z.string().regex(/^\d{1,19}$/, 'it must be a moment in milliseconds since the epoch')

const searchQuery = {
  triggerTypes: text.optional().describe('Comma-separated; all types unless given.'),
  pipelineName: text.optional(),
  eventId: text.optional(),
  trigger: text.optional().describe('Base64 of a JSON object that the trigger must contain.'),
  triggerTimeStartBoundary: moment.optional().describe('Submitted at or after this moment, milliseconds since the epoch.'),
  triggerTimeEndBoundary: moment.optional().describe('Submitted at or before this moment, milliseconds since the epoch.'),
  statuses: text.optional().describe('Comma-separated; all unless given.'),
  startIndex: integer.default(0),
  size: integer.default(10),
  reverse: flag.default(false).describe('Oldest first.'),
  expand: flag.default(false).describe('With contexts, outputs and tasks of the stages.'),
}

const Variable = z
  .looseObject({ key: z.string(), value: z.unknown(), description: z.string().optional() })
  .meta({ id: 'Variable' })
const VariablesEvaluation = z
  .looseObject({ result: z.array(Variable).optional(), detail: AnyObject.nullish() })
  .meta({ id: 'VariablesEvaluation' })

export const executionOperations: Operation[] = [
  {
    id: 'searchForPipelineExecutionsByTriggerUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/applications/{application}/executions/search',
    demands: [...readsApplication, ...filteredByApplication],
    summary: 'Search executions',
    description:
      'Executions of an application by trigger, time and status, newest first. `*` searches all that the caller may read.',
    query: searchQuery,
    forward: {
      service: 'orca',
      path: '/applications/{application}/pipelines/search',
      query: Object.keys(searchQuery),
    },
    cost: 5,
    answer: z.array(Execution),
  },
  {
    id: 'getFailedStagesForPipelineExecutionUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/executions/failedStages',
    demands: application('READ', 'execution', 'executionId'),
    summary: 'List failed stages',
    description: 'The stages that made an execution fail, looked for in the pipelines that it started, too.',
    query: {
      executionId: nonEmpty,
      deckOrigin: text.optional().describe('Address of the web UI, for links.'),
      limit: integer.default(1),
    },
    forward: { service: 'orca', path: '/pipelines/failedStages', query: ['executionId', 'deckOrigin', 'limit'] },
    answer: z.array(FailedStage),
  },
  {
    id: 'evaluateExpressionForExecutionAtStageUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/pipelines/{id}/{stageId}/evaluateExpression',
    demands: readsExecution,
    summary: 'Evaluate an expression at a stage',
    description: 'The value that an expression has at a stage. A failed evaluation is a result: see `detail`.',
    query: { expression: text },
    forward: { service: 'orca', path: '/pipelines/{id}/{stageId}/evaluateExpression', query: ['expression'] },
    on404: { message: ({ path }) => `There is no stage ${path['stageId']} in an execution ${path['id']}.` },
    answer: Evaluation,
  },
  {
    id: 'evaluateVariablesUsingPOST',
    section: 'beyond',
    method: 'POST',
    path: '/pipelines/{id}/evaluateVariables',
    demands: [...readsExecution, ...application('READ', 'execution', 'executionId')],
    summary: 'Evaluate variables',
    description: 'The values that variables would have after given stages of an execution. Nothing is stored.',
    query: {
      executionId: text.optional().describe('Takes precedence over the id in the path.'),
      requisiteStageRefIds: text.optional().describe('Stages whose outputs may be used, comma-separated.'),
      spelVersion: text.optional().describe('v3 or v4'),
    },
    body: { schema: z.array(Variable), required: true },
    handle: evaluateVariables,
    answer: VariablesEvaluation,
  },
]

/** Older clients name the execution in the query only, and write anything into the path. */
async function evaluateVariables({ path, query, body }: OperationRequest): Promise<StreamedAnswer> {
  const id = (query['executionId'] ?? path['id']) as string
  const { requisiteStageRefIds, spelVersion } = query
  return new StreamedAnswer('orca', {
    method: 'POST',
    path: pathTo`/pipelines/${id}/evaluateVariables`,
    query: { requisiteStageRefIds, spelVersion },
    body,
  })
}
