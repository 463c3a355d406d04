/** An OpenTelemetry collector, as a real HTTP server that takes OTLP in protobuf and keeps the spans. */
import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for a root. */
  readonly parentId: string
  readonly name: string
  readonly kind: 'server' | 'client' | 'other'
  readonly attributes: Readonly<Record<string, string | number>>
  readonly isError: boolean
  /** Nanoseconds since the epoch. */
  readonly start: bigint
  readonly end: bigint
}

export interface Collector {
  readonly url: string
  readonly spans: CollectedSpan[]
  /** Of the process that sends. */
  resource: Readonly<Record<string, string | number>>
  /** Of each transmission. */
  readonly headers: IncomingHttpHeaders[]
  readonly paths: string[]
  /** Everything that was received, as text in which names and values can be searched. */
  text(): string
  /** Status of the next answers; undefined: no answer at all. */
  status: number | undefined
}

export async function startCollector(t: TestContext): Promise<Collector> {
  const received: Buffer[] = []
  const collector: Collector = {
    url: '',
    spans: [],
    resource: {},
    headers: [],
    paths: [],
    text: () => Buffer.concat(received).toString('latin1'),
    status: 200,
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const whole = Buffer.concat(chunks)
    collector.headers.push(request.headers)
    collector.paths.push(request.url ?? '')
    if (collector.status === undefined) return
    if (collector.status === 200) {
      assert.equal(request.headers['content-type'], 'application/x-protobuf')
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(whole) : whole
      received.push(body)
      take(body, collector)
    }
    response.writeHead(collector.status, { 'content-type': 'application/x-protobuf' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return Object.assign(collector, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  })
}

/** @see opentelemetry/proto/collector/trace/v1 and trace/v1: the numbers of the fields */
function take(body: Buffer, collector: Collector): void {
  for (const resourceSpans of messages(body, 1)) {
    for (const resource of messages(resourceSpans, 1))
      collector.resource = attributesOf(resource, 1)
    for (const scopeSpans of messages(resourceSpans, 2))
      collector.spans.push(...messages(scopeSpans, 2).map(toSpan))
  }
}

function toSpan(span: Buffer): CollectedSpan {
  const fields = read(span)
  const bytes = (field: number) => (fields.get(field)?.[0] as Buffer | undefined) ?? Buffer.alloc(0)
  const [status] = messages(span, 15)
  const kind = Number(fields.get(6)?.[0] ?? 0)
  return {
    traceId: bytes(1).toString('hex'),
    spanId: bytes(2).toString('hex'),
    parentId: bytes(4).toString('hex'),
    name: bytes(5).toString('utf8'),
    kind: kind === 2 ? 'server' : kind === 3 ? 'client' : 'other',
    start: bytes(7).readBigUInt64LE(),
    end: bytes(8).readBigUInt64LE(),
    attributes: attributesOf(span, 9),
    isError: status !== undefined && Number(read(status).get(3)?.[0] ?? 0) === 2,
  }
}

function attributesOf(message: Buffer, field: number): Record<string, string | number> {
  const pairs = messages(message, field).map((pair) => {
    const key = String(read(pair).get(1)?.[0])
    const value = [...read(messages(pair, 2)[0] ?? Buffer.alloc(0)).values()][0]?.[0]
    return [key, Buffer.isBuffer(value) ? value.toString('utf8') : Number(value)] as const
  })
  return Object.fromEntries(pairs)
}

function messages(message: Buffer, field: number): Buffer[] {
  return (read(message).get(field) ?? []) as Buffer[]
}

/** The values of a protobuf message by field: bytes for the wire types 1, 2 and 5, a number for 0. */
function read(message: Buffer): Map<number, (Buffer | bigint)[]> {
  const fields = new Map<number, (Buffer | bigint)[]>()
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++] ?? assert.fail('the message is cut off')
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  const bytes = (length: number) => {
    at += length
    return message.subarray(at - length, at)
  }
  while (at < message.length) {
    const tag = Number(varint())
    const lengthOf: Record<number, () => number> = {
      1: () => 8,
      2: () => Number(varint()),
      5: () => 4,
    }
    const length = lengthOf[tag & 7]
    const value = length === undefined ? varint() : bytes(length())
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value])
  }
  return fields
}
