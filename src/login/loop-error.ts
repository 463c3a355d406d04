/** Page that ends a redirect loop of a login, with probable causes. */
import { GatewayError } from '../errors.ts'
import type { Loop } from './loop-breaker.ts'

interface LoopOptions {
  readonly loop: Loop
  /** Address of the gateway as the browser sees it. */
  readonly baseUrl: string
}

interface Explanation {
  readonly seen: string
  readonly causes: (options: LoopOptions) => readonly string[]
}

const explanations: Readonly<Record<Loop, Explanation>> = {
  cookie: {
    seen: 'You were signed in each time, but your browser does not send back the cookie that keeps you signed in.',
    causes: ({ baseUrl }) => [
      `Cookies are blocked: allow them for ${hostOf(baseUrl)}.`,
      `The gateway has more than one address: open it by the one that it gives itself, ${baseUrl}.`,
      'For administrators: domain, path and “secure” of the cookie fit that address (server.servlet.session.cookie), and the proxy in front sends X-Forwarded-Proto.',
    ],
  },
  session: {
    seen: 'You were signed in each time, but the next request was that of a stranger again.',
    causes: ({ baseUrl }) => [
      `Your browser keeps some cookies of ${hostOf(baseUrl)} and drops others: delete them all, then try again.`,
      'The permission service does not know you although Fairlead reported your login. Ask an administrator.',
      'For administrators: several replicas run and do not share their sessions, or the session cookie does not fit the address.',
    ],
  },
  return: {
    seen: 'You were sent to the identity provider each time, but no sign-in came of it.',
    causes: ({ baseUrl }) => [
      'The identity provider repeats a confirmation that is too old: sign out there, then try again.',
      `For administrators: the redirect address registered at the identity provider belongs to this gateway, ${baseUrl}.`,
      'For administrators: the clocks of gateway and identity provider agree.',
    ],
  },
}

/** The response to a browser that is no longer redirected; 401. */
export function createLoopError(options: LoopOptions): GatewayError {
  const { seen, causes } = explanations[options.loop]
  return new GatewayError('LOGIN_REQUIRED', seen, {
    page: {
      heading: 'Sign-in goes in circles',
      advice: [
        'This browser came back to sign in a third time within a minute, so it is not sent on any more. What may be wrong:',
      ],
      causes: causes(options),
      action: { label: 'Try again', path: '/login?again' },
    },
  })
}

function hostOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.host ?? baseUrl
}
