/**
 * Evaluation of expressions against an execution, and the list of functions.
 *
 * @see docs/contracts/orchestration.md#expression-endpoints
 */
import type { FastifyInstance } from 'fastify'
import { isObject, type JsonObject } from '../../../json/values.ts'
import { BackendError } from '../../backend.ts'
import type { Engine } from '../engine.ts'
import { createExpressionMeter } from '../expressions/evaluator.ts'
import { expressionFunctions } from '../expressions/functions.ts'
import { executionScope } from '../expressions/scopes.ts'
import type { EvaluationPlace } from '../expressions/stage-evaluation.ts'
import { type ExpressionSummary, evaluateTree } from '../expressions/template.ts'
import { evaluateVariables } from '../expressions/variables.ts'
import { createStage } from '../machine/new-stage.ts'
import type { ExecutionPlace, Stage } from '../model.ts'
import { maskExecution } from '../secrets.ts'
import { sendRecord } from './answers.ts'
import { requireStage } from './stages.ts'

const evaluators = [
  {
    versionKey: 'v3',
    description: 'Evaluates the whole definition at the start, and what is left when a stage begins.',
    deprecated: false,
  },
  { versionKey: 'v4', description: 'Evaluates a stage when it begins, and variables one after another.', deprecated: false },
]

export function expressionRoutes(app: FastifyInstance, engine: Engine): void {
  const { now } = engine.options

  app.get<{ Params: { id: string }; Querystring: { expression?: string } }>(
    '/pipelines/:id/evaluateExpression',
    (request, reply) => {
      const execution = maskExecution(engine.read(request.params.id, 'PIPELINE'))
      return sendRecord(reply, evaluate({ execution }, request.query.expression, now()))
    },
  )

  app.get<{ Params: { id: string; stageId: string }; Querystring: { expression?: string } }>(
    '/pipelines/:id/:stageId/evaluateExpression',
    (request, reply) => {
      const execution = maskExecution(engine.read(request.params.id, 'PIPELINE'))
      const stage = requireStage(execution, request.params.stageId)
      return sendRecord(reply, evaluate({ execution, stage }, request.query.expression, now()))
    },
  )

  app.post<{ Params: { id: string }; Querystring: { requisiteStageRefIds?: string; spelVersion?: string } }>(
    '/pipelines/:id/evaluateVariables',
    (request, reply) => {
      const execution = maskExecution(engine.read(request.params.id, 'PIPELINE'))
      const version = request.query.spelVersion ?? execution.spelEvaluator
      if (version !== 'v3' && version !== 'v4') throw new BackendError(400, `"${version}" is not an evaluator; use v3 or v4.`)
      const variables = request.body
      if (!Array.isArray(variables) || !variables.every(isObject)) {
        throw new BackendError(400, 'The body must be an array of objects with "key" and "value".')
      }
      const requisites = (request.query.requisiteStageRefIds ?? '').split(/[,;\s]+/).filter((each) => each !== '')
      const stage = standIn(requisites)
      const meter = createExpressionMeter()
      const place = { execution: { ...execution, stages: [...execution.stages, stage] }, stage, now: now(), meter }
      const { result, summary } = version === 'v4' ? evaluateVariables(variables, place) : evaluateTogether(variables, place)
      return sendRecord(reply, { result, detail: detailOf(summary) })
    },
  )

  app.get('/capabilities/expressions', () => ({
    functions: expressionFunctions.map(({ name, description, parameters }) => ({ name, description, parameters })),
    spelEvaluators: evaluators,
  }))
}

function evaluate(place: ExecutionPlace, expression: string | undefined, now: number): JsonObject {
  if (expression === undefined) throw new BackendError(400, 'The query parameter "expression" is missing.')
  const { value, summary } = evaluateTree<unknown>(expression, { scope: executionScope(place), now })
  return { result: value, detail: detailOf(summary) }
}

function detailOf(summary: ExpressionSummary): ExpressionSummary | undefined {
  return Object.keys(summary).length > 0 ? { ...summary } : undefined
}

/** A stage that would require the given ones, so that their outputs are in scope. */
function standIn(requisiteStageRefIds: string[]): Stage {
  return createStage({ id: '', refId: '', type: 'evaluateVariables', requisiteStageRefIds, context: {} })
}

function evaluateTogether(
  variables: readonly JsonObject[],
  place: EvaluationPlace,
): { result: JsonObject[]; summary: ExpressionSummary } {
  const scope = executionScope(place)
  const { value, summary } = evaluateTree([...variables], { scope, now: place.now, meter: place.meter })
  return { result: value, summary }
}
