/** A service behind the gateway, as a real HTTP server: records what it is asked and gives the answers of the test. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface RecordedRequest {
  method: string
  /** As it stood in the request line, still encoded, without the query. */
  path: string
  /** As it stood in the request line, without the question mark. */
  query: string
  headers: IncomingHttpHeaders
  body: string
}

/** An answer that is more than a JSON body with status 200. */
export class Reply {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>

  /** @param body Text and bytes are sent as they are, undefined as nothing, anything else as JSON. */
  constructor(status: number, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** The request is never answered. */
export const silence = Symbol('silence')
/** The connection ends without an answer. */
export const brokenOff = Symbol('broken off')

/**
 * Answers by `METHOD /path?query`, else by `METHOD /path`: a JSON body, a Reply, silence, brokenOff, or several InTurn.
 * Everything else is 404, as services say it.
 */
export type Answers = Readonly<Record<string, unknown>> | ((request: RecordedRequest) => unknown)

export interface Upstream {
  readonly url: string
  /** What clients of the gateway made it ask, in order. */
  readonly requests: RecordedRequest[]
  /** What it asked on its own: refreshes, health checks. */
  readonly background: RecordedRequest[]
  /** Gives this answer to everyone who met silence and still waits. */
  release(answer: unknown): void
  /** Forgets the recorded requests, and answers differently from now on. */
  answer(answers: Answers): void
}

/** Several answers: each is given once, the last one for ever. */
export class InTurn {
  readonly #answers: unknown[]

  constructor(...answers: unknown[]) {
    this.#answers = answers
  }

  next(): unknown {
    return this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0]
  }
}

export async function startUpstream(t: TestContext, answers: Answers = {}): Promise<Upstream> {
  let current = answers
  const requests: RecordedRequest[] = []
  const background: RecordedRequest[] = []
  const waiting: ServerResponse[] = []
  const server = createServer((incoming, outgoing) => {
    void record(incoming).then(
      (request) => {
        const isOwn = request.headers['x-spinnaker-anonymous'] !== undefined
        ;(isOwn ? background : requests).push(request)
        const answer = typeof current === 'function' ? current(request) : lookUp(current, request)
        const given = answer instanceof InTurn ? answer.next() : answer
        if (given === silence) waiting.push(outgoing)
        else send(outgoing, given)
      },
      () => outgoing.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    background,
    release: (answer) => {
      for (const outgoing of waiting.splice(0)) send(outgoing, answer)
    },
    answer: (next) => {
      current = next
      requests.length = 0
      background.length = 0
    },
  }
}

async function record(incoming: IncomingMessage): Promise<RecordedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const url = incoming.url ?? '/'
  const mark = url.indexOf('?')
  return {
    method: incoming.method ?? '',
    path: mark === -1 ? url : url.slice(0, mark),
    query: mark === -1 ? '' : url.slice(mark + 1),
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString('utf8'),
  }
}

function lookUp(
  answers: Readonly<Record<string, unknown>>,
  { method, path, query }: RecordedRequest,
): unknown {
  const keys = [`${method} ${path}?${query}`, `${method} ${path}`]
  const key = keys.find((one) => Object.hasOwn(answers, one))
  if (key !== undefined) return answers[key]
  return new Reply(404, { status: 404, error: 'Not Found', message: `no ${method} ${path} here` })
}

function send(outgoing: ServerResponse, answer: unknown): void {
  if (answer === brokenOff) {
    outgoing.destroy()
    return
  }
  const { status, body, headers } = answer instanceof Reply ? answer : new Reply(200, answer)
  const text =
    body === undefined
      ? ''
      : typeof body === 'string' || Buffer.isBuffer(body)
        ? body
        : JSON.stringify(body)
  outgoing.writeHead(status, {
    ...(text !== '' && { 'content-type': 'application/json' }),
    ...headers,
  })
  outgoing.end(text)
}
