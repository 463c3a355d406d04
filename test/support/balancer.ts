/** Starts nginx on loopback as balancer in front of replicas, with TLS and a path prefix if wanted; it ends with the test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Agent } from 'undici'
import { needs } from './debian.ts'
import { freePort } from './free-port.ts'
import { waitUntil } from './redis.ts'
import { keyPairOf } from './self-signed.ts'

export interface BalancerOptions {
  /** TLS, with a certificate for `localhost`. */
  tls?: boolean
  /** Passed on to the replicas as it is, such as `/gate`: their context path. Anything beyond it is 404. */
  prefix?: string
  /** Base URLs without path; requests go to one after the other. */
  targets: readonly string[]
  /** Further lines of the `location`. */
  config?: readonly string[]
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
export async function startBalancer(t: TestContext, options: BalancerOptions): Promise<Balancer | undefined> {
  const program = needs(t, 'nginx')
  if (program === undefined) return undefined
  const { tls = false, prefix = '' } = options
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-balancer-'))
  const port = await freePort()
  const pair = keyPairOf('localhost')
  writeFileSync(join(folder, 'certificate.pem'), pair.certificate)
  writeFileSync(join(folder, 'key.pem'), pair.keyPem)
  writeFileSync(join(folder, 'nginx.conf'), formatConfiguration(folder, port, options))
  const child = spawn(program, ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], { stdio: ['ignore', 'ignore', 'pipe'] })
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
  const origin = `${tls ? 'https' : 'http'}://localhost:${port}`
  await waitUntil(async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${errors}`)
    const answer = await fetch(`${origin}/balancer-health`, { dispatcher }).catch(() => undefined)
    await answer?.arrayBuffer()
    return answer?.status === 200
  }, 'nginx')
  return {
    url: origin + prefix,
    certificate: pair.certificate,
    dispatcher,
    targetsSoFar: () => readFileSync(join(folder, 'targets.log'), 'utf8').split('\n').filter(Boolean),
  }
}

function formatConfiguration(folder: string, port: number, { tls, prefix = '', targets, config = [] }: BalancerOptions): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`)
  return `
    daemon off;
    master_process off;
    pid ${folder}/nginx.pid;
    events { worker_connections 256; }
    http {
      ${temporary.join('\n      ')}
      log_format target '$upstream_addr';
      access_log ${folder}/targets.log target;
      upstream replicas {
        ${targets.map((target) => `server ${new URL(target).host};`).join('\n        ')}
        keepalive 8;
      }
      server {
        listen 127.0.0.1:${port}${tls ? ' ssl' : ''};
        ${tls ? `ssl_certificate ${folder}/certificate.pem; ssl_certificate_key ${folder}/key.pem;` : ''}
        location = /balancer-health { access_log off; return 200; }
        ${prefix === '' ? '' : 'location / { access_log off; return 404; }'}
        location ${prefix}/ {
          proxy_pass http://replicas;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_set_header Host $host;
          proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
          proxy_set_header X-Forwarded-Proto $scheme;
          proxy_set_header X-Forwarded-Host $host;
          proxy_set_header X-Forwarded-Port $server_port;
          ${config.join('\n          ')}
        }
      }
    }
  `
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
