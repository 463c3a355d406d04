/** Plug-ins of Deck from front50 and other repositories. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { strToU8, zipSync } from 'fflate'
import { readBundle } from '../../packages/gateway/deck-plugins/download.ts'
import { type GatewaySettings, startGateway } from '../support/gateway.ts'
import { Reply, startUpstream, type Upstream } from '../support/upstream.ts'
import { waitFor } from '../support/wait-until.ts'

const deckFiles = zipSync({
  'index.js': strToU8('export const clock = 1'),
  'deep/other.js': strToU8('deep'),
})
const bundle = zipSync({
  'deck.zip': deckFiles,
  'orca.zip': zipSync({ 'orca.jar': strToU8('none') }),
})
const sha512sum = createHash('sha512').update(bundle).digest('hex')

interface Listed {
  releases?: object[]
  binary?: unknown
}

async function startFront50(
  t: TestContext,
  { releases, binary = new Reply(200, Buffer.from(bundle)) }: Listed = {},
): Promise<Upstream> {
  const front50 = await startUpstream(t)
  const release = {
    version: '1.10.0',
    requires: 'deck>=0.0.0',
    url: `${front50.url}/pluginBinaries/Acme.Clock/1.10.0`,
    sha512sum,
  }
  front50.answer({
    'GET /pluginInfo': [
      { id: 'Acme.Clock', releases: releases ?? [{ ...release, version: '1.9.0' }, release] },
      { id: 'Acme.Other', releases: [release] },
    ],
    'GET /pluginBinaries/Acme.Clock/1.10.0': binary,
  })
  return front50
}

function settingsFor(
  front50: Upstream,
  plugin: object = { enabled: true },
  more: object = {},
): GatewaySettings {
  return {
    services: { front50: { baseUrl: front50.url } },
    spinnaker: { extensibility: { 'deck-proxy': { plugins: { 'Acme.Clock': plugin } }, ...more } },
  }
}

async function manifestOf(gateway: string): Promise<unknown> {
  const answer = await waitFor(async () => {
    const read = await fetch(`${gateway}/plugins/deck/plugin-manifest.json`)
    return read.status === 200 ? read : undefined
  }, 'the manifest')
  return answer.json()
}

test('the highest release for Deck of an enabled plug-in is listed and served', async (t) => {
  const front50 = await startFront50(t)
  const gateway = await startGateway(t, settingsFor(front50))
  assert.deepEqual(await manifestOf(gateway), [
    { id: 'Acme.Clock', name: 'Acme.Clock', version: '1.10.0' },
  ])
  const asset = await fetch(`${gateway}/plugins/deck/Acme.Clock/1.10.0/index.js`)
  assert.deepEqual([asset.status, await asset.text()], [200, 'export const clock = 1'])
  assert.equal(front50.background.filter(({ path }) => path === '/pluginInfo').length, 1)
})

test('a plug-in that is not enabled is neither listed nor served', async (t) => {
  const front50 = await startFront50(t)
  const gateway = await startGateway(t, settingsFor(front50, { enabled: false }))
  assert.deepEqual(await manifestOf(gateway), [])
  assert.equal((await fetch(`${gateway}/plugins/deck/Acme.Clock/1.10.0/index.js`)).status, 404)

  const other = await startGateway(t, settingsFor(front50))
  await manifestOf(other)
  assert.equal((await fetch(`${other}/plugins/deck/Acme.Other/1.10.0/index.js`)).status, 404)
})

test('a release whose hash differs is left out of the manifest', async (t) => {
  const front50 = await startFront50(t, { binary: new Reply(200, Buffer.from(deckFiles)) })
  const gateway = await startGateway(t, settingsFor(front50))
  assert.deepEqual(await manifestOf(gateway), [])
  assert.equal((await fetch(`${gateway}/plugins/deck/Acme.Clock/1.10.0/index.js`)).status, 503)
})

test('a release at an internal address of its author is not fetched', async (t) => {
  const inside = await startUpstream(t, { 'GET /clock.zip': new Reply(200, Buffer.from(bundle)) })
  const front50 = await startFront50(t, {
    releases: [{ version: '1.0.0', requires: 'deck>=0.0.0', url: `${inside.url}/clock.zip` }],
  })
  const gateway = await startGateway(t, settingsFor(front50))
  assert.deepEqual(await manifestOf(gateway), [])
  assert.deepEqual([inside.requests, inside.background], [[], []])
})

test('repositories with an address list plug-ins, and may redirect', async (t) => {
  const repository = await startUpstream(t)
  const release = { version: '2.0.1', requires: 'deck>=0.0.0', url: `${repository.url}/latest.zip` }
  repository.answer({
    'GET /plugins.json': [{ id: 'Acme.Clock', name: 'Clock', releases: [release] }],
    'GET /latest.zip': new Reply(302, undefined, { location: '/2.0.1.zip' }),
    'GET /2.0.1.zip': new Reply(200, Buffer.from(deckFiles)),
  })
  const front50 = await startFront50(t, { releases: [] })
  const gateway = await startGateway(
    t,
    settingsFor(front50, { enabled: true }, { repositories: { acme: { url: repository.url } } }),
  )
  assert.deepEqual(await manifestOf(gateway), [
    { id: 'Acme.Clock', name: 'Clock', version: '2.0.1' },
  ])
  assert.equal((await fetch(`${gateway}/plugins/deck/Acme.Clock/2.0.1/index.js`)).status, 200)
})

test('a damaged or bloated archive is refused', async (t) => {
  const bloated = zipSync({ 'index.js': new Uint8Array(9 * 1024 * 1024) })
  for (const binary of [Buffer.from('no archive'), Buffer.from(bloated)]) {
    const url = 'pluginBinaries/Acme.Clock/1.10.0'
    const front50 = await startFront50(t, {
      releases: [{ version: '1.10.0', requires: 'deck>=0.0.0', url }],
      binary: new Reply(200, binary),
    })
    assert.deepEqual(await manifestOf(await startGateway(t, settingsFor(front50))), [])
  }
})

test('an archive that hides the size of a file is refused within its bound', async () => {
  const archive = Buffer.from(zipSync({ 'index.js': new Uint8Array(9 * 1024 * 1024) }))
  for (const [header, at] of [
    ['PK\x03\x04', 22],
    ['PK\x01\x02', 24],
  ] as const)
    archive.writeUInt32LE(1000, archive.indexOf(header, 0, 'latin1') + at)
  await assert.rejects(readBundle(archive), /more than 8388608 bytes/)
  const files = await readBundle(bundle)
  assert.deepEqual(
    [...files].map(([name, bytes]) => [name, String(bytes)]),
    [['index.js', 'export const clock = 1']],
  )
  for (const damaged of [Buffer.from('no archive'), archive.subarray(0, 100), archive.subarray(50)])
    await assert.rejects(readBundle(damaged))
})

test('before any list is read the manifest is unavailable', async (t) => {
  const front50 = await startUpstream(t, { 'GET /pluginInfo': new Reply(500, {}) })
  const gateway = await startGateway(t, settingsFor(front50))
  assert.equal((await fetch(`${gateway}/plugins/deck/plugin-manifest.json`)).status, 503)
})
