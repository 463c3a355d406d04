/** Declarations of operations, resolved to parsed paths and the call that an operation becomes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceName } from '../../packages/base/services/services.ts'
import { allOperations } from '../../packages/gateway/operations/all.ts'
import { routeOf } from '../../packages/gateway/operations/route.ts'
import { createFindRoute } from '../../packages/gateway/operations/serving/find-route.ts'

test('a service alone means the same route as the long form', () => {
  const short = allOperations.flatMap((operation) =>
    typeof operation.forward === 'string'
      ? [{ operation, words: operation.forward.split(' ') }]
      : [],
  )
  assert.ok(short.length > 120)
  for (const { operation, words } of short) {
    const { method } = operation
    const [service, path = operation.path.replace('/**', '/{rest}')] = words as [
      ServiceName,
      string?,
    ]
    assert.deepEqual(
      routeOf({ ...operation, forward: { service, method, path } }),
      routeOf(operation),
      operation.id,
    )
  }
})

test('declared parameters outside of the path are passed on', () => {
  const cases = [
    ['findTagsUsingGET', '/{provider}/images/tags', ['account', 'repository']],
    ['getBuildUsingGET1', '/builds/status/{number}/{buildMaster}/{job}', []],
    [
      'getCanaryResultsByApplicationUsingGET',
      '/canary/executions',
      ['application', 'limit', 'page', 'statuses', 'storageAccountName'],
    ],
    ['listEntityTagsUsingGET', '/tags', []],
  ] as const
  for (const [id, address, query] of cases) {
    const operation = allOperations.find((one) => one.id === id)
    const forward = operation && routeOf(operation).forward
    assert.deepEqual([forward?.path.address, forward?.query], [address, query])
  }
})

test('every variable of a forwarded path is declared', () => {
  for (const operation of allOperations) {
    const { path, forward } = routeOf(operation)
    const known = [...path.names, ...Object.keys(operation.query ?? {})]
    for (const name of forward?.path.names ?? [])
      assert.ok(known.includes(name), `${name} of ${operation.id}`)
  }
})

test('a route is resolved once per operation', () => {
  const [operation] = allOperations
  assert.ok(operation !== undefined)
  assert.equal(routeOf(operation), routeOf(operation))
})

test('every operation is found by its address, however it is written', () => {
  const find = createFindRoute(allOperations)
  for (const operation of allOperations) {
    const { path } = routeOf(operation)
    assert.match(path.route, /^\/(?:[^:*/]|$)/, `${operation.id} begins with a fixed segment`)
    const address = path.fill((name) => `some-${name}`)
    assert.equal(find(operation.method, address)?.route.operation, operation.id)
    assert.equal(find(operation.method, `${address}?a=/b`)?.route.operation, operation.id)
  }
  assert.equal(
    find('GET', '/%61pplications/web')?.route.operation,
    find('GET', '/applications/web')?.route.operation,
  )
  for (const unknown of [
    '/',
    '/nothing',
    '/applications/',
    '/%zz/a',
    '/constructor',
    '/applications%2Fweb',
  ]) {
    assert.equal(find('DELETE', unknown), undefined, unknown)
  }
})
