/** How soon a change of permissions counts with the embedded services. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { startSeeded } from './support.ts'

test('what was just created can be read at once, again and again', async (t) => {
  const { ask, add, createApplication } = await startSeeded(t)
  await add('rita', ['readers'])
  for (let round = 0; round < 10; round++) {
    const name = `fresh${round}`
    await createApplication(name, { READ: ['readers'], WRITE: ['writers'] })
    const read = await ask('rita', `GET /applications/${name}`)
    assert.equal(read.status, 200, `${name}: ${read.text}`)
  }
})

test('a permission that is given or taken counts for the very next request', async (t) => {
  const { ask, add, run, createApplication } = await startSeeded(t)
  await add('rita', ['readers'])
  await createApplication('web', { READ: ['others'] })
  const update = (roles: string[]) =>
    run('admin', 'web', { type: 'updateApplication', application: { name: 'web', permissions: { READ: roles } } })
  assert.equal((await ask('rita', 'GET /applications/web')).status, 403)
  for (let round = 0; round < 3; round++) {
    await update(['readers'])
    assert.equal((await ask('rita', 'GET /applications/web')).status, 200)
    await update(['others'])
    assert.equal((await ask('rita', 'GET /applications/web')).status, 403)
  }
})
