/**
 * A company's server of packages on loopback: registries of npm, pip and Go and a Git repository, each with a login, over TLS with an
 * authority of their own. Its name leads nowhere, so that it is reached through the company's proxy only, which wants a login, too.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer as createPlainServer, request as requestPlain } from 'node:http'
import { createServer, type ServerOptions } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { crc32 } from 'node:zlib'
import { createAuthority } from './authority.ts'
import { startGitServer } from './git-server.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'

const host = 'packages.company.example'
const modulePath = `${host}/left`

export interface PrivateRegistries {
  /** PEM file. */
  readonly authority: string
  /** Address of the proxy, with its login. */
  readonly proxy: string
  readonly host: string
  /** Of which paths begin with `/npm/`, `/pip/`, `/go/` and `/shop.git`. */
  readonly url: string
  /** The same server, reached without the proxy. */
  readonly direct: string
  /** Hosts that the proxy was asked for with its login, in order. */
  readonly connects: string[]
  /** Paths that were refused for their login. */
  readonly refused: string[]
  /** Content of `package-lock.json` and `go.sum` for what the registries have. */
  readonly locks: { readonly npm: string; readonly go: string }
}

/** Logins: `ci` with this password, which has to be encoded in an address, and the token of npm. */
export const packagePassword = 'pass/w:o@rd%9321'
export const npmToken = 'npm-token-4711'
export const proxyPassword = 'proxy/pass-2468'

const basic = `Basic ${Buffer.from(`ci:${packagePassword}`).toString('base64')}`

export async function startPrivateRegistries(t: TestContext): Promise<PrivateRegistries> {
  const folder = createFolder('registries')
  t.after(() => removeFolder(folder))
  const company = await createAuthority('CN=Company')
  writeFileSync(join(folder, 'company.pem'), company.certificate)
  const git = await startGitServer(t, basic)
  git.commit({ 'fairlead-image.yml': 'command: [sh, -c, "exit 0"]\n', 'README.md': 'read me' })
  const packages = packPackages(folder)
  const refused: string[] = []
  const tls: ServerOptions = await company.issue({
    subject: `CN=${host}`,
    hosts: [host, '127.0.0.1'],
    usage: 'server',
  })
  const server = createServer(tls, (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'https://packages').pathname)
    if (
      request.headers.authorization !== (path.startsWith('/npm/') ? `Bearer ${npmToken}` : basic)
    ) {
      refused.push(path)
      response.writeHead(401, { 'www-authenticate': 'Basic realm="packages"' }).end()
    } else if (path.startsWith('/shop.git/')) {
      const options = { method: request.method, headers: request.headers }
      const inner = requestPlain(new URL(request.url ?? '/', git.url), options, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      request.pipe(inner)
    } else {
      const found = packages.files.get(path)
      response
        .writeHead(found === undefined ? 404 : 200, { 'content-type': typeOf(path) })
        .end(found)
    }
  })
  const port = await listen(t, server)
  const connects: string[] = []
  const gate = createPlainServer((_request, response) => response.writeHead(405).end())
  gate.on('connect', ({ url = '', headers }, socket) => {
    socket.on('error', () => {})
    const login = `Basic ${Buffer.from(`gate:${proxyPassword}`).toString('base64')}`
    if (headers['proxy-authorization'] !== login) {
      return socket.end(
        'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="gate"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
      )
    }
    connects.push(url)
    const inner = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
    inner.on('error', () => socket.destroy())
    socket.on('close', () => inner.destroy())
    return void socket.pipe(inner).pipe(socket)
  })
  const proxy = `http://gate:${encodeURIComponent(proxyPassword)}@127.0.0.1:${await listen(t, gate)}`
  return {
    authority: join(folder, 'company.pem'),
    proxy,
    host,
    url: `https://${host}`,
    direct: `https://127.0.0.1:${port}`,
    connects,
    refused,
    locks: packages.locks,
  }
}

async function listen(
  t: TestContext,
  server: ReturnType<typeof createPlainServer>,
): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function typeOf(path: string): string {
  return /\/(?:left|simple\/left\/)$/.test(path)
    ? path.startsWith('/npm/')
      ? 'application/json'
      : 'text/html'
    : 'application/octet-stream'
}

