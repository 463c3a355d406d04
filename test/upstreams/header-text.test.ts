import assert from 'node:assert/strict'
import { request } from 'node:http'
import test from 'node:test'
import { fromHeaderText, toHeaderText } from '../../packages/base/net/header-text.ts'
import { startUpstream } from '../support/upstream.ts'

const names = [
  ...['ann', 'ann@example.com', 'Ann Lee', 'o"neil\\', '100%', '5%2', '%', '%zz', ''],
  ...['%61dmin', '%C3%A9', '%2541', 'é%41', '%é', '%%41', 'J%C3%B6rg'],
  ...['Jörg', 'приложение', '🚀', 'مرحبا', '‮evil', '<script>alert(1)</script>', 'é'.repeat(2000)],
  ...[
    ' leading',
    'trailing ',
    '  ',
    '\ttab',
    'line\r\nX-SPINNAKER-USER: root',
    'nul\u0000',
    '\u007f',
    'ÿ',
  ],
]

test('every name arrives through a header unchanged', async (t) => {
  const service = await startUpstream(t, () => ({}))
  for (const name of names) {
    await new Promise<void>((resolve, reject) => {
      const headers = { 'x-spinnaker-user': toHeaderText(name) }
      const sent = request(service.url, { headers }, (answer) => answer.resume().on('end', resolve))
      sent.on('error', reject).end()
    })
    const arrived = service.requests.at(-1)?.headers['x-spinnaker-user']
    assert.match(String(arrived), /^[\x20-\x7e]*$/)
    assert.equal(fromHeaderText(String(arrived)), name, JSON.stringify(name.slice(0, 30)))
  }
})

test('names in printable ASCII are readable as they are', () => {
  for (const name of ['ann', 'Ann Lee', 'a,b', '100%', "o'neil", 'team:ops/web'])
    assert.equal(toHeaderText(name), name)
})

test('invalid characters in headers do no harm', () => {
  assert.equal(fromHeaderText(toHeaderText('a\ud83d')), 'a\ufffd')
  assert.equal(fromHeaderText('%FF%41'), '%FF%41')
})
