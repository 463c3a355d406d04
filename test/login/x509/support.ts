/** What the certificate tests share: files of an authority, a gateway that trusts it, and a client that shows certificates. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Authority, createAuthority, type Issued } from '../../support/authority.ts'
import { freePort } from '../../support/free-port.ts'
import {
  type GatewayOptions,
  type GatewaySettings,
  type RunningGateway,
  runGateway,
} from '../../support/gateway.ts'

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

export interface Files {
  readonly dir: string
  write(name: string, content: string | Buffer): string
}

/** A directory that is removed with the test. */
export function createFiles(t: TestContext): Files {
  const dir = mkdtempSync(join(tmpdir(), 'fairlead-tls-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return {
    dir,
    write: (name, content) => {
      const file = join(dir, name)
      writeFileSync(file, content)
      return file
    },
  }
}

/** An authority and a certificate of it for the gateway; made once for all tests of a file. */
export async function createIssuers(): Promise<{ authority: Authority; server: Issued }> {
  const authority = await createAuthority('O=Acme, CN=CA-1')
  const hosts = ['localhost', '127.0.0.1']
  return {
    authority,
    server: await authority.issue({
      subject: 'CN=localhost',
      hosts,
      usage: 'server',
      notAfter: Date.now() + 60 * 86_400_000,
    }),
  }
}

/** `server.ssl` of a gateway with this certificate, which accepts certificates of the authorities. */
export function sslSettings(
  files: Files,
  server: Issued,
  authorities: readonly Authority[],
): Record<string, string> {
  return {
    certificate: files.write('gate.pem', server.cert),
    'certificate-private-key': files.write('gate.key', server.key),
    'trust-certificate': files.write(
      'ca.pem',
      authorities.map(({ certificate }) => certificate).join('\n'),
    ),
  }
}

export interface CertificateGateway extends RunningGateway {
  /** Address of the port for certificates. */
  apiUrl: string
}

/** X509-1: server TLS, a port for certificates, and whatever the settings add. */
export async function runWithApiPort(
  t: TestContext,
  ssl: Record<string, string>,
  settings: GatewaySettings = {},
  options: GatewayOptions = {},
): Promise<CertificateGateway> {
  const apiPort = await freePort()
  const server = { ssl, ...(settings['server'] as object | undefined) }
  const x509 = { enabled: true, ...(settings['x509'] as object | undefined) }
  const running = await runGateway(t, { ...settings, server, x509, default: { apiPort } }, options)
  return { ...running, apiUrl: `https://127.0.0.1:${apiPort}` }
}

export interface AskOptions {
  client?: Issued | undefined
  headers?: Record<string, string>
  /** PEM; the certificate of the server is not checked without it. */
  ca?: string
  maxVersion?: 'TLSv1.2' | 'TLSv1.3'
  method?: string
  /** Whether the client itself would show a certificate that is too weak; the server decides then. */
  weak?: boolean
}

/** One request on a connection of its own. @throws {Error} when the connection fails */
export function ask(url: string, options: AskOptions = {}): Promise<Answer> {
  const { client, headers = {}, ca, maxVersion, method = 'GET', weak = false } = options
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca }
  const own = {
    cert: client?.cert,
    key: client?.key,
    ...trust,
    ...(maxVersion && { maxVersion }),
    ...(weak && { ciphers: 'DEFAULT@SECLEVEL=0' }),
  }
  const outgoing = request(url, { method, headers, agent: false, ...own }, (incoming) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('error', reject)
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text })
    })
  })
  outgoing.on('error', reject)
  outgoing.end()
  return promise
}

/** The identity object; empty when nobody is logged in. */
export async function userOf(url: string, options: AskOptions): Promise<Record<string, unknown>> {
  const { status, text } = await ask(`${url}/auth/user`, options)
  return status === 200 && text !== '' ? (JSON.parse(text) as Record<string, unknown>) : {}
}
