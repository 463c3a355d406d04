/** The pages of a login at a provider: the choice between several, and the failure with the way to try again. */
import { createPage, escapeHtml, type Page } from '../login-page.ts'

export interface Choice {
  readonly label: string
  /** Below the context path. */
  readonly path: string
}

export function createChoicePage(contextPath: string, choices: readonly Choice[]): Page {
  const links = choices.map(
    ({ label, path }) => `<p><a class="button" href="${escapeHtml(contextPath + path)}">${escapeHtml(label)}</a></p>`,
  )
  return createPage(
    'Sign in',
    `
    <h1>Sign in</h1>
    <p class="lead">Choose who confirms who you are.</p>
    ${links.join('\n    ')}`,
    "; form-action 'none'",
  )
}

/** @param requestId Leads an administrator to the reason in the log, which the browser does not get. */
export function createFailurePage(contextPath: string, text: string, requestId: string): Page {
  return createPage(
    'Not signed in',
    `
    <h1>Not signed in</h1>
    <p class="notice alert" role="alert">${escapeHtml(text)}</p>
    <p>If it happens again, give an administrator this number, which leads to the reason: <code>${escapeHtml(requestId)}</code></p>
    <p><a class="button" href="${escapeHtml(contextPath)}/login">Try again</a></p>`,
    "; form-action 'none'",
  )
}
