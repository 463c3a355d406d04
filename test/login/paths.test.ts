/** Which paths are open, and which requests are remembered for after the login. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { FastifyRequest } from 'fastify'
import { alwaysOpen, findOpenPath } from '../../src/login/open-paths.ts'
import { isForPrograms, toSavedPath } from '../../src/login/saved-request.ts'

const isOpen = (method: string, path: string) => findOpenPath(alwaysOpen, method, path) !== undefined

test('auth-scenario 200: the open paths are open', () => {
  for (const path of [
    '/health',
    '/auth/user',
    '/auth/loggedOut',
    '/auth/logout',
    '/favicon.ico',
    '/error',
    '/plugins/deck/plugin-manifest.json',
    '/managed/delivery-configs/schema',
  ]) {
    assert.ok(isOpen('GET', path) && isOpen('HEAD', path), path)
  }
  for (const path of ['/webhooks/git/x', '/notifications/callbacks/s', '/managed/notifications/callbacks/s'])
    assert.ok(isOpen('POST', path), path)
  for (const method of ['POST', 'PUT', 'DELETE']) assert.ok(isOpen(method, '/auth/logout'))
})

test('auth-scenario 203: paths that merely resemble an open one are protected', () => {
  const paths = [
    '/',
    '/applications',
    '/applications/favicon.ico',
    '/auth',
    '/auth/user/x',
    '/auth/userx',
    '/AUTH/USER',
    '/auth/rawUser',
    '/healthz',
    '/health/readiness',
    '/env',
    '/metrics',
    '/version',
    '/v3/api-docs',
    '/webhooks/preconfigured',
    '/webhooks',
    '/plugins/deck',
    '/plugins/deckx/y',
    '/plugins/x',
    '/auth/user/serviceAccounts',
    '/constructor',
    '/__proto__',
    '/managed/delivery-configs/schema/x',
    '/%61uth/user',
  ]
  for (const path of paths) assert.ok(!isOpen('GET', path), path)
  for (const path of ['/tasks', '/notifications/callbacks', '/webhooksx/y']) assert.ok(!isOpen('POST', path), path)
  for (const method of ['PUT', 'PATCH', 'DELETE']) assert.ok(!isOpen(method, '/webhooks/git/x'))
})

function request(url: string, headers: Record<string, string> = {}, method = 'GET'): FastifyRequest {
  return { method, url, headers, state: { path: url.replace(/\?.*/, '') } } as unknown as FastifyRequest
}

test('a page that a browser asked for is remembered with its query', () => {
  assert.equal(toSavedPath(request('/credentials?expand=true')), '/credentials?expand=true')
  assert.equal(toSavedPath(request('/', { accept: 'text/html,application/json;q=0.9,*/*;q=0.8' })), '/')
})

test('auth-scenario 58: what a script or a program asked for is not remembered', () => {
  assert.equal(toSavedPath(request('/applications', { 'x-requested-with': 'XMLHttpRequest' })), undefined)
  assert.equal(toSavedPath(request('/applications', { accept: 'application/json' })), undefined)
  assert.equal(toSavedPath(request('/applications', { accept: 'application/json, text/event-stream;q=0.5' })), undefined)
  assert.equal(toSavedPath(request('/favicon.ico')), undefined)
  assert.equal(toSavedPath(request(`/x?${'y'.repeat(20_000)}`)), undefined)
})

test('auth-scenario 59: only GET is remembered', () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])
    assert.equal(toSavedPath(request('/tasks', {}, method)), undefined)
})

test('a client is a program when it takes data and nothing else', () => {
  for (const accept of ['application/json', 'application/x-yaml', 'application/vnd.x+json;q=1', 'text/event-stream'])
    assert.ok(isForPrograms(accept), accept)
  for (const accept of [undefined, '', '*/*', 'application/json, */*', 'text/html', 'application/jsonp'])
    assert.ok(!isForPrograms(accept), String(accept))
})
