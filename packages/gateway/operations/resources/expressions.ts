/** Evaluates expressions and variables against executions. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { AnyObject, maybeText, model, textModel } from '@fairlead/base/json/schemas.ts'
import { isObject } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { z } from 'zod'
import { get, post } from '../declare.ts'
import { application, readsExecution } from '../demands.ts'
import { Evaluation } from '../models/executions.ts'
import {
  DirectAnswer,
  type HttpMethod,
  type Operation,
  type OperationRequest,
  StreamedAnswer,
} from '../operation.ts'
import { describeUnknownExecution } from './executions.ts'

const Variable = model('Variable', {
  key: z.string(),
  value: z.unknown(),
  description: z.string().optional(),
})
const VariablesEvaluation = model('VariablesEvaluation', {
  result: z.array(Variable).optional(),
  detail: AnyObject.nullish(),
})

const path = '/pipelines/{id}/evaluateExpression'
const methods: readonly HttpMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const expression = textModel.describe('In the expression language of pipelines, percent-encoded.')
const ExpressionRequest = model('ExpressionRequest', { expression })

/** Gate offers the address under seven methods; all evaluate. */
const ofExecution: Operation[] = methods.map((method) => ({
  id: `evaluateExpressionForExecutionUsing${method}`,
  core: true,
  method,
  path,
  demands: readsExecution,
  summary: 'Evaluate an expression',
  changesNothing: true,
  ...formOf(method),
  answer: Evaluation,
  errors: { 404: 'There is no execution with this id.' },
}))

function formOf(method: HttpMethod): Partial<Operation> {
  switch (method) {
    case 'POST':
      return {
        description:
          'Evaluates an expression: the body as text, the field `expression` of a JSON body, or the query parameter.',
        query: { expression: expression.optional() },
        body: {
          schema: z.union([z.string(), AnyObject]),
          shown: ExpressionRequest,
          required: false,
          text: true,
        },
        handle: (request) => evaluate(request, expressionOf(request)),
      }
    case 'OPTIONS':
      return {
        description:
          'With an expression: evaluates it. Without: lists the methods. Answers to preflights never come from here.',
        query: { expression: expression.optional() },
        handle: async (request) =>
          request.query['expression'] === undefined
            ? new DirectAnswer(200, undefined, { allow: methods.join(', ') })
            : evaluate(request, request.query['expression']),
      }
    default:
      return {
        query: { expression },
        forward: { service: 'orca', method: 'GET' },
        on404: { message: describeUnknownExecution },
      }
  }
}

const ofStages: Operation[] = [
  get(
    'evaluateExpressionForExecutionAtStageUsingGET',
    '/pipelines/{id}/{stageId}/evaluateExpression',
    'Evaluate an expression at a stage',
    {
      demands: readsExecution,
      description:
        'The value that an expression has at a stage. A failed evaluation is a result: see `detail`.',
      query: { expression: textModel },
      forward: 'orca',
      on404: {
        message: ({ path }) =>
          `There is no stage ${path['stageId']} in an execution ${path['id']}.`,
      },
      answer: Evaluation,
    },
  ),
  post('evaluateVariablesUsingPOST', '/pipelines/{id}/evaluateVariables', 'Evaluate variables', {
    demands: [...readsExecution, ...application('READ', 'execution', 'executionId')],
    changesNothing: true,
    description:
      'The values that variables would have after given stages of an execution. Nothing is stored.',
    query: {
      executionId: maybeText.describe('Takes precedence over the id in the path.'),
      requisiteStageRefIds: maybeText.describe(
        'Stages whose outputs may be used, comma-separated.',
      ),
      spelVersion: maybeText.describe('v3 or v4'),
    },
    body: z.array(Variable),
    handle: evaluateVariables,
    answer: VariablesEvaluation,
  }),
]

export const expressionOperations: Operation[] = [...ofExecution, ...ofStages]

async function evaluate(request: OperationRequest, wanted: unknown): Promise<unknown> {
  if (typeof wanted !== 'string') {
    throw new GatewayError(
      'MISSING_PARAMETER',
      'Name the expression: as the body, in the field "expression", or in the query.',
    )
  }
  const id = request.path['id'] as string
  return request
    .json('orca', {
      path: pathTo`/pipelines/${id}/evaluateExpression`,
      query: { expression: wanted },
    })
    .catch((error) => {
      if (error instanceof GatewayError && error.status === 404)
        throw new GatewayError('NOT_FOUND', describeUnknownExecution(request), error.details)
      throw error
    })
}

function expressionOf({ body, search }: OperationRequest): unknown {
  if (typeof body === 'string') return body
  return isObject(body) && body['expression'] !== undefined
    ? body['expression']
    : search.get('expression')
}

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
