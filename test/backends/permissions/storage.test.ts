/** What the permission service keeps: rows of the first version, and everything that was answered before the process was killed. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDatabase } from '../../../packages/base/storage/database.ts'
import { migrate } from '../../../packages/base/storage/migrations.ts'
import { userRolesMigrations } from '../../../packages/engine/permissions/user-roles.ts'
import { basic } from '../../login/support.ts'
import { createHome, startServe } from '../../support/serve.ts'
import { createRoleFile, startService } from './support.ts'

test('users of the first version keep their login roles', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-permissions-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const db = openDatabase(join(dataDir, 'backends.db'))
  migrate(db, 'fiat', userRolesMigrations.slice(0, 1))
  db.prepare('INSERT INTO permissions_users (name, roles, updated_ms) VALUES (?, ?, ?)').run(
    'ann',
    '["ops","dev"]',
    1,
  )
  db.close()

  const plain = await startService(t, { dataDir })
  assert.deepEqual(await plain.rolesOf('ann'), ['dev EXTERNAL', 'ops EXTERNAL'])
  await plain.stop()
  const file = createRoleFile(t, { ann: ['ops', 'night'] })
  const { rolesOf } = await startService(t, {
    dataDir,
    permissions: { roleSource: { kind: 'file', path: file.path } },
  })
  assert.deepEqual(await rolesOf('ann'), ['dev EXTERNAL', 'night FILE', 'ops FILE'])
})

test('roles of login and file survive a killed process', async (t) => {
  const home = createHome(t)
  const path = join(home, 'roles.yml')
  writeFileSync(path, 'users: [{username: admin, roles: [night]}]')
  const settings = {
    anonymous: { enabled: false },
    auth: { 'group-membership': { service: 'file', file: { path } } },
  }
  const options = { home, embedded: true, env: { FAIRLEAD_ADMIN_PASSWORD: 'correct horse' } }
  const rolesAt = async (url: string) => {
    const answer = await fetch(`${url}/auth/user`, { headers: basic('admin', 'correct horse') })
    return ((await answer.json()) as { roles: string[] }).roles.sort()
  }

  const first = startServe(t, settings, options)
  assert.deepEqual(await rolesAt(await first.listening), ['admins', 'night'])
  first.signal('SIGKILL')
  await first.exited
  const second = startServe(t, settings, options)
  assert.deepEqual(await rolesAt(await second.listening), ['admins', 'night'])
})
