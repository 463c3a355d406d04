/**
 * Evaluation of expressions against an execution, and the list of functions.
 *
 * @see docs/contracts/orchestration.md#expression-endpoints
 */

import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
import { requiredQuery } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Engine } from '../engine.ts'
import { type AnswerSource, ExpressionAnswers } from '../expressions/answers.ts'
import { askElsewhere } from '../expressions/ask-elsewhere.ts'
import { createExpressionMeter } from '../expressions/evaluator.ts'
import { expressionFunctions } from '../expressions/functions.ts'
import { executionScope } from '../expressions/scopes.ts'
import type { EvaluationPlace } from '../expressions/stage-evaluation.ts'
import { type ExpressionSummary, evaluateTree } from '../expressions/template.ts'
import { evaluateVariables } from '../expressions/variables.ts'
import { createStage } from '../machine/new-stage.ts'
import type { ExecutionPlace } from '../model.ts'
import { maskExecution } from '../secrets.ts'
import { sendRecord } from './answers.ts'
import { requireStage } from './stages.ts'

const evaluators = [
  {
    versionKey: 'v3',
    description:
      'Evaluates the whole definition at the start, and what is left when a stage begins.',
    deprecated: false,
  },
  {
    versionKey: 'v4',
    description: 'Evaluates a stage when it begins, and variables one after another.',
    deprecated: false,
  },
]

interface AskedExpression {
  Params: { id: string; stageId?: string }
}

interface AskedVariables {
  Params: { id: string }
  Querystring: { requisiteStageRefIds?: string; spelVersion?: string }
}

export function expressionRoutes(app: FastifyInstance, engine: Engine): void {
  for (const path of [
    '/pipelines/:id/evaluateExpression',
    '/pipelines/:id/:stageId/evaluateExpression',
  ])
    app.get<AskedExpression>(path, async (request, reply) =>
      sendRecord(reply, await evaluateOne(request, engine)),
    )

  app.post<AskedVariables>('/pipelines/:id/evaluateVariables', async (request, reply) =>
    sendRecord(reply, await evaluateAll(request, engine)),
  )

  app.get('/capabilities/expressions', () => ({
    functions: expressionFunctions.map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    })),
    spelEvaluators: evaluators,
  }))
}

async function evaluateOne(
  request: FastifyRequest<AskedExpression>,
  engine: Engine,
): Promise<JsonObject> {
  const { id, stageId } = request.params
  const execution = maskExecution(engine.read(id, 'PIPELINE'))
  const place =
    stageId === undefined ? { execution } : { execution, stage: requireStage(execution, stageId) }
  const expression = requiredQuery(request, 'expression')
  const { value, summary } = await withAnswers(request, engine, place, (answers) =>
    evaluateTree<unknown>(expression, {
      scope: executionScope({ ...place, answers }),
      now: engine.options.now(),
    }),
  )
  return { result: value, detail: detailOf(summary) }
}

async function evaluateAll(
  request: FastifyRequest<AskedVariables>,
  engine: Engine,
): Promise<JsonObject> {
  const execution = maskExecution(engine.read(request.params.id, 'PIPELINE'))
  const { spelVersion: version = execution.spelEvaluator, requisiteStageRefIds = '' } =
    request.query
  if (version !== 'v3' && version !== 'v4')
    throw new PortError(400, `"${version}" is not an evaluator; use v3 or v4.`)
  const variables = request.body
  if (!Array.isArray(variables) || !variables.every(isObject)) {
    throw new PortError(400, 'The body must be an array of objects with "key" and "value".')
  }
  const required = requisiteStageRefIds.split(/[,;\s]+/).filter((each) => each !== '')
  // A stage that would require the given ones, so that their outputs are in scope.
  const stage = createStage({
    id: '',
    refId: '',
    type: 'evaluateVariables',
    requisiteStageRefIds: required,
    context: {},
  })
  const stages = [...execution.stages, stage]
  const place = {
    execution: { ...execution, stages },
    stage,
    now: engine.options.now(),
    meter: createExpressionMeter(),
  }
  const evaluate = version === 'v4' ? evaluateVariables : evaluateTogether
  const { result, summary } = await withAnswers(request, engine, place, (answers) =>
    evaluate(variables, { ...place, answers }),
  )
  return { result, detail: detailOf(summary) }
}

/** Evaluates again as long as expressions read something from elsewhere that is not there yet. */
async function withAnswers<T>(
  request: FastifyRequest,
  { options }: Engine,
  place: ExecutionPlace,
  work: (answers: AnswerSource) => T,
): Promise<T> {
  const known = new ExpressionAnswers(
    askElsewhere(options, () => trustedCallerOf(request).identity),
  )
  for (;;) {
    const answers = known.at(place, true)
    const result = work(answers)
    if (answers.pending.length === 0) return result
    await Promise.all(answers.pending)
  }
}

function detailOf(summary: ExpressionSummary): ExpressionSummary | undefined {
  return Object.keys(summary).length > 0 ? { ...summary } : undefined
}

function evaluateTogether(
  variables: readonly JsonObject[],
  place: EvaluationPlace,
): { result: JsonObject[]; summary: ExpressionSummary } {
  const scope = executionScope(place)
  const { value, summary } = evaluateTree([...variables], {
    scope,
    now: place.now,
    meter: place.meter,
  })
  return { result: value, summary }
}
