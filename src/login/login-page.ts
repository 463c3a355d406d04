/** The login form and the farewell. */
import { createPage, escapeHtml, type Page, type Site } from '../http/page.ts'
import type { UiAddress } from './redirect-target.ts'

/** What the login page says above the form; taken from this table only, so nothing that a stranger sends is shown. */
const notices = {
  refused: { kind: 'alert', text: 'Bad credentials. Check user name and password, and try again.' },
  wait: { kind: 'alert', text: 'Too many failed attempts. Try again in a moment, or ask an administrator.' },
  unavailable: { kind: 'alert', text: 'The directory that knows you does not answer. Try again in a moment.' },
  expired: { kind: 'alert', text: 'Your password has expired. Change it where you usually do, then sign in again.' },
  restricted: { kind: 'alert', text: 'This account may not sign in at present. Ask an administrator.' },
  'signed-out': { kind: 'status', text: 'You are signed out.' },
} as const

export type Notice = keyof typeof notices

export interface ShownNotice {
  readonly notice: Notice
  /** With `wait`. */
  readonly minutes?: number | undefined
}

export interface PageOptions extends Site {
  readonly ui: UiAddress
}

export function createLoginPage({ contextPath, ui, brand }: PageOptions, notice: ShownNotice | undefined): Page {
  const shown = notice && toShown(notice)
  const invalid = shown?.kind === 'alert' ? ' aria-invalid="true" aria-describedby="notice"' : ''
  const body = `
    <h1>Sign in</h1>
    <p class="lead">${escapeHtml(brand.lead)}</p>
    ${brand.text === undefined ? '' : `<p class="text">${escapeHtml(brand.text)}</p>`}
    ${shown === undefined ? '' : `<p id="notice" class="notice ${shown.kind}" role="${shown.kind}">${shown.text}</p>`}
    <form method="post" action="${escapeHtml(contextPath)}/login">
      <label for="username">User name</label>
      <input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" autocorrect="off"
        spellcheck="false" maxlength="256" required autofocus${invalid}>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${invalid}>
      <button type="submit">Sign in</button>
    </form>`
  return createPage('Sign in', body, formAction(ui), brand)
}

function toShown({ notice, minutes }: ShownNotice): { kind: string; text: string } {
  const { kind, text } = notices[notice]
  return { kind, text: minutes === undefined ? text : text.replace('a moment', inMinutes(minutes)) }
}

export function inMinutes(minutes: number): string {
  return minutes === 1 ? '1 minute' : `${minutes} minutes`
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
