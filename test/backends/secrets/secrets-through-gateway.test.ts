/** Secrets by the public API, in operations of providers, and as the doctor sees them. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pino from 'pino'
import { checkSecrets } from '../../../packages/app/doctor/check-secrets.ts'
import { runChecks, usualTimeouts } from '../../../packages/base/findings/finding.ts'
import { fieldAt, fieldOf, type JsonObject, objectsOf } from '../../../packages/base/json/values.ts'
import {
  allReferencesIn,
  replaceReferences,
} from '../../../packages/model/secrets/secret-references.ts'
import type { Ports } from '../../../packages/ports/ports.ts'
import type { SecretUse, SecretValues } from '../../../packages/ports/secrets.ts'
import { Tasks, taskMigrations } from '../../../packages/providers/infrastructure/tasks.ts'
import { startPlatform } from '../../operations/resources/platform.ts'
import { runGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/wait-until.ts'

const value = 'hunter-2222'

test('an external definition store is not sent a value', async (t) => {
  const platform = await startPlatform(t)
  const answer = await platform.ask('PUT /applications/web/secrets/db-password', { value })
  assert.equal(answer.status, 404)
  assert.match(
    JSON.stringify(answer.body),
    /An external definition store .*services\.front50.* keeps none/,
  )
  assert.deepEqual(platform.calls(), [])
  const list = await platform.ask('GET /accounts/prod/secrets')
  assert.match(JSON.stringify(list.body), /keeps none/)
})

test('the audit log has changes without values, and the doctor misses a key', async (t) => {
  const { url, dataDir } = await runGateway(t, { audit: { enabled: true } }, { embedded: true })
  const put = async (body: unknown) => {
    const headers = { 'content-type': 'application/json' }
    return fetch(`${url}/accounts/local/secrets/db-password`, {
      method: 'PUT',
      headers,
      body: JSON.stringify(body),
    })
  }
  assert.equal((await put({ value, note: 'first' })).status, 200)
  assert.equal((await put({ value: [value] })).status, 400)
  for (const file of readdirSync(dataDir)) {
    if (!statSync(join(dataDir, file)).isFile()) continue
    assert.ok(!readFileSync(join(dataDir, file)).includes(value), file)
  }
  const examine = () =>
    runChecks(
      checkSecrets({ backends: { dataDir, secrets: {} } } as Parameters<typeof checkSecrets>[0]),
      usualTimeouts,
    )
  assert.deepEqual(
    (await examine()).map(({ verdict }) => verdict),
    ['ok', 'ok'],
  )
  rmSync(join(dataDir, 'secrets.key'))
  const [finding] = await examine()
  assert.equal(finding?.verdict, 'problem')
  assert.match(finding?.found ?? '', /account:local\/db-password need [0-9a-f]{12}/)
})

test('an operation gets values for the Secrets of a manifest, and its record keeps references', async (t) => {
  const db = new DatabaseSync(':memory:')
  for (const migration of taskMigrations) db.exec(migration)
  const uses: SecretUse[] = []
  const reveal: SecretValues['reveal'] = async (given, use) => {
    uses.push(use)
    const values = new Map([...allReferencesIn(given)].map((name) => [name, value]))
    return { value: replaceReferences(given, values), secrets: [value], versions: [] }
  }
  const runs: JsonObject[] = []
  const tasks = new Tasks({
    context: {
      db,
      now: Date.now,
      log: pino({ enabled: false }),
      stateChanged: () => {},
      ports: { secrets: { reveal } } as unknown as Ports,
    },
    find: () => ({
      check: () => [],
      applications: () => ['shop'],
      run: async (description) => {
        runs.push(description)
        throw new Error(`the cluster refuses ${value}`)
      },
    }),
  })
  t.after(async () => {
    await tasks.close()
    db.close()
  })
  const manifest = (kind: string, more: JsonObject) => ({
    apiVersion: 'v1',
    kind,
    metadata: { name: 'db' },
    ...more,
  })
  const container = { name: 'web', env: [{ name: 'P', value: 'secret:db-password' }] }
  const manifests = [
    manifest('Secret', { stringData: { password: 'secret:db-password' } }),
    manifest('Pod', { spec: { containers: [container] } }),
  ]
  const operations = [
    { provider: 'any', name: 'deployManifest', description: { account: 'prod', manifests } },
  ]
  const id = tasks.submit({ requestId: undefined, user: 'ann', identity: {}, operations })
  await waitUntil(
    () => fieldAt(tasks.view(id), 'status', 'completed') === true,
    'the end of the task',
  )

  const [secret, pod] = objectsOf(fieldOf(runs[0], 'manifests'))
  assert.deepEqual(secret?.['stringData'], { password: value })
  assert.deepEqual(pod?.['spec'], { containers: [container] })
  assert.deepEqual([uses[0]?.application, uses[0]?.account, uses[0]?.user], ['shop', 'prod', 'ann'])
  const [{ document } = {}] = db.prepare('SELECT document FROM infrastructure_tasks').all()
  assert.ok(!String(document).includes(value))
  assert.match(String(document), /the cluster refuses \*{6}/)
})
