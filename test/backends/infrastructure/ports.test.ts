/** Ports of instances are free, and rarely those that another installation on the machine has just found free as well. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Desired, desiredMigrations } from '../../../packages/providers/local/desired.ts'
import { InstancePorts } from '../../../packages/providers/local/ports.ts'
import type { LocalAccountSettings } from '../../../packages/providers/local/settings.ts'
import { claimPorts } from '../../support/free-port.ts'
import { createFolder } from '../../support/temporary-folder.ts'

const ports = await claimPorts()
const account = { name: 'dev', ports } as LocalAccountSettings

function openPorts(dataDir: string, ownPorts: readonly number[] = []): InstancePorts {
  const db = new DatabaseSync(':memory:')
  for (const migration of desiredMigrations) db.exec(migration)
  return new InstancePorts(new Desired(db), ownPorts, dataDir)
}

test('the search begins at a place that depends on the data directory alone, and goes round', async () => {
  const folders = Array.from({ length: 8 }, () => createFolder('ports'))
  const firsts = await Promise.all(
    folders.map(async (folder) => (await openPorts(folder).find(account, 1))[0]),
  )
  assert.ok(new Set(firsts).size > 1, firsts.join())
  assert.deepEqual(await openPorts(folders[0] as string).find(account, 1), [firsts[0]])
  const count = ports.last - ports.first + 1
  const all = await openPorts(folders[0] as string).find(account, count)
  assert.deepEqual(
    all.toSorted((a, b) => a - b),
    Array.from({ length: count }, (_, index) => ports.first + index),
  )
})

test('a port that is listened on, or that Fairlead has itself, is left out', async (t) => {
  const folder = createFolder('ports')
  const [taken = 0, own = 0, third] = await openPorts(folder).find(account, 3)
  const server = createServer()
  await new Promise<void>((listening) => server.listen(taken, '127.0.0.1', listening))
  t.after(() => server.close())
  assert.deepEqual(await openPorts(folder, [own]).find(account, 1), [third])
  const only = { ...account, ports: { first: taken, last: taken } }
  await assert.rejects(
    openPorts(folder).find(only, 1),
    /has 0 free ports .* Other programs listen on 1 of them; "ss -tlnp"/,
  )
})
