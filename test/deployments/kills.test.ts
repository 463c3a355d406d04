/** What `kill -9` leaves. `DEPLOYMENT_KILLS=100` makes it a long search, and `DEPLOYMENT_KILLS_SEED` repeats one. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { runKills } from '../support/deployment-kills.ts'

const rounds = Number(process.env['DEPLOYMENT_KILLS'] ?? 8)
const seed = Number(process.env['DEPLOYMENT_KILLS_SEED'] ?? randomInt(1_000_000))

test(`killing Fairlead and its agent at any step leaves what is desired (seed ${seed})`, async (t) => {
  const times = await runKills(t, { rounds, seed })
  assert.equal(times.length, rounds)
  t.diagnostic(`milliseconds until everything was as desired: ${times.map(Math.round).join(' ')}`)
})
