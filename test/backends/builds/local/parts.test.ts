import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { StoredBuild } from '../../../../packages/builds/local/build-store.ts'
import { parseBuildFile } from '../../../../packages/builds/local/job-catalog.ts'
import { fillIn } from '../../../../packages/builds/local/parameters.ts'
import { nextBuild } from '../../../../packages/builds/local/queue.ts'
import { countJunit, countTap } from '../../../../packages/builds/local/test-reports.ts'
import { parseProperties } from '../../../../packages/builds/property-file.ts'
import { Masking, maskedTexts } from '../../../../packages/model/secrets/masking.ts'
import { blocksOf } from '../../../support/guide.ts'

test('property files are YAML, JSON or lines by their name', () => {
  const lines = 'a=1\n b : x\\u0041\\\n   more\n# c\n! d\r\nk\\=z v = w\n\nempty\n'
  assert.deepEqual(parseProperties('out.properties', lines), {
    a: '1',
    b: 'xAmore',
    'k=z': 'v = w',
    empty: '',
  })
  assert.deepEqual(parseProperties('out.yml', 'foo: bar'), { foo: 'bar' })
  assert.deepEqual(parseProperties('out.JSON', '{"foo":{"bar":1}}'), { foo: { bar: 1 } })
  for (const [name, text] of [
    ['a.json', '{'],
    ['a.json', '[1]'],
    ['a.yaml', 'a: ['],
    ['a.yaml', 'text'],
  ] as const) {
    assert.deepEqual(parseProperties(name, text), {}, text)
  }
  assert.deepEqual(
    parseProperties('a.txt', 'a=b\\\\\nc=d\\'),
    { a: 'b\\', c: 'd' },
    'escaped, and at the end',
  )
  assert.equal(
    parseProperties('a.txt', 'b\\\n'.repeat(300_000))['b'.repeat(300_000)] as string,
    '',
    'many lines',
  )
})

test('secrets are masked wherever pieces of output are cut', () => {
  const secrets = maskedTexts(['xyzab', 'abcd', 'abcdef', 'first line\nsecond line'])
  const text = 'xyzabcd abcdef abc second line xyz abcdé'
  const whole = show(secrets, [text])
  assert.equal(whole, '****** ****** abc ****** xyz ******é')
  for (let at = 0; at <= text.length; at++) {
    for (let to = at; to <= text.length; to += 3) {
      const shown = show(secrets, [text.slice(0, at), text.slice(at, to), text.slice(to)])
      for (const secret of ['xyzab', 'abcd', 'second line'])
        assert.ok(!shown.includes(secret), `${at} ${to}: ${shown}`)
    }
  }
})

test('secrets are masked in the forms that usual tools write', () => {
  const secret = `p@ss"w&rd<'x'>/ü+ Zq7-${'long-enough-to-wrap'.repeat(4)}`
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const wrap = (text: string, columns: number, end = '\n') =>
    text.replaceAll(new RegExp(`.{${columns}}`, 'g'), `$&${end}`)
  const tail = 'long-enough-to-wrap'.repeat(4)
  const hex = Buffer.from(secret).toString('hex')
  const forms = [
    wrap(secret, 40),
    ...['', 'u:', 'me:', 'user:'].flatMap((user) =>
      [64, 76].map((columns) => wrap(base64(user + secret), columns)),
    ),
    wrap(base64(secret), 76, '\r\n'),
    wrap(base64(secret), 64, '\n    '),
    wrap(secret, 30, '\x1b[m\x1b[K'),
    base64(`user:${secret}:more`),
    Buffer.from(secret).toString('base64url'),
    ...[hex, hex.toUpperCase(), hex.replaceAll(/..(?=.)/g, '$& ')],
    `p@ss\\"w&rd<'x'>/ü+ Zq7-${tail}`,
    `p@ss\\"w\\u0026rd\\u003c'x'\\u003e\\/\\u00fc+ Zq7-${tail}`,
    `p@ss\\u0022w\\u0026rd\\u003C\\u0027x\\u0027\\u003E/\\u00FC\\u002B Zq7-${tail}`,
    `p@ss"w&amp;rd&lt;'x'&gt;/ü+ Zq7-${tail}`,
    `p@ss&#34;w&amp;rd&lt;&#39;x&#39;&gt;/ü+ Zq7-${tail}`,
    `p@ss&quot;w&amp;rd&lt;&apos;x&apos;&gt;/&#252;+ Zq7-${tail}`,
    `p%40ss%22w%26rd%3C%27x%27%3E/%C3%BC%2B%20Zq7-${tail}`,
    `p%40ss%22w%26rd%3c%27x%27%3e%2f%c3%bc%2b+Zq7-${tail}`,
    `p@ss"w&rd<'\\''x'\\''>/ü+ Zq7-${tail}`,
    `p@ss"w&rd<'"'"'x'"'"'>/ü+ Zq7-${tail}`,
    `p@ss"w&rd<\\'x\\'>/\\303\\274+ Zq7-${tail}`,
    `p@ss"w&rd<\\'x\\'>/\\xc3\\xbc+ Zq7-${tail}`,
  ]
  const secrets = maskedTexts([secret])
  for (const form of forms) {
    for (const size of [1, 7, 1000]) {
      const pieces = `<${form}>`.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
      const shown = show(secrets, pieces)
      assert.match(shown, /\*{6}/, form)
      assert.ok(shown.length < 30, `${form} in pieces of ${size}: ${shown}`)
    }
  }
  assert.equal(
    show(maskedTexts(['abc', 'first\nlines']), ['ab\nc a', 'bc first', '\nlines.']),
    'ab\nc ****** ******.',
  )
  assert.equal(
    show(maskedTexts(['xabcdefgh6', '6y']), ['xabcdefgh6', '', '!']),
    '******!',
    'its end begins another secret',
  )
  const masking = new Masking(secrets)
  let shown = masking.feed(Buffer.from('p@ss')).length
  for (let count = 0; count < 100; count++) shown += masking.feed(Buffer.alloc(1000, '\n')).length
  assert.ok(shown > 95_000, 'line breaks are held back within bounds')
})

