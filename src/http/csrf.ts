/** CSRF protection: rejects changes from pages of other origins that carry a user's cookies. */
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import { isSafeMethod } from '../telemetry/methods.ts'
import { type CorsSettings, isAllowedOrigin, isSameOrigin } from './cors.ts'
import type { RequestStep } from './request-state.ts'

/** Types for which browsers ask no permission; without a type, with a body or none, they ask for none either. */
const unaskedType = /^\s*(?:(?:text\/plain|application\/x-www-form-urlencoded|multipart\/form-data)\s*)?(?:;|$)/i

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
      if ((origin === undefined && site !== 'cross-site') || isSafeMethod(method) || !bringsLoginUnasked(request)) return
      const slipsThrough = method === 'POST' && unaskedType.test(headers['content-type'] ?? '')
      if (!slipsThrough && !isMarkedForeign(request) && !settings.refuseForeignOrigins) return
      if (origin !== undefined && (isAllowedOrigin(origin, settings, uiOrigin) || isSameOrigin(origin, request))) return
      // Behind a proxy that does not say how it is called, only the browser knows that the page is our own.
      if (site === 'same-origin') return
      request.log.info({ requestId: state.requestId, origin, user: state.user?.username }, 'a page of another origin was refused')
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
