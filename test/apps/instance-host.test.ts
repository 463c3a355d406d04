/** Fairlead is reached by a host of its own on the front, with a certificate by ACME. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { endWithTest } from '../support/agent.ts'
import { freePort } from '../support/free-port.ts'
import { runGateway } from '../support/gateway.ts'
import { somePorts } from '../support/infrastructure.ts'
import { needsPebble } from '../support/kubernetes-programs.ts'
import { startPebble } from '../support/pebble.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { waitFor } from '../support/wait-until.ts'

test('app-scenario 137: the own address of an instance is a host with ACME', async (t) => {
  const programs = needsPebble(t)
  if (programs === undefined) return
  const [httpPort, tlsPort, port] = [await freePort(), await freePort(), await freePort()]
  const pebble = await startPebble(t, programs, { httpPort, tlsPort })
  const folder = createFolder('instance-host')
  const roots = join(folder, 'roots.pem')
  writeFileSync(roots, pebble.roots)
  const settings = {
    server: { port, 'forward-headers-strategy': 'native' },
    header: { enabled: true },
    local: {
      front: {
        'instance-host': 'Fairlead.example',
        acme: {
          ...{ directory: pebble.directory, 'ca-file': roots, profile: 'default' },
          resolvers: [pebble.resolver],
        },
      },
      accounts: [
        { name: 'dev', ports: await somePorts(t, 10), front: { http: httpPort, https: tlsPort } },
      ],
    },
  }
  const dataDir = join(folder, 'data')
  const gateway = await runGateway(t, settings, { embedded: true, dataDir })
  endWithTest(t, dataDir, () => gateway.stop())

  const ask = (path: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const host = `fairlead.example:${tlsPort}`
      const options = { servername: 'fairlead.example', headers: { host } }
      const place = { host: '127.0.0.1', port: tlsPort, path, agent: false }
      request({ ...place, ...options, rejectUnauthorized: false }, resolve)
        .on('error', reject)
        .end()
    })
  const answer = await waitFor(
    async () => {
      const found = await ask('/health').catch(() => undefined)
      return found?.statusCode === 200 ? found : undefined
    },
    () => 'the certificate of fairlead.example',
  )
  assert.match(await text(answer), /"status":"UP"/)
  const redirected = await ask('/auth/redirect?to=/')
  assert.doesNotMatch(redirected.headers.location ?? 'https:', /^http:/)

  const operation = {
    upsertLoadBalancer: {
      ...{ cloudProvider: 'local', credentials: 'dev', region: 'local', name: 'shop-web' },
      hosts: ['fairlead.example'],
    },
  }
  const headers = { 'X-SPINNAKER-USER': 'ann', 'content-type': 'application/json' }
  const task = {
    application: 'shop',
    description: 'take it',
    job: [{ type: 'upsertLoadBalancer', ...operation.upsertLoadBalancer }],
  }
  const started = await fetch(`${gateway.url}/tasks`, {
    method: 'POST',
    headers,
    body: JSON.stringify(task),
  })
  const { ref } = (await started.json()) as { ref: string }
  const ended = await waitFor(
    async () => {
      const found = await (await fetch(gateway.url + ref, { headers })).text()
      return /"status":"TERMINAL"/.test(found) ? found : undefined
    },
    () => 'the end of the task',
  )
  assert.match(ended, /fairlead\.example is reserved by the operator/)
})
