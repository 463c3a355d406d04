/** What GET /auth/explain says about oneself and, for administrators, about others. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { startSeeded } from './support.ts'

test('a decision is explained by its rule, the permissions of the application and the origin of the roles', async (t) => {
  const { ask, add, createApplication } = await startSeeded(t)
  await add('rita', ['readers'])
  await createApplication('web', { READ: ['readers'], WRITE: ['writers'] })
  const explain = async (username: string, query: string) => {
    const answer = await ask(username, `GET /auth/explain?${query}`)
    return { status: answer.status, ...(answer.json() as Record<string, unknown>) }
  }

  const denied = await explain('rita', 'operation=savePipelineUsingPOST&application=web')
  assert.equal(denied.status, 200)
  assert.equal(Reflect.get(denied, 'decision'), 'denied')
  assert.deepEqual(Reflect.get(denied, 'reasons'), [
    { need: 'WRITE on the application web', allowed: false, rule: 'no role of the user has WRITE on the application' },
  ])
  assert.deepEqual(Reflect.get(denied, 'roles'), [{ name: 'readers', from: 'the last login' }])
  assert.equal(Reflect.get(denied, 'resource'), undefined)

  const read = await explain('rita', 'operation=getApplicationUsingGET&application=WEB')
  assert.equal(Reflect.get(read, 'decision'), 'allowed')
  assert.equal(Reflect.get(await explain('rita', 'operation=getApplicationUsingGET'), 'decision'), 'depends')
  assert.equal((await explain('rita', 'operation=getApplicationUsingGET&username=admin')).status, 403)
  assert.equal((await explain('rita', 'operation=unheardOf')).status, 404)

  const other = await explain('admin', 'operation=savePipelineUsingPOST&application=web&username=rita')
  assert.equal(Reflect.get(other, 'decision'), 'denied')
  assert.deepEqual(Reflect.get(other, 'resource'), { READ: ['readers'], WRITE: ['writers'] })
  assert.equal(Reflect.get(await explain('admin', 'operation=savePipelineUsingPOST&application=web'), 'decision'), 'allowed')
})
