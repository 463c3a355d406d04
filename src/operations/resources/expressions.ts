/** Evaluates an expression against an execution. The specification lists the address under seven methods; all evaluate. */

import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { pathTo } from '../../http/encode-path.ts'
import { isObject } from '../../json/values.ts'
import { readsExecution } from '../demands.ts'
import { Evaluation } from '../models/executions.ts'
import { DirectAnswer, type Method, type Operation, type OperationRequest } from '../operation.ts'
import { AnyObject, text } from '../schemas.ts'

const path = '/pipelines/{id}/evaluateExpression'
const methods: readonly Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const expression = text.describe('In the expression language of pipelines, percent-encoded.')
const ExpressionRequest = z.looseObject({ expression }).meta({ id: 'ExpressionRequest' })

const shared = {
  section: '4.11',
  path,
  summary: 'Evaluate an expression',
  answer: Evaluation,
  errors: { 404: 'There is no execution with this id.' },
} satisfies Partial<Operation>

export const expressionOperations: Operation[] = methods.map((method) => {
  const id = `evaluateExpressionForExecutionUsing${method}`
  switch (method) {
    case 'POST':
      return {
        ...shared,
        id,
        method,
        demands: readsExecution,
        description: 'The expression is the body as text, the field `expression` of a JSON body, or the query parameter.',
        query: { expression: expression.optional() },
        body: { schema: z.union([z.string(), AnyObject]), shown: ExpressionRequest, required: false, text: true },
        handle: (request) => evaluate(request, expressionOf(request)),
      }
    case 'OPTIONS':
      return {
        ...shared,
        id,
        method,
        demands: readsExecution,
        description: 'With an expression: evaluates it. Without: lists the methods. Answers to preflights never come from here.',
        query: { expression: expression.optional() },
        handle: async (request) =>
          request.query['expression'] === undefined
            ? new DirectAnswer(200, undefined, { allow: methods.join(', ') })
            : evaluate(request, request.query['expression']),
      }
    default:
      return {
        ...shared,
        id,
        method,
        demands: readsExecution,
        query: { expression },
        forward: { service: 'orca', method: 'GET', path, query: ['expression'] },
        on404: { message: unknownExecution },
      }
  }
})

async function evaluate(request: OperationRequest, wanted: unknown): Promise<unknown> {
  if (typeof wanted !== 'string') {
    throw new GatewayError('MISSING_PARAMETER', 'Name the expression: as the body, in the field "expression", or in the query.')
  }
  const id = request.path['id'] as string
  return request
    .json('orca', { path: pathTo`/pipelines/${id}/evaluateExpression`, query: { expression: wanted } })
    .catch((error) => {
      if (error instanceof GatewayError && error.status === 404)
        throw new GatewayError('NOT_FOUND', unknownExecution(request), error.details)
      throw error
    })
}

function expressionOf({ body, search }: OperationRequest): unknown {
  if (typeof body === 'string') return body
  return isObject(body) && body['expression'] !== undefined ? body['expression'] : search.get('expression')
}

function unknownExecution(request: OperationRequest): string {
  return `There is no execution with the id "${request.path['id']}".`
}
