/** Secrets of programs on this machine: references in the desired state, values in processes alone. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import {
  somePorts,
  startInfrastructure,
  type TestInfrastructure,
} from '../../support/infrastructure.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'

interface Group extends JsonObject {
  instances: (JsonObject & { id: string; process: { pid: number } })[]
  instanceCounts: { up: number; total: number }
  launchConfig: { environment: Record<string, string> }
}

const place = { credentials: 'dev', region: 'east', cloudProvider: 'local' }
const groupPath = (name: string) => `/serverGroups/dev/east/${name}`
const [first, second] = ['hunter-2222', 'next-value-3333']

async function start(t: TestContext, dataDir: string, ports: string): Promise<TestInfrastructure> {
  const account = { name: 'dev', ports, regions: [{ name: 'east' }] }
  return startInfrastructure(t, {
    dataDir,
    local: { accounts: [account], 'drain-seconds': 0 },
    bakery: { 'local.enabled': true },
    beside: [definitionsBackend],
  })
}

const set = ({ backends }: TestInfrastructure, value: string) =>
  backends.ask('front50', 'PUT', '/secrets/application/shop/db-password', { value })

async function running({ backends }: TestInfrastructure): Promise<unknown> {
  const { body } = await backends.ask(
    'front50',
    'GET',
    '/secrets/application/shop/db-password/uses',
  )
  return (body as JsonObject)['running']
}

/** Empty for a process that has ended. */
function environOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}

async function upWith(
  infra: TestInfrastructure,
  name: string,
  count: number,
): Promise<Group['instances']> {
  const { instances } = await infra.until<Group>(
    groupPath(name),
    ({ instanceCounts: { up, total } }) => up === count && total === count,
  )
  return instances
}

test('processes keep their version of a secret until they start anew', async (t) => {
  const dataDir = createFolder('secrets')
  t.after(() => removeFolder(dataDir))
  const ports = await somePorts(t, 100)
  const infra = await start(t, dataDir, ports)
  await infra.putImage('shop', '1.0.0')
  await set(infra, first)
  const environment = {
    GREETING: 'secret:db-password',
    DB_URL: 'postgres://shop:secret:{db-password}@db',
    PLAIN: 'secret: text',
  }
  const capacity = { min: 1, max: 3, desired: 1 }
  const description = {
    ...place,
    application: 'shop',
    imageId: 'shop:1.0.0',
    capacity,
    environment,
  }
  await infra.succeed({ createServerGroup: description })
  const [one] = await upWith(infra, 'shop-v000', 1)
  const environ = environOf(one?.process.pid ?? 0)
  assert.match(environ, /GREETING=hunter-2222\0/)
  assert.match(environ, /DB_URL=postgres:\/\/shop:hunter-2222@db\0/)
  assert.match(environ, /PLAIN=secret: text\0/)
  const group = await infra.read<Group>(groupPath('shop-v000'))
  assert.equal(group.launchConfig.environment['GREETING'], 'secret:db-password')
  const console = await infra.until<{ output: string }>(
    `/instances/dev/east/${one?.id}/console`,
    ({ output }) => output !== '',
  )
  assert.match(console.output, /listening .* \*{6}\n/)

  // Rotation: a new instance has the new value, the other one is named with the old one.
  await set(infra, second)
  await infra.succeed({
    resizeServerGroup: {
      ...place,
      serverGroupName: 'shop-v000',
      capacity: { ...capacity, desired: 2 },
    },
  })
  const both = await upWith(infra, 'shop-v000', 2)
  const values = both.map(({ process: { pid } }) => /GREETING=([^\0]*)/.exec(environOf(pid))?.[1])
  assert.deepEqual(values.sort(), [first, second])
  const shown = 'server group shop-v000 in dev/east'
  assert.deepEqual(await running(infra), [
    { place: shown, version: 1, count: 1, isCurrent: false },
    { place: shown, version: 2, count: 1, isCurrent: true },
  ])
  const text = JSON.stringify([
    await infra.read(groupPath('shop-v000')),
    await infra.read('/applications/shop/serverGroups'),
  ])
  for (const value of [first, second]) assert.ok(!text.includes(value))
  for (const file of readdirSync(dataDir).filter((each) => each.startsWith('backends.db')))
    for (const value of [first, second])
      assert.ok(!readFileSync(join(dataDir, file)).includes(value), file)

  await infra.succeed({ rebootInstances: { ...place, instanceIds: [one?.id] } })
  await infra.until<Group>(groupPath('shop-v000'), ({ instances }) =>
    instances.every(
      ({ process }) =>
        process !== undefined && environOf(process.pid).includes(`GREETING=${second}`),
    ),
  )
  assert.deepEqual(await running(infra), [{ place: shown, version: 2, count: 2, isCurrent: true }])

  // A job prints its secret, and nobody reads it.
  const job = {
    ...place,
    application: 'shop',
    name: 'print',
    command: ['sh', '-c', 'echo p=$P > out; echo $P | base64; echo $P'],
  }
  const { resultObjects } = await infra.succeed({
    runJob: { ...job, secrets: { P: 'secret:db-password' } },
  })
  const [id = ''] = ((resultObjects as JsonObject[])[0] as { deployedNames: string[] })
    .deployedNames
  const path = `/applications/shop/jobs/dev/east/${id}`
  await infra.until<JsonObject>(path, ({ jobState }) => jobState === 'Succeeded')
  assert.deepEqual(await infra.read(`${path}/out`), { p: '******' })
  const printed = await infra.until<{ output: string }>(
    `/instances/dev/east/${id}/console`,
    ({ output }) => output.endsWith('\n'),
  )
  assert.match(printed.output, /^\*{6}\S{0,2}=*\n\*{6}\n$/)
  const refused = await infra.run({ runJob: { ...job, secrets: { P: 'secret:none' } } })
  assert.match(
    JSON.stringify(refused),
    /There is no secret \\?"none\\?" of the application shop or the account dev/,
  )

  // After a restart with a newer key, and one without the older key, processes and their secrets are as before.
  const before = (await upWith(infra, 'shop-v000', 2)).map(({ process: { pid } }) => pid).sort()
  await infra.stop()
  const keyFile = join(dataDir, 'secrets.key')
  const [newer, older] = [randomBytes(32).toString('base64'), readFileSync(keyFile, 'utf8')]
  for (const keys of [`${newer}\n${older}`, newer]) {
    writeFileSync(keyFile, keys)
    const again = await start(t, dataDir, ports)
    const after = await upWith(again, 'shop-v000', 2)
    assert.deepEqual(after.map(({ process: { pid } }) => pid).sort(), before)
    if (keys === newer) process.kill(before[0] as number, 'SIGKILL')
    if (keys === newer) {
      await again.until<Group>(groupPath('shop-v000'), ({ instances }) =>
        instances.every(
          ({ process: its }) =>
            its !== undefined && its.pid !== before[0] && environOf(its.pid).includes(second),
        ),
      )
    }
    await again.stop()
  }
})
