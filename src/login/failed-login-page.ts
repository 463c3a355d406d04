/** The pages for somebody whose credentials are right, and who cannot be let in all the same. */
import { type ErrorCode, GatewayError } from '../errors.ts'
import { createPage, escapeHtml, type PageOptions } from './login-page.ts'

export interface FailedLoginPageOptions extends Pick<PageOptions, 'contextPath' | 'brand'> {
  /** Leads an administrator to the line in the log. */
  readonly requestId: string
}

interface Explanation {
  readonly heading: string
  readonly advice: string
}

const unavailable: Explanation = {
  heading: 'Sign-in is not possible at present',
  advice:
    'Your name and password, or what your identity provider said about you, were accepted. Nothing is lost, and whoever is signed in ' +
    'already stays so.',
}
const refused: Explanation = {
  heading: 'Not signed in',
  advice: 'Trying again will not help until that is changed, unless you sign in as somebody else.',
}
const explanations: Partial<Record<ErrorCode, Explanation>> = {
  LOGIN_UNAVAILABLE: unavailable,
  USER_NAME_REFUSED: refused,
  CREDENTIALS_REFUSED: refused,
}

/** The error with a page for browsers, if it says why a login fails that was fine so far; any other error as it is. */
export function withPage(error: unknown, { contextPath, brand, requestId }: FailedLoginPageOptions): unknown {
  const explanation = error instanceof GatewayError ? explanations[error.code] : undefined
  if (!(error instanceof GatewayError) || explanation === undefined) return error
  const { heading, advice } = explanation
  const page = createPage(
    heading,
    `
    <h1>${heading}</h1>
    <p class="notice alert" role="alert">${escapeHtml(error.message)}</p>
    <p>${advice}</p>
    <p><a class="button" href="${escapeHtml(contextPath)}/login">Try again</a></p>
    <p>For administrators: the log tells the cause under the request id <code>${escapeHtml(requestId)}</code>.</p>`,
    "; form-action 'none'",
    brand,
  )
  return new GatewayError(error.code, error.message, { ...error.details, page })
}
