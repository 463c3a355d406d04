/** Rules for every core operation: its calls, and the results of their failures. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { allOperations } from '../../../packages/gateway/operations/all.ts'
import type { Operation } from '../../../packages/gateway/operations/operation.ts'
import { routeOf } from '../../../packages/gateway/operations/route.ts'
import { brokenOff, Reply, silence } from '../../support/upstream.ts'
import {
  answerSample,
  ask,
  assertError,
  assertProblem,
  type Contract,
  type ExpectedCall,
  readAnswer,
  type Sample,
  startContract,
  toCall,
} from './contract.ts'
import { deliverySamples } from './delivery-samples.ts'
import { infrastructureSamples } from './infrastructure-samples.ts'

interface CoreOperation {
  id: string
  method: string
  path: string
}

const coreOperations = JSON.parse(
  readFileSync(new URL('../../fixtures/core-operations.json', import.meta.url), 'utf8'),
) as CoreOperation[]
const samples = [...infrastructureSamples, ...deliverySamples]
const operations = new Map(allOperations.map((operation) => [operation.id, operation]))
const settings = {
  services: { rosco: { defaults: { bakeOptions: [{ cloudProvider: 'docker', baseImages: [] }] } } },
}

test('each of 93 core operations exists with its method and path', () => {
  const format = ({ id, method, path }: CoreOperation) => `${id} ${method} ${path}`
  assert.equal(coreOperations.length, 93)
  assert.deepEqual(
    coreOperations.map(format).toSorted(),
    allOperations
      .filter(({ core }) => core)
      .map(format)
      .toSorted(),
  )
})

test('every core operation outside the login has a sample', () => {
  const sampled = new Set(samples.map(({ id }) => id))
  const missing = coreOperations.filter(
    ({ id, path }) => !path.startsWith('/auth/') && !sampled.has(id),
  )
  assert.deepEqual(missing, [])
  assert.equal(sampled.size, samples.length)
})

test('every operation makes the expected calls and answers what they give', async (t) => {
  const contract = await startContract(t, settings)
  for (const sample of samples) await t.test(nameOf(sample), () => assertSample(contract, sample))
})

test("clients get the statuses of services, or an operation's own", async (t) => {
  const contract = await startContract(t, settings)
  for (const sample of samples) {
    for (const [index, call] of sample.calls.entries()) {
      if (call.mayFail) continue
      for (const status of [400, 401, 403, 404, 429, 500, 503]) {
        await t.test(`${nameOf(sample)}: ${call.call} answers ${status}`, () =>
          assertFailure(contract, sample, index, status),
        )
      }
    }
  }
})

test('a call that may fail does not stop the operation', async (t) => {
  const contract = await startContract(t, settings)
  const withHelp = samples.filter(
    ({ calls, whenDown }) => calls[0]?.mayFail && whenDown === undefined,
  )
  for (const sample of withHelp) {
    await t.test(nameOf(sample), async () => {
      answerSample(contract.upstream, sample, ({ gives, mayFail }) =>
        mayFail ? new Reply(404, { message: 'gone' }) : gives,
      )
      const answer = await send(contract.url, sample)
      assert.equal(answer.status, sample.status ?? 200)
      assert.notEqual(contract.upstream.requests.at(-1)?.headers['x-spinnaker-application'], 'shop')
    })
  }
})

test('an answer of an unexpected form is 502', async (t) => {
  const contract = await startContract(t, settings)
  for (const sample of samples) {
    for (const [index, call] of sample.calls.entries()) {
      if (call.mayFail) continue
      for (const nonsense of nonsenseFor(sample, call)) {
        await t.test(
          `${nameOf(sample)}: ${call.call} answers ${nonsense || 'nothing'}`,
          async () => {
            const isPoll = call.call === 'orca GET /tasks/01T' && call.parsed
            answerSample(contract.upstream, sample, ({ gives }, at) =>
              at === index ? new Reply(200, nonsense) : gives,
            )
            if (isPoll) answerPolls(contract, nonsense)
            const answer = await send(contract.url, sample)
            if (sample.id.endsWith('HEAD')) assert.equal(answer.status, 502)
            else if (isPoll && (nonsense === '' || nonsense === '"text"'))
              await assertError(answer, 400, 'TASK_FAILED')
            else await assertError(answer, 502, 'UPSTREAM_UNREADABLE')
          },
        )
      }
    }
  }
})

/** An answer that is passed on is judged by its beginning, and an unread one only has to come from the service. */
function nonsenseFor(sample: Sample, call: ExpectedCall): string[] {
  const page = '<html>maintenance</html>'
  if (call.parsed) return [page, '{"half":', '', '"text"']
  return sample.answer === undefined ? [page] : [page, '', '"text"']
}

