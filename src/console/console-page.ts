/** The HTML document of the console: the same for every address below `/console`. */
import { type Brand, escapeHtml, icon, type Page } from '../http/page.ts'
import type { Manifest } from './built-files.ts'

interface ConsolePageOptions {
  readonly manifest: Manifest
  readonly brand: Brand
  readonly basePath: string
  /** Fresh for each document: admits the style elements that the text editor writes. */
  readonly nonce: string
}

export function createConsolePage({ manifest, brand, basePath, nonce }: ConsolePageOptions): Page {
  const { theme, style, script, preload } = manifest
  const title = escapeHtml(brand.title)
  return {
    html: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <base href="${escapeHtml(basePath)}">
    <title>${title}</title>
    <meta name="application-name" content="${title}">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex">
    <meta property="csp-nonce" nonce="${nonce}">
    <link rel="icon" href="${escapeHtml(icon)}">
    <script src="files/${theme}"></script>
    <link rel="stylesheet" href="files/${style}">
    ${preload.map((name) => `<link rel="modulepreload" href="files/${name}">`).join('\n    ')}
    <script type="module" src="files/${script}"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>The console of ${title} needs JavaScript.</noscript>
  </body>
</html>
`,
    headers: {
      'content-type': 'text/html;charset=UTF-8',
      'cache-control': 'no-cache',
      'content-security-policy': policyFor(nonce),
      'referrer-policy': 'same-origin',
    },
  }
}

function policyFor(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}
