/** The clients of a standalone instance without a browser: how they ask, follow tasks, and wait for what they asked for. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type Instance, startInstance } from '../support/instance.ts'
import { program } from '../support/program.ts'
import { waitUntil } from '../support/wait-until.ts'

export const uiOrigin = 'http://localhost:9000'
export const password = 'all-hands-on-deck'

export function startStandalone(t: TestContext): Promise<Instance> {
  return startInstance(t, {
    command: `exec '${process.execPath}' '${program}' serve`,
    cwd: `${import.meta.dirname}/../..`,
    env: { FAIRLEAD_ADMIN_PASSWORD: password },
  })
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Undefined when the body is empty. */
  readonly value: unknown
}

export type Ask = (method: string, path: string, body?: unknown) => Promise<Answer>

export function createAsk(base: string, headers: Record<string, string>): Ask {
  return async (method, path, body) => {
    const answer = await fetch(base + path, {
      method,
      headers: {
        ...headers,
        ...(body !== undefined && { 'Content-Type': 'application/json;charset=UTF-8' }),
      },
      redirect: 'manual',
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = /json/.test(answer.headers.get('content-type') ?? '')
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      value: text !== '' && isJson ? JSON.parse(text) : undefined,
    }
  }
}

/** The web UI after a login: cross-origin, with cookies, and with the header that makes browsers ask first. */
export async function logIn(base: string): Promise<{ ui: Ask; cookie: string }> {
  const answer = await fetch(`${base}/login`, {
    method: 'POST',
    body: new URLSearchParams({ username: 'admin', password }),
    redirect: 'manual',
  })
  assert.equal(answer.status, 302)
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  return {
    cookie,
    ui: createAsk(base, {
      Cookie: cookie,
      Origin: uiOrigin,
      'X-RateLimit-App': 'deck',
      Accept: 'application/json',
    }),
  }
}

export async function expectStatus(asked: Promise<Answer>, status: number): Promise<Answer> {
  const answer = await asked
  assert.equal(answer.status, status, answer.text)
  return answer
}

/** Asks once every tenth of a second, as a client that polls would, until the answer is as wanted. */
export async function poll(
  ask: () => Promise<Answer>,
  isWanted: (answer: Answer) => boolean,
): Promise<Answer> {
  let answer: Answer | undefined
  await waitUntil(
    async () => {
      if (answer !== undefined) await pause(90)
      answer = await ask()
      return isWanted(answer)
    },
    () => `another answer than ${answer?.status} ${answer?.text}`,
  )
  return answer as unknown as Answer
}

export const statusOf = ({ value }: Answer): unknown =>
  (value as { status?: unknown } | undefined)?.status
export const until = (ask: Ask, path: string, status: string): Promise<Answer> =>
  poll(
    () => ask('GET', path),
    (answer) => statusOf(answer) === status,
  )

/** Submits a task, as both clients do, and follows its `ref` until it has succeeded. @returns the `ref` */
export async function runTask(
  ask: Ask,
  application: string,
  job: Record<string, unknown>,
): Promise<string> {
  const { value } = await expectStatus(
    ask('POST', '/tasks', { application, description: `${job['type']}`, job: [job] }),
    200,
  )
  const { ref } = value as { ref: string }
  assert.match(ref, /^\/tasks\/[^/]+$/)
  await until(ask, ref, 'SUCCEEDED')
  return ref
}
