/** One sample per operation, and a gateway in front of services that record and answer. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type GatewaySettings, startGateway } from '../../support/gateway.ts'
import {
  type Answers,
  type RecordedRequest,
  Reply,
  startUpstream,
  type Upstream,
} from '../../support/upstream.ts'
import { waitFor } from '../../support/wait-until.ts'

export const services = ['clouddriver', 'front50', 'igor', 'orca', 'rosco'] as const

/** One call that an operation makes to a service, and what it gets. */
export interface ExpectedCall {
  /** `service METHOD /path?query`, encoded. */
  readonly call: string
  readonly gives?: unknown
  /** The JSON that the service receives. */
  readonly sends?: unknown
  readonly contentType?: string
  /** The application header, `none` when there must not be one. */
  readonly application?: string
  /** Errors of this call do not reach the client. */
  readonly mayFail?: boolean
  /** What the client gets when the service answers 404, if not a 404. */
  readonly on404?: { readonly status: number; readonly answer?: unknown }
  /** The operation looks into the answer, so nonsense is noticed. */
  readonly parsed?: boolean
}

export interface Sample {
  readonly id: string
  /** Path and query, encoded. */
  readonly ask: string
  readonly body?: unknown
  readonly calls: readonly ExpectedCall[]
  /** 200 unless given. */
  readonly status?: number
  /** Undefined is an empty body. */
  readonly answer?: unknown
  /** What the client gets while the service of the first call is switched off; SERVICE_DISABLED unless given. */
  readonly whenOff?: { readonly status: number; readonly answer?: unknown }
  /** What the client gets while no service can be reached; 502 unless given. */
  readonly whenDown?: { readonly status: number }
}

export interface Contract {
  readonly url: string
  readonly upstream: Upstream
  /** The calls of the last request, as `service METHOD /path?query`. */
  calls(): string[]
}

/** A gateway whose services are all one recording server, told apart by their base path. */
export async function startContract(
  t: TestContext,
  settings: GatewaySettings = {},
  answers: Answers = {},
): Promise<Contract> {
  const upstream = await startUpstream(t, answers)
  const named = Object.keys(settings.services ?? {}).filter((name) => name === 'fiat')
  const addresses = [...services, ...named].map((service) => [
    service,
    {
      baseUrl: `${upstream.url}/${service}`,
      ...(settings.services?.[service] as object | undefined),
    },
  ])
  const url = await startGateway(t, {
    'task-service': { maxNumberOfPolls: 5, defaultIntervalBetweenPolls: 20 },
    ...settings,
    services: { ...settings.services, ...Object.fromEntries(addresses) },
  })
  return { url, upstream, calls: () => upstream.requests.map(toCall) }
}

/** `service METHOD /path?query` of a recorded request. */
export function toCall({ method, path, query }: RecordedRequest): string {
  const [, service, ...rest] = path.split('/')
  return `${service} ${method} /${rest.join('/')}${query === '' ? '' : `?${query}`}`
}

/** Answers the calls of a sample in their order; any other call is an error. */
export function answerSample(
  upstream: Upstream,
  sample: Sample,
  change: (call: ExpectedCall, index: number) => unknown,
): void {
  let next = 0
  upstream.answer((request) => {
    if (request.headers['x-spinnaker-anonymous'] !== undefined) return []
    const index = next++
    const expected = sample.calls[index]
    if (expected === undefined) return new Reply(404, { message: `unexpected: ${toCall(request)}` })
    return change(expected, index)
  })
}

/** Answers by `service METHOD /path?query` or `service METHOD /path`, refreshes included; anything else is 404. */
export type ServiceAnswers = Readonly<Record<string, unknown>>

export interface Asked {
  status: number
  headers: Headers
  /** Parsed JSON; undefined when empty; text that is no JSON as it is. */
  body: unknown
}

export interface Platform extends Contract {
  /** Sends `METHOD /path?query`. */
  ask(line: string, body?: unknown, headers?: Record<string, string>): Promise<Asked>
  /** Forgets what was asked; from now on other answers are given, or the same. */
  next(answers?: ServiceAnswers): void
  /** What a service received as JSON with one of its calls. */
  sent(call: string): unknown
}

/** A gateway in front of services that answer from a table. */
export async function startServices(
  t: TestContext,
  answers: ServiceAnswers,
  settings: GatewaySettings = {},
): Promise<Platform> {
  const contract = await startContract(t, settings, fromTable(answers))
  return {
    ...contract,
    ask: async (line, body, headers) => {
      const [method, path] = line.split(' ') as [string, string]
      const answer = await ask(contract.url, path, { method, body, headers })
      return { status: answer.status, headers: answer.headers, body: parse(await answer.text()) }
    },
    next: (others = answers) => contract.upstream.answer(fromTable(others)),
    sent: (call) => {
      const request = contract.upstream.requests.find((one) => toCall(one) === call)
      return request === undefined ? undefined : parse(request.body)
    },
  }
}

function fromTable(answers: ServiceAnswers): (request: RecordedRequest) => unknown {
  return (request) => {
    const call = toCall(request)
    const [path = ''] = call.split('?')
    const key = [call, path].find((one) => Object.hasOwn(answers, one))
    return key === undefined ? new Reply(404, { message: `no ${call} here` }) : answers[key]
  }
}

/** JSON; undefined when empty; text that is no JSON as it is. */
export function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}

/** The one local user of a gateway that asks for a login, and the header that logs in. */
export const asAnn = {
  authorization: `Basic ${Buffer.from('ann:correct horse battery').toString('base64')}`,
}
export const annMayLogIn = {
  security: { basicform: { enabled: true } },
  spring: { security: { user: { name: 'ann', password: 'correct horse battery' } } },
}

/** Repeats a question until its answer satisfies, for lists that are refreshed in the background. */
export async function askUntil(
  question: () => Promise<Asked>,
  isGood: (answer: Asked) => boolean,
): Promise<Asked> {
  return waitFor(async () => {
    const answer = await question()
    return isGood(answer) ? answer : undefined
  }, 'an answer')
}

export interface AskOptions {
  method: string
  body?: unknown
  headers?: Record<string, string>
}

/** Sends a request as an API client does. A text or undefined body is sent as it is. */
export async function ask(
  url: string,
  path: string,
  { method, body, headers }: AskOptions,
): Promise<Response> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  return fetch(url + path, {
    method,
    body: text,
    redirect: 'manual',
    headers: { ...(text !== undefined && { 'content-type': 'application/json' }), ...headers },
  })
}

/** The body of an answer: undefined when empty, else JSON. */
export async function readAnswer(answer: Response): Promise<unknown> {
  const text = await answer.text()
  return text === '' ? undefined : JSON.parse(text)
}

/** An error answer in one of the two shapes that clients know. */
export async function assertError(
  answer: Response,
  status: number,
  code?: string,
): Promise<Record<string, unknown>> {
  const body = (await readAnswer(answer)) as Record<string, unknown>
  assert.equal(answer.status, status, JSON.stringify(body))
  assert.equal(body['status'], status)
  assert.equal(typeof body['message'], 'string')
  assert.match(String(body['timestamp']), /^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$/)
  if (code !== undefined) assert.equal(body['code'], code)
  return body
}

export async function assertProblem(answer: Response, status: number, code: string): Promise<void> {
  assert.equal(answer.headers.get('content-type'), 'application/problem+json')
  const body = await assertError(answer, status, code)
  for (const field of ['type', 'title', 'detail', 'instance'])
    assert.equal(typeof body[field], 'string', field)
}