function show(secrets: readonly string[], pieces: readonly string[]): string {
  const masking = new Masking(secrets)
  const shown = pieces.map((piece) => masking.feed(Buffer.from(piece)))
  return Buffer.concat([...shown, masking.end()]).toString()
}

test('reports of JUnit and TAP are counted', () => {
  const junit = `<?xml version="1.0"?><!-- <testcase> --><testsuites><testsuite name="a > b">
    <testcase name="1"/><testcase name="2"><failure>x</failure></testcase><testcase name="3"><skipped/></testcase>
    <testcase name="4"><system-out><![CDATA[<error/>]]></system-out></testcase><j:testcase name="5"><j:error/></j:testcase>
    </testsuite></testsuites>`
  assert.deepEqual(countJunit(junit), { failCount: 2, skipCount: 1, totalCount: 5 })
  assert.equal(countJunit('<html/>'), undefined)
  assert.equal(countJunit('<testsuite><testcase name="1">'), undefined)
  const tap =
    'TAP version 13\n1..5\nok 1 - a\nnot ok 2 - b\n  not ok 1 - inner\nok 3 # SKIP later\nnot ok 4 # TODO some day\n'
  assert.deepEqual(countTap(tap), { failCount: 2, skipCount: 2, totalCount: 5 })
  assert.equal(countTap('hello'), undefined)
})

test('the queue gives applications turns, and keeps exclusive jobs apart', () => {
  const build = (item: number, application: string, job = `job-${application}`) =>
    ({ item, application, job }) as StoredBuild
  const queued = [build(1, 'a'), build(2, 'a'), build(3, 'b'), build(4, 'c')]
  const next = (running: StoredBuild[], turns: [string, number][], isExclusive = false) => {
    const candidates = queued.map((each) => ({ ...each, isExclusive }))
    return nextBuild({ queued: candidates, running, maxRunning: 2, turns: new Map(turns) })?.item
  }
  assert.equal(next([], []), 1)
  assert.equal(next([], [['a', 5]]), 3)
  assert.equal(
    next(
      [build(0, 'b')],
      [
        ['a', 5],
        ['b', 9],
        ['c', 6],
      ],
    ),
    1,
  )
  assert.equal(next([build(0, 'x', 'job-a')], [], true), 3)
  assert.equal(next([build(0, 'x'), build(9, 'y')], []), undefined)
})

test('errors in a build file name their keys', () => {
  const refused = (text: string) => {
    try {
      parseBuildFile(text, 'build.yml')
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  assert.match(
    refused('jobs: { a: { steps: [{ in: x }] } }'),
    /jobs\.a\.steps\.0.*exactly one of shell, run and container-image/,
  )
  assert.match(
    refused('jobs: { a: { steps: [ls], archive: [../x] } }'),
    /jobs\.a\.archive\.0.*relative/,
  )
  assert.match(refused('jobs: { a: { stages: [] } }'), /jobs\.a/)
  assert.match(refused('a: ['), /no YAML/)
  const { jobs } = parseBuildFile('jobs: { a: { steps: [ls, { run: [npm, test] }] } }', 'build.yml')
  assert.deepEqual(
    jobs['a']?.steps.map(({ title }) => title),
    ['ls', 'npm test'],
  )
  assert.equal(
    fillIn('1.{number}-{branch}{nope}', { number: '7', branch: 'feat/x' }),
    '1.7-feat-x-nope-',
  )
})

test('the build file of the guide is accepted as it stands', () => {
  const guide = readFileSync(new URL('../../../../docs/guides/builds.md', import.meta.url), 'utf8')
  const [file = ''] = blocksOf(guide, 'yml')
  assert.deepEqual(Object.keys(parseBuildFile(file, 'build.yml').jobs), ['main'])
})
