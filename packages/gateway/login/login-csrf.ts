/** Login CSRF: rejects logins and logouts that pages of other sites send. */

import { GatewayError } from '@fairlead/base/errors.ts'
import type { FastifyRequest } from 'fastify'
import { type CorsSettings, isAllowedOrigin, isSameOrigin } from '../http/cors.ts'
import type { RequestStep } from '../http/request-state.ts'

type Action = 'login' | 'logout'

const words = {
  login: {
    message:
      'A page of another site has sent this sign-in. Open the sign-in page of this gateway, and sign in there.',
    path: '/login',
    label: 'Sign in',
  },
  logout: {
    message: 'A page of another site asks to sign you out. Nothing has happened yet.',
    path: '/auth/logout',
    label: 'Sign out',
  },
} as const

/** Answers of identity providers come from other sites, and have their own proof that this browser asked for them. */
export function refuseLoginCsrf(cors: CorsSettings): RequestStep {
  return {
    name: 'refuseLoginCsrf',
    run(request) {
      const action = actionOf(request)
      if (action === undefined || !isForeign(request, cors)) return
      request.log.info(
        {
          requestId: request.state.requestId,
          action,
          origin: request.headers.origin,
          address: request.state.clientAddress,
        },
        'a page of another origin was refused',
      )
      const { message, path, label } = words[action]
      throw new GatewayError('ORIGIN_REFUSED', message, {
        page: { heading: `${label}?`, advice: [], action: { label, path } },
      })
    },
  }
}

function actionOf({ method, state: { path } }: FastifyRequest): Action | undefined {
  if (path === '/auth/logout' && method !== 'OPTIONS') return 'logout'
  return path === '/login' && method === 'POST' ? 'login' : undefined
}

/** Programs send neither `Sec-Fetch-Site` nor `Origin`. Pages of a sister domain are foreign, unless cross-origin rules name them. */
function isForeign(request: FastifyRequest, cors: CorsSettings): boolean {
  const { origin, referer, host, 'sec-fetch-site': site } = request.headers
  if (site === 'same-origin' || site === 'none') return false
  const from = origin ?? (site === undefined ? undefined : URL.parse(referer ?? '')?.origin)
  if (from !== undefined && (isAllowedOrigin(from, cors) || isSameOrigin(from, request)))
    return false
  if (site === 'cross-site' || site === 'same-site') return true
  // An older browser, perhaps behind a proxy that does not say that it ends TLS.
  return from !== undefined && URL.parse(from)?.host !== host
}