test('a service that is switched off is named', async (t) => {
  const url = await startContract(t, {
    services: {
      clouddriver: { enabled: false },
      front50: { enabled: false },
      igor: { enabled: false },
      orca: { enabled: false },
      rosco: { enabled: false, defaults: settings.services.rosco.defaults },
    },
  }).then((contract) => contract.url)
  for (const sample of samples.filter(({ calls }) => calls.length > 0)) {
    await t.test(nameOf(sample), async () => {
      const answer = await send(url, sample)
      const { status, answer: body } = sample.whenOff ?? { status: 503 }
      assert.equal(answer.status, status)
      if (body !== undefined) assert.deepEqual(await readAnswer(answer), body)
      else if (!sample.id.endsWith('HEAD'))
        await assertError(answer, status, status === 503 ? 'SERVICE_DISABLED' : undefined)
    })
  }
})

const down: readonly [name: string, status: number, answer: typeof silence | typeof brokenOff][] = [
  ['a service that breaks off is 502', 502, brokenOff],
  ['a service that does not answer in time is 504', 504, silence],
]
for (const [name, status, answer] of down) {
  test(name, { concurrency: true }, async (t) => {
    const patience = answer === silence && { okHttpClient: { readTimeoutMs: 250 } }
    // Each call reaches the service, however many have failed before it.
    const services = { ...settings.services, default: { circuitBreaker: { enabled: false } } }
    const contract = await startContract(t, { ...settings, services, ...patience })
    contract.upstream.answer(() => answer)
    await Promise.all(
      samples
        .filter(({ calls }) => calls.length > 0)
        .map((sample) =>
          t.test(nameOf(sample), async () => {
            const got = await send(contract.url, sample)
            const expected = sample.whenDown?.status ?? status
            assert.equal(got.status, expected)
            if (!sample.id.endsWith('HEAD')) {
              const body = await assertError(got, expected)
              assert.doesNotMatch(JSON.stringify(body), /127\.0\.0\.1/)
            }
          }),
        ),
    )
  })
}

test('declared parameters are demanded and checked before anything is asked', async (t) => {
  const contract = await startContract(t, settings)
  for (const sample of samples) {
    const { query = {} } = operationOf(sample)
    const [path = '', search] = sample.ask.split('?')
    for (const [name, schema] of Object.entries(query)) {
      const without = new URLSearchParams(search)
      without.delete(name)
      const isRequired = !schema.safeParse(undefined).success
      const isText = schema.safeParse('text').success || schema.safeParse(['text']).success
      if (isRequired) {
        await t.test(`${nameOf(sample)}: without ${name}`, () =>
          assertRefused(contract, sample, `${path}?${without}`, 'MISSING_PARAMETER'),
        )
      }
      if (!isText) {
        without.append(name, 'x')
        await t.test(`${nameOf(sample)}: ${name}=x`, () =>
          assertRefused(contract, sample, `${path}?${without}`, 'MISTYPED_PARAMETER'),
        )
      }
    }
  }
})

