import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeCommand, describeStartFault } from '../../packages/agent/reasons.ts'
import { toInstance } from '../support/agent.ts'

const faults: readonly [code: string, says: RegExp][] = [
  ['ENOSPC', /the disk of the data directory is full; free some space/],
  ['EDQUOT', /the disk quota of the data directory is used up; free some space/],
  ['EAGAIN', /this machine allows no further process \(ulimit -u/],
  ['EMFILE', /the agent has too many files open \(ulimit -n\)/],
  ['ENFILE', /this machine has too many files open/],
  ['ENOMEM', /this machine has too little memory/],
  ['EIO', /spawn EIO/],
]

for (const [code, says] of faults) {
  test(`a start that fails with ${code} says what the machine lacks`, () => {
    const error = Object.assign(new Error(`spawn ${code}`), { code })
    assert.match(
      describeStartFault(error, toInstance('web', ['true']).program),
      new RegExp(`^It cannot be started: ${says.source}[^]*\\.$`),
    )
  })
}

test('a job whose container Docker could not run refers to its output', () => {
  const container = {
    name: 'fairlead-job',
    runtime: '/usr/bin/docker',
    environment: {},
    user: undefined,
  }
  const run = {
    id: '1',
    pid: 2,
    start: '3',
    pump: { pid: 4, start: '3' },
    uid: undefined,
    startedAt: 1000,
    controlGroup: undefined,
  }
  assert.equal(
    describeCommand({ exitCode: 125, signal: undefined }, { ...run, container }, 1500),
    'It ended with exit code 125, 500 ms after its start: docker could not run its container, and its output says why.',
  )
  assert.equal(
    describeCommand({ exitCode: 125, signal: undefined }, { ...run, container: undefined }, 1500),
    'It ended with exit code 125, 500 ms after its start.',
  )
})
