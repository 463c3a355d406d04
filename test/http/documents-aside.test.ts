/** Large documents: YAML is read in a thread, JSON while it arrives, with the same outcome as small ones. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import type { GatewayError } from '../../packages/base/errors.ts'
import { parseYamlAside } from '../../packages/base/json/bodies/documents-aside.ts'
import type { BodyBounds } from '../../packages/base/json/bodies/json-checker.ts'
import {
  readCheckedBytes,
  readJsonBody,
  streamBody,
} from '../../packages/base/json/bodies/read-body.ts'
import { formatJson } from '../../packages/base/json/json.ts'
import { parseYaml } from '../../packages/base/json/yaml.ts'

const lines = Array.from({ length: 2000 }, (_, index) => `name${index}: value ${index}`)

test('a document means the same in the thread', async () => {
  for (const more of [
    'id: 12345678901234567890',
    'yes: no',
    'list: [1, 2.5, ~, "x"]',
    'text: "ü\\n"',
  ]) {
    const text = [...lines, more].join('\n')
    assert.equal(
      formatJson((await parseYamlAside(text))?.value),
      formatJson(parseYaml(text, { version: '1.1' })),
      more,
    )
  }
})

test('an invalid document is reported and the next one read', async () => {
  const wrong: [line: string, says: RegExp][] = [
    ['name1: again', /the key "name1" is repeated/],
    ['__proto__: {}', /__proto__/],
    ['open: [1, 2', /flow/i],
    ['half: .inf', /not finite/],
  ]
  for (const [line, says] of wrong) {
    await assert.rejects(parseYamlAside([...lines, line].join('\n')), says, line)
    assert.deepEqual((await parseYamlAside('a: 1'))?.value, { a: 1 })
  }
})

test('documents that arrive together each get their own answer', async () => {
  const read = await Promise.all(
    ['a: 1', 'b: [', 'c: 3'].map((text) =>
      parseYamlAside(text).then(
        (document) => document?.value,
        () => 'refused',
      ),
    ),
  )
  assert.deepEqual(read, [{ a: 1 }, 'refused', { c: 3 }])
})

const bounds: BodyBounds = {
  maxBytes: 1_000_000,
  maxValues: 20_000,
  keepsNumerals: true,
  settings: { bytes: 'bytes', values: 'values' },
}
const filler = `"filler":"${'x'.repeat(100_000)}"`

function request(body: string | Buffer, headers: Record<string, string> = {}): IncomingMessage {
  const bytes = Buffer.from(body)
  const pieces = Array.from({ length: Math.ceil(bytes.length / 30_000) }, (_, index) =>
    bytes.subarray(index * 30_000, (index + 1) * 30_000),
  )
  const announced = { 'transfer-encoding': 'chunked', ...headers }
  return Object.assign(Readable.from(pieces, { objectMode: false }), {
    headers: announced,
    complete: true,
  }) as unknown as IncomingMessage
}

/** What comes of a body, in words. */
async function read(body: string | Buffer, headers?: Record<string, string>): Promise<string> {
  try {
    const document = await readJsonBody(request(body, headers), bounds)
    return formatJson(document?.value)
  } catch (error) {
    const { code, message } = error as GatewayError
    return `${code} ${message}`
  }
}

test('a large JSON body has the same outcome compressed', async () => {
  const cases: [name: string, body: string | Buffer, outcome: RegExp][] = [
    [
      'fine',
      `{${filler},"id":12345678901234567890,"size":1.0,"text":"ü\\u0000"}`,
      /"id":12345678901234567890,"size":1.0,"text":"ü/,
    ],
    ['a plain list', `[${'1,'.repeat(19_000)}1]`, /^\[1,1,/],
    ['too many values', `[${'1,'.repeat(30_000)}1]`, /^BODY_TOO_LARGE .* raise values/],
    [
      'too deep',
      `{${filler},"a":${'['.repeat(1001)}${']'.repeat(1001)}}`,
      /^UNREADABLE_BODY .*deeper/,
    ],
    ['a prototype key', `{${filler},"__proto__":{}}`, /^UNREADABLE_BODY .*__proto__/],
    ['a number that is too large', `{${filler},"a":1e999}`, /^UNREADABLE_BODY/],
    ['a repeated key', `{${filler},"a":1,"a":2}`, /"a":2\}$/],
    ['broken off', `{${filler},"a":`, /^UNREADABLE_BODY/],
    [
      'no UTF-8',
      Buffer.concat([Buffer.from(`{${filler},"a":"`), Buffer.from([0xff]), Buffer.from('"}')]),
      /UTF-8/,
    ],
    ['blank space', ' '.repeat(50_000), /^null$/],
    ['too many bytes', `{"a":"${'x'.repeat(1_100_000)}"}`, /^BODY_TOO_LARGE .* raise bytes/],
  ]
  for (const [name, body, outcome] of cases) {
    const here = await read(body)
    assert.match(here, outcome, name)
    const gzip = { 'content-encoding': 'gzip' }
    assert.equal(await read(gzipSync(body), gzip), here, `${name}, compressed`)
  }
  const broken = gzipSync(randomBytes(1000)).subarray(0, 500)
  assert.match(await read(broken, { 'content-encoding': 'gzip' }), /^UNREADABLE_BODY .*gzip/)
})

test('judged bytes are passed on as they came', async () => {
  const body = `{${filler}, "a" : 1.0, "a": 2}`
  for (const [sent, headers] of [
    [body],
    [gzipSync(body), { 'content-encoding': 'gzip' }],
  ] as const) {
    assert.equal((await readCheckedBytes(request(sent, headers), bounds)).toString(), body)
  }
  const pieces = await Array.fromAsync(streamBody(request(body), bounds))
  assert.equal(Buffer.concat(pieces as Buffer[]).toString(), body)
})

test('a client that leaves takes its document along', async () => {
  const client = request(`{${filler}`)
  const leaving = Readable.from(
    (async function* () {
      for await (const piece of client) yield piece
      throw new Error('gone')
    })(),
  )
  const raw = Object.assign(leaving, { headers: client.headers }) as unknown as IncomingMessage
  await assert.rejects(readJsonBody(raw, bounds), /gone/)
  assert.equal(await read(`{${filler},"a":1}`), formatJson({ filler: 'x'.repeat(100_000), a: 1 }))
})
