/** Request steps without dependencies: forged identity, OPTIONS. */
import type { FastifyReply } from 'fastify'
import { isPreflight } from './cors.ts'
import type { RequestStep } from './request-state.ts'

const accepted = new Set([
  'x-spinnaker-request-id',
  'x-spinnaker-execution-id',
  'x-spinnaker-execution-type',
  'x-spinnaker-priority',
  'x-spinnaker-token',
])
const harmless = /^[\x20-\x7e]{1,500}$/

/** Headers that the gateway alone writes, or that are secret: configuration cannot pass them on either. */
const neverPassedOn = new Set([
  ...accepted,
  'x-spinnaker-user',
  'x-spinnaker-accounts',
  'x-spinnaker-user-origin',
  'x-spinnaker-application',
  'x-spinnaker-anonymous',
])

/**
 * Drops what would let a client act as another user: `X-SPINNAKER-*` headers that the gateway writes itself, also when
 * spelled with underscores, which some servers read as hyphens, and tracing values that do not fit a header.
 *
 * @param additional Lower-case names of further headers that are passed on to the services.
 */
export function dropForgedIdentity(additional: readonly string[] = []): RequestStep {
  const passedOn = additional.filter((name) => /^x-spinnaker-[a-z0-9-]+$/.test(name) && !neverPassedOn.has(name))
  return {
    name: 'dropForgedIdentity',
    run(request) {
      const { headers, rawHeaders } = request.raw
      if (!rawHeaders.some(beginsWithX)) return
      const kept = passedOn.filter((name) => harmless.test(String(headers[name] ?? '')))
      if (kept.length > 0) {
        request.state.passedOn = Object.fromEntries(kept.map((name) => [name.toUpperCase(), String(headers[name])]))
      }
      for (const name in headers) {
        if (name.charCodeAt(0) !== 120) continue
        const spinnaker = name.startsWith('x-spinnaker-') || /^x[-_]spinnaker[-_]/.test(name)
        if (spinnaker && (!accepted.has(name) || !harmless.test(String(headers[name])))) delete headers[name]
        else if (name.includes('_')) delete headers[name]
      }
    },
  }
}

/** Asked of names and values in turn, without the list of names that a loop over the headers makes. */
function beginsWithX(text: string): boolean {
  return (text.charCodeAt(0) | 0x20) === 0x78
}

/** Paths whose OPTIONS is an operation of its own; it runs only for a logged-in user, and never for a preflight. */
const optionsOperations = /^\/pipelines\/[^/]+\/evaluateExpression$/

export function answerOptions(methodsOf: (path: string) => string[]): RequestStep {
  return {
    name: 'answerOptions',
    run(request, reply) {
      if (request.method !== 'OPTIONS') return undefined
      const { answerHeaders, path } = request.state
      if (isPreflight(request)) {
        answerHeaders['vary'] = 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'
        return sendNothing(reply)
      }
      if (optionsOperations.test(path)) return undefined
      const methods = methodsOf(path)
      return methods.length === 0 ? undefined : sendNothing(reply.header('allow', methods.join(', ')))
    },
  }
}

async function sendNothing(reply: FastifyReply): Promise<void> {
  await reply.code(200).header('content-length', '0').send('')
}
