/** Executions of the embedded engine, for other capabilities and for its routes. */
import { shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { Executions } from '@fairlead/ports/executions.ts'
import type { Engine } from './engine.ts'
import { isComplete } from './statuses.ts'
import { preparePipeline, recordFailure } from './submission/prepare-pipeline.ts'
import { checkParentReadable } from './submission/trigger.ts'

export function executionsOf(engine: Engine): Executions {
  return {
    runsOtherStages: false,
    async start(definition, stored, as) {
      await startPipeline(definition, as, engine, { noteStored: stored })
    },
    recordFailure: (definition, problem, stored, as) =>
      recordFailedStart({ ...definition, errorMessage: problem }, as, engine, stored),
    async plan(definition, as) {
      return startPipeline(planOf(definition), as, engine)
    },
    isRunning(id) {
      const execution = engine.options.store.load(id)
      return execution !== undefined && !isComplete(execution.status)
    },
    noteChange: (id) => engine.noteChange(id),
  }
}

const toStart = shape({
  executionId: textOf,
  application: textOf,
  trigger: (value) => value,
  plan: isTrue,
})

/** A request to expand a template, for which nothing has arrived yet. */
export function planOf(definition: JsonObject): JsonObject {
  return { ...definition, type: 'templatedPipeline', plan: true, resolveArtifacts: false }
}

/**
 * @param noteStored Called in the transaction that stores the execution
 * @param definition As it is stored, where that is known
 * @returns the path of the execution, or the processed definition of a plan
 * @throws {PortError}
 */
export async function startPipeline(
  body: unknown,
  caller: Caller,
  engine: Engine,
  { noteStored, definition }: { noteStored?: () => void; definition?: JsonObject } = {},
): Promise<JsonObject> {
  const { options } = engine
  const { executionId, application, trigger, plan } = toStart(body)
  const known = executionId === undefined ? undefined : options.store.load(executionId)
  if (known?.type === 'PIPELINE' && known.application === application) {
    noteStored?.()
    return { ref: `/pipelines/${known.id}` }
  }
  if (known !== undefined)
    throw new PortError(400, '"executionId" is taken. Leave it out, and the engine makes one.')
  await checkParentReadable(trigger, caller, options)
  const prepared = await preparePipeline(body, caller, options, definition)
  if (prepared.kind === 'plan') return prepared.definition
  if (prepared.kind === 'failed') {
    // A plan has requested no run that could be shown as failed.
    if (!plan) engine.transact((unit) => unit.record(prepared.execution))
    throw new PortError(400, prepared.message)
  }
  return { ref: `/pipelines/${engine.submit(prepared.execution, noteStored).id}` }
}

/** @throws {PortError} */
export async function recordFailedStart(
  body: JsonObject,
  caller: Caller,
  engine: Engine,
  stored?: () => void,
): Promise<void> {
  const { options } = engine
  await checkParentReadable(body['trigger'], caller, options)
  const execution = recordFailure(body, String(body['errorMessage'] ?? ''), caller, options)
  engine.transact((unit) => {
    stored?.()
    unit.record(execution)
  })
}
