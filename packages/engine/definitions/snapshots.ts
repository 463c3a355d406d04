/** Snapshots of the infrastructure of an application in one account; the store keeps all. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { parseDocument } from '@fairlead/base/stores/document-store.ts'
import { SnapshotModel } from '@fairlead/model/environments/application-models.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { pathValue, queryCount } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { checkApplicationName } from './application-names.ts'
import { checkWriter, type Writer, writerOf } from './authorization.ts'
import type { Definitions } from './collections.ts'
import {
  incomplete,
  keyIn,
  missingDefinition,
  optionalTextField,
  refusal,
  sendHistory,
  sendStored,
} from './requests.ts'

const SnapshotFields = SnapshotModel.extend({
  id: optionalTextField,
  application: optionalTextField,
  account: optionalTextField,
  configLang: z.literal('TERRAFORM').nullish(),
})

export function snapshotRoutes(app: FastifyInstance, definitions: Definitions): void {
  const { snapshots } = definitions

  app.get('/snapshots/:id', (_request, reply) => sendStored(reply, 'id', snapshots, 'snapshot'))

  app.get('/snapshots/:id/history', (_request, reply) => sendHistory(reply, 'id', snapshots))

  app.get('/snapshots/:id/:timestamp', (request) => {
    const timestamp = pathValue(request, 'timestamp')
    if (!/^\d{1,15}$/.test(timestamp))
      throw refusal(`"${timestamp}" is not a timestamp in milliseconds.`)
    const found = snapshotOf(
      definitions,
      keyIn(request),
      Number(timestamp),
      queryCount(request, 'limit') ?? 20,
    )
    if (found === undefined)
      throw missingDefinition(`snapshot "${pathValue(request, 'id')}" of ${timestamp}`)
    return found
  })

  app.post('/snapshots', async (request) =>
    saveSnapshot(definitions, await writerOf(definitions, request), request.body),
  )
}

export function snapshotOf(
  { snapshots }: Definitions,
  key: string,
  timestamp: number,
  limit: number,
): JsonObject | undefined {
  return snapshots
    .history(key, limit)
    .map(parseDocument)
    .find((version) => version['timestamp'] === timestamp)
}

export function saveSnapshot(definitions: Definitions, writer: Writer, given: unknown): void {
  const { snapshots, write } = definitions
  const body = checkBody(SnapshotFields, given)
  const { application, account } = body
  if (!application?.trim() || !account?.trim())
    throw incomplete('A snapshot needs "application" and "account".')
  checkWriter(writer, application)
  checkApplicationName(definitions, application)
  const id = `${application}-${account}`
  write(() => {
    const other = snapshots.get(foldName(id))
    // The id joins both names with a hyphen, which either may hold: `a-b` and `c` are not `a` and `b-c`.
    if (other !== undefined && foldName(String(other['application'])) !== foldName(application)) {
      throw refusal(
        `The snapshots "${id}" are those of the account ${other['account']} of the application ${other['application']}.`,
      )
    }
    snapshots.put(foldName(id), { ...body, id }, writer.user)
  })
}
