/** A canary service on a port of loopback that answers as kayenta documents; scores come from the test. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { createServiceCalls } from '../../packages/external/call-service.ts'
import type { CallService } from '../../packages/ports/service-call.ts'

type Fields = Record<string, unknown>

export interface Verdict {
  readonly score: number
  /** Metrics that are not good, such as `latency: 'High'`. */
  readonly metrics?: Readonly<Record<string, string>>
  /** What the embedded service says besides about the intervals to come. */
  readonly outlook?: Fields
}

export interface Kayenta {
  readonly url: string
  /** Calls of the engine: those to kayenta reach this server. */
  readonly call: (others: CallService) => CallService
  /** Of the analyses to come, in order; a text is the reason of a failure. Without one, an analysis stays RUNNING. */
  readonly verdicts: (Verdict | string)[]
  /** Analyses that were started. */
  readonly started: { readonly path: string; readonly query: Fields; readonly body: Fields }[]
  /** Ids of analyses that were cancelled. */
  readonly cancelled: string[]
}

const configs: readonly Fields[] = [
  { id: 'config-1', name: 'web', applications: ['shop'] },
  { id: 'config-2', name: 'web', applications: ['other'] },
]

export async function startKayenta(t: TestContext): Promise<Kayenta> {
  const verdicts: Kayenta['verdicts'] = []
  const started: Kayenta['started'] = []
  const cancelled: string[] = []
  const analyses = new Map<string, Verdict | string | undefined>()

  async function answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://kayenta')
    const [, kind = '', id, action] = pathname.split('/')
    const found = (body: unknown) =>
      body === undefined ? { status: 404, body: { message: 'not found' } } : { status: 200, body }
    switch (`${request.method} ${kind}`) {
      case 'GET canaryConfig':
        return found(id === undefined ? configs : configs.find((each) => each['id'] === id))
      case 'POST canary': {
        const body = (await json(request)) as Fields
        started.push({ path: pathname, query: Object.fromEntries(searchParams), body })
        const canaryExecutionId = `analysis-${started.length}`
        analyses.set(canaryExecutionId, verdicts.shift())
        return found({ canaryExecutionId })
      }
      case 'GET canary':
        return found(analyses.has(id ?? '') ? toStatus(analyses.get(id ?? '')) : undefined)
      case 'PUT pipelines':
        if (action === 'cancel') cancelled.push(id ?? '')
        return found({})
      default:
        return found(undefined)
    }
  }

  const server = createServer((request, response) => {
    void answer(request).then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const calls = createServiceCalls({
    services: { kayenta: url },
    timeoutMs: 10_000,
    maxAnswerBytes: 1024 ** 2,
  })
  t.after(() => {
    calls.close()
    server.close()
    server.closeAllConnections()
  })
  const call: Kayenta['call'] = (others) => (service, request) =>
    service === 'kayenta' ? calls.call(service, request) : others(service, request)
  return { url, call, verdicts, started, cancelled }
}

function toStatus(verdict: Verdict | string | undefined): Fields {
  if (verdict === undefined) return { complete: false, status: 'running' }
  if (typeof verdict === 'string') {
    return { complete: true, status: 'terminal', exception: { details: { errors: [verdict] } } }
  }
  const { score, metrics = {}, outlook } = verdict
  const stats = { count: 60 }
  const results = Object.entries({ requests: 'Pass', ...metrics }).map(
    ([name, classification]) => ({
      name,
      classification,
      controlMetadata: { stats },
    }),
  )
  return {
    complete: true,
    status: 'succeeded',
    endTimeIso: '2026-01-31T08:00:00Z',
    result: {
      canaryDuration: 'PT1H',
      judgeResult: { results, score: { score, classification: 'Pass' } },
      outlook,
    },
  }
}
