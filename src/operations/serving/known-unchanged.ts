/** Conditional reads that are answered with a kept 304. */
import type { FastifyReply } from 'fastify'
import { writeUnchanged } from '../../http/answer.ts'
import { decidesAnswer, type IdentityHeaders, identityOf } from '../../upstreams/identity.ts'
import type { UnchangedReads } from '../unchanged-reads.ts'
import type { Exchange } from './exchange.ts'

/** Answers at once when the same conditional read was answered with 304, and nothing has changed since. */
export function answerIfKnown(exchange: Exchange, kept: UnchangedReads): boolean {
  const { request, reply, platform, surroundings } = exchange
  const key = conditionalKeyOf(exchange)
  const read = key === undefined ? undefined : kept.begin(key)
  if (read === undefined) return false
  const tag = kept.find(read)
  if (tag === undefined) {
    exchange.conditional = read
    return false
  }
  const { echoedHeaders, browserCache } = surroundings.settings
  // Where reads are recorded, they are noted, and not waited for.
  void platform.audited?.beforeStream(request, 304)
  writeUnchanged(reply, echoedHeaders, { tag, browserCache })
  return true
}

/** Everything that the answer of a conditional read depends on, besides the state of embedded services; undefined: it is none. */
function conditionalKeyOf({ operation, request, guard }: Exchange): string | undefined {
  const { state, headers, method, url } = request
  const condition = headers['if-none-match']
  if (condition === undefined || method !== 'GET' || state.token !== undefined) return undefined
  const rights = guard.stateOf(state)
  if (rights === undefined) return undefined
  const head = `${operation.id} ${url}\n${condition}\n${headers.accept ?? ''}\nrights ${rights}`
  return head + formatIdentity(identityOf(state, headers), operation.shared === 'rights' && rights !== '')
}

function formatIdentity(identity: IdentityHeaders, isByRights: boolean): string {
  let text = ''
  for (const name in identity) if (decidesAnswer(name, isByRights)) text += `\n${name} ${identity[name]}`
  return text
}

/** Keeps a 304, unless it is one of a service that had trouble. */
export function noteUnchanged({ conditional, platform, request }: Exchange, tag: string | undefined): void {
  if (conditional === undefined || tag === undefined) return
  const { upstreamCalls, answerHeaders } = request.state
  const isSound = upstreamCalls.every(({ status }) => status === 200 || status === 304 || status === 404)
  if (!isSound || 'warning' in answerHeaders || 'age' in answerHeaders) return
  platform.unchangedReads?.note(
    conditional,
    tag,
    upstreamCalls.map(({ service }) => service),
  )
}

export function noteIfUnchanged(exchange: Exchange): void {
  const { conditional, reply } = exchange
  // What is streamed is noted as it begins.
  if (conditional !== undefined && reply.statusCode === 304) noteUnchanged(exchange, tagOf(reply))
}

function tagOf(reply: FastifyReply): string | undefined {
  const tag = reply.getHeader('etag')
  return typeof tag === 'string' ? tag : undefined
}
