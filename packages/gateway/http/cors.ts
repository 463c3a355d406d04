/** CORS: allowed origins, and responses to preflights. */

import { GatewayError } from '@fairlead/base/errors.ts'
import type { FastifyRequest } from 'fastify'
import type { RequestStep } from './request-state.ts'

export interface CorsSettings {
  mode: 'regex' | 'list'
  allowedOriginsPattern: RegExp | undefined
  uiHostPattern: RegExp | undefined
  uiUrl: string
  /** Origins of the list mode; `*` allows every origin, without credentials. */
  allowedOrigins: readonly string[]
  /** Whether pages of other origins are refused every change, and not only those for which browsers ask no permission. */
  refuseForeignOrigins: boolean
}

const methods = 'POST, GET, OPTIONS, DELETE, PUT, PATCH'
const allowedHeaders =
  'x-requested-with, content-type, authorization, X-RateLimit-App, X-Spinnaker-Priority, If-None-Match, Last-Event-ID'
const exposedHeaders = 'X-AUTH-REDIRECT-URL'
/** For scripts of every origin, which read the body as well: conditional reads, stale lists, waits, pages of lists, support. */
const exposedToPages = [
  exposedHeaders,
  'X-SPINNAKER-REQUEST-ID, ETag, Age, Warning, Retry-After, Link, X-Deleted-Count',
  'X-RateLimit-Capacity, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Learning',
].join(', ')

export function applyCors(settings: CorsSettings): RequestStep {
  const uiOrigin = URL.parse(settings.uiUrl)?.origin
  const withoutOrigin =
    settings.mode === 'list'
      ? undefined
      : toHeaders('*', { credentials: true, exposed: exposedHeaders })
  return {
    name: 'applyCors',
    run(request) {
      const origin = request.headers.origin
      if (origin === undefined) {
        if (withoutOrigin === undefined) return
        request.state.corsHeaders = withoutOrigin
        request.state.answerHeaders['vary'] = 'Origin'
        return
      }
      const allowed = isAllowedOrigin(origin, settings, uiOrigin)
      if (settings.mode === 'list') {
        if (!allowed && !settings.allowedOrigins.includes('*') && !isSameOrigin(origin, request)) {
          throw new GatewayError(
            'ORIGIN_REFUSED',
            'Pages of this origin may not call the gateway. Add the origin to cors.allowedOrigins.',
          )
        }
      }
      const credentials = allowed || settings.mode === 'regex'
      Object.assign(
        request.state.answerHeaders,
        toHeaders(allowed ? origin : '*', { credentials, exposed: exposedToPages }),
      )
      request.state.answerHeaders['vary'] = 'Origin'
    },
  }
}

function toHeaders(
  allowedOrigin: string,
  { credentials, exposed }: { credentials: boolean; exposed: string },
): Record<string, string> {
  return {
    'access-control-allow-origin': allowedOrigin,
    ...(credentials && { 'access-control-allow-credentials': 'true' }),
    'access-control-allow-methods': methods,
    'access-control-allow-headers': allowedHeaders,
    'access-control-max-age': '3600',
    'access-control-expose-headers': exposed,
  }
}

export function isAllowedOrigin(
  origin: string,
  settings: CorsSettings,
  uiOrigin = URL.parse(settings.uiUrl)?.origin,
): boolean {
  if (settings.mode === 'list') return settings.allowedOrigins.includes(origin)
  if (settings.allowedOriginsPattern !== undefined)
    return settings.allowedOriginsPattern.test(origin)
  const url = URL.parse(origin)
  if (url === null || url.origin !== origin) return false
  if (settings.uiHostPattern !== undefined) return settings.uiHostPattern.test(url.hostname)
  return origin === uiOrigin
}

export function isSameOrigin(origin: string, request: FastifyRequest): boolean {
  return URL.parse(request.state.baseUrl)?.origin === origin
}

/** A preflight names the method that it asks about; any other OPTIONS request is not one. */
export function isPreflight(request: FastifyRequest): boolean {
  return (
    request.method === 'OPTIONS' &&
    request.headers.origin !== undefined &&
    request.headers['access-control-request-method'] !== undefined
  )
}
