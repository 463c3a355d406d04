/** Error page for browsers: what failed, how to fix it, the request id. */
import type { ErrorCode, GatewayError, PageParts } from '@fairlead/base/errors.ts'
import { createPage, escapeHtml, type Page, type Site } from './page.ts'

interface ErrorPageOptions {
  readonly site: Site
  readonly requestId: string
}

const start = { label: 'Go to the start page', path: '/' } as const
const signIn = { label: 'Sign in', path: '/login' } as const
const tryAgain = { label: 'Try again', path: '/login' } as const

type HeadedParts = PageParts & { readonly heading: string }

const notFound = {
  heading: 'Page not found',
  advice: ['Check the address, or go back to the page before.'],
} satisfies HeadedParts
const notSignedIn: PageParts = {
  heading: 'Not signed in',
  advice: ['Trying again will not help until that is changed, unless you sign in as another user.'],
  action: tryAgain,
}
const loginUnavailable: PageParts = {
  heading: 'Sign-in is not possible at present',
  advice: ['Nothing is lost, and users who are signed in stay signed in. Try again in a moment.'],
  action: tryAgain,
}

const partsByCode: Partial<Record<ErrorCode, PageParts>> = {
  NO_ROUTE: {
    ...notFound,
    advice: ['Check the address. The API reference lists every operation of this gateway.'],
    action: { label: 'Browse the API', path: '/swagger-ui/index.html' },
  },
  LOGIN_REQUIRED: { heading: 'Sign in first', action: signIn },
  CREDENTIALS_REFUSED: {
    ...notSignedIn,
    advice: [
      'Try again, or sign in as another user. If it happens again, give an administrator the request id below.',
    ],
  },
  USER_NAME_REFUSED: notSignedIn,
  CERTIFICATE_REQUIRED: {
    heading: 'Not signed in',
    advice: ['Install the certificate in your browser, then reload the page.'],
  },
  LOGIN_UNAVAILABLE: loginUnavailable,
  SESSIONS_UNAVAILABLE: loginUnavailable,
  PERMISSION_DENIED: {
    heading: 'Not allowed',
    advice: ['Ask an administrator for the permission, or sign in as another user.'],
    action: { label: 'Sign in as another user', path: '/auth/logout' },
  },
  ORIGIN_REFUSED: {
    heading: 'Not allowed',
    advice: ['Open this gateway by its own address, and start from there.'],
  },
  RATE_LIMITED: { heading: 'Too many requests', advice: ['Wait a moment, then reload the page.'] },
}

export function createErrorPage(error: GatewayError, { site, requestId }: ErrorPageOptions): Page {
  const parts = { ...partsOf(error), ...error.details.page }
  const { heading, advice = [], causes = [], action = start } = parts
  const paragraphs = advice.map((text) => `<p>${escapeHtml(text)}</p>`)
  const list =
    causes.length === 0
      ? []
      : [`<ul>${causes.map((cause) => `<li>${escapeHtml(cause)}</li>`).join('')}</ul>`]
  return createPage(
    escapeHtml(heading),
    `
    <h1>${escapeHtml(heading)}</h1>
    <p class="notice alert" role="alert">${escapeHtml(error.message)}</p>
    ${[...paragraphs, ...list].join('\n    ')}
    <p><a class="button" href="${escapeHtml(site.contextPath + action.path)}">${escapeHtml(action.label)}</a></p>
    <p class="small">For administrators: the log has more under the request id <code>${escapeHtml(requestId)}</code>.</p>`,
    "; form-action 'none'",
    site.brand,
  )
}

function partsOf({ code, status }: GatewayError): HeadedParts {
  return { ...byStatus(status), ...partsByCode[code] }
}

function byStatus(status: number): HeadedParts {
  if (status === 404) return notFound
  if (status < 500) return { heading: 'This request cannot be served', advice: notFound.advice }
  return {
    heading: status === 503 || status === 504 ? 'Not available at present' : 'Something went wrong',
    advice: ['Reload the page in a moment. If it happens again, tell an administrator.'],
  }
}
