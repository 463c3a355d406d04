import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { findMembers } from '../../packages/agent/instance-processes.ts'
import type { Marks } from '../../packages/agent/marks.ts'
import { openPortReader, openProcessTable } from '../../packages/agent/processes.ts'
import { InstanceRun } from '../../packages/agent/run.ts'

const hasProc = process.platform === 'linux'

test('ports of many instances are read once', { skip: !hasProc && 'needs /proc' }, async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let readings = 0
  const { listeningPorts } = openPortReader((file) => {
    readings += 1
    return readFileSync(file, 'utf8').split('\n')
  })

  const found = Array.from({ length: 300 }, () => listeningPorts([process.pid], 3_600_000))

  assert.ok(found.every((ports) => ports.includes(port)))
  assert.equal(readings, 2, 'a file for each version of IP')
  listeningPorts([process.pid], -1)
  assert.equal(readings, 4, 'an old reading is replaced')
})

test('an adopted program is as old as its process, although the clock was set forward', {
  skip: !hasProc && 'needs /proc',
}, () => {
  const { pid } = process
  const start = openProcessTable().find(pid)?.start ?? ''
  const hourMs = 3_600_000
  const startedAt = Date.now() - performance.now() - hourMs
  const run = new InstanceRun({
    id: 'run',
    pid,
    start,
    pump: { pid, start },
    startedAt,
    controlGroup: undefined,
  })
  assert.ok(run.ageMs < performance.now() + hourMs / 2)
})

test('a group that has the id of one before the last boot is of another program', () => {
  const marks: Marks = { agentMark: 'agent', format: () => '', check: () => undefined }
  const start = '0123abcd-100'
  const run = {
    id: 'run',
    pid: 7,
    start,
    pump: { pid: 6, start },
    startedAt: 0,
    controlGroup: undefined,
  }
  const entry = { pid: 8, group: 7, session: 7, isZombie: false }
  const table = { ...openProcessTable(), markOf: () => undefined }
  const membersWith = (began: string) =>
    findMembers({ marks, instanceId: 'web', run }, table, [{ ...entry, start: began }]).length
  assert.deepEqual([membersWith('0123abcd-200'), membersWith('4567abcd-200')], [1, 0])
})
