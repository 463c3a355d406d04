/** Page template: name and logo of the installation, strict content security policy. */
import { hash } from 'node:crypto'

export interface Page {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Brand {
  readonly title: string
  readonly lead: string
  readonly text: string | undefined
  readonly logo: string | undefined
}

export const fairleadBrand: Brand = {
  title: 'Fairlead',
  lead: 'to Fairlead, the gateway of your delivery platform',
  text: undefined,
  logo: undefined,
}

export interface Site {
  readonly brand: Brand
  readonly contextPath: string
}

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
  .below { min-height: 6rem; margin: 1.25rem 0 -2rem }
  .below > * { margin: 0 }
  .field { position: relative }
  label { display: block; margin: 0 0 .35rem; font-weight: 600 }
  input { display: block; width: 100%; margin: 0 0 1.25rem; padding: .7rem .8rem; font: inherit; color: inherit;
    background: var(--card); border: 1px solid var(--line); border-radius: .55rem }
  input:hover { border-color: var(--accent) }
  button, .button { display: block; width: 100%; margin-top: .5rem; padding: .8rem 1rem; font: inherit; font-weight: 600;
    text-align: center; text-decoration: none; color: var(--on-accent); background: var(--accent); border: 0;
    border-radius: .55rem; cursor: pointer; transition: background-color .15s }
  button:hover, .button:hover { background: var(--strong) }
  :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
  .link { position: absolute; top: 0; right: 0; width: auto; margin: 0; padding: .15rem .1rem; min-height: 1.5rem; font-weight: 400; font-size: .875rem; color: var(--accent);
    background: none; text-decoration: underline; border-radius: .25rem }
  .link:hover { color: var(--strong); background: none }
  [hidden] { display: none }
  ul { padding-inline-start: 1.25rem }
  li { margin: .4rem 0 }
  code { font-size: .9em; overflow-wrap: anywhere }
  .small { margin: 1.25rem 0 0; font-size: .875rem; color: var(--soft) }
  h1 + .notice { margin-top: 1.25rem }
  main:has(ul) { max-width: 32rem }
  @media (max-width: 30rem) { body::before { display: none } body { place-items: start center; padding: 0; background: var(--card) }
    main { padding: clamp(2rem, 9svh, 5rem) 1.5rem 2.5rem; background: none; border: 0; box-shadow: none } }
  @media (max-width: 30rem) { .below { margin-bottom: 0 } }
  @media (max-width: 30rem) and (max-height: 42rem) { main { padding-block: 1rem }
    .mark { width: 2rem; height: 2rem } h1 { margin-top: .4rem; font-size: 1.5rem } .lead { margin-bottom: .75rem; line-height: 1.35 }
    .below { min-height: 5.5rem; margin-top: .75rem } .text { margin-top: 0 } .below .notice { padding-block: .5rem }
    input { margin-bottom: .75rem; padding-block: .55rem } button:not(.link) { padding-block: .65rem } .small { margin-top: .75rem } }
  @media (forced-colors: active) { button, .button, main { border: 1px solid } }
  @media (prefers-reduced-motion: reduce) { * { transition: none } }
`

export const icon = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 48 48'><rect width='48' height='48' rx='10' fill='#0b5a7a'/><g fill='none' stroke='#fff'><circle cx='24' cy='24' r='12' stroke-width='5'/><path d='M4 30c8 0 11-12 20-12s12 12 20 12' stroke-width='3' stroke-linecap='round'/></g></svg>`,
)}`

const styleHash = hash('sha256', style, 'base64')

export function createPage(title: string, body: string, policy: string, brand: Brand): Page {
  const logo =
    brand.logo &&
    `<img class="logo" src="${escapeHtml(brand.logo)}" alt="${escapeHtml(brand.title)}">`
  return {
    html: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${title} · ${escapeHtml(brand.title)}</title>
    <link rel="icon" href="${escapeHtml(brand.logo ?? icon)}">
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

declare module 'fastify' {
  interface FastifyInstance {
    site: Site
  }
}
