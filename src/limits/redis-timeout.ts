/** Timeout of calls to Redis while a request waits. */
import { within } from '../concurrency/within.ts'

const timeoutMs = 250

export function withTimeout<T>(answer: Promise<T>): Promise<T> {
  return within(timeoutMs, answer, () => {
    throw new Error(`no answer within ${timeoutMs} ms`)
  })
}
