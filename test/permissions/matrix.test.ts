/** Every operation with every kind of caller, against the table of expected-access.ts. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { allOperations } from '../../src/operations/all.ts'
import { expectedAccess, profiles } from './expected-access.ts'
import { callers, startMatrix } from './matrix.ts'

test('every operation lets in exactly whom the table of expected access names', async (t) => {
  const matrix = await startMatrix(t)
  const names = new Set<string>()
  for (const operation of allOperations) {
    const name = `${operation.method} ${operation.path}`
    names.add(name)
    const profile = expectedAccess[name]
    assert.ok(profile, `${name} does not stand in the table`)
    const found = await Promise.all(callers.map(async (caller) => [caller, await matrix.outcome(operation, caller)]))
    assert.deepEqual(Object.fromEntries(found), profiles[profile], name)
  }
  assert.deepEqual(
    Object.keys(expectedAccess).filter((name) => !names.has(name)),
    [],
    'the table names operations that do not exist',
  )
})
