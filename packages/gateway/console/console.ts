/** Serves the web console: its document for every address below `/console`, and its files. */
import { randomBytes } from 'node:crypto'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Brand, escapeHtml, icon, type Page } from '../http/page.ts'
import { BuiltFiles, type Manifest } from './built-files.ts'

const consolePath = '/console'
const filesPath = `${consolePath}/files/`

export const consoleRoutes: readonly { method: string; path: string }[] = [
  consolePath,
  `${consolePath}/**`,
].flatMap((path) => ['GET', 'HEAD'].map((method) => ({ method, path })))

/**
 * Needs no login, because neither document nor files hold data of users.
 *
 * @param dir Folder of the built console, undefined where there is none.
 */
export function mountConsole(server: FastifyInstance, dir: URL | undefined): void {
  const built = new BuiltFiles(dir)
  const method = ['GET', 'HEAD']
  const sendPage = (request: FastifyRequest, reply: FastifyReply) =>
    answerPage(built, request, reply)
  server.route({ method, url: consolePath, handler: sendPage, onSend: dropOldCacheHeaders })
  server.route({ method, url: `${consolePath}/*`, handler: sendPage, onSend: dropOldCacheHeaders })
  server.route({
    method,
    url: `${filesPath}*`,
    handler: (request, reply) => answerFile(built, request, reply),
    onSend: dropOldCacheHeaders,
  })
}

async function answerPage(
  built: BuiltFiles,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const manifest = await built.manifest()
  const { brand } = request.server.site
  const basePath = `${new URL(request.state.baseUrl).pathname.replace(/\/$/, '')}${consolePath}/`
  const { html, headers } = createConsolePage({
    manifest,
    brand,
    basePath,
    nonce: randomBytes(16).toString('base64url'),
  })
  return reply.headers({ ...headers, 'content-length': String(Buffer.byteLength(html)) }).send(html)
}

async function answerFile(
  built: BuiltFiles,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const name = request.state.path.slice(filesPath.length)
  const file = await built.find(name, String(request.headers['accept-encoding'] ?? ''))
  if (file === undefined) {
    throw new GatewayError(
      'NOT_FOUND',
      'Fairlead was updated, and this file of the console no longer exists. Reload the page.',
    )
  }
  const { bytes, type, coding } = file
  return reply
    .headers({
      'content-type': type,
      'content-length': String(bytes.length),
      'cache-control': 'public, max-age=31536000, immutable',
      vary: [request.state.answerHeaders['vary'], 'Accept-Encoding']
        .filter((name) => name !== undefined)
        .join(', '),
      ...(coding !== undefined && { 'content-encoding': coding }),
    })
    .send(bytes)
}

/** What every answer carries against old caches contradicts the header Cache-Control of what may be kept. */
function dropOldCacheHeaders(
  _request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: null, payload: unknown) => void,
): void {
  if (reply.statusCode === 200) reply.removeHeader('pragma').removeHeader('expires')
  done(null, payload)
}

interface ConsolePageOptions {
  readonly manifest: Manifest
  readonly brand: Brand
  readonly basePath: string
  /** Fresh for each document: admits the style elements that the text editor writes. */
  readonly nonce: string
}

function createConsolePage({ manifest, brand, basePath, nonce }: ConsolePageOptions): Page {
  const { theme, style, font, script, preload } = manifest
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
    <link rel="preload" href="files/${font}" as="font" type="font/woff2" crossorigin>
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
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}
