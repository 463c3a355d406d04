/** Starts nginx on loopback as balancer in front of replicas, with TLS and a path prefix if wanted; it ends with the test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Agent } from 'undici'
import { needs } from './debian.ts'
import { freePort } from './free-port.ts'
import { keyPairOf } from './self-signed.ts'
import { waitUntil } from './wait-until.ts'

export interface BalancerOptions {
  /** TLS, with a certificate for `localhost`. */
  tls?: boolean
  /** Passed on to the replicas as it is, such as `/gate`: their context path. Anything beyond it is 404. */
  prefix?: string
  /** Base URLs without path; requests go to one after the other. */
  targets: readonly string[]
  /** Further lines of the `location`. */
  config?: readonly string[]
  /** Asks clients for a certificate, lets them in without, and hands what they show on in `X-SSL-Client-Cert`. */
  clientCertificates?: boolean
}

export interface Balancer {
  /** `https://localhost:port/prefix`, as browsers see the gateway. */
  readonly url: string
  /** PEM, for clients that have to trust the balancer. */
  readonly certificate: string
  /** For `fetch`: trusts the balancer. */
  readonly dispatcher: Agent
  /** To which target each request went, in order. */
  targetsSoFar(): string[]
}

/** Undefined when nginx is not installed; the test is skipped then. */
export async function startBalancer(
  t: TestContext,
  options: BalancerOptions,
): Promise<Balancer | undefined> {
  const { tls = false, prefix = '' } = options
  return startNginx(t, { tls, prefix, http: (place) => formatServers(place, options) })
}

export interface NginxPlace {
  readonly port: number
  /** PEM files for `localhost`. */
  readonly certificateFile: string
  readonly keyFile: string
}

export interface NginxOptions {
  tls: boolean
  prefix: string
  /** What stands within `http`: an upstream, and a server on the port. */
  http: (place: NginxPlace) => string
}

/** nginx with a configuration of the test's own. */
export async function startNginx(
  t: TestContext,
  { tls, prefix, http }: NginxOptions,
): Promise<Balancer | undefined> {
  const program = needs(t, 'nginx')
  if (program === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-balancer-'))
  const port = await freePort()
  const pair = keyPairOf('localhost')
  const place = {
    port,
    certificateFile: join(folder, 'certificate.pem'),
    keyFile: join(folder, 'key.pem'),
  }
  writeFileSync(place.certificateFile, pair.certificate)
  writeFileSync(place.keyFile, pair.keyPem)
  writeFileSync(join(folder, 'nginx.conf'), formatMain(folder, http(place)))
  const child = spawn(program, ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const dispatcher = new Agent({ connect: { ca: pair.certificate } })
  t.after(async () => {
    await dispatcher.close()
    await stop(child)
    rmSync(folder, { recursive: true, force: true })
  })
  await waitUntil(() => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${errors}`)
    return isListening(port)
  }, 'nginx')
  return {
    url: `${tls ? 'https' : 'http'}://localhost:${port}${prefix}`,
    certificate: pair.certificate,
    dispatcher,
    targetsSoFar: () =>
      readFileSync(join(folder, 'targets.log'), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('127.')),
  }
}

function formatMain(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  return `
    daemon off;
    master_process off;
    pid ${folder}/nginx.pid;
    events { worker_connections 256; }
    http {
      ${temporary.join('\n      ')}
      log_format target '$upstream_addr';
      access_log ${folder}/targets.log target;
      ${http}
    }
  `
}

function formatServers(place: NginxPlace, options: BalancerOptions): string {
  const { tls, prefix = '', targets, config = [], clientCertificates = false } = options
  return `
      upstream replicas {
        ${targets.map((target) => `server ${new URL(target).host};`).join('\n        ')}
        keepalive 8;
      }
      server {
        listen 127.0.0.1:${place.port}${tls ? ' ssl' : ''};
        ${tls ? `ssl_certificate ${place.certificateFile}; ssl_certificate_key ${place.keyFile};` : ''}
        ${clientCertificates ? 'ssl_verify_client optional_no_ca;' : ''}
        ${prefix === '' ? '' : 'location / { return 404; }'}
        location ${prefix}/ {
          proxy_pass http://replicas;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_set_header Host $host;
          proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
          proxy_set_header X-Forwarded-Proto $scheme;
          proxy_set_header X-Forwarded-Host $host;
          proxy_set_header X-Forwarded-Port $server_port;
          ${clientCertificates ? 'proxy_set_header X-SSL-Client-Cert $ssl_client_escaped_cert;' : ''}
          ${config.join('\n          ')}
        }
      }
  `
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
