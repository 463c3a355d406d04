/** Conditional reads of embedded services. */

import { isKnown } from '@fairlead/base/net/validators.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Answers 304 if the client has this version of the resource; otherwise the reply gets its validator.
 *
 * @param version A different text for each different response: letters, digits, `.`, `-` and `_`.
 */
export function isUnchanged(
  request: FastifyRequest,
  reply: FastifyReply,
  version: string,
): boolean {
  const tag = `"${version}"`
  reply.header('etag', tag)
  if (!isKnown(request.headers['if-none-match'], tag)) return false
  void reply.code(304).send()
  return true
}
