/** `POST /apps/{application}/sources` and `PUT …/{source}`: a folder is uploaded by what the server has not got of it. */
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { PortError } from '@fairlead/base/port-error.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SourceState, SourceStore } from './source-store.ts'

export interface SourceUploads {
  readonly store: SourceStore
  /** @throws {PortError} 403, 503 */
  checkWrite(application: string, user: string): Promise<void>
}

const maxUserUploads = 4
const maxUploads = 16
const retryAfterSeconds = 2
/** A list of 100,000 files with long paths. */
const maxListBytes = 64 * 1024 * 1024
const applicationPattern = /^[a-z][a-z0-9]{0,49}$/

/** @param uploads Undefined where this instance builds nothing itself */
export function mountSources(app: FastifyInstance, uploads: SourceUploads | undefined): void {
  app.register((scope, _options, done) => {
    // Bodies are read as they arrive, so no parser may collect them.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, ready) => ready(null, payload))
    const running: string[] = []
    const receive =
      (
        work: (
          store: SourceStore,
          application: string,
          body: IncomingMessage,
        ) => Promise<SourceState>,
      ) =>
      async (request: FastifyRequest, reply: FastifyReply) => {
        const { store, checkWrite } = requireUploads(uploads)
        const [application, user] = [pathValue(request, 'application'), userOf(request)]
        checkName(application)
        await checkWrite(application, user)
        checkRoom(running, user, reply)
        running.push(user)
        try {
          return await work(store, application, bodyOf(request))
        } finally {
          running.splice(running.indexOf(user), 1)
        }
      }
    scope.post(
      '/apps/:application/sources',
      receive(async (store, application, body) => store.begin(application, await readText(body))),
    )
    scope.put('/apps/:application/sources/:source', (request, reply) =>
      receive((store, application, body) =>
        store.receive(application, pathValue(request, 'source'), body),
      )(request, reply),
    )
    done()
  })
}

function requireUploads(uploads: SourceUploads | undefined): SourceUploads {
  if (uploads !== undefined) return uploads
  throw new PortError(
    404,
    'This instance builds no folders: it has no account on its own machine. Set local.enabled: true.',
  )
}

function checkName(application: string): void {
  if (applicationPattern.test(application)) return
  throw new PortError(
    400,
    `"${application}" is no name of an application with an app file: write lower case letters and digits, beginning with a letter, at most 50.`,
  )
}

function checkRoom(running: readonly string[], user: string, reply: FastifyReply): void {
  const own = running.filter((other) => other === user).length
  if (running.length < maxUploads && own < maxUserUploads) return
  reply.header('retry-after', retryAfterSeconds)
  throw new PortError(
    429,
    `A user may upload ${maxUserUploads} folders at a time, and all users ${maxUploads}. Try again in a moment.`,
  )
}

function bodyOf({ body }: FastifyRequest): IncomingMessage {
  if (body === undefined || body === null) throw new PortError(400, 'The body is missing.')
  return body as IncomingMessage
}

async function readText(body: IncomingMessage): Promise<string> {
  async function* bounded(): AsyncIterable<Uint8Array> {
    let bytes = 0
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      bytes += piece.length
      if (bytes > maxListBytes) throw new PortError(413, 'The list of files is larger than 64 MiB.')
      yield piece
    }
  }
  return text(bounded())
}
