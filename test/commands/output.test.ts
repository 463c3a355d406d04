import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)

test('a command whose output nobody reads to the end says nothing about that', async () => {
  const line = `set -o pipefail; '${process.execPath}' bin/fairlead.ts openapi | head -c 20`
  const { stdout, stderr } = await run('bash', ['-c', line], { cwd: `${import.meta.dirname}/../..` })
  assert.match(stdout, /openapi/)
  assert.equal(stderr, '')
})
