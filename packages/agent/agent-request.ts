/** Requests to a running agent over its Unix socket. */
import type { IncomingMessage } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { readJsonLines } from '@fairlead/base/json/json-lines.ts'
import { http } from '@fairlead/base/runtime/node-http.ts'

export interface AgentAnswer {
  readonly status: number
  readonly text: string
}

export interface AgentRequest {
  readonly socketPath: string
  readonly method: 'GET' | 'PUT' | 'POST'
  readonly path: string
  readonly body?: string
  readonly signal: AbortSignal
}

/** @throws {Error} with the code ENOENT or ECONNREFUSED when no agent runs */
export function askAgent({
  socketPath,
  method,
  path,
  body,
  signal,
}: AgentRequest): Promise<AgentAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<AgentAnswer>()
  const sent = http.request({ socketPath, method, path, signal, agent: false }, (answer) => {
    readText(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject)
  })
  sent.once('error', reject)
  sent.end(body)
  return promise
}

/**
 * The lines of an answer, as they arrive; each is JSON.
 *
 * @throws {Error} as `askAgent`, for another status than 200, and when the answer breaks off
 */
export async function* readAgentLines(request: AgentRequest): AsyncGenerator<unknown> {
  const { socketPath, method, path, signal } = request
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  http
    .request({ socketPath, method, path, signal, agent: false }, resolve)
    .once('error', reject)
    .end()
  const answer = await promise
  if (answer.statusCode !== 200)
    throw new Error(`the agent answers ${path} with ${answer.statusCode}`)
  answer.setEncoding('utf8')
  yield* readJsonLines(answer)
}

/** Whether a failed request means that no agent listens. */
export function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ECONNREFUSED'].includes((error as NodeJS.ErrnoException).code ?? '')
}