test('declared bodies are demanded and read before anything is asked', async (t) => {
  const contract = await startContract(t, settings)
  for (const sample of samples) {
    const { body } = operationOf(sample)
    if (body === undefined) continue
    const rows: [string, unknown, number, string, Record<string, string>?][] = [
      ['a broken body', '{"a":', 400, 'UNREADABLE_BODY'],
      [
        'a form',
        'a=b',
        415,
        'UNSUPPORTED_MEDIA_TYPE',
        { 'content-type': 'application/x-www-form-urlencoded' },
      ],
    ]
    if (body.required) rows.push(['no body', undefined, 400, 'MISSING_BODY'])
    if (!isEvaluation(sample)) {
      rows.push(['a text', '"text"', 400, 'UNREADABLE_BODY'])
      rows.push(['a list', [1], 400, 'UNREADABLE_BODY'])
    }
    for (const [what, sent, status, code, headers] of rows) {
      await t.test(`${nameOf(sample)}: ${what}`, async () => {
        answerSample(contract.upstream, sample, ({ gives }) => gives)
        const { method } = operationOf(sample)
        await assertProblem(
          await ask(contract.url, sample.ask, { method, body: sent, headers }),
          status,
          code,
        )
        assert.deepEqual(contract.calls(), [])
      })
    }
  }
})

test('a body that an operation does not declare changes nothing', async (t) => {
  const contract = await startContract(t, settings)
  for (const sample of samples) {
    const { method, body } = operationOf(sample)
    if (body !== undefined || ['GET', 'HEAD', 'OPTIONS'].includes(method)) continue
    for (const [what, headers] of [
      ['null', { 'content-type': 'application/json' }],
      ['broken {', { 'content-type': 'text/plain' }],
    ] as const) {
      await t.test(`${nameOf(sample)}: ${what}`, async () => {
        answerSample(contract.upstream, sample, ({ gives }) => gives)
        const answer = await ask(contract.url, sample.ask, { method, body: what, headers })
        assert.equal(answer.status, 200)
        await answer.text()
        assertCalls(contract, sample)
      })
    }
  }
})

test('YAML is accepted, and answered on request', async (t) => {
  const contract = await startContract(t, settings)
  for (const sample of samples) {
    await t.test(nameOf(sample), async () => {
      answerSample(contract.upstream, sample, ({ gives }) => gives)
      const { method } = operationOf(sample)
      const headers = {
        accept: 'application/x-yaml',
        ...(sample.body !== undefined && { 'content-type': 'application/x-yaml' }),
      }
      // JSON is YAML, so the same text serves.
      const answer = await ask(contract.url, sample.ask, { method, body: sample.body, headers })
      assert.equal(answer.status, sample.status ?? 200)
      assertCalls(contract, sample)
      const text = await answer.text()
      if (text !== '') {
        assert.equal(answer.headers.get('content-type'), 'application/x-yaml')
        assert.doesNotMatch(text, /^[{[][^\]}]/)
      }
    })
  }
})

test('an answer of null becomes an empty answer', async (t) => {
  const contract = await startContract(t, settings)
  const passedOn = samples.filter((sample) => {
    const { forward, pick, path } = operationOf(sample)
    return forward !== undefined && (pick === undefined || path.includes('/snapshots/'))
  })
  for (const sample of passedOn) {
    for (const accept of ['application/json', 'application/x-yaml']) {
      await t.test(`${nameOf(sample)} as ${accept}`, async () => {
        answerSample(contract.upstream, sample, ({ gives, mayFail }) =>
          mayFail ? gives : ' null\n',
        )
        const { method } = operationOf(sample)
        const answer = await ask(contract.url, sample.ask, {
          method,
          body: sample.body,
          headers: { accept },
        })
        assert.deepEqual(
          [answer.status, answer.headers.get('content-type'), await answer.text()],
          [sample.status ?? 200, null, ''],
        )
      })
    }
  }
})

test('HEAD answers with the headers of GET', async (t) => {
  const contract = await startContract(t, settings)
  for (const sample of samples.filter((one) => operationOf(one).method === 'GET')) {
    await t.test(nameOf(sample), async () => {
      answerSample(contract.upstream, sample, ({ gives }) => gives)
      const answer = await ask(contract.url, sample.ask, { method: 'HEAD' })
      assert.equal(answer.status, sample.status ?? 200)
      assert.equal(
        answer.headers.get('content-type'),
        sample.answer === undefined && sample.status === undefined ? null : 'application/json',
      )
      assert.equal(await answer.text(), '')
    })
  }
})

