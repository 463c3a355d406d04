/** Which paths are open, and which requests are remembered for after the login. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../packages/gateway/http/caller.ts'
import { alwaysOpen, OpenPathIndex } from '../../packages/gateway/login/open-paths.ts'
import { toSavedRequest } from '../../packages/gateway/login/saved-request.ts'
import { pageAccept } from './browser.ts'

const isOpen = (method: string, path: string) =>
  new OpenPathIndex(alwaysOpen).find(method, path) !== undefined

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
    '/apps/schema',
    '/console',
    '/console/applications/web',
  ]) {
    assert.ok(isOpen('GET', path) && isOpen('HEAD', path), path)
  }
  for (const path of [
    '/webhooks/git/x',
    '/notifications/callbacks/s',
    '/managed/notifications/callbacks/s',
  ])
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
    '/consoles',
    '/console.json',
  ]
  for (const path of paths) assert.ok(!isOpen('GET', path), path)
  for (const path of ['/tasks', '/notifications/callbacks', '/webhooksx/y'])
    assert.ok(!isOpen('POST', path), path)
  for (const method of ['PUT', 'PATCH', 'DELETE']) assert.ok(!isOpen(method, '/webhooks/git/x'))
})

function request(
  url: string,
  headers: Record<string, string> = {},
  method = 'GET',
): FastifyRequest {
  return {
    method,
    url,
    headers,
    state: { path: url.replace(/\?.*/, '') },
  } as unknown as FastifyRequest
}

const page = { accept: pageAccept }
const navigation = { ...page, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

test('a saved page keeps its query', () => {
  const returning = '/auth/redirect?to=https%3A%2F%2Fdeck.example.com%2F%23%2Fsearch'
  for (const headers of [page, navigation]) {
    assert.deepEqual(toSavedRequest(request('/credentials?expand=true', headers)), {
      path: '/credentials?expand=true',
      isReturn: false,
    })
    assert.deepEqual(toSavedRequest(request(returning, headers)), {
      path: returning,
      isReturn: true,
    })
  }
})

test('auth-scenario 58: what a script or a program asked for is not remembered', () => {
  const others: Record<string, string>[] = [
    {},
    { accept: '*/*' },
    { accept: 'application/json' },
    { accept: 'application/json, text/plain, */*' },
    { accept: 'application/json, text/html;q=0' },
    { ...page, 'x-requested-with': 'XMLHttpRequest' },
    { ...page, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
    { ...navigation, 'sec-fetch-dest': 'iframe' },
    { ...navigation, 'sec-purpose': 'prefetch;prerender' },
  ]
  for (const headers of others)
    assert.equal(
      toSavedRequest(request('/applications', headers)),
      undefined,
      JSON.stringify(headers),
    )
  assert.equal(toSavedRequest(request('/favicon.ico', navigation)), undefined)
})

test('auth-scenario 59: only GET is remembered', () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])
    assert.equal(toSavedRequest(request('/tasks', navigation, method)), undefined)
})

test('pages, UI scripts and programs are distinguished', () => {
  const callers: [Record<string, string>, ReturnType<typeof callerOf>][] = [
    [page, 'page'],
    [navigation, 'page'],
    [{ accept: 'application/xhtml+xml' }, 'page'],
    [{ accept: 'application/json, text/plain, */*', 'x-ratelimit-app': 'deck' }, 'web-ui'],
    [{ accept: 'application/json', 'x-ratelimit-app': 'spin' }, 'program'],
    [{ accept: 'text/html', 'sec-fetch-mode': 'cors' }, 'program'],
    [{ accept: '*/*' }, 'program'],
    [{ accept: 'text/htmlx' }, 'program'],
    [{}, 'program'],
  ]
  for (const [headers, caller] of callers)
    assert.equal(callerOf(headers), caller, JSON.stringify(headers))
})
