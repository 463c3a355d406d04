/** Tasks of an instance: submitted, and followed to their end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject, type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Client } from '../client.ts'
import { exitCodes, Failure } from '../failure.ts'

const pauseMs = 250
const ended = ['SUCCEEDED', 'TERMINAL', 'CANCELED', 'STOPPED', 'FAILED_CONTINUE', 'SKIPPED']

/** @throws {Failure} when it does not succeed */
export async function runTask(
  client: Client,
  application: string,
  description: string,
  job: JsonObject,
): Promise<void> {
  const answer = await client.post('/tasks', { application, description, job: [job] })
  await followTask(client, answer)
}

/** @param answer To what was submitted; an operation that waits itself answers with the task as it ended. @throws {Failure} */
export async function followTask(client: Client, answer: unknown): Promise<void> {
  let task = isObject(answer) ? answer : {}
  const ref = textOf(task['ref'])
  while (!ended.includes(String(task['status']))) {
    if (ref === undefined) return
    task = await client.get<JsonObject>(ref)
    if (!ended.includes(String(task['status']))) await sleep(pauseMs)
  }
  if (task['status'] === 'SUCCEEDED') return
  const reasons = [...new Set(reasonsIn(task))]
  throw new Failure(
    exitCodes.failed,
    'TASK_FAILED',
    `The task ended ${task['status']}${reasons.length === 0 ? '' : `: ${reasons.join(' ')}`}`,
  )
}

/** Reasons in the exceptions of its stages, steps and variables. */
function reasonsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(reasonsIn)
  if (!isObject(value)) return []
  const { details, ...others } = value
  const own = isObject(details)
    ? [...textsOf(details['errors']), textOf(details['error']) ?? ''].filter((text) => text !== '')
    : []
  return own.length > 0 ? own : Object.values(others).flatMap(reasonsIn)
}
