/** The pages that the gateway shows itself, login and farewell: no script, nothing from elsewhere, readable by everyone. */
import { createHash } from 'node:crypto'
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

export interface Page {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

/** What the pages show of the platform that they belong to. */
export interface Brand {
  readonly title: string
  /** Goes on where the heading "Sign in" ends. */
  readonly lead: string
  /** Above the form; lines are kept. */
  readonly text: string | undefined
  /** A data address of an image. */
  readonly logo: string | undefined
}

export const fairleadBrand: Brand = {
  title: 'Fairlead',
  lead: 'to Fairlead, the gateway of your delivery platform',
  text: undefined,
  logo: undefined,
}

export interface PageOptions {
  /** Prefix of the gateway's paths, or empty. */
  readonly contextPath: string
  readonly ui: UiAddress
  readonly brand: Brand
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

/** The ring through which the line of a ship is led. */
const mark = `<svg class="mark" viewBox="0 0 48 48" width="48" height="48" aria-hidden="true" focusable="false">
      <circle cx="24" cy="24" r="15" fill="none" stroke="currentColor" stroke-width="6"/>
      <path d="M2 31c9 0 13-14 22-14s13 14 22 14" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round"/>
    </svg>`

/** Lines that swing across the page behind the card; a mask, so that they take the colour of the scheme. */
const lines = [300, 330, 360, 390, 420, 450].map(
  (y, index) => `<path d='M-20 ${y + index * 14}c240 -120 420 120 720 0s480 -140 760 20'/>`,
)
const backdrop = `url("data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1440 800' preserveAspectRatio='xMidYMax slice'><g fill='none' stroke='#000' stroke-width='2.5'>${lines.join('')}</g></svg>`,
)}")`

/** Contrast of text is at least 7:1, of borders and rings 3:1, in both schemes. */
const style = `
  :root { color-scheme: light dark; --page: #e9eff3; --glow: #fbfdfe; --card: #fff; --text: #16232e; --soft: #43535f;
    --line: #76868f; --accent: #0b5a7a; --strong: #084761; --on-accent: #fff; --alert: #8c1525; --alert-page: #fdecee;
    --good: #14532d; --good-page: #e7f6ec; --edge: transparent }
  @media (prefers-color-scheme: dark) { :root { --page: #0a1218; --glow: #15222c; --card: #16212a; --text: #eaf1f5;
    --soft: #b4c3cc; --line: #7d8f9a; --accent: #7fd0f0; --strong: #a5e0f7; --on-accent: #06202c; --alert: #ffb3bc;
    --alert-page: #3a1a20; --good: #a9e5bd; --good-page: #143322; --edge: #26353f } }
  * { box-sizing: border-box }
  body { margin: 0; min-height: 100vh; min-height: 100svh; display: grid; place-items: center; padding: 1.5rem 1rem;
    background: radial-gradient(ellipse at 50% 35%, var(--glow), var(--page) 70%) fixed; color: var(--text);
    font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif }
  body::before { content: ""; position: fixed; inset: 0; z-index: -1; background: var(--accent); opacity: .16;
    mask: ${backdrop} center bottom / cover no-repeat }
  main { width: 100%; max-width: 25rem; padding: 2.5rem 2.25rem; background: var(--card); border: 1px solid var(--edge);
    border-radius: 1rem; box-shadow: 0 1px 2px rgb(0 0 0 / .1), 0 18px 48px rgb(6 32 44 / .16); overflow-wrap: break-word }
  .mark { color: var(--accent); display: block; margin: 0 0 0 -.1rem }
  .logo { display: block; max-width: 100%; max-height: 4rem; object-fit: contain; object-position: left }
  h1 { margin: 1.25rem 0 .2rem; font-size: 1.75rem; line-height: 1.2; letter-spacing: -.01em }
  .lead { margin: 0 0 1.5rem; color: var(--soft); text-wrap: pretty }
  .text { margin: -.5rem 0 1.5rem; white-space: pre-line }
  .notice { margin: 0 0 1.5rem; padding: .75rem .9rem; border-radius: .5rem; border-inline-start: .25rem solid }
  .alert { color: var(--alert); background: var(--alert-page) }
  .status { color: var(--good); background: var(--good-page) }
  label { display: block; margin: 0 0 .35rem; font-weight: 600 }
  input { display: block; width: 100%; margin: 0 0 1.25rem; padding: .7rem .8rem; font: inherit; color: inherit;
    background: var(--card); border: 1px solid var(--line); border-radius: .55rem }
  input:hover { border-color: var(--accent) }
  button, .button { display: block; width: 100%; margin-top: .5rem; padding: .8rem 1rem; font: inherit; font-weight: 600;
    text-align: center; text-decoration: none; color: var(--on-accent); background: var(--accent); border: 0;
    border-radius: .55rem; cursor: pointer; transition: background-color .15s }
  button:hover, .button:hover { background: var(--strong) }
  :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
  ul { padding-inline-start: 1.25rem }
  li { margin: .4rem 0 }
  code { font-size: .9em; overflow-wrap: anywhere }
  h1 + .notice { margin-top: 1.25rem }
  main:has(ul) { max-width: 32rem }
  @media (max-width: 30rem) { body::before { display: none } body { place-items: start center; padding: 0; background: var(--card) }
    main { padding: clamp(2rem, 9svh, 5rem) 1.5rem 2.5rem; background: none; border: 0; box-shadow: none } }
  @media (forced-colors: active) { button, .button, main { border: 1px solid } }
  @media (prefers-reduced-motion: reduce) { * { transition: none } }
`

const styleHash = createHash('sha256').update(style).digest('base64')

/** @param policy More of the content security policy, starting with a semicolon. */
export function createPage(title: string, body: string, policy: string, brand: Brand = fairleadBrand): Page {
  const logo = brand.logo && `<img class="logo" src="${escapeHtml(brand.logo)}" alt="${escapeHtml(brand.title)}">`
  return {
    html: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${title} · ${escapeHtml(brand.title)}</title>
    <link rel="icon" href="data:,">
    <style>${style}</style>
  </head>
  <body>
    <main>
    ${logo ?? mark}${body}
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
