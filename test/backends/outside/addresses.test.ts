/** Whose an address is decides whether restrictions apply, and a path never leaves the operator's server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addressFrom,
  createOutsideCalls,
  hrefOf,
  OperatorAddress,
  operatorAddress,
} from '../../../packages/base/outside/call-outside.ts'
import { defaultOutsideSettings } from '../../../packages/base/outside/settings.ts'
import { startUpstream } from '../../support/upstream.ts'

const base = 'http://10.1.2.3:8080/base'
const refused = [
  ...[
    'http://evil/x',
    '//evil/x',
    '/\\evil/x',
    '\\\\evil',
    '@evil/x',
    ':81@evil/',
    '80/x',
    '.evil/x',
    '/../x',
    '/a/../../x',
  ],
  ...['/%2e%2e/x', '/.%2E/x', '/\t/evil', '/x\r\nHost: evil', 'x', '#', '/\u0000'],
]

for (const path of refused) {
  test(`the path ${JSON.stringify(path)} leads nowhere`, () => {
    assert.throws(() => operatorAddress(base, path), { name: 'CallError', fault: 'forbidden' })
  })
}

for (const path of [
  '',
  '/',
  '/health',
  '/a/../b',
  '/x?u=http://evil/',
  '?q=1',
  '/a//b',
  '/%2f',
  '/@evil',
  '/a:b',
]) {
  test(`the path ${JSON.stringify(path)} stays on the server`, () => {
    assert.match(hrefOf(operatorAddress(base, path)), /^http:\/\/10\.1\.2\.3:8080\/base(?:$|[/?])/)
  })
}

test("what a server answers is the operator's on that server alone", () => {
  const own = [operatorAddress(base)]
  assert.ok(addressFrom('http://10.1.2.3:8080/next', own) instanceof OperatorAddress)
  for (const text of [
    'http://10.1.2.3/next',
    'https://10.1.2.3:8080/next',
    'http://10.1.2.30:8080/',
    'next',
  ])
    assert.equal(addressFrom(text, own), text)
})

test('the same address is refused to an author and called for the operator', async (t) => {
  const upstream = await startUpstream(t, () => 'content')
  const call = createOutsideCalls(defaultOutsideSettings)
  const request = { method: 'GET', headers: {}, body: undefined }
  await assert.rejects(call({ ...request, url: `${upstream.url}/a` }), /must not call 127\.0\.0\.1/)
  assert.equal((await call({ ...request, url: operatorAddress(upstream.url, '/a') })).status, 200)
})

test('hosts of excluded domains are refused', async () => {
  const call = createOutsideCalls({ ...defaultOutsideSettings, excluded: ['corp.example'] })
  for (const host of ['corp.example', 'a.CORP.example.'])
    await assert.rejects(
      call({ method: 'GET', url: `https://${host}/`, headers: {}, body: undefined }),
      /its domain is excluded/,
    )
})
