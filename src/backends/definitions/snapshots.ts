/** Snapshots of the infrastructure of an application in one account; the store keeps all. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { parseJson } from '../../json/json.ts'
import type { JsonObject } from '../../json/values.ts'
import { Snapshot } from '../../operations/models/applications.ts'
import { foldName } from '../document-store.ts'
import { checkApplicationName } from './application-names.ts'
import { checkWriter } from './authorization.ts'
import type { Definitions } from './collections.ts'
import {
  checkBody,
  incomplete,
  missing,
  optionalText,
  param,
  queryCount,
  refusal,
  sendHistory,
  sendText,
  userOf,
} from './requests.ts'

const SnapshotFields = Snapshot.extend({
  id: optionalText,
  application: optionalText,
  account: optionalText,
  configLang: z.literal('TERRAFORM').nullish(),
})

/** The id joins both names with a hyphen, which either may hold: `a-b` and `c` are not `a` and `b-c`. */
function isOf(snapshot: JsonObject, application: string): boolean {
  return foldName(String(snapshot['application'])) === foldName(application)
}

export function snapshotRoutes(app: FastifyInstance, definitions: Definitions): void {
  const { snapshots, write } = definitions

  app.get('/snapshots/:id', (request, reply) =>
    sendText(reply, snapshots.text(foldName(param(request, 'id'))), `snapshot "${param(request, 'id')}"`),
  )

  app.get('/snapshots/:id/history', (request, reply) => sendHistory(request, reply, snapshots, foldName(param(request, 'id'))))

  app.get('/snapshots/:id/:timestamp', (request) => {
    const timestamp = param(request, 'timestamp')
    if (!/^\d{1,15}$/.test(timestamp)) throw refusal(`"${timestamp}" is not a timestamp in milliseconds.`)
    const versions = snapshots.history(foldName(param(request, 'id')), queryCount(request, 'limit') ?? 20)
    const found = versions
      .map((text) => parseJson(text) as JsonObject)
      .find((version) => version['timestamp'] === Number(timestamp))
    if (found === undefined) throw missing(`snapshot "${param(request, 'id')}" of ${timestamp}`)
    return found
  })

  app.post('/snapshots', (request, reply) => {
    const body = checkBody(SnapshotFields, request.body)
    const { application, account } = body
    if (!application?.trim() || !account?.trim()) throw incomplete('A snapshot needs "application" and "account".')
    checkWriter(request, application)
    checkApplicationName(definitions, application)
    const id = `${application}-${account}`
    write(() => {
      const other = snapshots.get(foldName(id))
      if (other !== undefined && !isOf(other, application)) {
        throw refusal(
          `The snapshots "${id}" are those of the account ${other['account']} of the application ${other['application']}.`,
        )
      }
      snapshots.put(foldName(id), { ...body, id }, userOf(request))
    })
    return reply.send()
  })
}
