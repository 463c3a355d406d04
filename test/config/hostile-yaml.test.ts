/** Files that are broken, or made to break the reader: each is told as a problem, quickly, and nothing is damaged. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { type Given, load, problemsOf } from './given.ts'

const bomb = [
  'a0: &a0 [x,x,x,x,x,x,x,x,x,x]',
  ...Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(10)}]`),
]

const broken: [title: string, content: string | Uint8Array, problem: RegExp][] = [
  ['a bomb of aliases', bomb.join('\n'), /more than 50000 values/],
  [
    'an alias that contains itself',
    'a: &a {b: *a}',
    /the alias \*a (?:contains itself|has no anchor)/,
  ],
  ['an alias without anchor', 'a: *nowhere', /gate\.yml:1: .*nowhere/],
  ['deep nesting', `a: ${'['.repeat(200)}${']'.repeat(200)}`, /nested deeper than 50/],
  ['very deep nesting', '['.repeat(100_000), /gate\.yml/],
  ['a tab as indentation', 'server:\n\tport: 1', /gate\.yml:2: .*tab/],
  [
    'a key that stands twice',
    'server:\n  port: 1\n  port: 2',
    /gate\.yml:3: port: is written twice/,
  ],
  [
    'bytes that are no UTF-8',
    Uint8Array.of(0x61, 0x3a, 0x20, 0xff),
    /gate\.yml: is not valid UTF-8/,
  ],
  ['a list instead of a map', '- a\n- b', /gate\.yml:1: a document must be a map of keys/],
  ['a text instead of a map', 'hello', /gate\.yml:1: a document must be a map of keys/],
  [
    'a key of the prototype',
    'server: {__proto__: {port: 1}}',
    /gate\.yml:1: __proto__: must not be used as a key/,
  ],
  ['a dotted key of the prototype', '__proto__.polluted: 1', /gate\.yml:1: .*__proto__/],
  [
    'a key of the prototype in an open map',
    'services.orca.config: {"__proto__": {polluted: 1}}',
    /__proto__: must not be used/,
  ],
  ['a constructor', 'constructor: {prototype: {polluted: 1}}', /constructor: is not a known key/],
  ['a map as a key', '? {a: 1}\n: 2', /a key must be a single word/],
  ['an unknown tag', 'server.port: !!js/function "x"', /gate\.yml:1: is not usable YAML/],
  ['an unclosed quote', 'a: "b', /gate\.yml:\d: is not usable YAML/],
  ['a merge of something else', '<<: 1', /merge key << needs a map/],
  ['a map for a value', 'server: {port: {a: 1}}', /server\.port: must be a single value/],
  ['a value for a map', 'server: 1', /server: must be a map of keys/],
  ['a map for a list', 'fiat.admin.roles: {a: b}', /fiat\.admin\.roles: must be a list/],
]

for (const [title, content, problem] of broken) {
  test(`${title} is a problem, not a crash`, async (t) => {
    const given = { 'config/gate.yml': content, env: { FAIRLEAD_UNKNOWN_KEYS: 'reject' } }
    const problems = (await problemsOf(t, given)).join('\n')

    assert.match(problems, problem)
    assert.equal((Object.prototype as Record<string, unknown>)['polluted'], undefined)
  })
}

test('a broken file does not hide the mistakes of another', async (t) => {
  const problems = await problemsOf(t, {
    'config/gate.yml': 'a: "b',
    'config/spinnaker.yml': 'server.port: x',
  })

  assert.ok(problems.some((problem) => problem.startsWith('config/spinnaker.yml:1: server.port')))
})

const harmless: [title: string, content: string][] = [
  ['an empty file', ''],
  ['a comment only', '# nothing\n'],
  ['empty documents', '---\n---\n'],
  ['a byte order mark', '\uFEFFserver.port: 8084'],
  ['Windows line ends', 'server:\r\n  port: 8084\r\n'],
  ['anchors and merges', 'x-a: &a {port: 1}\nserver:\n  <<: *a\n  port: 8084\n'],
  [
    'merges of a list',
    'x-a: &a {port: 1}\nx-b: &b {address: 127.0.0.1}\nserver:\n  port: 8084\n  <<: [*a, *b]\n',
  ],
]

for (const [title, content] of harmless) {
  test(`${title} is read`, async (t) => {
    assert.equal((await load(t, { 'config/gate.yml': content })).config.http.port, 8084)
  })
}

test('malformed JSON in a variable is reported, not a crash', async (t) => {
  for (const text of ['[]', '1', '{"a":', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`]) {
    const given: Given = { env: { SPRING_APPLICATION_JSON: text } }
    assert.ok((await problemsOf(t, given)).length > 0)
  }
  assert.deepEqual(
    await problemsOf(t, {
      env: { SPRING_APPLICATION_JSON: '{"__proto__": {"server": {"port": 1}}}' },
    }),
    [],
  )
})
