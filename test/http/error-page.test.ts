/** Errors as browsers see them: one page for all, with what to do; programs get JSON. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { GatewayError } from '../../packages/base/errors.ts'
import { toErrorAnswer } from '../../packages/gateway/http/error-answer.ts'
import { createErrorPage } from '../../packages/gateway/http/error-page.ts'
import { fairleadBrand } from '../../packages/gateway/http/page.ts'
import { Browser, pageAccept } from '../login/browser.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'

const site = { brand: fairleadBrand, contextPath: '' }

test('a full disk is named, whichever store meets it', () => {
  const full = Object.assign(new Error('database or disk is full'), {
    code: 'ERR_SQLITE_ERROR',
    errcode: 13,
  })
  const wrapped = new GatewayError(
    'TOKENS_UNAVAILABLE',
    'The store of API tokens does not answer.',
    { cause: full },
  )
  const answers = [full, Object.assign(new Error('write'), { code: 'ENOSPC' }), wrapped].map(
    (error) => toErrorAnswer(error, { requestId: '1', path: '/' }, String),
  )
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body['code'], body['message']]),
    [
      [
        507,
        'STORAGE_FAILED',
        'The disk of the data directory is full. Free some space, then try again.',
      ],
      [
        507,
        'STORAGE_FAILED',
        'The disk of the data directory is full. Free some space, then try again.',
      ],
      [
        503,
        'TOKENS_UNAVAILABLE',
        'The disk of the data directory is full. Free some space, then try again.',
      ],
    ],
  )
  assert.ok(answers.every(({ error }) => error.cause !== undefined))
})

test('a browser gets an error page, a program JSON', async (t) => {
  const clouddriver = await startUpstream(t, {})
  clouddriver.answer({})
  const url = await startGateway(t, {
    server: { servlet: { 'context-path': '/gate' } },
    ui: { name: 'Acme <Delivery>' },
    services: { clouddriver: { baseUrl: clouddriver.url } },
  })
  const browser = new Browser(url)

  const page = await browser.visit('/no/such/page')
  assert.equal(page.status, 404)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(
    page.headers.get('content-security-policy') ?? '',
    /default-src 'none'.*frame-ancestors 'none'; form-action 'none'/,
  )
  assert.match(page.headers.get('cache-control') ?? '', /no-store/)
  assert.match(page.text, /<title>Page not found · Acme &#60;Delivery&#62;<\/title>/)
  assert.match(page.text, /role="alert">No operation has this path \(GET\)/)
  assert.match(
    page.text,
    /<a class="button" href="\/gate\/swagger-ui\/index\.html">Browse the API<\/a>/,
  )
  assert.ok(page.text.includes(`<code>${page.headers.get('x-spinnaker-request-id')}</code>`))

  const programs: Record<string, string>[] = [
    { accept: '*/*', 'sec-fetch-mode': 'cors' },
    { accept: 'application/json' },
    { accept: `application/json, ${pageAccept}`, 'x-requested-with': 'XMLHttpRequest' },
    { accept: pageAccept, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
  ]
  for (const headers of programs) {
    const { status, text } = await browser.visit('/no/such/page', { headers })
    assert.deepEqual(
      [status, (JSON.parse(text) as { code: string }).code],
      [404, 'NO_ROUTE'],
      JSON.stringify(headers),
    )
  }

  const failed = await browser.visit('/tasks', { method: 'POST', body: '{' })
  assert.match(failed.text, /<h1>/)
  const missing = await browser.visit('/applications/x/serverGroups/prod/x-v000')
  assert.equal(missing.text.startsWith('<!doctype html>'), missing.status >= 400, missing.text)
})

test('what an error says is text on its page', () => {
  const error = new GatewayError('NOT_FOUND', '<script>alert(1)</script>', {
    page: {
      heading: 'a & b',
      advice: ['<b>'],
      causes: ['<i>'],
      action: { label: '<u>', path: '/x"y' },
    },
  })
  const { html } = createErrorPage(error, { site, requestId: '<id>' })
  assert.doesNotMatch(html, /<script|<b>|<i>|<u>|<id>|x"y/)
  assert.match(html, /<title>a &#38; b · Fairlead<\/title>/)
})

const rows: [error: GatewayError, heading: RegExp, action: RegExp][] = [
  [
    new GatewayError('PERMISSION_DENIED', 'x'),
    /Not allowed/,
    /href="\/auth\/logout">Sign in as another user</,
  ],
  [new GatewayError('LOGIN_REQUIRED', 'x'), /Sign in first/, /href="\/login">Sign in</],
  [
    new GatewayError('UPSTREAM_UNREACHABLE', 'x'),
    /Something went wrong/,
    /href="\/">Go to the start page</,
  ],
  [new GatewayError('UPSTREAM_FAILED', 'x', { status: 404 }), /Page not found/, /href="\/">/],
  [new GatewayError('UPSTREAM_TIMEOUT', 'x'), /Not available at present/, /href="\/">/],
  [new GatewayError('BAD_ARGUMENT', 'x'), /This request cannot be served/, /href="\/">/],
]
for (const [error, heading, action] of rows) {
  test(`the page for ${error.code} ${error.status} says what to do`, () => {
    const { html } = createErrorPage(error, { site, requestId: 'id' })
    assert.match(/<h1>(.*?)<\/h1>/.exec(html)?.[1] ?? '', heading)
    assert.match(html, action)
  })
}
