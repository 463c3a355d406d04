/** How soon a change of permissions counts with the embedded services. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { startSeeded } from './support.ts'

const rounds = 40
const perRound = 5
const atOnce = 25
const pollMs = 300

test('a creator can read a new application at once', async (t) => {
  const { ask, add } = await startSeeded(t)
  await add('rita', ['makers'])
  const roles = { READ: ['makers'], WRITE: ['makers'], EXECUTE: ['makers'] }
  /** As the web UI does: submits a task, and asks for it until it is over. */
  const create = async (names: readonly string[]) => {
    const job = names.map((name) => ({
      type: 'createApplication',
      application: { name, email: 'rita@example.com', permissions: roles },
    }))
    const submitted = await ask('rita', 'POST /tasks', {
      application: names[0],
      description: 'Create',
      job,
    })
    assert.equal(submitted.status, 200, submitted.text)
    const { ref } = submitted.json() as { ref: string }
    for (;;) {
      const task = await ask('rita', `GET ${ref}`)
      assert.equal(task.status, 200, `${ref}: ${task.status} ${task.text}`)
      const { status } = task.json() as { status: string }
      if (status === 'SUCCEEDED') return
      assert.ok(['NOT_STARTED', 'RUNNING'].includes(status), `${ref}: ${task.text}`)
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }
  const refused: string[] = []
  let next = 0
  const work = async () => {
    for (let round = next++; round < rounds; round = next++) {
      const names = Array.from({ length: perRound }, (_, index) => `fresh${round}n${index}`)
      await create(names)
      for (const name of names) {
        const { status, text } = await ask('rita', `GET /applications/${name}`)
        if (status !== 200) refused.push(`${name}: ${status} ${text}`)
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  assert.deepEqual(refused, [])
})

test('a changed permission applies to the next request', async (t) => {
  const { ask, add, run, createApplication } = await startSeeded(t)
  await add('rita', ['readers'])
  await createApplication('web', { READ: ['others'] })
  const update = (roles: string[]) =>
    run('admin', 'web', {
      type: 'updateApplication',
      application: { name: 'web', permissions: { READ: roles } },
    })
  assert.equal((await ask('rita', 'GET /applications/web')).status, 403)
  for (let round = 0; round < 3; round++) {
    await update(['readers'])
    assert.equal((await ask('rita', 'GET /applications/web')).status, 200)
    await update(['others'])
    assert.equal((await ask('rita', 'GET /applications/web')).status, 403)
  }
})
