/**
 * Serves a folder of pages over HTTP. It is copied into images of static sites as it is, so it imports nothing but Node: index pages,
 * `about.html` as `/about`, the page `404.html` (without it a script reads the address: a browser gets `index.html`), validators, ranges;
 * no listings, no names that begin with a dot, and nothing outside of the folder.
 */
import { createHash } from 'node:crypto'
import { createReadStream, type Stats } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, sep } from 'node:path'

/** An import would read all that the module exports, among it a second HTTP client, which takes 40 ms of each start. */
const { createServer } = process.getBuiltinModule('node:http')

interface FoundFile {
  readonly path: string
  readonly stats: Stats
}

const types: Readonly<Record<string, string>> = {
  '.avif': 'image/avif',
  '.css': 'text/css; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8',
  '.gif': 'image/gif',
  '.htm': 'text/html; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.otf': 'font/otf',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.webm': 'video/webm',
  '.webp': 'image/webp',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.xml': 'application/xml',
  '.zip': 'application/zip',
}

const root = await realpath(process.argv[2] ?? 'site')
/** Digests by path, size and time: instances of a site give a file the same validator, whenever they were started. */
const digests = new Map<string, Promise<string>>()

const server = createServer((request, response) => {
  answer(request, response).catch(() => {
    if (!response.headersSent) response.writeHead(500)
    response.end()
  })
})
server.listen(Number(process.env['PORT'] ?? 8080), process.env['HOST'] ?? '127.0.0.1')
process.once('SIGTERM', () => server.close(() => process.exit(0)))

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end()
    return
  }
  const [pathname = '/', query] = (request.url ?? '/').split('?', 2)
  const names = namesOf(pathname)
  if (names === undefined) return sendMissing(request, response)
  const last = names.at(-1) ?? ''
  const found = (await find(names)) ?? (await find([...names.slice(0, -1), `${last}.html`]))
  if (found === undefined) return sendMissing(request, response, !last.includes('.'))
  if (!found.stats.isDirectory()) return sendFile(found, request, response)
  const index = await find([...names, 'index.html'])
  if (index === undefined || index.stats.isDirectory()) return sendMissing(request, response)
  if (pathname.endsWith('/')) return sendFile(index, request, response)
  const below = encodeURIComponent(last)
  // Relative to what was asked for: the address in front of this server may be another one.
  response.writeHead(301, { location: `${below}/${query === undefined ? '' : `?${query}`}` }).end()
}

/** Undefined: it leads elsewhere, or to something hidden. */
function namesOf(pathname: string): string[] | undefined {
  try {
    const names = pathname
      .split('/')
      .filter((part) => part !== '')
      .map(decodeURIComponent)
    const isPlain = names.every((name) => !name.startsWith('.') && !/[/\\\0]/.test(name))
    return isPlain ? names : undefined
  } catch {
    return undefined
  }
}

async function find(names: readonly string[]): Promise<FoundFile | undefined> {
  try {
    const path = await realpath(join(root, ...names))
    if (path !== root && !path.startsWith(root + sep)) return undefined
    const isHidden = path
      .slice(root.length)
      .split(sep)
      .some((name) => name.startsWith('.'))
    const stats = await stat(path)
    return isHidden || !(stats.isFile() || stats.isDirectory()) ? undefined : { path, stats }
  } catch {
    return undefined
  }
}

async function sendMissing(
  request: IncomingMessage,
  response: ServerResponse,
  isPage = false,
): Promise<void> {
  const page = await find(['404.html'])
  if (page === undefined || page.stats.isDirectory()) {
    const app =
      isPage && request.headers.accept?.includes('text/html') && (await find(['index.html']))
    if (app) return sendFile(app, request, response)
    response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('Not found\n')
    return
  }
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-length': page.stats.size }
  response.writeHead(404, headers)
  if (request.method === 'HEAD') response.end()
  else send(page.path, response)
}

async function sendFile(
  { path, stats }: FoundFile,
  { method, headers: asked }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { size, mtimeMs } = stats
  const etag = `"${await digestOf(path, `${size} ${mtimeMs}`)}"`
  const headers = {
    etag,
    'cache-control': 'no-cache',
    'content-type': types[extname(path).toLowerCase()] ?? 'application/octet-stream',
    'x-content-type-options': 'nosniff',
    'accept-ranges': 'bytes',
  }
  if (isKnown(asked['if-none-match'], etag)) {
    response.writeHead(304, headers).end()
    return
  }
  const isSame = asked['if-range'] === undefined || asked['if-range'] === etag
  const range = isSame ? rangeOf(asked.range, size) : undefined
  if (range === 'none') {
    response.writeHead(416, { ...headers, 'content-range': `bytes */${size}` }).end()
    return
  }
  const { start, end } = range ?? { start: 0, end: size - 1 }
  response.writeHead(range === undefined ? 200 : 206, {
    ...headers,
    'content-length': end - start + 1,
    ...(range !== undefined && { 'content-range': `bytes ${start}-${end}/${size}` }),
  })
  if (method === 'HEAD' || size === 0) response.end()
  else send(path, response, { start, end })
}

function send(path: string, response: ServerResponse, part?: { start: number; end: number }): void {
  const file = createReadStream(path, part)
  file.once('error', () => response.destroy())
  response.once('close', () => file.destroy())
  file.pipe(response)
}

function digestOf(path: string, state: string): Promise<string> {
  const key = `${path} ${state}`
  let known = digests.get(key)
  if (known === undefined) {
    known = hashOf(path)
    known.catch(() => digests.delete(key))
    digests.set(key, known)
  }
  return known
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer)
  return hash.digest('base64url').slice(0, 22)
}

function isKnown(asked: string | undefined, etag: string): boolean {
  if (asked === undefined) return false
  return asked.split(',').some((each) => ['*', etag, `W/${etag}`].includes(each.trim()))
}

/** A single range. Undefined for several, or other units: the whole file is sent. `none`: behind the end. */
function rangeOf(
  asked: string | undefined,
  size: number,
): { readonly start: number; readonly end: number } | 'none' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(asked ?? '') ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'none' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (start >= size) return 'none'
  return end < start ? undefined : { start, end }
}
