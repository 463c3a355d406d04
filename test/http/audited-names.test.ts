/** What a change is about, found in its query and body without anything that could be a secret. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesInBody, namesInQuery } from '../../packages/gateway/http/audited-names.ts'

for (const [what, body, names] of [
  [
    'a definition',
    { application: 'web', name: 'Deploy', id: '7', stages: [{ password: 'x' }] },
    { application: 'web', name: 'Deploy', id: '7' },
  ],
  [
    'a task',
    {
      application: 'web',
      description: 'x',
      job: [{ type: 'destroyServerGroup', user: 'x' }, { type: 'wait' }],
    },
    { application: 'web', jobs: 'destroyServerGroup, wait' },
  ],
  [
    'several definitions',
    [
      { application: 'web', name: 'a' },
      { application: 'web', name: 'b' },
    ],
    { application: 'web', name: 'a, b' },
  ],
  [
    'a task about another application',
    {
      application: 'web',
      job: [
        { type: 'updateApplication', application: { name: 'shop' } },
        { type: 'deploy', application: 'web' },
      ],
    },
    { application: 'web, shop', jobs: 'updateApplication, deploy' },
  ],
  ['what is no text', { application: 7, name: {}, id: null, job: 'x' }, {}],
  ['nothing', undefined, {}],
  ['a text', 'name', {}],
  ['an inherited property', Object.create({ name: 'x' }) as object, {}],
  ['a token in place of a name', { name: 'spk_0123abc' }, { name: '***' }],
] as const) {
  test(`of ${what}, names and nothing else`, () => {
    assert.deepEqual(namesInBody(body), names)
  })
}

test('a long name and a long list are cut off', () => {
  assert.equal(namesInBody({ name: 'x'.repeat(5000) })['name']?.length, 300)
  const many = Array.from({ length: 5000 }, (_, index) => ({ name: `n${index}` }))
  assert.match(namesInBody(many)['name'] ?? '', /^n0, n1, .{200,270}, and 49\d\d more$/)
})

test('of a long list, every application counts', () => {
  const many = Array.from({ length: 500 }, (_, index) => ({ application: `app${index}` }))
  assert.equal(namesInBody(many)['application']?.split(', ').length, 500)
})

test('of a query, ids and names and nothing else', () => {
  assert.deepEqual(namesInQuery('/tasks/cancel?ids=1&ids=2&force=x&token=y&password=z'), {
    ids: '1, 2',
  })
  assert.deepEqual(namesInQuery('/auth/sessions?username=alice'), { username: 'alice' })
  assert.deepEqual(namesInQuery('/tasks/cancel'), {})
  assert.deepEqual(namesInQuery('/tasks/cancel?__proto__=x&constructor=y'), {})
})
