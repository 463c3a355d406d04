/** Body parsing of the embedded back ends: bounded JSON under any content type. */
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { BodyBounds } from '@fairlead/base/json/bodies/json-checker.ts'
import { readCheckedBytes, readJsonBody } from '@fairlead/base/json/bodies/read-body.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { BackendBodies, BackendSettings } from '../backend.ts'

/** What back ends send to each other holds several documents: a definition, its trigger, and the run that it follows. */
const documents = 4
const defaults: BackendBodies = { maxBytes: 10 * 1024 * 1024, maxValues: 100_000 }

/** An empty body is none; numbers keep all their digits. */
export function acceptJson(
  app: FastifyInstance,
  settings: BackendSettings,
  maxDepth?: number,
): void {
  accept(app, settings, maxDepth, async (raw, bounds) => (await readJsonBody(raw, bounds))?.value)
}

/** Signatures cover the body as sent, so routes get its bytes and parse them themselves. */
export function acceptBytes(
  app: FastifyInstance,
  settings: BackendSettings,
  maxDepth?: number,
): void {
  accept(app, settings, maxDepth, readCheckedBytes)
}

function accept(
  app: FastifyInstance,
  { bodies = defaults }: BackendSettings,
  maxDepth: number | undefined,
  read: (...given: Parameters<typeof readCheckedBytes>) => Promise<unknown>,
): void {
  const bounds: BodyBounds = {
    maxBytes: bodies.maxBytes * documents,
    maxValues: bodies.maxValues * documents,
    ...(maxDepth !== undefined && { maxDepth }),
    settings: { bytes: 'http.maxBodyBytes', values: 'http.maxBodyValues' },
  }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (_request: FastifyRequest, raw: IncomingMessage) => {
    try {
      return await read(raw, bounds)
    } catch (error) {
      if (error instanceof GatewayError) throw new PortError(error.status, error.message)
      throw error
    }
  })
}
