/** Refuses what pages of strangers make a browser send with the login of its user: cross-site request forgery. */
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import { type CorsSettings, isAllowedOrigin, isSameOrigin } from './cors.ts'
import { hasBody } from './read-body.ts'
import type { RequestStep } from './request-state.ts'

const safeMethods = ['GET', 'HEAD', 'OPTIONS']
/** Types of bodies for which browsers ask no permission; without a type, they ask for none either. */
const unaskedType = /^\s*(?:text\/plain|application\/x-www-form-urlencoded|multipart\/form-data)?\s*(?:;|$)/i

/**
 * For after the login. Browsers ask for permission before they send JSON to another origin, and are not given it; a body of
 * a type for which they do not ask is refused here. With `refuseForeignOrigins`, so is every change without a body.
 *
 * @see authentication contract, section 1.11
 */
export function refuseForeignPages(settings: CorsSettings): RequestStep {
  const uiOrigin = URL.parse(settings.uiUrl)?.origin
  return {
    name: 'refuseForeignPages',
    run(request) {
      const { headers, method, raw, state } = request
      const { origin } = headers
      if (origin === undefined || safeMethods.includes(method) || !bringsLoginUnasked(request)) return
      const slipsThrough = hasBody(raw) && unaskedType.test(headers['content-type'] ?? '')
      if (!slipsThrough && !settings.refuseForeignOrigins) return
      if (isAllowedOrigin(origin, settings, uiOrigin) || isSameOrigin(origin, request)) return
      // Behind a proxy that does not say how it is called, only the browser knows that the page is our own.
      if (headers['sec-fetch-site'] === 'same-origin') return
      request.log.info({ origin, user: state.user?.username }, 'a page of another origin was refused')
      throw new GatewayError(
        'ORIGIN_REFUSED',
        'Pages of this origin may not use the login of their visitor. Add the origin to cors.allowedOriginsPattern.',
      )
    },
  }
}

/** Cookies, HTTP Basic and certificates are sent by the browser itself; tokens are sent by whoever has them. */
function bringsLoginUnasked({ headers, state }: FastifyRequest): boolean {
  if (state.user === undefined || state.token !== undefined) return false
  return !/^bearer /i.test(headers.authorization ?? '')
}
