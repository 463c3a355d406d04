/** Request steps without dependencies: forged identity, OPTIONS. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { isSafeMethod } from '@fairlead/base/telemetry/methods.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CorsSettings, isAllowedOrigin, isPreflight, isSameOrigin } from './cors.ts'
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
  const passedOn = additional.filter(
    (name) => /^x-spinnaker-[a-z0-9-]+$/.test(name) && !neverPassedOn.has(name),
  )
  return {
    name: 'dropForgedIdentity',
    run(request) {
      const { headers, rawHeaders } = request.raw
      if (!rawHeaders.some(beginsWithX)) return
      const kept = passedOn.filter((name) => harmless.test(String(headers[name] ?? '')))
      if (kept.length > 0) {
        request.state.passedOn = Object.fromEntries(
          kept.map((name) => [name.toUpperCase(), String(headers[name])]),
        )
      }
      for (const name in headers) {
        if (name.charCodeAt(0) !== 120) continue
        const spinnaker = name.startsWith('x-spinnaker-') || /^x[-_]spinnaker[-_]/.test(name)
        if (spinnaker && (!accepted.has(name) || !harmless.test(String(headers[name]))))
          delete headers[name]
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
        answerHeaders['vary'] =
          'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'
        return sendNothing(reply)
      }
      if (optionsOperations.test(path)) return undefined
      const methods = methodsOf(path)
      return methods.length === 0
        ? undefined
        : sendNothing(reply.header('allow', methods.join(', ')))
    },
  }
}

async function sendNothing(reply: FastifyReply): Promise<void> {
  await reply.code(200).header('content-length', '0').send()
}

export interface SheddingSettings {
  enabled: boolean
  paths: readonly RegExp[]
  chancePercent: number
}

interface SheddingSurroundings {
  now?: () => number
  random?: () => number
}

const retryAfterMs = 60_000

/**
 * Refuses requests of low priority: those without the header `X-Spinnaker-Priority`, or with `low` in it.
 *
 * @see docs/contracts/http.md#request-shedding
 */
export function shedRequests(
  settings: SheddingSettings,
  surroundings: SheddingSurroundings = {},
): RequestStep {
  const { now = Date.now, random = Math.random } = surroundings
  return {
    name: 'shedRequests',
    run({ method, headers, state }) {
      if (!settings.enabled || method === 'OPTIONS' || state.path === '/error') return
      const priority = headers['x-spinnaker-priority'] ?? 'low'
      if (priority !== 'low' || !settings.paths.some((path) => path.test(state.path))) return
      if (random() * 100 >= settings.chancePercent) return
      throw new GatewayError(
        'REQUEST_SHED',
        'Requests of low priority are refused at the moment. Try again in a minute, or send X-Spinnaker-Priority with another value.',
        { headers: { 'retry-after': new Date(now() + retryAfterMs).toUTCString() } },
      )
    },
  }
}

/** Types for which browsers ask no permission; without a type, with a body or none, they ask for none either. */
const unaskedType =
  /^\s*(?:(?:text\/plain|application\/x-www-form-urlencoded|multipart\/form-data)\s*)?(?:;|$)/i

/**
 * For after the login. Browsers ask for permission before they send JSON, or anything by a method but GET and POST, to
 * another origin, and are not given it; a POST for which they do not ask is refused here, and so is every change of which the
 * browser says that a page of another site makes it. With `refuseForeignOrigins`, so is every other change.
 *
 * @see docs/contracts/authentication.md#csrf-and-cors
 */
export function refuseCsrf(settings: CorsSettings): RequestStep {
  const uiOrigin = URL.parse(settings.uiUrl)?.origin
  return {
    name: 'refuseCsrf',
    run(request) {
      const { headers, method, state } = request
      const { origin } = headers
      // No page can choose this header; without it and without Origin, it is no browser that asks.
      const site = headers['sec-fetch-site']
      if (
        (origin === undefined && site !== 'cross-site') ||
        isSafeMethod(method) ||
        !bringsLoginUnasked(request)
      )
        return
      const slipsThrough = method === 'POST' && unaskedType.test(headers['content-type'] ?? '')
      if (!slipsThrough && !isMarkedForeign(request) && !settings.refuseForeignOrigins) return
      if (
        origin !== undefined &&
        (isAllowedOrigin(origin, settings, uiOrigin) || isSameOrigin(origin, request))
      )
        return
      // Behind a proxy that does not say how it is called, only the browser knows that the page is our own.
      if (site === 'same-origin') return
      request.log.info(
        { requestId: state.requestId, origin, user: state.user?.username },
        'a page of another origin was refused',
      )
      throw new GatewayError(
        'ORIGIN_REFUSED',
        'Pages of this origin may not use the login of their visitor. Add the origin to cors.allowedOriginsPattern.',
      )
    },
  }
}

/** Without logins there is none to misuse, and a proxy's own rules may allow pages of any site. */
function isMarkedForeign({ headers, state }: FastifyRequest): boolean {
  return headers['sec-fetch-site'] === 'cross-site' && state.user?.method !== 'anonymous'
}

/** The browser adds cookies, HTTP Basic and certificates by itself; a script must add tokens. */
function bringsLoginUnasked({ headers, state }: FastifyRequest): boolean {
  if (state.user === undefined || state.token !== undefined) return false
  return !/^bearer /i.test(headers.authorization ?? '')
}
