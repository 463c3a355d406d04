/** Errors of embedded services speak of Fairlead; those of external ones name the service. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { GatewayError } from '../../packages/base/errors.ts'
import { PortError } from '../../packages/base/port-error.ts'
import { ownNames, type ServiceName, serviceNames } from '../../packages/base/services/services.ts'
import { checkList } from '../../packages/gateway/operations/upstream-shape.ts'
import { readJson } from '../../packages/gateway/upstreams/answer-form.ts'
import { anonymousIdentity } from '../../packages/gateway/upstreams/identity.ts'
import { Upstreams } from '../../packages/gateway/upstreams/upstreams.ts'
import type { Backend } from '../../packages/ports/backend.ts'
import type { StoredDefinitions } from '../../packages/ports/definitions.ts'
import { at, startEngine } from '../backends/orchestration/support.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'

const names = new RegExp(`\\b(?:${serviceNames.join('|')})\\b`, 'i')

const answers: Readonly<Record<string, string>> = {
  'a connection that ends': '',
  'no HTTP': 'nonsense\r\n\r\n',
  'a page': 'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>',
  'no JSON': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"',
  'no list': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1',
  'a redirect': 'HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n',
  'a strange status': 'HTTP/1.1 799 What\r\nContent-Length: 0\r\n\r\n',
  'a proxy': 'HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n',
  'a failure': 'HTTP/1.1 500 Failed\r\nContent-Length: 0\r\n\r\n',
  'a refusal': 'HTTP/1.1 400 No\r\nContent-Length: 16\r\n\r\n{"message":"No"}',
  'a large answer': `HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n${' '.repeat(2000)}`,
  silence: 'silence',
}

async function listen(t: TestContext, path: string, answer: string): Promise<void> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      if (answer !== 'silence') socket.end(answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  t.after(() => server.close())
}

for (const [what, answer] of Object.entries(answers)) {
  test(`no message of an embedded service names it: ${what}`, async (t) => {
    const folder = createFolder('names')
    t.after(() => removeFolder(folder))
    const socketPath = join(folder, 'backends.sock')
    await listen(t, socketPath, answer)
    const upstreams = new Upstreams({
      services: { orca: { kind: 'embedded', socketPath, service: 'orca' } },
      bounds: { connectTimeoutMs: 1000, readTimeoutMs: 200, maxConnections: 10, maxWaiting: 10 },
      keepAliveMs: 10_000,
      maxAnswerBytes: 1000,
    })
    t.after(() => upstreams.close())
    const error: unknown = await upstreams
      .call('orca', { path: '/tasks' }, anonymousIdentity)
      .then((found) => checkList(readJson(found, 'orca'), 'orca'))
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
    assert.ok(error instanceof GatewayError, String(error))
    const { message } = error.namedBy((service) => upstreams.nameOf(service as ServiceName))
    assert.doesNotMatch(message, names)
    assert.match(message, /Fairlead's engine|failed with status|No/)
    const own = error.namedBy(String).message
    if (/Fairlead's/.test(message))
      assert.equal(
        own.replace('orca', "Fairlead's engine").replace(/ Check services.*$/, ''),
        message,
      )
  })
}

test('a call that pauses before it is repeated ends when the gateway closes', async (t) => {
  const folder = createFolder('closing')
  t.after(() => removeFolder(folder))
  const upstreams = new Upstreams({
    services: {
      orca: { kind: 'embedded', socketPath: join(folder, 'backends.sock'), service: 'orca' },
    },
    bounds: { connectTimeoutMs: 1000, readTimeoutMs: 200, maxConnections: 10, maxWaiting: 10 },
    keepAliveMs: 10_000,
    maxAnswerBytes: 1000,
  })
  let isOver = false
  const noteEnd = () => {
    isOver = true
  }
  upstreams.call('orca', { path: '/tasks' }, anonymousIdentity).catch(noteEnd)
  for (let turns = 0; turns < 100; turns++) await turn()
  assert.ok(!isOver, 'the service is still to come')
  upstreams.close()
  for (let turns = 0; turns < 100; turns++) await turn()
  assert.ok(isOver)
})

test('a stage that an embedded service fails does not name it', async (t) => {
  const store: Backend = {
    service: 'front50',
    migrations: [],
    open: () => ({
      routes: () => {},
      ports: {
        definitions: {
          name: ownNames.front50,
          removePipeline: () => Promise.reject(new PortError(500, '')),
        } as unknown as StoredDefinitions,
      },
    }),
  }
  for (const [backends, name] of [
    [[store], "Fairlead's definition store"],
    [[], 'front50'],
  ] as const) {
    const others = async () => ({ status: 500, body: undefined })
    const engine = await startEngine(t, { backends, others })
    const id = await engine.task({
      type: 'deletePipeline',
      pipeline: { application: 'web', name: 'main' },
    })
    const { execution } = await engine.taskEnds(id, 'TERMINAL')
    const errors = at(execution.stages[0], 'context', 'exception', 'details', 'errors')
    assert.deepEqual(errors, [`${name} answered with status 500.`])
  }
})