test('a trailing slash changes nothing; an unknown method is 405', async (t) => {
  const contract = await startContract(t, settings)
  const offered = new Map<string, Set<string>>()
  for (const sample of samples) {
    const [path = ''] = sample.ask.split('?')
    offered.set(path, (offered.get(path) ?? new Set()).add(operationOf(sample).method))
  }
  for (const sample of samples) {
    const [path = '', search] = sample.ask.split('?')
    await t.test(`${nameOf(sample)} with a slash`, async () => {
      answerSample(contract.upstream, sample, ({ gives }) => gives)
      const asked = `${path}/${search === undefined ? '' : `?${search}`}`
      const answer = await ask(contract.url, asked, {
        method: operationOf(sample).method,
        body: sample.body,
      })
      assert.equal(answer.status, sample.status ?? 200)
      assertCalls(contract, sample)
    })
    await t.test(`TRACE-like method at ${path}`, async () => {
      contract.upstream.answer({})
      const answer = await ask(contract.url, path, { method: 'PROPFIND' })
      await assertProblem(answer, 405, 'METHOD_NOT_ALLOWED')
      assert.ok(answer.headers.get('allow')?.split(', ').includes(operationOf(sample).method))
    })
  }
})

test('path values reach a service as one encoded segment each', async (t) => {
  const contract = await startContract(t, settings)
  const value = "a b+c,d'e~é"
  const encoded = 'a%20b%2Bc%2Cd%27e%7E%C3%A9'
  for (const operation of allOperations.filter(
    ({ forward, core }) => forward !== undefined && core,
  )) {
    if (!operation.path.includes('{')) continue
    await t.test(`${operation.method} ${operation.path}`, async () => {
      contract.upstream.answer(() => new Reply(200, operation.pick === undefined ? {} : []))
      const path = operation.path
        .replace(/\{\w+\}/g, encodeURIComponent(value))
        .replace('**', `job/${encodeURIComponent(value)}`)
      await (await ask(contract.url, `${path}?expression=1`, { method: operation.method })).text()
      const sent = contract.upstream.requests[0]?.path.split('/').slice(2) ?? []
      const wanted = routeOf(operation)
        .forward?.path.address.slice(1)
        .replace('{provider}', 'aws')
        .replace('{rest}', `job/${encoded}`)
        .replace(/\{\w+\}/g, encoded)
      assert.equal(sent.join('/'), wanted)
    })
  }
})

test('forged identity headers and queries are not passed on', async (t) => {
  const contract = await startContract(t, settings)
  const forged = {
    'x-spinnaker-user': 'mallory',
    'x-spinnaker-accounts': 'prod',
    'x-spinnaker-anonymous': 'anonymous',
    'x-spinnaker-application': 'other',
    'x-spinnaker-user-origin': 'deck',
    'x-spinnaker-token': 'secret',
    'x-spinnaker-anything': 'x',
    cookie: 'a=b',
    authorization: 'Basic x',
  }
  for (const sample of samples.filter(({ calls }) => calls.length > 0)) {
    await t.test(nameOf(sample), async () => {
      answerSample(contract.upstream, sample, ({ gives }) => gives)
      const { method } = operationOf(sample)
      const asked =
        sample.ask.includes('?') || /search|find/.test(sample.ask)
          ? sample.ask
          : `${sample.ask}?username=mallory&roles=admin`
      await ask(contract.url, asked, {
        method,
        body: sample.body,
        headers: { ...forged, 'x-spinnaker-request-id': 'r-1' },
      })
      assert.equal(contract.upstream.requests.length, sample.calls.length)
      for (const { headers } of contract.upstream.requests) {
        assert.equal(headers['x-spinnaker-user'], 'anonymous')
        assert.equal(headers['x-spinnaker-accounts'], undefined)
        assert.equal(headers['x-spinnaker-user-origin'], 'api')
        assert.equal(headers['x-spinnaker-request-id'], 'r-1')
        for (const name of ['x-spinnaker-token', 'x-spinnaker-anything', 'cookie', 'authorization'])
          assert.equal(headers[name], undefined, name)
        assert.notEqual(headers['x-spinnaker-application'], 'other')
      }
    })
  }
})

