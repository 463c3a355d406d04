/** Further attempts and waits of operations. */
import { setTimeout as sleep } from 'node:timers/promises'
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'
import type { OperationRun } from '../../infrastructure/operation-type.ts'
import { isApiError, isPassing } from '../api/api-error.ts'
import type { ManifestRun } from './parts.ts'

/** Writers such as controllers are faster many times in a row, and each time only for a moment. */
const conflictRetries = { maxAttempts: 12, pauseMs: 20 }

/** Retries what may be done twice while the API server is busy or restarts. @throws what the last attempt throws */
export async function retrying<T>(
  { parts, run }: Pick<ManifestRun, 'parts'> & { readonly run: Pick<OperationRun, 'signal'> },
  work: () => Promise<T>,
  mayRetry: (error: unknown) => boolean = isPassing,
): Promise<T> {
  const failures = { passing: 0, conflict: 0 }
  for (;;) {
    const limits = await attempt(work, (error) => {
      const kind = isApiError(error, 409) ? 'conflict' : 'passing'
      const { maxAttempts, pauseMs } =
        kind === 'conflict' ? conflictRetries : parts.settings.retries
      failures[kind]++
      const isLast = failures[kind] >= maxAttempts || run.signal.aborted || !mayRetry(error)
      return isLast
        ? undefined
        : backOffMs({ firstMs: pauseMs, longestMs: 30_000 }, failures[kind] - 1)
    })
    if ('answer' in limits) return limits.answer
    await sleep(limits.pauseMs, undefined, { signal: run.signal })
  }
}

type RetryAttempt<T> = { readonly answer: T } | { readonly pauseMs: number }

/** @param pauseAfter Undefined: the error is thrown */
async function attempt<T>(
  work: () => Promise<T>,
  pauseAfter: (error: unknown) => number | undefined,
): Promise<RetryAttempt<T>> {
  try {
    return { answer: await work() }
  } catch (error) {
    const pauseMs = pauseAfter(error)
    if (pauseMs === undefined) throw error
    return { pauseMs }
  }
}

/** No answer, a fault, or another writer was faster. */
export function isPassingOrConflict(error: unknown): boolean {
  return isPassing(error) || isApiError(error, 409)
}

/**
 * Asks again after pauses that grow, until the answer is defined.
 *
 * @returns undefined when the time is over
 * @throws an `AbortError` when Fairlead stops, or the operation is cancelled
 */
export async function pollUntil<T>(
  {
    parts,
    run,
  }: Pick<ManifestRun, 'parts'> & { readonly run: Pick<OperationRun, 'signal' | 'cancellation'> },
  {
    limitMs,
    longestPauseMs = 2000,
  }: { readonly limitMs: number; readonly longestPauseMs?: number },
  ask: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const { steady } = parts.context
  const startMs = steady()
  const signal =
    run.cancellation === undefined ? run.signal : AbortSignal.any([run.signal, run.cancellation])
  for (let round = 0; ; round++) {
    const answer = await ask()
    if (answer !== undefined || steady() - startMs > limitMs) return answer
    await sleep(backOffMs({ firstMs: 50, longestMs: longestPauseMs }, round), undefined, { signal })
  }
}
