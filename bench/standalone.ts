/** A gateway with every service embedded: reads and tasks. */
import { setTimeout as sleep } from 'node:timers/promises'
import { objectOf, textOf } from '../packages/base/json/values.ts'
import { isComplete, type Status } from '../packages/engine/orchestration/statuses.ts'
import type { Target } from './targets.ts'

const pollMs = 20
const longestTaskMs = 120_000

export async function read(target: Target, path: string): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${target.port}${path}`, { headers: target.headers })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${text.slice(0, 500)}`)
  return JSON.parse(text)
}

/** @returns the reference to what it has started */
export async function post(target: Target, path: string, body: unknown): Promise<string> {
  const text = await send(target, 'POST', path, body)
  return text === '' ? '' : (textOf(objectOf(JSON.parse(text))['ref']) ?? '')
}

export async function send(
  target: Target,
  method: string,
  path: string,
  body: unknown,
): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${target.port}${path}`, {
    method,
    headers: { ...target.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 500)}`)
  return text
}

/** Waits for the end of a task or an execution. @throws {Error} unless it succeeds */
async function untilSucceeded(target: Target, ref: string): Promise<void> {
  for (
    const endMs = performance.now() + longestTaskMs;
    performance.now() < endMs;
    await sleep(pollMs)
  ) {
    const state = await read(target, ref)
    const { status } = objectOf(state) as { status: Status }
    if (status === 'SUCCEEDED') return
    if (isComplete(status))
      throw new Error(`${ref}: ${status} ${JSON.stringify(state).slice(0, 3000)}`)
  }
  throw new Error(`${ref} does not end`)
}

/** Saves an application. */
export async function createApplication(target: Target, name: string): Promise<void> {
  const application = { name, email: 'bench@example.com' }
  const job = [{ type: 'createApplication', application }]
  await untilSucceeded(
    target,
    await post(target, '/tasks', { application: name, description: `Create ${name}`, job }),
  )
}
