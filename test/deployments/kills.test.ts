/** What `kill -9` leaves. `DEPLOYMENT_KILLS=100` makes it a long search, and `DEPLOYMENT_KILLS_SEED` repeats one. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { runKills } from '../support/deployment-kills.ts'

const rounds = Number(process.env['DEPLOYMENT_KILLS'] ?? 4)
const seed = Number(process.env['DEPLOYMENT_KILLS_SEED'] ?? randomInt(1_000_000))

for (const [victims, killsThreads] of [
  ['Fairlead and its agent', false],
  ['the back ends alone, and with the agent,', true],
] as const) {
  test(`killing ${victims} at any step leaves what is desired (seed ${seed})`, async (t) => {
    const times = await runKills(t, { rounds, seed, killsThreads })
    assert.equal(times.length, rounds)
    t.diagnostic(`milliseconds until everything was as desired: ${times.map(Math.round).join(' ')}`)
  })
}
