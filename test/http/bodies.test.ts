import assert from 'node:assert/strict'
import { IncomingMessage, request } from 'node:http'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { readBytes } from '../../packages/base/json/bodies/read-body.ts'
import { boundChunks } from '../../packages/base/json/bodies/tiny-chunks.ts'
import { readForm } from '../../packages/gateway/http/read-form.ts'
import { runGateway } from '../support/gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { startUpstream } from '../support/upstream.ts'

interface Answered {
  status: number
  type: string | undefined
  body: Record<string, unknown>
}

/** Sends exactly these bytes: `fetch` would refuse a body with GET, and add a content type. */
function send(
  url: string,
  method: string,
  path: string,
  bytes: string | Buffer | undefined,
  type?: string,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const headers = {
      ...(type !== undefined && { 'content-type': type }),
      'content-length': Buffer.byteLength(bytes ?? ''),
    }
    const sent = request(url + path, { method, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.once('end', () => {
        const text = Buffer.concat(chunks).toString()
        const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
        resolve({ status: answer.statusCode ?? 0, type: answer.headers['content-type'], body })
      })
    })
    sent.once('error', reject)
    sent.end(bytes)
  })
}

/** A gateway whose orchestrator accepts every task, and what is logged as a defect. */
async function startTarget(t: TestContext) {
  const orca = await startUpstream(t, () => ({ ref: '/tasks/1' }))
  const defects: Record<string, unknown>[] = []
  const { url } = await runGateway(
    t,
    {
      services: { orca: { baseUrl: orca.url }, echo: { baseUrl: orca.url } },
      http: { maxBodyBytes: '1MB', maxBodyValues: 20_000 },
    },
    { log: (line) => void (Number(line['level']) >= 50 && defects.push(line)) },
  )
  return { url, orca, defects }
}

