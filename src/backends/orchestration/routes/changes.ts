/**
 * Changes of executions and tasks, for the event streams of the gateway: a snapshot, and a feed of lines.
 * No other orchestrator has these routes.
 */
import type { FastifyInstance } from 'fastify'
import { foldName } from '../../../names/fold-name.ts'
import { BackendError } from '../../backend.ts'
import { type ExecutionVersion, summaryOf } from '../changes.ts'
import type { Engine } from '../engine.ts'

interface ChangesQuery {
  id?: string
  application?: string
  since?: string
}

const lineType = 'application/x-ndjson'
/** A gateway that reads more slowly than this much behind begins again. */
const maxUnreadBytes = 8 * 1024 * 1024
/** More than so many executions are read again as a list. */
const maxMissed = 100
/** Shows the gateway that the connection lives. */
const signMs = 10_000

export function changeRoutes(app: FastifyInstance, engine: Engine): void {
  const { changes } = engine
  const { store } = engine.options

  /** The present state of one execution or task, or which executions of an application have changed since a version. */
  app.get<{ Querystring: ChangesQuery }>('/changes', (request) => {
    const { id, application = '', since } = request.query
    const version = changes.version()
    if (id !== undefined) {
      const found = store.load(id)
      if (found === undefined) throw new BackendError(404, `There is no execution or task with the id ${id}.`)
      const line = { version: changes.versionOf(id), id, type: found.type, application: found.application }
      return { version, isComplete: true, changes: [{ ...line, summary: summaryOf(found) }] }
    }
    if (since === undefined) return { version, isComplete: true, changes: [] }
    const wanted = foldName(application)
    const missed = changes.since(since)?.filter((one) => one.type === 'PIPELINE' && foldName(one.application) === wanted)
    if (missed === undefined || missed.length > maxMissed) return { version, isComplete: false, changes: [] }
    return { version, isComplete: true, changes: missed.map((change) => describe(change, summaryNow(change))) }
  })

  /** Every change from now on, a line each. The first line has the version before it. */
  app.get('/changes/feed', (_request, reply) => {
    reply.hijack()
    const { raw } = reply
    // A connection that is closed already does not say so again.
    if (raw.destroyed) return
    raw.writeHead(200, { 'content-type': lineType })
    const write = (line: unknown) => {
      raw.write(`${JSON.stringify(line)}\n`)
      if (raw.writableLength > maxUnreadBytes) raw.destroy()
    }
    write({ version: changes.version() })
    const end = changes.listen((change) => write(describe(change, change.summary?.())))
    const signs = setInterval(() => raw.write('\n'), signMs)
    raw.once('close', () => {
      end()
      clearInterval(signs)
    })
  })

  function summaryNow({ id }: ExecutionVersion): string | undefined {
    const found = store.load(id)
    return found && summaryOf(found)
  }

  function describe({ sequence, id, type, application }: ExecutionVersion, summary: string | undefined): object {
    return { version: `${changes.epoch}.${sequence}`, id, type, application, ...(summary !== undefined && { summary }) }
  }
}
