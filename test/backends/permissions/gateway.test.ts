/** The settings of the embedded permission service, as they show at the gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSeeded } from '../../permissions/support.ts'
import { createRoleFile, until } from './support.ts'

const create = (name: string) => ({
  application: name,
  description: 'Create',
  job: [{ type: 'createApplication', application: { name, email: 'a@example.com' } }],
})

test('restricted creation needs the right to create applications', async (t) => {
  const { ask, add, run, createApplication } = await startSeeded(t, {
    fiat: { restrictApplicationCreation: true },
    auth: {
      permissions: {
        source: {
          application: {
            prefix: {
              enabled: true,
              prefixes: [
                {
                  prefix: '*',
                  permissions: { CREATE: ['creators'], READ: ['people'], WRITE: ['people'] },
                },
              ],
            },
          },
        },
      },
    },
  })
  await add('ann', ['creators', 'people'])
  await add('bob', ['people'])
  const refused = await ask('bob', 'POST /tasks', create('shop'))
  assert.equal(refused.status, 403, refused.text)
  assert.match(refused.text, /CREATE on the application shop/)
  await run('ann', 'shop', create('shop').job[0]!)
  assert.equal((await ask('bob', 'GET /applications/shop')).status, 200)
  await run('bob', 'shop', {
    type: 'updateApplication',
    application: { name: 'shop', email: 'b@example.com' },
  })
  await createApplication('theirs')
  assert.equal((await ask('bob', 'GET /applications/theirs')).status, 200)
})

test('a role of the file grants access until removed', async (t) => {
  const file = createRoleFile(t, { rita: ['readers'] })
  const { ask, add, createApplication } = await startSeeded(t, {
    auth: { 'group-membership': { service: 'file', file: { path: file.path } } },
  })
  await add('rita', ['people'])
  await createApplication('web', { READ: ['readers'] })
  assert.equal((await ask('rita', 'GET /applications/web')).status, 200)
  const { roles } = (await ask('rita', 'GET /auth/user')).json() as { roles: string[] }
  assert.deepEqual(roles.sort(), ['people', 'readers'])

  file.write({})
  assert.equal((await ask('admin', 'POST /auth/roles/sync')).status, 200)
  // A synchronisation that takes long is answered before it ends.
  await until(async () => (await ask('rita', 'GET /applications/web')).status === 403)
  file.write({ rita: ['readers'] })
  assert.equal((await ask('admin', 'POST /auth/roles/sync')).status, 200)
  await until(async () => (await ask('rita', 'GET /applications/web')).status === 200)
})

test('a changed file invalidates the cache of the gateway', async (t) => {
  const file = createRoleFile(t, { rita: ['readers'] })
  const { ask, add, createApplication } = await startSeeded(t, {
    auth: { 'group-membership': { service: 'file', file: { path: file.path } } },
    fiat: { 'write-mode': { 'sync-delay-ms': 20 } },
    services: { fiat: { cache: { expiresAfterWriteSeconds: 3600 } } },
  })
  await add('rita', ['people'])
  await createApplication('web', { READ: ['readers'] })
  assert.equal((await ask('rita', 'GET /applications/web')).status, 200)
  file.write({})
  await until(async () => (await ask('rita', 'GET /applications/web')).status === 403)
})

test('closed unknown applications can be created', async (t) => {
  const { ask, add, run } = await startSeeded(t, {
    fiat: { allowAccessToUnknownApplications: false },
  })
  await add('rita', ['people'])
  assert.equal((await ask('rita', 'GET /applications/shop/pipelines')).status, 403)
  await run('rita', 'shop', create('shop').job[0]!)
  assert.equal((await ask('rita', 'GET /applications/shop/pipelines')).status, 200)
})
