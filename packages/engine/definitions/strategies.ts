/** Deployment strategies: pipelines in a collection of their own, with fewer rules (docs/contracts/definitions.md#strategies). */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { parseDocument } from '@fairlead/base/stores/document-store.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import { sendList } from '@fairlead/ports/requests/slices.ts'
import { isUnchanged } from '@fairlead/ports/requests/unchanged.ts'
import type { FastifyInstance } from 'fastify'
import { maskDefinition } from '../pipelines/trigger-secrets.ts'
import { checkSaver, type Writer, writerOf } from './authorization.ts'
import type { Definitions } from './collections.ts'
import { noteHeld } from './held.ts'
import { inOrder } from './pipeline-order.ts'
import {
  checkBounds,
  checkNameIsFree,
  checkPipelineTypes,
  checkPlace,
  checkStrictly,
  nameTaken,
  type PipelineBody,
  toDocument,
  withStoredSecrets,
} from './pipeline-rules.ts'
import { pipelineSetRoutes } from './pipeline-set.ts'
import { checkSameId, sendAll, storedAt } from './requests.ts'

export function strategyRoutes(app: FastifyInstance, definitions: Definitions): void {
  const { strategies, write } = definitions
  pipelineSetRoutes(app, definitions, 'strategies')

  app.get('/strategies', (_request, reply) => sendAll(reply, strategies))
  app.get('/strategies/:application', async (request, reply) => {
    if (isUnchanged(request, reply, strategies.version())) return reply
    const texts = strategies.textsOfApplication(pathValue(request, 'application'))
    return sendList(
      reply,
      inOrder(await flatMapInTurns(texts, (text) => [maskDefinition(parseDocument(text))])),
    )
  })

  app.post('/strategies', async (request) => {
    const writer = await writerOf(definitions, request)
    const body = checkPipelineTypes(request.body)
    await checkStrictly(definitions, 'strategy', body)
    write(() => {
      checkSaver(writer, definitions, strategies, body)
      if (!body.id) checkExactNameIsFree(definitions, body)
      save(definitions, body, writer)
    })
  })
  app.put('/strategies/:id', async (request) => {
    const writer = await writerOf(definitions, request)
    const body = checkPipelineTypes(request.body)
    await checkStrictly(definitions, 'strategy', body)
    return write(() => {
      checkSameId(body.id ?? '', pathValue(request, 'id'))
      storedAt(request, 'id', strategies, 'strategy with the id')
      checkSaver(writer, definitions, strategies, body)
      checkPlace(definitions, strategies, body)
      checkNameIsFree(strategies, body, 'strategy')
      return save(definitions, body, writer)
    })
  })
}

function save(definitions: Definitions, sent: PipelineBody, writer: Writer): JsonObject {
  const { strategies } = definitions
  checkPlace(definitions, strategies, sent)
  const body = withStoredSecrets(strategies, sent)
  checkBounds(definitions, body)
  const strategy: JsonObject = { ...toDocument(strategies, body), strategy: true }
  const key = foldName(String(strategy['id']))
  noteHeld(definitions, writer, strategy, strategies.get(key))
  return strategies.put(key, strategy, writer.user)
}

/** A strategy that is sent without id may differ from another in case only. */
function checkExactNameIsFree({ strategies }: Definitions, body: PipelineBody): void {
  const name = (body.name ?? '').trim()
  const application = body.application ?? ''
  const other = strategies.named(name, application).find((each) => each['name'] === name)
  if (other !== undefined) throw nameTaken('strategy', name, other)
}
