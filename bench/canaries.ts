/** Canary analyses that start together, and what reads of the API notice of them. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type JsonObject, objectOf, textOf } from '../src/json/values.ts'
import type { TestEnd } from '../test/support/test-end.ts'
import { load } from './load.ts'
import { print, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { createApplication, read, startWithSettings } from './standalone.ts'
import type { Scratch, Target } from './targets.ts'
import { withEnd } from './with-end.ts'

const application = 'bench'
const analyses = 50
const metrics = 20
const points = 1440
const stepSeconds = 60
const startMs = Date.parse('2026-01-31T00:00:00Z')
const [rate, connections, roundSeconds] = [50, 4, 10]

/** While analyses run, and in the same time before them. */
export async function measureCanaries(options: BenchOptions, scratch: Scratch): Promise<void> {
  await withEnd(async (t) => {
    const baseUrl = await startMetrics(t)
    const kayenta = { prometheus: { accounts: [{ name: 'prom', endpoint: { baseUrl } }] } }
    const gateway = await startWithSettings(options, scratch.dir('fairlead'), { kayenta })
    t.after(() => gateway.process.stop())
    await createApplication(gateway, application)
    await measureReads(gateway)
    const idle = await measureReads(gateway)
    const beginMs = performance.now()
    const ended = analyseAll(gateway)
    const busy = await measureReads(gateway, ended)
    const seconds = (await ended).map((endMs) => (endMs - beginMs) / 1000)
    print(`${analyses} canary analyses at once, each of ${metrics} metrics with ${points} points`, [
      {
        'reads idle, p99 ms': round(idle),
        'reads meanwhile, p99 ms': round(busy),
        'first result, s': round(Math.min(...seconds)),
        'last result, s': round(Math.max(...seconds)),
      },
    ])
  })
}

/** @param until The measurement goes on until then @returns the worst 99th percentile of a round, in milliseconds */
async function measureReads({ port, headers }: Target, until: Promise<unknown> = Promise.resolve()): Promise<number> {
  let isOver = false
  void until.finally(() => {
    isOver = true
  })
  let worst = 0
  do {
    const path = `/applications/${application}`
    const { p99 } = await load({ port, path, headers, rate, connections, seconds: roundSeconds })
    worst = Math.max(worst, p99)
  } while (!isOver)
  return worst
}

/** A Prometheus that answers each query with a series for the asked group. */
async function startMetrics(t: TestEnd): Promise<string> {
  const answerOf = (height: number) => {
    const values = Array.from({ length: points }, (_, index) => [
      startMs / 1000 + index * stepSeconds,
      String(height + Math.sin(index * 12.9898) * 5),
    ])
    return Buffer.from(JSON.stringify({ status: 'success', data: { resultType: 'matrix', result: [{ metric: {}, values }] } }))
  }
  const [baseline, canary] = [answerOf(100), answerOf(101)]
  const server = createServer((request, answer) => {
    const body = (request.url ?? '').includes('baseline') ? baseline : canary
    answer.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** @returns when each has ended */
async function analyseAll(gateway: Target): Promise<number[]> {
  const starts = Array.from({ length: analyses }, () =>
    send(gateway, `/v2/canaries/canary?application=${application}`, toOrder()),
  )
  return Promise.all(
    starts.map(async (started) => {
      const id = textOf((await started)['canaryExecutionId'])
      for (;;) {
        const { complete, status, exception } = objectOf(await read(gateway, `/v2/canaries/canary/${id}`))
        if (complete === true && status !== 'succeeded') throw new Error(`the analysis ${id}: ${JSON.stringify(exception)}`)
        if (complete === true) return performance.now()
        await sleep(1000)
      }
    }),
  )
}

async function send({ port, headers }: Target, path: string, body: unknown): Promise<JsonObject> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
  return objectOf(await answer.json())
}

function toOrder(): JsonObject {
  const end = new Date(startMs + points * stepSeconds * 1000).toISOString()
  const side = (scope: string) => ({ scope, location: 'here', start: new Date(startMs).toISOString(), end, step: stepSeconds })
  return {
    canaryConfig: {
      metrics: Array.from({ length: metrics }, (_, index) => ({
        ...{ name: `metric ${index}`, groups: ['all'], scopeName: 'default' },
        query: { type: 'prometheus', metricName: `metric_${index}`, customInlineTemplate: 'group="${scope}"' },
        analysisConfigurations: { canary: { direction: 'increase' } },
      })),
      classifier: { groupWeights: { all: 100 }, scoreThresholds: { pass: 95, marginal: 75 } },
    },
    executionRequest: { scopes: { default: { controlScope: side('baseline'), experimentScope: side('canary') } } },
  }
}
