import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { testProgram } from '../../support/program.ts'
import { type Fields, startStore } from './store.ts'

interface Acknowledged {
  step: number
  id: string
  updateTs: string
}

/** Runs the writer until it acknowledged `count` saves, then kills it without warning. */
async function writeUntilKilled(dataDir: string, count: number): Promise<Acknowledged[]> {
  const writer = spawn(process.execPath, [testProgram('backends/definitions/writer'), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  for await (const part of writer.stdout.setEncoding('utf8')) {
    printed += part
    if (printed.split('\n').length > count) writer.kill('SIGKILL')
  }
  const lines = printed.split('\n').filter((line) => line.endsWith(' .'))
  return lines.map((line) => {
    const [step, id, updateTs] = line.split(' ') as [string, string, string]
    return { step: Number(step), id, updateTs }
  })
}

test('acknowledged writes survive kill -9', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-definitions-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const acknowledged: Acknowledged[] = []
  for (const count of [3, 40, 17]) acknowledged.push(...(await writeUntilKilled(dataDir, count)))
  assert.ok(acknowledged.length >= 60)

  const store = await startStore(t, { dataDir })
  for (const id of new Set(acknowledged.map((save) => save.id))) {
    const versions = await store.ok<Fields[]>('GET', `/pipelines/${id}/history?limit=100000`)
    const known = new Map(versions.map((version) => [version['updateTs'], version['step']]))
    for (const save of acknowledged.filter((one) => one.id === id))
      assert.equal(known.get(save.updateTs), save.step)
    // A save that was cut off before its answer may be there too, but then as a whole: live and in the history.
    assert.deepEqual(await store.ok('GET', `/pipelines/${id}/get`), versions[0])
  }
})

test('definitions survive an orderly restart, and deleted ones stay deleted', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-definitions-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const before = await startStore(t, {
    dataDir,
    settings: { serviceAccounts: [{ name: 'bot', memberOf: ['a'] }] },
  })
  const kept = await before.ok('POST', '/pipelines', { application: 'demo', name: 'kept' })
  await before.ok('POST', '/pipelines', { application: 'demo', name: 'gone' })
  await before.ok('DELETE', '/pipelines/demo/gone')
  await before.ok('POST', '/serviceAccounts', { name: 'Bot', memberOf: ['b'] })
  await before.stop()

  const after = await startStore(t, {
    dataDir,
    settings: { serviceAccounts: [{ name: 'bot', memberOf: ['c'] }] },
  })
  assert.deepEqual(await after.ok('GET', '/pipelines'), [kept])
  const accounts = await after.ok<Fields[]>('GET', '/serviceAccounts')
  assert.deepEqual(
    accounts.map((account) => account['memberOf']),
    [['c']],
  )
})
