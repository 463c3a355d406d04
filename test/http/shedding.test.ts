import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type SheddingSettings, shedRequests } from '../../packages/gateway/http/steps.ts'
import { type GatewaySettings, startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'

const formLogin: GatewaySettings = {
  security: { basicform: { enabled: true }, user: { name: 'me', password: 'correct-horse' } },
}
const shedding = { enabled: true, paths: '/applications/.*/pipelines,/search' }
const noon = Date.UTC(2026, 6, 1, 12, 0, 0)

test('a shed request gets 503 with Retry-After before login', async (t) => {
  const gateway = await startGateway(
    t,
    { ...formLogin, requestShedding: shedding },
    { now: () => noon },
  )
  for (const headers of [{}, { 'x-spinnaker-priority': 'low' }]) {
    const answer = await fetch(`${gateway}/applications/web/pipelines?limit=1`, {
      headers,
      redirect: 'manual',
    })

    assert.equal(answer.status, 503)
    assert.equal(answer.headers.get('retry-after'), 'Wed, 01 Jul 2026 12:01:00 GMT')
    assert.equal(answer.headers.get('content-type'), 'application/json')
    assert.deepEqual(Object.keys((await answer.json()) as object), ['message'])
  }
})

const served: [what: string, method: string, path: string, headers: Record<string, string>][] = [
  ['of another priority', 'GET', '/search', { 'x-spinnaker-priority': 'high' }],
  ['whose priority is spelled otherwise', 'GET', '/search', { 'x-spinnaker-priority': 'LOW' }],
  ['on another path', 'GET', '/applications/web/pipelineConfigs', {}],
  ['whose path matches in part', 'GET', '/applications/web/pipelines/1', {}],
  ['for the methods of a path', 'OPTIONS', '/search', {}],
]

for (const [what, method, path, headers] of served) {
  test(`a request ${what} is not shed`, async (t) => {
    const gateway = await startGateway(t, { ...formLogin, requestShedding: shedding })

    assert.notEqual(
      (await fetch(gateway + path, { method, headers, redirect: 'manual' })).status,
      503,
    )
  })
}

test('the error page is not shed', async (t) => {
  const gateway = await startGateway(t, { requestShedding: { enabled: true, paths: '.*' } })

  assert.notEqual((await fetch(`${gateway}/error`)).status, 503)
  assert.equal((await fetch(`${gateway}/health`)).status, 503)
})

test('a request that is shed reaches no service', async (t) => {
  const orca = await startUpstream(t, {})
  const settings = {
    services: { orca: { baseUrl: orca.url } },
    requestShedding: { enabled: true, paths: '/tasks/.*' },
  }
  const gateway = await startGateway(t, settings)

  assert.equal((await fetch(`${gateway}/tasks/1`)).status, 503)
  assert.deepEqual(
    orca.requests.filter(({ path }) => path.startsWith('/tasks')),
    [],
  )
})

const chances: [chance: number, refusedBelow: number][] = [
  [100, 1],
  [30, 0.3],
  [0, 0],
]

for (const [chancePercent, refusedBelow] of chances) {
  test(`with a chance of ${chancePercent} %, as many requests are shed`, () => {
    for (const thrown of [0, 0.29, 0.31, 0.999]) {
      assert.equal(
        isShed({ enabled: true, paths: [/^\/search$/], chancePercent }, thrown),
        thrown < refusedBelow,
        `${thrown}`,
      )
    }
  })
}

test('nothing is shed unless it is switched on', () => {
  assert.equal(isShed({ enabled: false, paths: [/^\/search$/], chancePercent: 100 }, 0), false)
})

function isShed(settings: SheddingSettings, thrown: number): boolean {
  const request = {
    method: 'GET',
    headers: {},
    state: { path: '/search' },
  } as unknown as FastifyRequest
  try {
    void shedRequests(settings, { random: () => thrown }).run(request, {} as FastifyReply)
    return false
  } catch {
    return true
  }
}
