/** The login page where several identity providers are configured. */
import { createPage, escapeHtml, type Page, type Site } from '../http/page.ts'

interface Choice {
  readonly label: string
  /** Below the context path. */
  readonly path: string
}

export function createChoicePage({ contextPath, brand }: Site, choices: readonly Choice[]): Page {
  const links = choices.map(
    ({ label, path }) => `<p><a class="button" href="${escapeHtml(contextPath + path)}">${escapeHtml(label)}</a></p>`,
  )
  return createPage(
    'Sign in',
    `
    <h1>Sign in</h1>
    <p class="lead">${escapeHtml(brand.lead)}</p>
    <p>Choose where you have an account:</p>
    ${links.join('\n    ')}`,
    "; form-action 'none'",
    brand,
  )
}