/** The package `left` of each kind, by path. */
function packPackages(folder: string) {
  writeFileSync(
    join(folder, 'package.json'),
    '{"name": "left", "version": "1.0.0", "main": "left.cjs"}',
  )
  writeFileSync(join(folder, 'left.cjs'), "module.exports = 'left of npm'\n")
  execFileSync('npm', ['pack', '--silent'], { cwd: folder })
  const tarball = readFileSync(join(folder, 'left-1.0.0.tgz'))
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const dist = { tarball: `https://${host}/npm/left/-/left-1.0.0.tgz`, integrity }
  const wheel = zip({
    'left.py': "word = 'left of pip'\n",
    'left-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: left\nVersion: 1.0\n',
    'left-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    'left-1.0.dist-info/RECORD': '',
  })
  const goFiles = {
    'go.mod': `module ${modulePath}\n`,
    'left.go': 'package left\n\nconst Word = "left of go"\n',
  }
  const inZip = Object.fromEntries(
    Object.entries(goFiles).map(([name, text]) => [`${modulePath}@v1.0.0/${name}`, text]),
  )
  const versions = `/go/${modulePath}/@v`
  const files = new Map<string, string | Buffer>([
    [
      '/npm/left',
      JSON.stringify({
        name: 'left',
        'dist-tags': { latest: '1.0.0' },
        versions: { '1.0.0': { name: 'left', version: '1.0.0', dist } },
      }),
    ],
    ['/npm/left/-/left-1.0.0.tgz', tarball],
    [
      '/pip/simple/left/',
      '<!DOCTYPE html><a href="left-1.0-py3-none-any.whl">left-1.0-py3-none-any.whl</a>',
    ],
    ['/pip/simple/left/left-1.0-py3-none-any.whl', wheel],
    [`${versions}/list`, 'v1.0.0\n'],
    [`${versions}/v1.0.0.info`, '{"Version": "v1.0.0", "Time": "2026-01-01T00:00:00Z"}'],
    [`${versions}/v1.0.0.mod`, goFiles['go.mod']],
    [`${versions}/v1.0.0.zip`, zip(inZip)],
  ])
  const root = { name: 'app', version: '1.0.0', dependencies: { left: '1.0.0' } }
  const resolved = 'https://registry.npmjs.org/left/-/left-1.0.0.tgz'
  const npm = JSON.stringify({
    ...root,
    lockfileVersion: 3,
    packages: { '': root, 'node_modules/left': { version: '1.0.0', resolved, integrity } },
  })
  const go = `${modulePath} v1.0.0 ${hashOf(inZip)}\n${modulePath} v1.0.0/go.mod ${hashOf({ 'go.mod': goFiles['go.mod'] })}\n`
  return { files, locks: { npm, go } }
}

/** As `go.sum` has it. */
function hashOf(files: Readonly<Record<string, string>>): string {
  const sha256 = (text: string) => createHash('sha256').update(text)
  const lines = Object.entries(files).map(
    ([name, text]) => `${sha256(text).digest('hex')}  ${name}\n`,
  )
  return `h1:${sha256(lines.join('')).digest('base64')}`
}

/** An archive without compression. */
function zip(files: Readonly<Record<string, string>>): Buffer {
  const [parts, directory]: [Buffer[], Buffer[]] = [[], []]
  let at = 0
  for (const [name, text] of Object.entries(files)) {
    const [label, content] = [Buffer.from(name), Buffer.from(text)]
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt32LE(0x00210000, 6)
    fields.writeUInt32LE(crc32(content), 10)
    fields.writeUInt32LE(content.length, 14)
    fields.writeUInt32LE(content.length, 18)
    fields.writeUInt16LE(label.length, 22)
    const place = Buffer.alloc(14)
    place.writeUInt32LE(at, 10)
    directory.push(Buffer.from('PK\x01\x02\x14\0', 'latin1'), fields, place, label)
    parts.push(Buffer.from('PK\x03\x04', 'latin1'), fields, label, content)
    at += 4 + fields.length + label.length + content.length
  }
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  const count = Object.keys(files).length
  end.writeUInt16LE(count, 8)
  end.writeUInt16LE(count, 10)
  end.writeUInt32LE(Buffer.concat(directory).length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, ...directory, end])
}
