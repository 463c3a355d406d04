/** Typed access to requests of the definition store, and its error responses. */

import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { DocumentStore } from '@fairlead/base/stores/document-store.ts'
import { pathValue, queryCount } from '@fairlead/ports/requests/request-values.ts'
import { type Slice, sendList, sendSlices } from '@fairlead/ports/requests/slices.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { maskDefinitionText } from '../pipelines/trigger-secrets.ts'

/** Pieces of body schemas. They check only: what is stored is the body as it was sent. */
export const objectField = z.custom<JsonObject>(isObject, 'it must be an object')
export const optionalTextField = z.string().nullish()
/** Bound of Front50's tables. */
const maxNameLength = 255
export const nameText = z.string().max(maxNameLength)
export const optionalName = nameText.nullish()

/** @throws {PortError} 400 when the body is not an array. */
export function checkArray(body: unknown): unknown[] {
  if (!Array.isArray(body)) throw refusal('The body must be a JSON array.')
  return body
}

/** @throws {PortError} 400 when the id in the body is not that of the path. */
export function checkSameId(sent: string, id: string): void {
  if (foldName(sent) !== foldName(id))
    throw refusal(`The id in the body, "${sent}", is not that of the path, "${id}".`)
}

/** A rule is broken; `errors` lists each broken rule where there may be several. */
export function refusal(message: string, errors?: string[]): PortError {
  return new PortError(400, message, {
    exception: 'InvalidRequest',
    ...(errors === undefined ? {} : { errors }),
  })
}

export function missingDefinition(what: string): PortError {
  return new PortError(404, `There is no ${what}.`, { exception: 'NotFound' })
}

/** The object lacks a field that it cannot be without. */
export function incomplete(message: string): PortError {
  return new PortError(422, message, { exception: 'InvalidEntity' })
}

/** Answers with an array of stored texts; only those are parsed that may hold secrets. */
export function sendTexts(reply: FastifyReply, texts: readonly string[]): FastifyReply {
  return sendList(reply, texts, maskDefinitionText)
}

/** Answers with everything in a store. */
export function sendAll(reply: FastifyReply, store: DocumentStore): FastifyReply {
  return sendSlices(reply, storeSlices(store.portions(), maskDefinitionText))
}

/** One portion is read ahead, so that the last one is known as such. */
function* storeSlices(
  portions: Iterable<string[]>,
  show: (text: string) => string,
): Generator<Slice, void> {
  let text: string | undefined
  for (const texts of portions) {
    if (text !== undefined) yield { text, isLast: false }
    text = (text === undefined ? '[' : ',') + texts.map(show).join(',')
  }
  yield { text: `${text ?? '['}]`, isLast: true }
}

/** The key of the object that a part of the path names. */
export function keyIn(request: FastifyRequest, name = 'id'): string {
  return foldName(pathValue(request, name))
}

/** The object that the part `name` of the path names. @throws {PortError} 404 when there is none. */
export function storedAt(
  request: FastifyRequest,
  name: string,
  store: DocumentStore,
  what: string,
): JsonObject {
  const found = store.get(keyIn(request, name))
  if (found === undefined) throw missingDefinition(`${what} "${pathValue(request, name)}"`)
  return found
}

/** Answers with its text as it is stored. @throws {PortError} 404 when there is none. */
export function sendStored(
  reply: FastifyReply,
  name: string,
  store: DocumentStore,
  what: string,
): FastifyReply {
  const text = store.text(keyIn(reply.request, name))
  if (text === undefined) throw missingDefinition(`${what} "${pathValue(reply.request, name)}"`)
  return reply.type('application/json; charset=utf-8').send(maskDefinitionText(text))
}

/**
 * Answers the versions of an object, newest first. `limit=1` asks for the live object instead.
 * @see docs/contracts/definitions.md#versions
 */
export function sendHistory(reply: FastifyReply, name: string, store: DocumentStore): FastifyReply {
  const key = keyIn(reply.request, name)
  const limit = queryCount(reply.request, 'limit') ?? 20
  if (limit !== 1) return sendTexts(reply, store.history(key, limit))
  const current = store.text(key)
  if (current === undefined) throw missingDefinition(`live object with the id "${key}"`)
  return sendTexts(reply, [current])
}
