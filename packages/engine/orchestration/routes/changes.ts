/**
 * Changes of executions and tasks, for the event streams of the gateway: a snapshot, and a feed of lines.
 * No other orchestrator has these routes.
 */

import { definedOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type ExecutionChanges, type ExecutionVersion, summaryOf } from '../changes.ts'
import type { Engine } from '../engine.ts'

type ChangesQuery = Partial<Record<'id' | 'application' | 'since', string>>

const lineType = 'application/x-ndjson'
/** A gateway that reads more slowly than this much behind begins again. */
const maxUnreadBytes = 8 * 1024 * 1024
/** More than so many executions are read again as a list. */
const maxMissed = 100
/** Shows the gateway that the connection lives. */
const signMs = 10_000

export function changeRoutes(app: FastifyInstance, engine: Engine): void {
  /** The present state of one execution or task, or which executions of an application have changed since a version. */
  app.get<{ Querystring: ChangesQuery }>(
    '/changes',
    ({ query: { id, application = '', since } }) => {
      const version = engine.changes.version()
      if (id !== undefined) return { version, isComplete: true, changes: [stateOf(id, engine)] }
      if (since === undefined) return { version, isComplete: true, changes: [] }
      const missed = missedSince(since, application, engine)
      return { version, isComplete: missed !== undefined, changes: missed ?? [] }
    },
  )

  /** Every change from now on, a line each. The first line has the version before it. */
  app.get('/changes/feed', (_request, reply) => sendFeed(reply, engine))
}

function stateOf(id: string, { changes, options: { store } }: Engine): object {
  const found = store.load(id)
  if (found === undefined)
    throw new PortError(404, `There is no execution or task with the id ${id}.`)
  return {
    version: changes.versionOf(id),
    id,
    type: found.type,
    application: found.application,
    summary: summaryOf(found),
  }
}

/** Undefined: the whole list is to be read again. */
function missedSince(
  since: string,
  application: string,
  { changes, options: { store } }: Engine,
): object[] | undefined {
  const wanted = foldName(application)
  const missed = changes
    .since(since)
    ?.filter((one) => one.type === 'PIPELINE' && foldName(one.application) === wanted)
  if (missed === undefined || missed.length > maxMissed) return undefined
  return missed.map((change) => {
    const found = store.load(change.id)
    return describe(change, changes, found && summaryOf(found))
  })
}

function sendFeed(reply: FastifyReply, { changes, options: { commits } }: Engine): void {
  reply.hijack()
  const { raw } = reply
  // A connection that is closed already does not say so again.
  if (raw.destroyed) return
  raw.writeHead(200, { 'content-type': lineType })
  const write = (line: unknown) => {
    raw.write(`${JSON.stringify(line)}\n`)
    if (raw.writableLength > maxUnreadBytes) raw.destroy()
  }
  const version = changes.version()
  commits.whenStored(() => write({ version }))
  const end = changes.listen((change) => {
    const line = describe(change, changes, change.summary?.())
    commits.whenStored(() => write(line))
  })
  const signs = setInterval(() => raw.write('\n'), signMs)
  raw.once('close', () => {
    end()
    clearInterval(signs)
  })
}

function describe(
  { sequence, id, type, application }: ExecutionVersion,
  { epoch }: ExecutionChanges,
  summary: string | undefined,
): object {
  return { version: `${epoch}.${sequence}`, id, type, application, ...definedOf({ summary }) }
}
