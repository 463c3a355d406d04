/** What Gate asks of its services for each request and what it answers, as recorded beside a running Gate. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { serviceNames } from '../../packages/base/services/services.ts'
import { annMayLogIn, asAnn, toCall } from '../operations/contract/contract.ts'
import { isRefresh } from '../operations/resources/platform.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { answerBesideGate } from './services-beside-gate.ts'

interface Peer {
  readonly peer: string
  readonly version: string
  /** Why Fairlead answers or asks otherwise, by the names that rows give. */
  readonly reasons: Readonly<Record<string, string>>
}

interface Result {
  readonly status: number
  /** `service METHOD /path?query body`, in any order. */
  readonly calls: readonly string[]
}

interface Row extends Result {
  readonly ask: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Fairlead's own, with a reason, where they are meant to differ. */
  readonly ours?: Partial<Result> & { readonly reason: string }
}

const lines = readFileSync(join(import.meta.dirname, 'gate.jsonl'), 'utf8')
  .trim()
  .split('\n')
const [peer, ...rows] = lines.map((line) => JSON.parse(line)) as [Peer, ...Row[]]

test(`requests become the calls and status of ${peer.peer} of ${peer.version}`, async (t) => {
  const upstream = await startUpstream(t, answerBesideGate)
  const address = (service: string) => ({ enabled: true, baseUrl: `${upstream.url}/${service}` })
  const url = await startGateway(t, {
    ...annMayLogIn,
    services: Object.fromEntries(serviceNames.map((name) => [name, address(name)])),
  })
  for (const row of rows) {
    await t.test(`${row.ask} ${JSON.stringify(row.headers ?? {})} ${row.body ?? ''}`, async () => {
      const { reason, ...ours } = row.ours ?? {}
      assert.ok(reason === undefined || reason in peer.reasons, `${reason} is explained`)
      const { status, calls } = { ...row, ...ours }
      assert.deepEqual(await exchange(url, upstream, row), {
        status,
        calls: calls.map(toComparable).sort(),
      })
    })
  }
})

/** Without a library between, as some requests are no good ones. */
async function exchange(url: string, upstream: Upstream, row: Row): Promise<Result> {
  upstream.answer(answerBesideGate)
  const [method, ...path] = row.ask.split(' ')
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { ...asAnn, ...row.headers }
    const sent = request(url, { method, path: path.join(' '), headers, agent: false }, resolve)
    sent.on('error', reject).end(row.body)
  })
  await text(answer)
  const calls = [...upstream.requests, ...upstream.background]
    .filter((call) => !isRefresh(call) && call.path !== '/fiat/authorize/ann')
    .map((call) => toComparable(`${toCall(call)} ${call.body}`.trim()))
  return { status: answer.statusCode ?? 0, calls: calls.sort() }
}

/** A call without what has no meaning: the order of parameters and keys, and identifiers made for this call. */
function toComparable(call: string): string {
  const [, head = '', body = ''] = /^(\S+ \S+ \S+) ?(.*)$/su.exec(call) ?? []
  const [path = '', query = ''] = head.split('?')
  return `${path}?${query.split('&').sort().join('&')} ${body === '' ? '' : sortKeys(JSON.parse(body))}`
}

function sortKeys(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) => {
    if (key === 'eventId' || key === 'executionId') return 'made for the call'
    if (/^pipelines?$/.test(key) && typeof part === 'string')
      return sortKeys(JSON.parse(Buffer.from(part, 'base64').toString()))
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
