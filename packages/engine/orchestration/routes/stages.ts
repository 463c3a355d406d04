/** One stage of an execution: changing its context, restarting it (docs/contracts/orchestration.md#stage-operations). */
import { parseJson } from '@fairlead/base/json/json.ts'
import { list, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { describeChoice, nearestName } from '@fairlead/base/names/edit-distance.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { stageFields } from '@fairlead/model/stage-types/common.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { FastifyInstance } from 'fastify'
import { executionFactor } from '../../limits.ts'
import type { Engine } from '../engine.ts'
import { executionView } from '../execution-view.ts'
import { awaitUndoing } from '../follow-ups.ts'
import { graphOf } from '../machine/graph.ts'
import { patchStage } from '../machine/operations.ts'
import type { Execution, Stage } from '../model.ts'
import { restartStage } from '../restart-stage.ts'
import { isJudgment, judgments, mayJudge, requiredRoles } from '../stages/manual-judgment.ts'
import { typeNameOf } from '../stages/stage-type.ts'
import { isComplete } from '../statuses.ts'
import { formatStored } from '../store.ts'
import { modifierOf, objectAnswer, sendRecord } from './answers.ts'

interface StagePath {
  Params: { id: string; stageId: string }
}

export function stageRoutes(app: FastifyInstance, engine: Engine): void {
  app.patch<StagePath>('/pipelines/:id/stages/:stageId', async (request, reply) => {
    const changes = objectAnswer(request.body)
    const modifier = modifierOf(request)
    await checkMayJudge(
      requireStage(engine.read(request.params.id, 'PIPELINE'), request.params.stageId),
      modifier.user,
      engine,
    )
    const execution = engine.transact((unit) => {
      const execution = unit.require(request.params.id, 'PIPELINE')
      const stage = requireStage(execution, request.params.stageId)
      const { canManuallySkip } = readFields(stageFields, stage.context)
      if (toChanges(changes).manualSkip && !isComplete(stage.status) && !canManuallySkip) {
        throw new PortError(405, `Stage "${stage.name}" does not allow to be skipped.`)
      }
      checkJudgment(stage, changes)
      checkRoom(execution, changes, engine)
      patchStage({ execution, stage, turn: unit.turn }, changes, modifier)
      return execution
    })
    return sendRecord(reply, executionView(execution))
  })

  app.put<StagePath>('/pipelines/:id/stages/:stageId/restart', async (request, reply) => {
    const definition = objectAnswer(request.body)
    const by = modifierOf(request)
    const access = await engine.options.accessOf(by.user)
    await checkUndone(engine, request.params)
    const before = engine.transact((unit) => {
      const execution = unit.require(request.params.id, 'PIPELINE')
      const stage = requireStage(execution, request.params.stageId)
      const before = parseJson(formatStored(executionView(execution)))
      restartStage(unit, { execution, stage, by, access, definition })
      return before
    })
    return sendRecord(reply, before)
  })
}

/** A restart forgets what the stage had begun. @throws {PortError} 409 while that is being undone */
async function checkUndone(
  engine: Engine,
  { id, stageId }: { readonly id: string; readonly stageId: string },
): Promise<void> {
  const execution = engine.read(id, 'PIPELINE')
  const graph = graphOf(execution)
  const stage = graph.topLevelOf(requireStage(execution, stageId))
  const inside = [stage, ...graph.descendantsOf(stage)].map((each) => each.id)
  const left = await awaitUndoing(engine, id, new Set(inside))
  // One that has failed already is given up.
  if (left.some(({ attempts }) => attempts === 0))
    throw new PortError(
      409,
      `What the stage "${stage.name}" had begun before it was cancelled is still being undone; restart it in a moment.`,
    )
}

/**
 * With roles required, users without one change nothing of the stage: not its judgment, and not who may judge.
 *
 * @throws {PortError} 403. While the permission service cannot be asked, the stage itself decides later.
 */
async function checkMayJudge(
  stage: Stage,
  user: string,
  { options: { ports, log } }: Engine,
): Promise<void> {
  if (typeNameOf(stage) !== 'manualJudgment' || isComplete(stage.status)) return
  const isAllowed = await mayJudge(stage.context, user, ports.rights.viewOf).catch(
    (error: unknown) => {
      log.warn(
        { err: error, user },
        'roles of a judgment cannot be looked up; its stage decides when they can',
      )
      return true
    },
  )
  const roles = requiredRoles(stage.context)
  // Roles that are expressions are known when the stage runs.
  if (isAllowed || roles.some((role) => role.includes('${'))) return
  const message = `The judgment "${stage.name}" needs one of the roles ${roles.join(', ')}; ${user} has none of them.`
  throw new PortError(403, message, { exception: 'AccessDenied' })
}

const toChanges = shape({
  manualSkip: isTrue,
  judgmentStatus: (value) => String(value ?? ''),
  judgmentInput: textOf,
  judgmentComment: (value) => value,
})

const toOffered = shape({ judgmentInputs: list(shape({ value: String })) })

const judgmentKeys = ['judgmentStatus', 'judgmentInput', 'judgmentInputs', 'judgmentComment']
/** Characters of a comment, which messages and the audit log have as well. */
const longestComment = 2000

/** @throws {PortError} 400 for a judgment that would decide nothing: its author would wait for an effect in vain */
function checkJudgment(stage: Stage, changes: JsonObject): void {
  if (typeNameOf(stage) !== 'manualJudgment') return
  const misspelt = Object.keys(changes).find(
    (key) => !judgmentKeys.includes(key) && nearestName(judgmentKeys, key) !== undefined,
  )
  if (misspelt !== undefined)
    throw new PortError(400, describeChoice(misspelt, 'a field of a judgment', judgmentKeys))
  const { judgmentStatus: judgment, judgmentInput: input, judgmentComment } = toChanges(changes)
  if (
    String(judgmentComment ?? '').length > longestComment ||
    typeof (judgmentComment ?? '') !== 'string'
  )
    throw new PortError(
      400,
      `"judgmentComment" must be a text of at most ${longestComment} characters.`,
    )
  const offered = toOffered(stage.context).judgmentInputs.map(({ value }) => value)
  if (input !== undefined && offered.length > 0 && !offered.includes(input))
    throw new PortError(
      400,
      `"judgmentInput": ${describeChoice(input, 'an answer of this judgment', offered)}`,
    )
  if (judgment === '' || isJudgment(judgment)) return
  throw new PortError(400, `"judgmentStatus": ${describeChoice(judgment, 'a judgment', judgments)}`)
}

/** @throws {PortError} 413 when the record would grow beyond its bounds */
function checkRoom(
  execution: Execution,
  changes: JsonObject,
  { options: { store, limits } }: Engine,
): void {
  const size = store.sizeOf(execution) + formatStored(changes).length
  if (size <= executionFactor * limits.bytes) return
  throw new PortError(
    413,
    `The record of the execution would have ${size} characters. Send less, or raise pipelines.max-size.`,
  )
}

/** Stages that a message names. */
const mostNamed = 10

/** @throws {PortError} 404 */
export function requireStage(execution: Execution, id: string): Stage {
  const stage = graphOf(execution).find(id)
  if (stage !== undefined) return stage
  const known = execution.stages.slice(0, mostNamed).map((each) => `${each.id} (${each.name})`)
  const more = execution.stages.length > mostNamed ? ', …' : ''
  throw new PortError(
    404,
    `The execution ${execution.id} has no stage with the id ${id}. Its stages are ${known.join(', ')}${more}.`,
  )
}
