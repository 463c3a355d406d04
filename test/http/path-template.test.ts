/** Path templates: one parse gives the route, the address, the pattern and the encoded path. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMethodIndex, PathTemplate } from '../../packages/gateway/http/path-template.ts'

const forms = [
  ['/applications', [], '/applications', '/applications', '/applications'],
  ['/a/{b}/c/{d}', ['b', 'd'], '/a/:b/c/:d', '/a/{b}/c/{d}', '/a/{}/c/{}'],
  [
    '/jobs/{server}/**',
    ['server', 'rest'],
    '/jobs/:server/*',
    '/jobs/{server}/{rest}',
    '/jobs/{}/{}',
  ],
  [
    '/jobs/{server}/{rest}',
    ['server', 'rest'],
    '/jobs/:server/*',
    '/jobs/{server}/{rest}',
    '/jobs/{}/{}',
  ],
  ['/jobs/{+job}', ['job'], '/jobs/*', '/jobs/{job}', '/jobs/{}'],
  ['/a**/b', [], '/a**/b', '/a**/b', '/a**/b'],
] as const

test('one parse gives names, route, address and shape', () => {
  for (const [text, names, route, address, shape] of forms) {
    const template = new PathTemplate(text)
    assert.deepEqual(
      [template.names, template.route, template.address, template.shape],
      [names, route, address, shape],
    )
  }
})

const matches = [
  ['/a/{b}', '/a/x%20y', { b: 'x y' }],
  ['/a/{b}', '/a/100%', { b: '100%' }],
  ['/a/{b}', '/a/x/y', undefined],
  ['/a/{b}', '/a/', undefined],
  ['/a/**', '/a/x/y', { rest: 'x/y' }],
  ['/a.json', '/aXjson', undefined],
  ['/v2/(x)/{b}', '/v2/(x)/1', { b: '1' }],
] as const

test('a path matches with decoded values', () => {
  for (const [text, path, values] of matches)
    assert.deepEqual(new PathTemplate(text).match(path), values, path)
})

test('values are encoded, and only a rest keeps slashes', () => {
  const filled = new PathTemplate('/a/{b}/**').fill(() => 'x/y z')
  assert.equal(filled, '/a/x%2Fy%20z/x/y%20z')
  assert.throws(() => new PathTemplate('/a/{b}').fill(() => ''), {
    code: 'BAD_ARGUMENT',
    message: 'b must not be empty.',
  })
})

test('methods of templates that match alike are offered together', () => {
  const methodsOf = createMethodIndex([
    { method: 'GET', path: '/a/{b}' },
    { method: 'PUT', path: '/a/{c}' },
    { method: 'DELETE', path: '/a/**' },
  ])
  assert.deepEqual(methodsOf('/a/x'), ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PUT'])
  assert.deepEqual(methodsOf('/a/x/y'), ['DELETE', 'OPTIONS'])
  assert.deepEqual(methodsOf('/b'), [])
})
