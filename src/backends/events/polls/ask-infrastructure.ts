import { fieldOf, isObject, type JsonObject, textOf } from '../../../json/values.ts'
import type { BackendContext } from '../../backend.ts'

/**
 * Accounts, their credentials and the restrictions of addresses are those of the infrastructure service.
 *
 * @throws {Error} with its message
 */
export async function askInfrastructure(
  { call }: BackendContext,
  path: string,
  body: JsonObject,
  signal?: AbortSignal,
): Promise<JsonObject> {
  const answer = await call('clouddriver', { method: 'POST', path, body })
  signal?.throwIfAborted()
  if (answer.status === 200 && isObject(answer.body)) return answer.body
  throw new Error(textOf(fieldOf(answer.body, 'message')) ?? `The infrastructure service answered ${answer.status}.`)
}
