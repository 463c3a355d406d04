/** The page for somebody who is known, and cannot be let in because the permission service does not answer. */
import { GatewayError } from '../errors.ts'
import { createPage, escapeHtml, type PageOptions } from './login-page.ts'

export interface UnavailablePageOptions extends Pick<PageOptions, 'contextPath' | 'brand'> {
  /** Leads an administrator to the line in the log. */
  readonly requestId: string
}

/** The error with a page for browsers, if it says that nobody can log in at present; any other error as it is. */
export function withPage(error: unknown, { contextPath, brand, requestId }: UnavailablePageOptions): unknown {
  if (!(error instanceof GatewayError) || error.code !== 'LOGIN_UNAVAILABLE') return error
  const page = createPage(
    'Sign-in unavailable',
    `
    <h1>Sign-in is not possible at present</h1>
    <p class="notice alert" role="alert">${escapeHtml(error.message)}</p>
    <p>Your name and password, or what your identity provider said about you, were accepted. Nothing is lost, and whoever is
    signed in already stays so.</p>
    <p><a class="button" href="${escapeHtml(contextPath)}/login">Try again</a></p>
    <p>For administrators: the log tells the cause under the request id <code>${escapeHtml(requestId)}</code>.</p>`,
    "; form-action 'none'",
    brand,
  )
  return new GatewayError(error.code, error.message, { ...error.details, page })
}
