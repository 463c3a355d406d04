/** Shares of the traffic, request by request, with real instances. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { DesiredMember } from '../../../packages/base/net/agent-protocol.ts'
import { keyPairOf } from '../../support/self-signed.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import { openRig, type Rig, startInstance, startRawInstance } from './support.ts'

const shared = (member: DesiredMember, percent: number): DesiredMember => ({
  ...member,
  share: { group: `of ${member.instanceId}`, percent },
})

async function startAll(t: TestContext, ...names: string[]): Promise<DesiredMember[]> {
  return Promise.all(names.map(async (name) => (await startInstance(t, name)).member))
}

async function answers({ url }: Rig, count: number): Promise<string[]> {
  const names = []
  for (let request = 0; request < count; request++) {
    const answer = await fetch(url)
    names.push(answer.status === 200 ? await answer.text() : String(answer.status))
  }
  return names
}

const countOf = (all: readonly string[], name: string) => all.filter((each) => each === name).length

test('of 100 requests, a server group with 5 % gets 5, and at no time more than its share', async (t) => {
  const [one, other, young] = (await startAll(t, 'one', 'other', 'young')) as [
    DesiredMember,
    DesiredMember,
    DesiredMember,
  ]
  const rig = await openRig(t, { members: [one, other, shared(young, 0)] })
  await rig.untilUp('one', 'other', 'young')
  assert.equal(countOf(await answers(rig, 30), 'young'), 0)

  rig.apply({ members: [one, other, shared(young, 5)] })
  const all = await answers(rig, 100)

  assert.equal(countOf(all, 'young'), 5)
  for (const [index] of all.entries())
    assert.ok(countOf(all.slice(0, index + 1), 'young') <= (5 * (index + 1)) / 100)
  // The others take turns as always.
  assert.ok(Math.abs(countOf(all, 'one') - countOf(all, 'other')) <= 1)
})

test('several shares are exact together, and 100 takes all', async (t) => {
  const [old, a, b] = (await startAll(t, 'old', 'a', 'b')) as [
    DesiredMember,
    DesiredMember,
    DesiredMember,
  ]
  const rig = await openRig(t, { members: [old, shared(a, 7), shared(b, 30)] })
  await rig.untilUp('old', 'a', 'b')
  const all = await answers(rig, 100)
  assert.deepEqual(
    ['old', 'a', 'b'].map((name) => countOf(all, name)),
    [63, 7, 30],
  )

  rig.apply({ members: [old, shared(a, 100), shared(b, 0)] })
  assert.equal(countOf(await answers(rig, 20), 'a'), 20)
})

test('without a healthy instance with the share, the others serve; a share of 0 serves never', async (t) => {
  const [old, young] = (await startAll(t, 'old', 'young')) as [DesiredMember, DesiredMember]
  const rig = await openRig(t, { members: [old, shared(young, 50)] })
  await rig.untilUp('old', 'young')

  // Its port refuses from now on, which the next request notices.
  const gone = { ...young, port: 1 }
  rig.apply({ members: [old, shared(gone, 100)] })
  assert.equal(countOf(await answers(rig, 10), 'old'), 10)

  rig.apply({ members: [{ ...old, inService: false }, shared(young, 5)] })
  await rig.untilUp('young')
  assert.equal(countOf(await answers(rig, 5), 'young'), 5)
  rig.apply({ members: [{ ...old, inService: false }, shared(young, 0)] })
  const answer = await fetch(rig.url)
  assert.equal(answer.status, 503)
  assert.match(await answer.text(), /1 out of service, 1 without traffic/)
})

test('a request that an instance did not answer is repeated, and costs one turn', async (t) => {
  const [old] = (await startAll(t, 'old')) as [DesiredMember]
  const failing = await startInstance(t, 'failing', (request) => request.socket.destroy())
  const rig = await openRig(t, { members: [old, shared(failing.member, 20)] })
  await rig.untilUp('failing', 'old')

  assert.equal(countOf(await answers(rig, 50), 'old'), 50)

  assert.equal(failing.paths.length, 10)
})

test('no request is lost while shares change', async (t) => {
  const [old, young] = (await startAll(t, 'old', 'young')) as [DesiredMember, DesiredMember]
  const rig = await openRig(t, { members: [old, shared(young, 0)] })
  await rig.untilUp('old', 'young')
  const clients = Array.from({ length: 8 }, () => answers(rig, 25))
  for (const percent of [5, 50, 0, 100, 20, 100, 0]) {
    await new Promise(setImmediate)
    rig.apply({ members: [old, shared(young, percent)] })
    await fetch(rig.url)
  }
  const all = (await Promise.all(clients)).flat()
  assert.deepEqual(new Set(all).difference(new Set(['old', 'young'])), new Set())
})

test('connections of plain TCP are shared, too', async (t) => {
  const start = (name: string) => startRawInstance(t, name, (socket) => void socket.end(name))
  const [old, young] = await Promise.all([start('old'), start('young')])
  const healthCheck = { kind: 'tcp' } as const
  const rig = await openRig(t, {
    listeners: [{ protocol: 'tcp' }],
    healthCheck,
    members: [old.member, shared(young.member, 25)],
  })
  await rig.untilUp('old', 'young')
  const names = []
  for (let turn = 0; turn < 20; turn++) names.push(await text(connect(rig.port, '127.0.0.1')))
  assert.equal(countOf(names, 'young'), 5)
})

/** Name of the instance that accepts a WebSocket over TLS. */
function upgraded(port: number): Promise<unknown> {
  const headers = { connection: 'upgrade', upgrade: 'websocket' }
  const asked = request({
    host: '127.0.0.1',
    port,
    agent: false,
    rejectUnauthorized: false,
    headers,
  })
  return new Promise((resolve, reject) => {
    asked.on('error', reject).on('upgrade', ({ headers }: IncomingMessage, socket: Socket) => {
      resolve(headers['x-name'])
      socket.destroy()
    })
    asked.end()
  })
}

test('WebSockets over TLS are shared, too', async (t) => {
  const folder = createFolder('shares')
  const certificate = {
    certificateFile: join(folder, 'certificate.pem'),
    keyFile: join(folder, 'key.pem'),
  }
  const pair = keyPairOf('shares', 'ec')
  writeFileSync(certificate.certificateFile, pair.certificate)
  writeFileSync(certificate.keyFile, pair.keyPem)
  const start = async (name: string) => {
    const { member, server } = await startInstance(t, name)
    const head = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Name: ${name}\r\n\r\n`
    server.on('upgrade', (_request, socket: Socket) => socket.on('error', () => {}).write(head))
    return member
  }
  const [old, young] = await Promise.all([start('old'), start('young')])
  const rig = await openRig(t, {
    listeners: [{ protocol: 'https', certificate }],
    members: [old, shared(young, 25)],
  })
  await rig.untilUp('old', 'young')
  const names = []
  for (let turn = 0; turn < 8; turn++) names.push(String(await upgraded(rig.port)))
  assert.deepEqual([countOf(names, 'old'), countOf(names, 'young')], [6, 2])
})
