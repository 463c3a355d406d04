/** `kill -9` of a test run: what its tests have started ends all the same. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { openProcessTable } from '../../packages/agent/processes.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitUntil } from '../support/wait-until.ts'

const root = resolve(import.meta.dirname, '../..')
/** As `scripts/test-processes.ts` starts them. */
const run = `
const child = require('node:child_process').fork('scripts/run-test-files.ts', [], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
child.on('message', ({ kind }) => kind === 'next' && child.send({ file: ${JSON.stringify(join(root, 'test/fixtures/cut-off-run.ts'))} }))
`

test('agents and programs of a test run that is killed end', async (t) => {
  const folder = createFolder('cut-off')
  const file = join(folder, 'pids')
  const child = spawn(process.execPath, ['-e', run], {
    cwd: root,
    stdio: 'ignore',
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, TMPDIR: folder, CUT_OFF_RUN: file },
  })
  t.after(() => {
    child.kill('SIGKILL')
    removeFolder(folder)
  })
  await waitUntil(() => existsSync(file), 'the program of the test')
  const table = openProcessTable()
  const pids = JSON.parse(readFileSync(file, 'utf8')) as number[]
  const running = () => pids.filter((pid) => table.find(pid)?.isZombie === false)
  assert.equal(running().length, 3)
  child.kill('SIGKILL')
  await waitUntil(
    () => running().length === 0,
    () => `the end of ${running()}`,
  )
})
