/** The one way in which tests wait for something that happens in the background. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** A machine under load takes its time: only what never comes fails. */
const deadlineMs = 300_000
const firstPauseMs = 10
const longestPauseMs = 300

/** Asks again until the answer is yes. */
export async function waitUntil(
  holds: () => boolean | Promise<boolean>,
  what: string | (() => string),
): Promise<void> {
  await waitFor(async () => (await holds()) || undefined, what)
}

/** Asks again until there is an answer, and returns it. */
export async function waitFor<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  what: string | (() => string),
): Promise<T> {
  const endMs = performance.now() + deadlineMs
  // Each question costs processor time, which what is waited for needs.
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() > endMs)
      assert.fail(`waited in vain for ${typeof what === 'string' ? what : what()}`)
    await sleep(pauseMs)
  }
}
