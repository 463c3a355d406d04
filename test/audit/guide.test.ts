/** The guide about the audit log, followed: its configurations are tried by the tests of all guides. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { basic } from '../login/support.ts'
import { runGateway } from '../support/gateway.ts'
import { program } from '../support/program.ts'
import { startUpstream } from '../support/upstream.ts'
import { askEvents, temporaryFolder } from './support.ts'

const root = resolve(import.meta.dirname, '../..')
const guide = readFileSync(join(root, 'docs/guides/audit.md'), 'utf8')
const headers = basic('operator', 'secret')
const users = { spring: { security: { user: { name: 'operator', password: 'secret' } } } }

async function verify(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, 'audit', 'verify', ...args],
      {
        env: { ...process.env, ...env },
      },
    )
    return { status: 0, text: stdout }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { status: code, text: stdout + stderr }
  }
}

async function changeSomething(t: TestContext, settings: Record<string, unknown>) {
  const known = {
    name: 'operator',
    admin: true,
    accounts: [],
    roles: [],
    applications: [],
    serviceAccounts: [],
  }
  const fiat = await startUpstream(t, ({ path }) => (path.startsWith('/authorize/') ? known : {}))
  const running = await runGateway(t, {
    ...users,
    services: { fiat: { enabled: true, baseUrl: fiat.url } },
    ...settings,
  })
  for (let time = 0; time < 3; time++) {
    await (
      await fetch(`${running.url}/auth/deleteSessionCache`, { method: 'POST', headers })
    ).arrayBuffer()
  }
  return running
}

test('the guide changes, examines the database and finds an alteration', async (t) => {
  const { url, dataDir } = await changeSomething(t, {})
  const [, query = ''] =
    /curl -u operator:secret 'http:\/\/localhost:8084\/audit\/events\?([^']+)'/.exec(guide) ?? []
  const { events } = await askEvents(url, query, headers)
  assert.deepEqual(
    new Set(events.map(({ operation }) => operation)),
    new Set(['deleteSessionCache']),
  )

  const sound = await verify(['--sqlite'], { FAIRLEAD_DATA_DIR: dataDir })
  assert.equal(sound.status, 0, sound.text)
  assert.match(sound.text, /^3 records, none altered or missing/)
  const [, last = ''] = /hash (\w{64})/.exec(sound.text) ?? []
  assert.equal((await verify(['--sqlite', join(dataDir, 'audit.db'), '--expect', last])).status, 0)

  const db = new DatabaseSync(join(dataDir, 'audit.db'))
  db.exec('DELETE FROM events_1 WHERE sequence = 3')
  const shortened = await verify(['--sqlite', join(dataDir, 'audit.db'), '--expect', last])
  assert.deepEqual([shortened.status, /is missing/.test(shortened.text)], [1, true])
  db.exec(`UPDATE events_1 SET record = replace(record, 'operator', 'somebody') WHERE sequence = 2`)
  db.close()
  const altered = await verify(['--sqlite', join(dataDir, 'audit.db')])
  assert.equal(altered.status, 1)
  assert.match(altered.text, /^line 2 was altered/)
})

test('the files of the guide are examined as it says', async (t) => {
  const file = join(temporaryFolder(t), 'audit.log')
  await changeSomething(t, { audit: { sink: 'file', file } })
  const { status, text } = await verify([file])
  assert.equal(status, 0, text)
  assert.match(text, /^3 records/)
  assert.equal((await verify([`${file}.none`])).status, 1)
  assert.equal((await verify(['--nonsense'])).status, 2)
})
