/** What operations declare that they demand of their caller. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allOperations } from '../../src/operations/all.ts'
import { formatDemands } from '../../src/operations/demands.ts'
import type { Operation } from '../../src/operations/operation.ts'
import { parameterNames } from '../../src/operations/path-pattern.ts'

test('every operation says what it demands, or why it demands nothing', () => {
  for (const { id, demands } of allOperations) {
    assert.ok(Array.isArray(demands) && demands.length > 0, `${id} does not say what it demands`)
    for (const demand of demands) {
      if (demand.kind !== 'nothing') continue
      assert.ok(demand.why.length > 20, `${id} does not say why it demands nothing`)
      assert.equal(demands.length, 1, `${id} demands nothing and something`)
    }
    assert.doesNotMatch(formatDemands(demands), /undefined/)
  }
})

test('what a demand is about stands where the demand says', () => {
  for (const operation of allOperations) {
    for (const demand of operation.demands) {
      if (demand.kind === 'account' && demand.of === 'path') assertNamed(operation, ['account', 'accountName'])
      if (demand.kind === 'build-service') assertNamed(operation, [demand.parameter])
      if (demand.kind === 'jobs' || demand.kind === 'definitions') assert.ok(operation.body, `${operation.id} has no body`)
      if (demand.kind !== 'application') continue
      if (demand.of === 'path') assertNamed(operation, ['application', 'applicationName'])
      if (demand.of === 'body') assert.ok(operation.body, `${operation.id} has no body`)
      if (demand.of === 'query') assertNamed(operation, ['application'])
      if (['execution', 'task', 'definition', 'strategy'].includes(demand.of)) assertNamed(operation, [demand.parameter ?? 'id'])
    }
  }
})

test('an application in a path is demanded, unless something more precise is', () => {
  for (const operation of allOperations) {
    if (!/\{application(Name)?\}/.test(operation.path)) continue
    assert.ok(
      operation.demands.some(({ kind }) => kind === 'application'),
      `${operation.id} names an application and does not demand anything on it`,
    )
  }
})

test('whatever changes an application, its pipelines or an execution demands something', () => {
  const free = allOperations.filter(
    ({ method, path, demands }) =>
      !['GET', 'HEAD', 'OPTIONS'].includes(method) &&
      demands[0].kind === 'nothing' &&
      /^\/(applications|pipelines|strategies|tasks|actions|credentials|plugins|admin)\b/.test(path),
  )
  assert.deepEqual(
    free.map(({ id }) => id),
    [],
  )
})

function assertNamed(operation: Operation, names: readonly string[]): void {
  const known = [...parameterNames(operation.path), ...Object.keys(operation.query ?? {})]
  assert.ok(
    names.some((name) => known.includes(name)),
    `${operation.id} has none of the parameters ${names.join(', ')}`,
  )
}
