/** Other reverse proxies in front of the same service, each as an operator would configure it: connections kept open, and an access log. */
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram, type Program } from '../test/support/debian.ts'
import { freePort } from '../test/support/free-port.ts'
import { MeasuredProcess } from './measured-process.ts'
import { password, type Scratch, startService, type Target, writeCertificate } from './targets.ts'

type StartPeer = (command: string, dir: string, service: Target) => Promise<Target>

const nginx = { nginx: startNginx }
/** Those with a login come last: their requests carry a session. */
export const gateways = { ...nginx, caddy: startCaddy, 'oauth2-proxy': startOauth2Proxy }

/** Starts the service and the peers that are installed; the targets are stopped by the caller. */
export async function startPeers(
  targets: Target[],
  scratch: Scratch,
  peers: Partial<Record<Program, StartPeer>> = nginx,
): Promise<Target> {
  const service = await startService(scratch.dir('service'))
  targets.push(service)
  for (const [name, start] of Object.entries(peers)) {
    const command = findProgram(name as Program)
    if (command === undefined) console.log(`${name} is not installed and left out.`)
    else targets.push(await start(command, scratch.dir(name), service))
  }
  return service
}

/** One worker. */
async function startNginx(command: string, dir: string, service: Target): Promise<Target> {
  const [port, securePort] = [await freePort(), await freePort()]
  const { certificateFile, keyFile } = writeCertificate(dir)
  const file = join(dir, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${dir}/nginx.pid; error_log ${dir}/error.log;
events { worker_connections 1024; }
http {
  access_log ${dir}/access.log; keepalive_requests 1000000;
  client_body_temp_path ${dir}; proxy_temp_path ${dir}; fastcgi_temp_path ${dir}; uwsgi_temp_path ${dir}; scgi_temp_path ${dir};
  upstream service { server 127.0.0.1:${service.port}; keepalive 64; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port};
    listen 127.0.0.1:${securePort} ssl;
    ssl_certificate ${certificateFile}; ssl_certificate_key ${keyFile};
    location / { proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }
  }
}
`,
  )
  const nginx = new MeasuredProcess({
    command,
    args: ['-c', file, '-e', join(dir, 'error.log')],
    dir,
  })
  await nginx.answers(`http://127.0.0.1:${port}/health`)
  return { name: 'nginx', port, securePort, process: nginx, headers: {} }
}

async function startCaddy(command: string, dir: string, service: Target): Promise<Target> {
  const port = await freePort()
  const file = join(dir, 'Caddyfile')
  writeFileSync(
    file,
    `{
  admin off
  auto_https off
}
http://127.0.0.1:${port} {
  log {
    output file ${dir}/access.log
  }
  reverse_proxy 127.0.0.1:${service.port}
}
`,
  )
  const caddy = new MeasuredProcess({ command, args: ['run', '--config', file], dir })
  await caddy.answers(`http://127.0.0.1:${port}/health`)
  return { name: 'caddy', port, process: caddy, headers: {} }
}

/** A session in a cookie, begun with the form; the provider is not asked. */
async function startOauth2Proxy(command: string, dir: string, service: Target): Promise<Target> {
  const port = await freePort()
  const users = join(dir, 'users')
  writeFileSync(users, `admin:{SHA}${createHash('sha1').update(password).digest('base64')}\n`)
  const settings = {
    http_address: `127.0.0.1:${port}`,
    upstream: `http://127.0.0.1:${service.port}`,
    htpasswd_file: users,
    email_domain: '*',
    client_id: 'bench',
    client_secret: password,
    cookie_secret: randomBytes(16).toString('hex'),
    cookie_secure: 'false',
  }
  const proxy = new MeasuredProcess({
    command,
    args: Object.entries(settings).map(
      ([name, value]) => `--${name.replaceAll('_', '-')}=${value}`,
    ),
    dir,
  })
  await proxy.answers(`http://127.0.0.1:${port}/ping`)
  const answer = await fetch(`http://127.0.0.1:${port}/oauth2/sign_in`, {
    method: 'POST',
    body: new URLSearchParams({ username: 'admin', password }),
    redirect: 'manual',
  })
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  if (cookie === '') throw new Error(`oauth2-proxy refused the login with ${answer.status}.`)
  return { name: 'oauth2-proxy', port, process: proxy, headers: { cookie } }
}
