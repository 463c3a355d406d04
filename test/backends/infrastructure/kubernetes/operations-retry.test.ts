/** Further attempts of operations, without an API server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BackendContext } from '../../../../packages/ports/backend.ts'
import { ApiError } from '../../../../packages/providers/kubernetes/api/api-error.ts'
import {
  isPassingOrConflict,
  pollUntil,
  retrying,
} from '../../../../packages/providers/kubernetes/operations/retry.ts'
import type { KubernetesParts } from '../../../../packages/providers/kubernetes/parts.ts'

function running(signal = new AbortController().signal) {
  let ms = 0
  const context = { steady: () => (ms += 100) } as unknown as BackendContext
  const parts = {
    context,
    settings: { retries: { maxAttempts: 3, pauseMs: 1 } },
  } as unknown as KubernetesParts
  return { parts, run: { signal } }
}

/** Fails so often, then answers. */
function failing(times: number, status: number) {
  let calls = 0
  const work = async () => {
    calls++
    if (calls <= times) throw new ApiError('no', { status })
    return 'done'
  }
  return { work, calls: () => calls }
}

const cases: readonly (readonly [string, number, number, boolean, number])[] = [
  ['a fault that passes', 2, 503, true, 3],
  ['no response', 2, 0, true, 3],
  ['a fault that stays', 5, 503, false, 3],
  ['many conflicts', 6, 409, true, 7],
  ['a refusal', 1, 422, false, 1],
]

for (const [what, times, status, succeeds, calls] of cases) {
  test(`the attempts at ${what}`, async () => {
    const { work, calls: made } = failing(times, status)
    const answer = retrying(running(), work, isPassingOrConflict)
    if (succeeds) assert.equal(await answer, 'done')
    else await assert.rejects(answer, { status })
    assert.equal(made(), calls)
  })
}

test('conflicts are retried only where that is safe', async () => {
  const { work, calls } = failing(1, 409)
  await assert.rejects(retrying(running(), work), { status: 409 })
  assert.equal(calls(), 1)
})

test('a wait ends with its limit', async () => {
  assert.equal(
    await pollUntil(running(), { limitMs: 250, longestPauseMs: 1 }, async () => undefined),
    undefined,
  )
  assert.equal(await pollUntil(running(), { limitMs: 250 }, async () => 'there'), 'there')
})

test('a wait ends when Fairlead stops', async () => {
  const waiting = pollUntil(
    running(AbortSignal.abort()),
    { limitMs: 60_000 },
    async () => undefined,
  )
  await assert.rejects(waiting, { name: 'AbortError' })
})
