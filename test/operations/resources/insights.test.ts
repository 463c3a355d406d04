/** Links from a resource to other tools of the operator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  parseServerGroupName,
  textFields,
  toInsightActions,
} from '../../../packages/gateway/operations/resources/insights.ts'

const values = [
  { name: 'a', count: 3, nested: { inner: 'x' } },
  { name: 'b', cloudProvider: 'aws' },
]

/** With `#` for the dollar sign. */
const rows: [template: string, url: string][] = [
  ['https://l/#{name}', 'https://l/b'],
  ['#{count}-#{ name }', '3-b'],
  ['#{nested.inner}/#{nested.none}/#{none.inner}', 'x/null/null'],
  ['#{nested}', '{"inner":"x"}'],
  ['#{constructor}/#{name.constructor}/#{__proto__}', 'null/null/null'],
  ['no names', 'no names'],
  ['#{name}#{1 + 1}', '#{name}#{1 + 1}'],
  ['#{name}#{unclosed', '#{name}#{unclosed'],
  ['#name', '#name'],
]

for (const [template, url] of rows) {
  const [given, wanted] = [template, url].map((text) => text.replaceAll('#', '$')) as [
    string,
    string,
  ]
  test(`the link template ${given} becomes ${wanted}`, () => {
    assert.deepEqual(toInsightActions([{ url: given, label: 'L' }], values), [
      { url: wanted, label: 'L' },
    ])
  })
}

test('a link for another cloud provider is left out', () => {
  const links = ['aws', 'gce', undefined].map((cloudProvider) => ({
    url: 'u',
    label: String(cloudProvider),
    cloudProvider,
  }))
  assert.deepEqual(
    toInsightActions(links, values).map(({ label }) => label),
    ['aws', 'undefined'],
  )
  assert.deepEqual(
    toInsightActions(links, []).map(({ label }) => label),
    ['undefined'],
  )
})

test('the name of a server group holds application and cluster', () => {
  assert.deepEqual(parseServerGroupName('shop-main-blue-v012'), {
    application: 'shop',
    cluster: 'shop-main-blue',
  })
  assert.deepEqual(parseServerGroupName('shop'), { application: 'shop', cluster: 'shop' })
  assert.deepEqual(parseServerGroupName('shop-v1'), { application: 'shop', cluster: 'shop-v1' })
})

test('only fields that are texts are taken from a resource', () => {
  assert.deepEqual(textFields({ a: 'x', b: 1, c: null, d: ['x'] }), { a: 'x' })
})
