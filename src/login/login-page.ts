/** The pages that the gateway shows itself, login and farewell: no script, nothing from elsewhere, readable by everyone. */
import { createHash } from 'node:crypto'
import type { UiAddress } from './redirect-target.ts'

/** What the login page says above the form; taken from this table only, so nothing that a stranger sends is shown. */
const notices = {
  refused: { kind: 'alert', text: 'Bad credentials. Check user name and password, and try again.' },
  wait: { kind: 'alert', text: 'Too many failed attempts. Wait a quarter of an hour, or ask an administrator.' },
  unavailable: { kind: 'alert', text: 'The directory that knows you does not answer. Try again in a moment.' },
  expired: { kind: 'alert', text: 'Your password has expired. Change it where you usually do, then sign in again.' },
  restricted: { kind: 'alert', text: 'This account may not sign in at present. Ask an administrator.' },
  'signed-out': { kind: 'status', text: 'You are signed out.' },
} as const

export type Notice = keyof typeof notices

export interface Page {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

export interface PageOptions {
  /** Prefix of the gateway's paths, or empty. */
  readonly contextPath: string
  readonly ui: UiAddress
}

export function createLoginPage({ contextPath, ui }: PageOptions, notice: Notice | undefined): Page {
  const shown = notice === undefined ? undefined : notices[notice]
  const invalid = shown?.kind === 'alert' ? ' aria-invalid="true" aria-describedby="notice"' : ''
  const body = `
    <h1>Sign in</h1>
    <p class="lead">to Fairlead, the gateway of your delivery platform</p>
    ${shown === undefined ? '' : `<p id="notice" class="notice ${shown.kind}" role="${shown.kind}">${shown.text}</p>`}
    <form method="post" action="${escapeHtml(contextPath)}/login">
      <label for="username">User name</label>
      <input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" autocorrect="off"
        spellcheck="false" maxlength="256" required autofocus${invalid}>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${invalid}>
      <button type="submit">Sign in</button>
    </form>`
  return createPage('Sign in', body, formAction(ui))
}

/** Browsers apply this to the redirects that follow the form too, so it must admit every place where a login may lead. */
function formAction({ uiUrl, uiHostPattern }: UiAddress): string {
  const origin = URL.parse(uiUrl)?.origin
  return uiHostPattern !== undefined || origin === undefined ? '' : `; form-action 'self' ${origin}`
}

export function createFarewellPage({ contextPath, ui }: PageOptions, text: string): Page {
  const target = ui.uiUrl === '' ? `${contextPath}/login` : ui.uiUrl
  return createPage(
    'Signed out',
    `
    <h1>Signed out</h1>
    <p class="lead">${escapeHtml(text)}</p>
    <p><a class="button" href="${escapeHtml(target)}">Sign in again</a></p>`,
    "; form-action 'none'",
  )
}

/** The ring through which the line of a ship is led. */
const mark = `<svg class="mark" viewBox="0 0 48 48" width="44" height="44" aria-hidden="true" focusable="false">
      <circle cx="24" cy="24" r="15" fill="none" stroke="currentColor" stroke-width="6"/>
      <path d="M2 31c9 0 13-14 22-14s13 14 22 14" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round"/>
    </svg>`

/** Contrast of text is at least 7:1, of borders and rings 3:1, in both schemes. */
const style = `
  :root { color-scheme: light dark; --page: #eef2f5; --card: #fff; --text: #16232e; --soft: #43535f; --line: #76868f;
    --accent: #0b5a7a; --on-accent: #fff; --alert: #8c1525; --alert-page: #fdecee; --good: #14532d; --good-page: #e7f6ec }
  @media (prefers-color-scheme: dark) { :root { --page: #0d151b; --card: #16212a; --text: #eaf1f5; --soft: #b4c3cc;
    --line: #7d8f9a; --accent: #7fd0f0; --on-accent: #06202c; --alert: #ffb3bc; --alert-page: #3a1a20; --good: #a9e5bd;
    --good-page: #143322 } }
  * { box-sizing: border-box }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem 1rem; background: var(--page);
    color: var(--text); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif }
  main { width: 100%; max-width: 24rem; padding: 2.25rem 2rem; background: var(--card); border-radius: .9rem;
    box-shadow: 0 1px 2px rgb(0 0 0 / .12), 0 12px 32px rgb(0 0 0 / .1) }
  .mark { color: var(--accent); display: block }
  h1 { margin: 1rem 0 .25rem; font-size: 1.6rem; line-height: 1.2 }
  .lead { margin: 0 0 1.25rem; color: var(--soft) }
  .notice { margin: 0 0 1.25rem; padding: .7rem .9rem; border-radius: .5rem; border-inline-start: .25rem solid }
  .alert { color: var(--alert); background: var(--alert-page) }
  .status { color: var(--good); background: var(--good-page) }
  label { display: block; margin: 0 0 .3rem; font-weight: 600 }
  input { display: block; width: 100%; margin: 0 0 1.1rem; padding: .65rem .75rem; font: inherit; color: inherit;
    background: var(--card); border: 1px solid var(--line); border-radius: .5rem }
  button, .button { display: block; width: 100%; margin-top: .4rem; padding: .75rem 1rem; font: inherit; font-weight: 600;
    text-align: center; text-decoration: none; color: var(--on-accent); background: var(--accent); border: 0;
    border-radius: .5rem; cursor: pointer }
  button:hover, .button:hover { filter: brightness(1.12) }
  :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
  @media (max-width: 26rem) { body { place-items: start center; padding: 0; background: var(--card) }
    main { border-radius: 0; box-shadow: none; padding: 2rem 1.25rem } }
  @media (forced-colors: active) { button, .button, main { border: 1px solid } }
`

const styleHash = createHash('sha256').update(style).digest('base64')

/** @param policy More of the content security policy, starting with a semicolon. */
export function createPage(title: string, body: string, policy: string): Page {
  return {
    html: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${title} · Fairlead</title>
    <link rel="icon" href="data:,">
    <style>${style}</style>
  </head>
  <body>
    <main>
    ${mark}${body}
    </main>
  </body>
</html>
`,
    headers: {
      'content-type': 'text/html;charset=UTF-8',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; frame-ancestors 'none'${policy}`,
      'referrer-policy': 'same-origin',
    },
  }
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
