/** Functions that expressions may call, asked of the API once. */
import { client, unwrap } from '../api/client.ts'
import type { ExpressionFunction } from './expression-help.ts'

let functions: Promise<readonly ExpressionFunction[]> | undefined

/** Without an answer there are none, and the next completion asks again. */
export async function loadFunctions(): Promise<readonly ExpressionFunction[]> {
  functions ??= unwrap(client.GET('/capabilities/expressions')).then((answer) => answer.functions)
  try {
    return await functions
  } catch {
    functions = undefined
    return []
  }
}
