import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { openPortReader } from '../../src/agent/processes.ts'

const hasProc = process.platform === 'linux'

test('ports of many instances are read once', { skip: !hasProc && 'needs /proc' }, async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let readings = 0
  const listeningPorts = openPortReader((file) => {
    readings += 1
    return readFileSync(file, 'utf8').split('\n')
  })

  const found = Array.from({ length: 300 }, () => listeningPorts([process.pid], 3_600_000))

  assert.ok(found.every((ports) => ports.includes(port)))
  assert.equal(readings, 2, 'a file for each version of IP')
  listeningPorts([process.pid], -1)
  assert.equal(readings, 4, 'an old reading is replaced')
})
