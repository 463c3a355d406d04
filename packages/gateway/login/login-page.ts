/** The login form and the farewell. */
import { hash } from 'node:crypto'
import { createPage, escapeHtml, type Page, type Site } from '../http/page.ts'
import { checkRedirectTarget, type UiAddress } from './redirect-target.ts'

/** What the login page says; taken from this table only, so nothing that a stranger sends is shown. */
const notices = {
  refused: { kind: 'alert', text: 'User name or password is wrong.' },
  wait: {
    kind: 'alert',
    text: 'Too many wrong passwords. Try again in a moment, or ask an administrator.',
  },
  unavailable: {
    kind: 'alert',
    text: 'The directory that knows you does not answer. Try again in a moment.',
  },
  expired: {
    kind: 'alert',
    text: 'Your password has expired. Change it where you usually do, then sign in again.',
  },
  restricted: {
    kind: 'alert',
    text: 'This account may not sign in at present. Ask an administrator.',
  },
  'session-expired': { kind: 'status', text: 'Your session has expired. Sign in again.' },
  'signed-out': { kind: 'status', text: 'You are signed out.' },
} as const

export type LoginNotice = keyof typeof notices

export interface PageNotice {
  readonly notice: LoginNotice
  readonly minutes?: number
}

export interface PageOptions extends Site {
  readonly ui: UiAddress
}

interface LoginForm {
  readonly notice: PageNotice | undefined
  readonly username: string | undefined
  readonly destination: string | undefined
}

/** Offers to show the password; without script the form works all the same. */
const script = `const field = document.getElementById('password'), button = document.getElementById('show')
button.hidden = false
button.onclick = () => {
  const shows = field.type === 'password'
  field.type = shows ? 'text' : 'password'
  button.textContent = shows ? 'Hide password' : 'Show password'
  field.focus()
}
field.form.onsubmit = () => void (field.type = 'password')`
const scriptHash = hash('sha256', script, 'base64')

export function createLoginPage(
  { contextPath, ui, brand }: PageOptions,
  { notice, username, destination }: LoginForm,
): Page {
  const shown = notice && toShown(notice)
  const invalid = shown?.kind === 'alert' ? ' aria-invalid="true" aria-describedby="notice"' : ''
  const [onName, onPassword] = username === undefined ? [' autofocus', ''] : ['', ' autofocus']
  const body = `
    <h1>Sign in</h1>
    <p class="lead">${escapeHtml(brand.lead)}</p>
    ${brand.text === undefined ? '' : `<p class="text">${escapeHtml(brand.text)}</p>`}
    <form method="post" action="${escapeHtml(contextPath)}/login">
      <label for="username">User name</label>
      <input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" autocorrect="off"
        spellcheck="false" maxlength="256" required value="${escapeHtml(username ?? '')}"${onName}${invalid}>
      <div class="field">
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${onPassword}${invalid}>
        <button id="show" class="link" type="button" aria-controls="password" hidden>Show password</button>
      </div>
      <button type="submit">Sign in</button>
    </form>
    <div class="below">${formatNotice(shown) ?? formatDestination(destination)}</div>
    <script>${script}</script>`
  return createPage('Sign in', body, `; script-src 'sha256-${scriptHash}'${formAction(ui)}`, brand)
}

/** Below the form, in a place that is always kept: the form does not move when there is something to say. */
function formatNotice(shown: { kind: string; text: string } | undefined): string | undefined {
  return (
    shown && `<p id="notice" class="notice ${shown.kind}" role="${shown.kind}">${shown.text}</p>`
  )
}

function formatDestination(destination: string | undefined): string {
  return destination === undefined
    ? ''
    : `<p class="small">You continue to ${escapeHtml(destination)}.</p>`
}

function toShown({ notice, minutes }: PageNotice): { kind: string; text: string } {
  const { kind, text } = notices[notice]
  return { kind, text: minutes === undefined ? text : text.replace('a moment', inMinutes(minutes)) }
}

export function inMinutes(minutes: number): string {
  return minutes === 1 ? '1 minute' : `${minutes} minutes`
}

/** The web UI by its host, the console by its name; a path may hold any text, so it is not shown. */
export function describeDestination(
  path: string,
  ui: UiAddress,
  baseUrl: string,
): string | undefined {
  const [base, query] = path.split('?', 2)
  if (base !== '/auth/redirect') return path === '/' ? undefined : 'the page that you opened'
  try {
    const target = new URL(
      checkRedirectTarget(new URLSearchParams(query).getAll('to'), ui, baseUrl),
      baseUrl,
    )
    return target.origin === new URL(baseUrl).origin ? 'the console' : target.host
  } catch {
    return undefined
  }
}

/** Browsers apply this to the redirects that follow the form too, so it must admit every place where a login may lead. */
function formAction({ uiUrl, uiHostPattern }: UiAddress): string {
  const origin = URL.parse(uiUrl)?.origin
  return uiHostPattern !== undefined || origin === undefined ? '' : `; form-action 'self' ${origin}`
}

export function createFarewellPage({ contextPath, ui, brand }: PageOptions, text: string): Page {
  const target = ui.uiUrl === '' ? `${contextPath}/login` : ui.uiUrl
  return createPage(
    'Signed out',
    `
    <h1>Signed out</h1>
    <p class="lead">${escapeHtml(text)}</p>
    <p><a class="button" href="${escapeHtml(target)}">Sign in again</a></p>`,
    "; form-action 'none'",
    brand,
  )
}

interface Choice {
  readonly label: string
  /** Below the context path. */
  readonly path: string
}

export function createChoicePage({ contextPath, brand }: Site, choices: readonly Choice[]): Page {
  const links = choices.map(
    ({ label, path }) =>
      `<p><a class="button" href="${escapeHtml(contextPath + path)}">${escapeHtml(label)}</a></p>`,
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
