/** What earlier versions have noted about logins in the data directory still counts. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import test from 'node:test'
import { openDatabase } from '../../packages/base/storage/database.ts'
import { migrate } from '../../packages/base/storage/migrations.ts'
import {
  assertionMigrations,
  openUsedAssertions,
  useAssertion,
} from '../../packages/gateway/login/saml/used-assertions.ts'
import { Unlocks, unlockMigrations } from '../../packages/gateway/login/unlocks.ts'
import { createClock, silentLog, temporaryDirectory } from '../sessions/support.ts'

const minuteMs = 60_000

test('used assertions and unlocked users of earlier versions count as long as they did', async (t) => {
  const { nowMs, now } = createClock()
  const options = { dataDir: temporaryDirectory(t), redis: undefined, now, log: silentLog }
  const saml = openDatabase(join(options.dataDir, 'saml.db'))
  migrate(saml, 'used-assertions', assertionMigrations.slice(0, 1))
  saml.exec(`INSERT INTO used_assertions VALUES ('used', ${nowMs + 1}), ('over', ${nowMs})`)
  saml.close()
  const users = openDatabase(join(options.dataDir, 'users.db'))
  migrate(users, 'unlocks', unlockMigrations.slice(0, 1))
  const insert = users.prepare('INSERT INTO unlocks VALUES (?, ?)')
  for (const [user, minutes] of [
    ['alice', 14],
    ['bob', 15],
  ] as const) {
    insert.run(hash('sha256', user, 'base64url'), nowMs - minutes * minuteMs)
  }
  users.close()

  for (const time of ['at the upgrade', 'at the start after it']) {
    const used = openUsedAssertions(options)
    assert.equal(await useAssertion(used, 'used', nowMs + minuteMs), false, time)
    assert.equal(
      await useAssertion(used, 'over', nowMs + minuteMs),
      time === 'at the upgrade',
      time,
    )
    used.close()
    const unlocks = new Unlocks(options)
    assert.equal(await unlocks.find('Alice'), nowMs - 14 * minuteMs, time)
    assert.equal(await unlocks.find('bob'), undefined, time)
    unlocks.close()
  }
})