const json = 'application/json'
const yaml = 'application/x-yaml'
/** A task needs a body that is an object: `POST /tasks`. */
const refused: {
  name: string
  bytes: string | Buffer | undefined
  type?: string
  status: number
  code: string
  says: RegExp
}[] = [
  { name: 'no body', bytes: undefined, status: 400, code: 'MISSING_BODY', says: /needs a body/ },
  {
    name: 'no body under a content type',
    bytes: '',
    type: json,
    status: 400,
    code: 'MISSING_BODY',
    says: /needs a body/,
  },
  {
    name: 'a body of blanks',
    bytes: ' \r\n ',
    type: json,
    status: 400,
    code: 'MISSING_BODY',
    says: /needs a body/,
  },
  {
    name: 'the JSON null',
    bytes: 'null',
    type: json,
    status: 400,
    code: 'MISSING_BODY',
    says: /needs a body/,
  },
  {
    name: 'JSON that breaks off',
    bytes: '{"job":[',
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /not usable JSON/,
  },
  {
    name: 'JSON with something behind it',
    bytes: '{}}',
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /not usable JSON/,
  },
  {
    name: 'single quotes',
    bytes: "{'job':[]}",
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /not usable JSON/,
  },
  {
    name: 'NaN',
    bytes: '{"job":NaN}',
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /not usable JSON/,
  },
  {
    name: 'a list where an object belongs',
    bytes: '[]',
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /object/,
  },
  {
    name: 'a text where an object belongs',
    bytes: '"text"',
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /object/,
  },
  {
    name: 'a number where an object belongs',
    bytes: '7',
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /object/,
  },
  {
    name: 'invalid UTF-8',
    bytes: Buffer.from('{"a":"\xff\xfe"}', 'latin1'),
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /UTF-8/,
  },
  {
    name: 'UTF-16',
    bytes: Buffer.from('{"a":1}', 'utf16le'),
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /JSON|UTF-8/,
  },
  {
    name: 'the key __proto__',
    bytes: '{"a":{"__proto__":{"admin":true}}}',
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /__proto__/,
  },
  {
    name: 'JSON of ten thousand levels',
    bytes: `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /deeper than/,
  },
  {
    name: 'JSON of 900 thousand open brackets',
    bytes: '['.repeat(900_000),
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /deeper than/,
  },
  {
    name: 'YAML that is malformed',
    bytes: 'a: [1, 2\nb: }',
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /not usable YAML/,
  },
  {
    name: 'several YAML documents',
    bytes: 'a: 1\n---\nb: 2\n',
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /not usable YAML/,
  },
  {
    name: 'a YAML key twice',
    bytes: 'a: 1\na: 2\n',
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /not usable YAML/,
  },
  {
    name: 'the YAML key __proto__',
    bytes: 'a:\n  __proto__:\n    admin: true\n',
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /__proto__/,
  },
  {
    name: 'YAML aliases that multiply',
    bytes: aliasBomb(),
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /alias/i,
  },
  {
    name: 'YAML aliases that multiply beyond all memory',
    bytes: aliasBomb(30),
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /alias/i,
  },
  {
    name: 'a YAML alias of itself',
    bytes: 'a: &x\n  b: *x\n',
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /not usable YAML/,
  },
  {
    name: 'YAML of 100 thousand levels',
    bytes: '['.repeat(100_000),
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /deeper than/,
  },
  {
    name: 'YAML lists of two thousand levels',
    bytes: `${'- '.repeat(2000)}x`,
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /deeper than/,
  },
  {
    name: 'YAML with twenty thousand aliases',
    bytes: `x:\n${Array.from({ length: 20_000 }, (_, index) => `- &a${index} 1\n- *a${index}\n`).join('')}`,
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    // A slow machine has no time left before it counts them.
    says: /aliases|too long/,
  },
  {
    name: 'more YAML than can be read in reasonable time',
    bytes: `a: "${'x'.repeat(500_000)}"`,
    type: yaml,
    status: 413,
    code: 'BODY_TOO_LARGE',
    says: /send JSON instead of YAML/,
  },
  {
    name: 'a YAML number that is none in JSON',
    bytes: 'a: .inf\n',
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /\.inf|infinite|finite/,
  },
  {
    name: 'a YAML number that is too large',
    bytes: 'a: 1e400\n',
    type: yaml,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /finite/,
  },
  {
    name: 'an unknown YAML tag',
    bytes: 'a: !!js/function "x"\n',
    type: yaml,
    status: 200,
    code: '',
    says: / /,
  },
  {
    name: 'XML',
    bytes: '<a/>',
    type: 'application/xml',
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    says: /application\/xml.*Send application\/json/,
  },
  {
    name: 'a form',
    bytes: 'a=1',
    type: 'application/x-www-form-urlencoded',
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    says: /Send application\/json/,
  },
  {
    name: 'a media type that is none',
    bytes: '{}',
    type: ';;;',
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    says: /Content-Type is malformed/,
  },
  {
    name: 'more than the limit',
    bytes: `{"a":"${'x'.repeat(1024 * 1024)}"}`,
    type: json,
    status: 413,
    code: 'BODY_TOO_LARGE',
    says: /1048576 bytes.*http\.maxBodyBytes/,
  },
  {
    name: 'more values than the limit',
    bytes: `{"job":[${'{},'.repeat(20_000)}{}]}`,
    type: json,
    status: 413,
    code: 'BODY_TOO_LARGE',
    says: /more than 20000 values.*http\.maxBodyValues/,
  },
  {
    name: 'more values than the limit as text',
    bytes: `{"job":[${'0,'.repeat(20_000)}`,
    type: 'text/plain',
    status: 413,
    code: 'BODY_TOO_LARGE',
    says: /more than 20000 values/,
  },
  {
    name: 'more YAML values than the limit',
    bytes: `job:\n${'- 1\n'.repeat(20_001)}`,
    type: yaml,
    status: 413,
    code: 'BODY_TOO_LARGE',
    says: /more than 20000 values.*http\.maxBodyValues/,
  },
  {
    name: 'more YAML values than the limit by aliases',
    bytes: `a: &a [${'1,'.repeat(300)}]\njob: [${'*a,'.repeat(90)}]`,
    type: yaml,
    status: 413,
    code: 'BODY_TOO_LARGE',
    says: /more than 20000 values/,
  },
  {
    name: 'a number beyond a double',
    bytes: '{"job":[{"n":1e999}]}',
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /larger than 1\.8e308/,
  },
  {
    name: 'a number of a million digits',
    bytes: `{"a":${'1'.repeat(1_000_000)}}`,
    type: json,
    status: 400,
    code: 'UNREADABLE_BODY',
    says: /number has more than 1000/,
  },
]

function aliasBomb(levels = 9): string {
  const lines = ['a0: &a0 [x,x,x,x,x,x,x,x,x]']
  for (let level = 1; level < levels; level++)
    lines.push(
      `a${level}: &a${level} [${Array(9)
        .fill(`*a${level - 1}`)
        .join(',')}]`,
    )
  return lines.join('\n')
}

test('an unusable body is rejected with a helpful message', async (t) => {
  const { url, orca, defects } = await startTarget(t)
  for (const { name, bytes, type, status, code, says } of refused) {
    const before = orca.requests.length
    const answer = await send(url, 'POST', '/tasks', bytes, type)
    assert.equal(answer.status, status, `${name}: ${JSON.stringify(answer.body)}`)
    if (status === 200) continue
    assert.equal(answer.type, 'application/problem+json', name)
    assert.equal(answer.body['code'], code, name)
    assert.match(String(answer.body['detail']), says, name)
    assert.equal(answer.body['detail'], answer.body['message'])
    assert.ok(
      !/call stack|at .*\.ts/i.test(String(answer.body['detail'])),
      `${name}: ${answer.body['detail']}`,
    )
    assert.equal(orca.requests.length, before, name)
    assert.equal((await send(url, 'GET', '/health', undefined)).status, 200)
  }
  assert.deepEqual(defects, [])
  assert.equal(({} as Record<string, unknown>)['admin'], undefined)
})

const accepted: { name: string; bytes: string | Buffer; type?: string; sent: string }[] = [
  {
    name: 'a body without content type',
    bytes: '{"application":"web","job":[]}',
    sent: '{"application":"web","job":[]}',
  },
  {
    name: 'JSON as text/plain',
    bytes: '{"job":[]}',
    type: 'text/plain;charset=UTF-8',
    sent: '{"job":[]}',
  },
  {
    name: 'JSON under a type of its own',
    bytes: '{"job":[]}',
    type: 'application/vnd.x+json',
    sent: '{"job":[]}',
  },
  {
    name: 'JSON behind a byte order mark',
    bytes: '\ufeff{"job":[]}',
    type: json,
    sent: '{"job":[]}',
  },
  { name: 'YAML', bytes: 'job:\n  - type: wait\n', type: yaml, sent: '{"job":[{"type":"wait"}]}' },
  {
    name: 'YAML with a few aliases',
    bytes: 'a: &x [1]\njob: [*x, *x]\n',
    type: 'text/yaml',
    sent: '{"a":[1],"job":[[1],[1]]}',
  },
  {
    name: 'numbers that JavaScript cannot hold, or writes otherwise',
    bytes: '{"id":12345678901234567890,"n":[1.0,1e3,-0,0.50,1E2]}',
    type: json,
    sent: '{"id":12345678901234567890,"n":[1.0,1e3,-0,0.50,1E2]}',
  },
  {
    name: 'such numbers in YAML',
    bytes: 'id: 12345678901234567890\nn: [1.0, 1e3, 0x10, .5]\n',
    type: yaml,
    sent: '{"id":12345678901234567890,"n":[1.0,1e3,16,0.5]}',
  },
  {
    name: 'scalars of YAML 1.1, keys and times as texts',
    bytes: 'a: 010\nb: [yes, Off, 0x1F, 1_000]\non: {no: 12:30, 1.0: 2026-01-01}\n<<: {c: "yes"}\n',
    type: yaml,
    sent: '{"a":8,"b":[true,false,31,1000],"on":{"no":"12:30","1.0":"2026-01-01"},"<<":{"c":"yes"}}',
  },
  {
    name: 'the keys constructor and prototype',
    bytes: '{"constructor":{"prototype":{"x":1}}}',
    type: json,
    sent: '{"constructor":{"prototype":{"x":1}}}',
  },
]
test('a body that clients send is understood and unchanged', async (t) => {
  const { url, orca, defects } = await startTarget(t)
  for (const { name, bytes, type, sent } of accepted) {
    const answer = await send(url, 'POST', '/tasks', bytes, type)
    assert.equal(answer.status, 200, `${name}: ${JSON.stringify(answer.body)}`)
    const body = orca.requests.at(-1)?.body ?? ''
    const members = sent.slice(1, -1)
    assert.ok(body.includes(members), `${name}: ${body}`)
  }
  assert.deepEqual(defects, [])
})

test('a body that the operation does not take is ignored', async (t) => {
  const { url, orca } = await startTarget(t)
  for (const [method, path] of [
    ['GET', '/tasks/1'],
    ['DELETE', '/tasks/1'],
    ['DELETE', '/pipelines/1'],
  ] as const) {
    for (const [bytes, type] of [
      ['null', json],
      ['', json],
      ['{"broken', json],
      ['<x/>', 'text/xml'],
    ] as const) {
      const answer = await send(url, method, path, bytes, type)
      assert.equal(answer.status, 200, `${method} ${path} ${bytes}: ${JSON.stringify(answer.body)}`)
    }
  }
  assert.ok(orca.requests.every(({ body }) => body === ''))
})

function inChunks(path: string, body: string, chunkLength: number): string {
  const pieces = body.match(new RegExp(`.{1,${chunkLength}}`, 'gs')) ?? []
  const head = `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
  return `${head}${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')}0\r\n\r\n`
}

test('a body in thousands of tiny chunks is rejected', async (t) => {
  const { url, orca } = await startTarget(t)
  const task = (filler: number) =>
    `{"application":"web","job":[{"type":"wait","x":"${'x'.repeat(filler)}"}]}`
  // Connections follow each other, so that each has the parser of the former one.
  for (const path of ['/tasks', '/webhooks/git/github']) {
    const hostile = await openRawConnection(t, url)
    hostile.send(inChunks(path, task(20_000), 1))
    const { status, headers, body } = await hostile.next()
    assert.deepEqual([status, headers['connection']], [400, 'close'])
    assert.match(body, /very small chunks.*Content-Length/)
    hostile.socket.end()
    await hostile.ended
    for (const [filler, chunkLength] of [
      [300, 1],
      [20_000, 17],
    ] as const) {
      const before = orca.requests.length
      const usual = await openRawConnection(t, url)
      usual.send(inChunks('/tasks', task(filler), chunkLength))
      assert.equal((await usual.next()).status, 200)
      assert.equal(orca.requests.length, before + 1)
      usual.socket.end()
      await usual.ended
    }
  }
})

test('tiny chunks are skipped before the body is read', async () => {
  const request = new IncomingMessage(new Socket())
  request.headers = { 'transfer-encoding': 'chunked' }
  boundChunks(request)
  for (let chunk = 0; chunk < 9000; chunk++) request.push(Buffer.from('x'))
  request.push(null)
  assert.ok(request.readableLength < 1000, `${request.readableLength} are kept`)
  await assert.rejects(readBytes(request, { maxBytes: 10_000 }), { code: 'UNREADABLE_BODY' })
})

test('a form is decoded as the URL standard says', async () => {
  const forms = [
    'a=b&c=d',
    'a',
    '=',
    'a=&&b',
    'a+b=c%20d',
    '%41%42=%c3%a4',
    'a=%',
    'a=%4',
    'a=%zz%',
    'a=%ff',
    'a=b=c',
    '+%2B+=+',
  ]
  for (const form of forms) {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(form.length),
    }
    const raw = Object.assign(Readable.from([Buffer.from(form)], { objectMode: false }), {
      headers,
    })
    const fields = await readForm({ raw, headers } as unknown as FastifyRequest, 1000)
    assert.deepEqual([...(fields ?? [])], [...new URLSearchParams(form)], form)
  }
})

test('a body that no one reads leaves the connection to later requests', async (t) => {
  const { url, orca } = await startTarget(t)
  const connection = await openRawConnection(t, url)
  const unread = inChunks('/nothing/here', 'x'.repeat(20_000), 1)
  const task = (type: string) =>
    inChunks('/tasks', `{"application":"web","job":[{"type":"${type}"}]}`, 20)
  // The end of the body and the next request are in one packet.
  connection.send(unread.slice(0, -2000))
  assert.equal((await connection.next()).status, 404)
  connection.send(unread.slice(-2000) + task('first'))
  assert.equal((await connection.next()).status, 200)
  connection.send(unread + task('second'))
  assert.equal((await connection.next()).status, 404)
  assert.equal((await connection.next()).status, 200)
  connection.socket.destroy()
  await connection.ended
  const other = await openRawConnection(t, url)
  other.send(task('third'))
  assert.equal((await other.next()).status, 200)
  const types = orca.requests.flatMap(
    ({ body }) => /"type":"(first|second|third)"/.exec(body)?.[1] ?? [],
  )
  assert.deepEqual(types, ['first', 'second', 'third'])
})

test('an empty body is enough where a body is optional', async (t) => {
  const { url, orca } = await startTarget(t)
  for (const type of [undefined, json, 'text/plain', yaml]) {
    assert.equal((await send(url, 'PUT', '/pipelines/1/pause', '', type)).status, 200)
  }
  assert.equal(orca.requests.filter(({ path }) => path === '/pipelines/1/pause').length, 4)
})

test('a large YAML body does not block other requests', async (t) => {
  const { url } = await startTarget(t)
  const large = Array.from(
    { length: 15_000 },
    (_, index) => `  name${index}: number ${index}\n`,
  ).join('')
  let isAnswered = false
  const sent = send(url, 'POST', '/tasks', `context:\n${large}`, yaml).finally(() => {
    isAnswered = true
  })
  let others = 0
  for (; !isAnswered; others++) {
    assert.equal((await send(url, 'GET', '/health', undefined)).status, 200)
    // The thread that reads the body needs the processor, too.
    await pause(1)
  }
  assert.equal((await sent).status, 200)
  assert.ok(others > 20, `${others} answers meanwhile`)
})

test('numbers keep their notation in forwarded bodies', async (t) => {
  const { url, orca } = await startTarget(t)
  orca.answer(({ method }) =>
    method === 'GET' ? { id: '1', status: 'SUCCEEDED' } : { ref: '/tasks/1' },
  )
  const numbers = '[1.0,1e3,12345678901234567890,-0]'
  assert.equal(
    (await send(url, 'POST', '/pipelines/start', `{"application":"web","n":${numbers}}`, json))
      .status,
    200,
  )
  assert.match(String(orca.requests.at(-1)?.body), /"n":\[1\.0,1e3,12345678901234567890,-0\]/)
  await send(url, 'POST', '/pipelines', `{"name":"p","application":"web","n":${numbers}}`, json)
  const saving = orca.requests.find(({ body }) => body.includes('savePipeline'))
  const [job] = (JSON.parse(String(saving?.body)) as { job: { pipeline: string }[] }).job
  assert.match(
    Buffer.from(job?.pipeline ?? '', 'base64').toString(),
    /"n":\[1\.0,1e3,12345678901234567890,-0\]/,
  )
  const refused = await send(
    url,
    'POST',
    '/pipelines/start',
    '{"application":"web","n":1e999}',
    json,
  )
  assert.deepEqual([refused.status, refused.body['code']], [400, 'UNREADABLE_BODY'])
})
