/** Pages of the SAML login: the form to the identity provider, refusals. */
import { hash } from 'node:crypto'
import { createPage, escapeHtml, type Page, type Site } from '../../http/page.ts'

const submit = 'document.forms[0].submit()'
const submitHash = hash('sha256', submit, 'base64')

/** A form that sends itself; without script, a button does it. */
export function createPostPage(
  { brand }: Site,
  action: string,
  fields: Readonly<Record<string, string>>,
): Page {
  const inputs = Object.entries(fields).map(
    ([name, value]) =>
      `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  )
  return createPage(
    'Sign in',
    `
    <h1>Sign in</h1>
    <p class="lead">Your organisation asks who you are.</p>
    <form method="post" action="${escapeHtml(action)}">
      ${inputs.join('\n      ')}
      <button type="submit">Continue</button>
    </form>
    <script>${submit}</script>`,
    `; script-src 'sha256-${submitHash}'`,
    brand,
  )
}

/** Why a login did not work, as far as it helps the user and reveals no secret. */
export const refusals = {
  refused:
    'The login was not accepted. If it happens again, ask an administrator: the log has the reason.',
  unknown:
    'This login was not started in this browser, was already completed, or took too long. It also happens when the browser ' +
    'keeps the session cookie back: cookies may have to be allowed, and an administrator may have to set ' +
    '“server.servlet.session.cookie.same-site: none”.',
} as const
