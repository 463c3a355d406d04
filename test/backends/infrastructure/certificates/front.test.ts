/** A host of a load balancer gets its certificate on the front of this machine, which the agent serves. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { definitionsBackend } from '../../../../packages/engine/definitions/definitions.ts'
import { freePort } from '../../../support/free-port.ts'
import { somePorts, startInfrastructure } from '../../../support/infrastructure.ts'
import { needsPebble } from '../../../support/kubernetes-programs.ts'
import { startPebble } from '../../../support/pebble.ts'
import { createFolder } from '../../../support/temporary-folder.ts'
import { waitFor } from '../../../support/wait-until.ts'

interface Answer {
  readonly status: number | undefined
  readonly body: string
  /** Of the certificate. */
  readonly issuer: string
}

test('app-scenario 95, 99, 115: a host is served by HTTPS once it has its certificate', async (t) => {
  const programs = needsPebble(t)
  if (programs === undefined) return
  const [httpPort, tlsPort] = [await freePort(), await freePort()]
  const pebble = await startPebble(t, programs, { httpPort, tlsPort })
  const roots = join(createFolder('roots'), 'roots.pem')
  writeFileSync(roots, pebble.roots)
  const infra = await startInfrastructure(t, {
    beside: [definitionsBackend],
    local: {
      accounts: [
        { name: 'dev', ports: await somePorts(t, 10), front: { http: httpPort, https: tlsPort } },
      ],
      'front.acme.directory': pebble.directory,
      'front.acme.ca-file': roots,
      'front.acme.resolvers': [pebble.resolver],
      'front.acme.profile': 'default',
    },
  })
  const place = { credentials: 'dev', account: 'dev', region: 'local' }
  const get = (path: string) =>
    new Promise<Answer>((resolve, reject) => {
      const options = { servername: 'shop.example', headers: { host: 'shop.example' } }
      const place = { host: '127.0.0.1', port: tlsPort, path, agent: false }
      requestHttps(
        { ...place, ...options, rejectUnauthorized: false },
        (answer: IncomingMessage) => {
          const issuer = String((answer.socket as TLSSocket).getPeerCertificate().issuer.CN)
          text(answer).then((body) => resolve({ status: answer.statusCode, body, issuer }), reject)
        },
      )
        .on('error', reject)
        .end()
    })

  await infra.putImage('shop', '1')
  await infra.succeed({
    upsertLoadBalancer: {
      ...place,
      name: 'shop-front',
      hosts: ['shop.example'],
      healthCheck: 'HTTP:8080/health',
      healthInterval: 0.2,
      healthyThreshold: 1,
    },
  })
  await infra.succeed({
    createServerGroup: {
      ...place,
      application: 'shop',
      imageId: 'shop:1',
      capacity: { min: 1, max: 1, desired: 1 },
      loadBalancers: ['shop-front'],
    },
  })
  const isServed = ({ status, issuer }: Answer) => status === 200 && issuer.startsWith('Pebble')
  const answer = await waitFor(
    async () => {
      const found = await get('/x').catch(() => undefined)
      return found !== undefined && isServed(found) ? found : undefined
    },
    () => `the certificate: ${JSON.stringify(infra.backends.observe()?.certificates)}`,
  )

  assert.equal((JSON.parse(answer.body) as { path: string }).path, '/x')
  const [condition] = infra.backends.observe()?.certificates ?? []
  assert.deepEqual([condition?.host, condition?.state], ['shop.example', 'valid'])
  const unknown = await get('/.well-known/acme-challenge/none')
  assert.match(unknown.body, /acme-challenge\/none/)
})
