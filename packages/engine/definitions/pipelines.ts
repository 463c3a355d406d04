/** Routes of pipelines: lists, single reads, saves, renames and the order within an application. */

import { setImmediate } from 'node:timers/promises'
import { isTrue, type JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { parseDocument } from '@fairlead/base/stores/document-store.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import type { BatchReport, TriggeredBy } from '@fairlead/ports/definitions.ts'
import {
  pathValue,
  queryCount,
  queryFlag,
  queryValues,
} from '@fairlead/ports/requests/request-values.ts'
import { sendList } from '@fairlead/ports/requests/slices.ts'
import { isUnchanged } from '@fairlead/ports/requests/unchanged.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { maskDefinition } from '../pipelines/trigger-secrets.ts'
import { checkSaver, type Writer, writerOf } from './authorization.ts'
import type { Definitions } from './collections.ts'
import { createTriggersOf, mayBe, type TriggersOf } from './effective-triggers.ts'
import { noteHeld, releaseHeld } from './held.ts'
import { keysOfFollowers, keysOfTriggered } from './marks.ts'
import { saveBatch } from './pipeline-batch.ts'
import { inOrder, reindexed } from './pipeline-order.ts'
import { checkBatch, checkPipeline, checkPipelineTypes, checkStrictly } from './pipeline-rules.ts'
import { namedByPath, pipelineSetRoutes } from './pipeline-set.ts'
import { checkSameId, missingDefinition, sendAll, sendStored } from './requests.ts'

export function pipelineRoutes(app: FastifyInstance, definitions: Definitions): void {
  pipelineReads(app, definitions)
  pipelineWrites(app, definitions)
  pipelineSetRoutes(app, definitions, 'pipelines')
}

function pipelineReads(app: FastifyInstance, definitions: Definitions): void {
  const { pipelines } = definitions

  app.get('/pipelines', async (request, reply) => {
    const filter = filterOf(request)
    if (!isFiltering(filter)) return sendAll(reply, pipelines)
    return reply.send(await filterPipelines(definitions, filter))
  })

  app.get('/pipelines/:application', async (request, reply) => {
    if (isUnchanged(request, reply, pipelines.version())) return reply
    return sendOfApplication(
      request,
      reply,
      pipelines.textsOfApplication(pathValue(request, 'application')),
    )
  })

  app.get('/pipelines/:application/name/:name', (request) => namedByPath(request, pipelines))

  app.get('/pipelines/:id/get', (_request, reply) =>
    sendStored(reply, 'id', pipelines, 'pipeline with the id'),
  )

  app.get('/pipelines/triggeredBy/:id/:status', (request) =>
    triggeredBy(definitions, pathValue(request, 'id'), pathValue(request, 'status')),
  )
}

async function filterPipelines(
  definitions: Definitions,
  filter: TriggerFilter,
): Promise<JsonObject[]> {
  const { pipelines, templates } = definitions
  const triggersOf = createTriggersOf(templates)
  const { triggerTypes: types } = filter
  if (types !== undefined)
    return readThose(definitions, keysOfTriggered(definitions, { types }), (pipeline) =>
      passes(pipeline, filter, triggersOf),
    )
  const found: JsonObject[] = []
  for (const texts of pipelines.portions()) {
    found.push(
      ...texts.map(parseDocument).filter((pipeline) => passes(pipeline, filter, triggersOf)),
    )
    await setImmediate()
  }
  return found
}

/** Pipelines of the keys, in their order. */
export function readThose(
  { pipelines }: Definitions,
  keys: readonly string[],
  isWanted: (pipeline: JsonObject) => boolean = () => true,
): Promise<JsonObject[]> {
  return flatMapInTurns(keys, (key) => {
    const pipeline = pipelines.get(key)
    return pipeline !== undefined && isWanted(pipeline) ? [pipeline] : []
  })
}

/** Pipelines with a trigger that waits for something, and others whose expressions may turn out so. */
export function triggeredPipelines(
  definitions: Definitions,
  wanted: TriggeredBy,
): Promise<JsonObject[]> {
  return readThose(definitions, keysOfTriggered(definitions, wanted))
}

function pipelineWrites(app: FastifyInstance, definitions: Definitions): void {
  const staleCheckOf = (request: FastifyRequest) => queryFlag(request, 'staleCheck') ?? false

  app.post('/pipelines', async (request) =>
    savePipeline(definitions, await writerOf(definitions, request), request.body, {
      staleCheck: staleCheckOf(request),
    }),
  )
  app.put('/pipelines/:id', async (request) =>
    savePipeline(definitions, await writerOf(definitions, request), request.body, {
      staleCheck: staleCheckOf(request),
      id: pathValue(request, 'id'),
    }),
  )
  app.put('/pipelines/:id/release', async (request) =>
    releaseHeld(definitions, await writerOf(definitions, request), pathValue(request, 'id')),
  )
  app.post('/pipelines/batchUpdate', async (request) =>
    savePipelines(
      definitions,
      await writerOf(definitions, request),
      request.body,
      staleCheckOf(request),
    ),
  )
}

/** @param id Of the stored one that is replaced */
export async function savePipeline(
  definitions: Definitions,
  writer: Writer,
  given: unknown,
  { staleCheck, id }: { readonly staleCheck: boolean; readonly id?: string },
): Promise<JsonObject> {
  const { pipelines } = definitions
  const body = checkPipelineTypes(given)
  if (id !== undefined) checkSameId(body.id ?? '', id)
  const check = () => {
    if (id !== undefined && !pipelines.has(foldName(id)))
      throw missingDefinition(`pipeline with the id "${id}"`)
    checkSaver(writer, definitions, pipelines, body)
  }
  check()
  // Before the transaction, since other requests have their turn meanwhile.
  await checkStrictly(definitions, 'pipeline', body)
  return definitions.write(() => {
    check()
    const pipeline = checkPipeline(definitions, body, { staleCheck, user: writer.user })
    const key = foldName(String(pipeline['id']))
    noteHeld(definitions, writer, pipeline, pipelines.get(key))
    return pipelines.put(key, pipeline, writer.user)
  })
}

export function savePipelines(
  definitions: Definitions,
  writer: Writer,
  given: unknown,
  staleCheck: boolean,
): Promise<BatchReport> {
  return saveBatch(definitions, checkBatch(definitions, given), {
    staleCheck,
    user: writer.user,
    checkSaver: (body) => checkSaver(writer, definitions, definitions.pipelines, body),
    noteHeld: (pipeline, before) => noteHeld(definitions, writer, pipeline, before),
  })
}

function filterOf(request: FastifyRequest): TriggerFilter {
  const types = queryValues(request, 'triggerTypes')
    .flatMap((list) => list.split(','))
    .filter((type) => type !== '')
  return {
    enabledPipelines: queryFlag(request, 'enabledPipelines'),
    enabledTriggers: queryFlag(request, 'enabledTriggers'),
    triggerTypes: types.length === 0 ? undefined : types,
  }
}

/** Filter, order, limit, then number: the index counts what is in the answer. */
async function sendOfApplication(
  request: FastifyRequest,
  reply: FastifyReply,
  texts: readonly string[],
): Promise<FastifyReply> {
  const enabled = queryFlag(request, 'enabledPipelines')
  const namePart = (queryValues(request, 'pipelineNameFilter')[0] ?? '').toLowerCase()
  const limit = queryCount(request, 'pipelineLimit')
  const kept = await flatMapInTurns(texts, (text) => {
    const pipeline = parseDocument(text)
    const isWanted =
      (enabled === undefined || isEnabled(pipeline) === enabled) &&
      String(pipeline['name']).toLowerCase().includes(namePart)
    return isWanted ? [maskDefinition(pipeline)] : []
  })
  return sendList(reply, reindexed(inOrder(kept).slice(0, limit)))
}

interface TriggerFilter {
  enabledPipelines: boolean | undefined
  enabledTriggers: boolean | undefined
  /** Exact trigger types; undefined means any. */
  triggerTypes: readonly string[] | undefined
}

function isEnabled(pipeline: JsonObject): boolean {
  return !readPipeline(pipeline).isDisabled
}

function isFiltering(filter: TriggerFilter): boolean {
  return Object.values(filter).some((wanted) => wanted !== undefined)
}

/** Whether a list has the pipeline; triggers that an instance of a template inherits count like its own. */
function passes(pipeline: JsonObject, filter: TriggerFilter, triggersOf: TriggersOf): boolean {
  if (filter.enabledPipelines !== undefined && isEnabled(pipeline) !== filter.enabledPipelines)
    return false
  return triggersOf(pipeline).some(
    (trigger) =>
      (filter.enabledTriggers === undefined ||
        mayBe(trigger['enabled'], (value) => isTrue(value) === filter.enabledTriggers)) &&
      (filter.triggerTypes === undefined ||
        mayBe(trigger['type'], (value) => filter.triggerTypes?.includes(String(value)) === true)),
  )
}

/** Enabled pipelines with an enabled trigger, own or inherited, on pipeline `id` ending with `status`. */
export function triggeredBy(
  definitions: Definitions,
  id: string,
  status: string,
): Promise<JsonObject[]> {
  const triggersOf = createTriggersOf(definitions.templates)
  const parent = definitions.pipelines.field(foldName(id), 'id') ?? id
  return readThose(
    definitions,
    keysOfFollowers(definitions, id),
    (pipeline) =>
      isEnabled(pipeline) && triggersOf(pipeline).some((trigger) => fires(trigger, parent, status)),
  )
}

function fires(trigger: JsonObject, parent: unknown, status: string): boolean {
  const statuses = trigger['status']
  return (
    mayBe(trigger['enabled'], isTrue) &&
    mayBe(trigger['type'], (type) => type === 'pipeline') &&
    mayBe(trigger['pipeline'], (pipeline) => pipeline === parent) &&
    (Array.isArray(statuses)
      ? statuses.some((each) => mayBe(each, (word) => word === status))
      : mayBe(statuses, () => false))
  )
}
