import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  clusterName,
  describeNameProblem,
  parseMoniker,
  serverGroupName,
} from '../../packages/base/names/moniker.ts'

const names: readonly [string, ...(string | number | null)[]][] = [
  ['shop', 'shop', 'shop', null, null, null],
  ['shop-v000', 'shop', 'shop', null, null, 0],
  ['shop-main-v012', 'shop-main', 'shop', 'main', null, 12],
  ['shop--canary-v003', 'shop--canary', 'shop', null, 'canary', 3],
  ['shop-main-eu-west-v999', 'shop-main-eu-west', 'shop', 'main', 'eu-west', 999],
  ['shop-main-blue-v0123', 'shop-main-blue', 'shop', 'main', 'blue', 123],
  ['shop-main-v01', 'shop-main-v01', 'shop', 'main', 'v01', null],
  ['shop-main-v1234567', 'shop-main-v1234567', 'shop', 'main', 'v1234567', null],
  ['shop-v000-v001', 'shop-v000', 'shop', 'v000', null, 1],
  ['shop-main-', 'shop-main-', 'shop', 'main', null, null],
  ['v001', 'v001', 'v001', null, null, null],
  ['shop-main~1-v001', null, null, null, null, null],
  ['-v001', null, null, null, null, null],
  ['a b', null, null, null, null, null],
]

for (const [name, cluster, app, stack, detail, sequence] of names) {
  test(`"${name}" is parsed`, () => {
    assert.deepEqual(parseMoniker(name), { app, stack, detail, cluster, sequence })
  })
}

test('names are built of their parts', () => {
  assert.equal(clusterName({ app: 'shop' }), 'shop')
  assert.equal(clusterName({ app: 'shop', stack: 'main' }), 'shop-main')
  assert.equal(clusterName({ app: 'shop', detail: 'eu-1' }), 'shop--eu-1')
  assert.equal(serverGroupName('shop-main', 7), 'shop-main-v007')
})

test('parts outside the grammar are named', () => {
  assert.match(describeNameProblem({ app: 'shop', stack: 'bad stack' }) ?? '', /"bad stack"/)
  assert.match(describeNameProblem({ app: 'a-b' }) ?? '', /"a-b"/)
  assert.match(describeNameProblem({ app: 'shop', detail: 'x/y' }) ?? '', /"x\/y"/)
  assert.equal(describeNameProblem({ app: 'shop', stack: 'main', detail: 'eu-west' }), undefined)
  assert.equal(describeNameProblem({ app: 'shop', stack: 's'.repeat(245) }), undefined)
  assert.match(
    describeNameProblem({ app: 'shop', stack: 's'.repeat(246) }) ?? '',
    /256 characters; 255 are allowed/,
  )
})
