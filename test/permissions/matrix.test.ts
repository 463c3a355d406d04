/** Every operation with every kind of caller, against the tables of expected access. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { allOperations } from '../../packages/gateway/operations/all.ts'
import { expectedAccess, profiles } from './expected-access.ts'
import { callers, type Matrix, startMatrix } from './matrix.ts'
import { expectedReach } from './token-reach.ts'

const names = allOperations.map(({ method, path }) => `${method} ${path}`)

test('every operation admits exactly the expected callers', async (t) => {
  const matrix = await startMatrix(t)
  for (const operation of allOperations) {
    const name = `${operation.method} ${operation.path}`
    const profile = expectedAccess[name]
    assert.ok(profile, `${name} does not stand in the table`)
    const found = await Promise.all(
      callers.map(async (caller) => [caller, await matrix.outcome(operation, caller)]),
    )
    assert.deepEqual(Object.fromEntries(found), profiles[profile], name)
  }
  assert.deepEqual(
    Object.keys(expectedAccess).filter((name) => !names.includes(name)),
    [],
    'the table names operations that do not exist',
  )
  await t.test('and tokens for one application reach it, and no other', () => assertReach(matrix))
})

test('an application in the query is demanded by every operation', async (t) => {
  const matrix = await startMatrix(t)
  const open: string[] = []
  for (const operation of allOperations.filter(({ query = {} }) => 'application' in query)) {
    const outcome = await matrix.outcome(operation, 'writer', { application: 'vault' })
    if (outcome === 'allowed') open.push(`${operation.method} ${operation.path}`)
  }
  // These choose among what the caller may see.
  assert.deepEqual(open, ['GET /auth/user/serviceAccounts', 'GET /auth/explain'])
})

test('tokens are limited alike where no permission service decides', async (t) => {
  await assertReach(await startMatrix(t, { fiat: false }))
})

async function assertReach(matrix: Matrix): Promise<void> {
  const found: Record<string, string> = {}
  for (const operation of allOperations) {
    const [web, shop] = await Promise.all([
      matrix.isReached(operation, 'web'),
      matrix.isReached(operation, 'shop'),
    ])
    found[`${operation.method} ${operation.path}`] = web
      ? shop
        ? 'any'
        : 'its own'
      : shop
        ? 'another'
        : 'none'
  }
  assert.deepEqual(found, expectedReach)
}
