/** The guides about HTTPS and client certificates, followed step by step: their configurations with other files and ports. */
import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { parse } from 'yaml'
import { opensslStore } from '../../http/key-stores.ts'
import { utf8String } from '../../support/authority.ts'
import { freePort } from '../../support/free-port.ts'
import { type GatewaySettings, runGateway } from '../../support/gateway.ts'
import { blocksOf, readGuide } from '../../support/guide.ts'
import { ask, createFiles, createIssuers, type Files, userOf } from './support.ts'

type Tree = Record<string, unknown>

const { authority, server } = await createIssuers()
const svc = await authority.issue({ subject: 'O=Acme, OU=Robots, CN=svc' })

const [pem = '', store = '', offered = '', extra = '', toServices = ''] = blocksOf(
  readGuide('tls'),
  'yaml',
)
const certificates = blocksOf(readGuide('login-x509'), 'yaml')
const [
  ownPort = '',
  pattern = '',
  roles = '',
  debounce = '',
  blocked = '',
  revoked = '',
  mainPort = '',
  proxy = '',
] = certificates

function merge(left: Tree, right: Tree): Tree {
  const isMap = (one: unknown): one is Tree =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
  const merged = { ...left }
  for (const [key, value] of Object.entries(right)) {
    const known = merged[key]
    merged[key] = isMap(known) && isMap(value) ? merge(known, value) : value
  }
  return merged
}

/** Configurations of the guides in one, with the files of the test and free ports. */
async function followed(
  files: Files,
  ...yamls: string[]
): Promise<{ settings: GatewaySettings; port: number }> {
  files.write('gate.pem', server.cert)
  files.write('gate.key', server.key)
  files.write('gate.p12', Buffer.from(opensslStore, 'base64'))
  files.write('client.p12', Buffer.from(opensslStore, 'base64'))
  files.write('authorities.pem', authority.certificate)
  files.write('clients-ca.pem', authority.certificate)
  const port = await freePort()
  const replaced = yamls.map((yaml) =>
    yaml
      .replaceAll('/etc/fairlead', files.dir)
      .replaceAll('8084', '0')
      .replaceAll('8085', String(port))
      .replaceAll('password of the key store', 'changeit')
      .replaceAll(String.raw`10\.0\.0\.(?:11|12)`, String.raw`127\.0\.0\.1`),
  )
  return {
    settings: replaced.reduce<Tree>(
      (all, yaml) => merge(all, parse(yaml) as Tree),
      {},
    ) as GatewaySettings,
    port,
  }
}

test('the guides have the configurations that are tested here', () => {
  assert.equal(blocksOf(readGuide('tls'), 'yaml').length, 5)
  assert.equal(certificates.length, 8)
})

test('the guide configures calls to a service that requires certificates', async (t) => {
  const { settings } = await followed(createFiles(t), toServices)
  const callers: unknown[] = []
  const tls = { cert: server.cert, key: server.key, requestCert: true, rejectUnauthorized: false }
  const service = createServer(tls, ({ url: path, socket }, outgoing) => {
    callers.push((socket as TLSSocket).getPeerCertificate().subject?.CN)
    outgoing.setHeader('content-type', 'application/json').end(path === '/networks' ? '{}' : '[]')
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    service.close()
    service.closeAllConnections()
  })
  const clouddriver = { baseUrl: `https://127.0.0.1:${(service.address() as AddressInfo).port}` }
  const { url } = await runGateway(t, {
    ...settings,
    anonymous: { enabled: true },
    services: { clouddriver },
  })

  assert.equal((await fetch(`${url}/networks`)).status, 200)
  assert.deepEqual([...new Set(callers)], ['localhost'])
})

for (const [name, yaml] of Object.entries({ pem, store, offered })) {
  test(`the configuration "${name}" of the guide serves HTTPS`, async (t) => {
    const { url } = await runGateway(t, (await followed(createFiles(t), yaml)).settings)

    assert.equal((await ask(`${url}/health`)).status, 200)
  })
}

test('the second port of the guide speaks plain HTTP', async (t) => {
  const { settings, port } = await followed(createFiles(t), extra)
  await runGateway(t, settings)

  assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200)
})

test('the certificate port and the main port differ', async (t) => {
  const { settings, port } = await followed(createFiles(t), ownPort)
  const { url } = await runGateway(t, settings)
  const apiUrl = `https://127.0.0.1:${port}`

  assert.equal((await userOf(apiUrl, { client: svc }))['username'], 'svc')
  await assert.rejects(ask(`${apiUrl}/auth/user`))
  assert.equal((await ask(`${url}/login`)).status, 200)
})

test("the guide's pattern finds the e-mail address", async (t) => {
  const { settings, port } = await followed(createFiles(t), ownPort, pattern)
  await runGateway(t, settings)
  const client = await authority.issue({
    subject: 'O=Acme, OU=Robots, CN=svc, 1.2.840.113549.1.9.1=svc@example.com',
  })

  assert.equal(
    (await userOf(`https://127.0.0.1:${port}`, { client }))['username'],
    'svc@example.com',
  )
  assert.equal((await ask(`https://127.0.0.1:${port}/version`, { client: svc })).status, 403)
})

test("the guide's roles admit their holders", async (t) => {
  const { settings, port } = await followed(createFiles(t), ownPort, roles, debounce)
  await runGateway(t, settings)
  const extensions = { '1.2.840.10070.8.1': utf8String('spinnaker-robots') }
  const client = await authority.issue({ subject: 'CN=robot', extensions })

  assert.deepEqual((await userOf(`https://127.0.0.1:${port}`, { client }))['roles'], [
    'robot',
    'spinnaker-robots',
  ])
  assert.equal((await ask(`https://127.0.0.1:${port}/version`, { client: svc })).status, 403)
})

test("the guide's lists withdraw a certificate", async (t) => {
  const files = createFiles(t)
  const lost = await authority.issue({ subject: 'CN=lost' })
  const [example = ''] = /^CN=.*:::\d+$/m.exec(readGuide('login-x509')) ?? []
  const serial = String(BigInt(`0x${lost.serialNumber}`))
  files.write(
    'blocked.txt',
    example.replace('CN=Clients CA, O=Acme', 'CN=CA-1, O=Acme').replace(/\d+$/, serial),
  )
  files.write('clients.crl', await authority.revoke([lost]))
  for (const yaml of [blocked, revoked]) {
    const { settings, port } = await followed(files, ownPort, yaml)
    await runGateway(t, settings)

    await assert.rejects(ask(`https://127.0.0.1:${port}/version`, { client: lost }))
    assert.equal((await ask(`https://127.0.0.1:${port}/version`, { client: svc })).status, 200)
  }
})

test("the guide's main port rejects others with 403", async (t) => {
  const { url } = await runGateway(t, (await followed(createFiles(t), mainPort)).settings)

  assert.equal((await userOf(url, { client: svc }))['username'], 'svc')
  assert.equal((await ask(`${url}/version`)).status, 403)
})

test('the proxy of the guide hands on a certificate', async (t) => {
  const { url } = await runGateway(t, (await followed(createFiles(t), proxy)).settings)
  const headers = { 'x-ssl-client-cert': encodeURIComponent(svc.cert) }

  const user = (await (await fetch(`${url}/auth/user`, { headers })).json()) as { username: string }

  assert.equal(user.username, 'svc')
  assert.equal((await fetch(`${url}/version`)).status, 403)
})
