import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readRecord } from '../../packages/agent/instance-files.ts'

test('a record that cannot be read now is not taken for none', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-records-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'record')
  assert.equal(readRecord(file), undefined)
  writeFileSync(file, '{"generation": 1, "ru')
  assert.equal(readRecord(file), undefined)
  rmSync(file)
  // As good a reason as too many open files.
  mkdirSync(file)
  assert.throws(() => readRecord(file), { code: 'EISDIR' })
})