function nameOf(sample: Sample): string {
  return `${operationOf(sample).method} ${sample.ask}`
}

function operationOf({ id }: Sample): Operation {
  const operation = operations.get(id)
  assert.ok(operation, id)
  return operation
}

/** A task is submitted as ever, but its state is unreadable. */
function answerPolls({ upstream }: Contract, nonsense: string): void {
  upstream.answer(({ method, path }) => {
    if (path.includes('/tasks/')) return new Reply(200, nonsense)
    return method === 'POST' ? { ref: '/tasks/01T' } : [{ name: 'Deploy', application: 'shop' }]
  })
}

function isEvaluation({ id }: Sample): boolean {
  return id.startsWith('evaluateExpression')
}

function send(url: string, sample: Sample): Promise<Response> {
  return ask(url, sample.ask, { method: operationOf(sample).method, body: sample.body })
}

async function assertSample(contract: Contract, sample: Sample): Promise<void> {
  answerSample(contract.upstream, sample, ({ gives }) => gives)
  const answer = await send(contract.url, sample)
  const body = await readAnswer(answer)
  assertCalls(contract, sample)
  assert.equal(answer.status, sample.status ?? 200, JSON.stringify(body))
  if (answer.status >= 400) return
  assert.deepEqual(body, sample.answer)
  const type = answer.headers.get('content-type')
  if (!sample.id.endsWith('HEAD'))
    assert.equal(type, sample.answer === undefined ? null : 'application/json')
}

function assertCalls({ upstream }: Contract, sample: Sample): void {
  assert.deepEqual(
    upstream.requests.map(toCall),
    sample.calls.map(({ call }) => call),
  )
  for (const [index, expected] of sample.calls.entries()) {
    const { headers, body } = upstream.requests[index] as (typeof upstream.requests)[number]
    assert.equal(headers['accept'], 'application/json')
    if (expected.sends !== undefined) {
      assert.deepEqual(JSON.parse(body), expected.sends)
      assert.match(
        String(headers['content-type']),
        new RegExp(`^${(expected.contentType ?? 'application/json').replace('+', '\\+')}`),
      )
    } else assert.equal(body, '')
    if (expected.application === 'none') assert.equal(headers['x-spinnaker-application'], undefined)
    else if (expected.application !== undefined)
      assert.equal(headers['x-spinnaker-application'], expected.application)
  }
}

async function assertFailure(
  contract: Contract,
  sample: Sample,
  index: number,
  status: number,
): Promise<void> {
  const said = { status, error: 'x', message: `said by the service (${status})` }
  answerSample(contract.upstream, sample, ({ gives }, at) =>
    at === index ? new Reply(status, said) : gives,
  )
  const answer = await send(contract.url, sample)
  const { on404 } = sample.calls[index] as ExpectedCall
  if (status === 404 && on404 !== undefined && on404.status < 400) {
    assert.equal(answer.status, on404.status)
    assert.deepEqual(await readAnswer(answer), on404.answer)
  } else if (sample.id.endsWith('HEAD')) {
    assert.equal(answer.status, status)
  } else {
    const body = await assertError(answer, status)
    if (status !== 404) assert.match(String(body['message']), /said by the service/)
  }
}

async function assertRefused(
  contract: Contract,
  sample: Sample,
  asked: string,
  code: string,
): Promise<void> {
  answerSample(contract.upstream, sample, ({ gives }) => gives)
  const answer = await ask(contract.url, asked, {
    method: operationOf(sample).method,
    body: sample.body,
  })
  if (sample.id.endsWith('HEAD')) assert.equal(answer.status, 400)
  else await assertProblem(answer, 400, code)
  assert.deepEqual(contract.calls(), [])
}
