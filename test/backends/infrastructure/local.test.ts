/** The provider `local` with real processes. One instance serves all cases of a test, each with a cluster of its own. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Agent } from 'undici'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { freePort } from '../../support/free-port.ts'
import {
  somePorts,
  startInfrastructure,
  type TestInfrastructure,
  writeCertificate,
} from '../../support/infrastructure.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Group extends JsonObject {
  name: string
  isDisabled: boolean
  capacity: { min: number; max: number; desired: number }
  instanceCounts: { total: number; up: number; outOfService: number; down: number }
  instances: Instance[]
  loadBalancers: string[]
}

interface Instance extends JsonObject {
  id: string
  healthState: string
  launchTime: number
  health: { type: string; state: string }[]
}

async function localSettings(t: TestContext): Promise<JsonObject> {
  return {
    accounts: [
      {
        name: 'dev',
        environment: 'dev',
        accountType: 'default',
        ports: await somePorts(t, 100),
        regions: [{ name: 'east', zones: ['east-a', 'east-b'] }, { name: 'west' }],
      },
    ],
    'drain-seconds': 2,
  }
}

const place = { credentials: 'dev', region: 'east', cloudProvider: 'local' }
const groupPath = (name: string) => `/serverGroups/dev/east/${name}`
const isUp =
  (count: number) =>
  ({ instanceCounts: { up, total } }: Group) =>
    up === count && total === count

async function createGroup(
  infra: TestInfrastructure,
  stack: string,
  count: number,
  more: JsonObject = {},
): Promise<string> {
  const capacity = { min: count, max: count, desired: count }
  const description = {
    ...place,
    application: 'shop',
    stack,
    imageId: 'shop:1.0.0',
    capacity,
    ...more,
  }
  const { resultObjects } = await infra.succeed({ createServerGroup: description })
  const result = (resultObjects as JsonObject[]).at(-1)
  const [name = ''] = Object.values(result?.['serverGroupNameByRegion'] as Record<string, string>)
  return name
}

async function createBalancer(
  infra: TestInfrastructure,
  name: string,
  listener: JsonObject = {},
): Promise<number> {
  const port = await freePort()
  await infra.succeed({
    upsertLoadBalancer: {
      ...place,
      name,
      listeners: [
        {
          externalProtocol: 'HTTP',
          externalPort: port,
          internalProtocol: 'HTTP',
          internalPort: 8080,
          ...listener,
        },
      ],
      healthCheck: 'HTTP:8080/health',
      healthInterval: 0.2,
      healthTimeout: 2,
      healthyThreshold: 1,
    },
  })
  return port
}

async function ask(port: number): Promise<JsonObject> {
  return (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as JsonObject
}

const stateOf = ({ health }: Instance, type: string) =>
  health.find((record) => record.type === type)?.state

test('server groups of this machine serve requests', async (t) => {
  const infra = await startInfrastructure(t, { local: await localSettings(t) })
  await infra.putImage('shop', '1.0.0')
  await infra.putImage('shop', '1.1.0')
  const cases: [
    title: string,
    run: (infra: TestInfrastructure, t: TestContext) => Promise<void>,
  ][] = [
    ['infrastructure-scenario 132: a new server group has a process that is up', createsGroup],
    ['infrastructure-scenario 161: a load balancer listens and serves a server group', serves],
    ['infrastructure-scenario 151: a resize starts and stops instances', resizes],
    ['infrastructure-scenario 157: a terminated instance is replaced', replaces],
    ['infrastructure-scenario 158: an instance leaves with the capacity', shrinks],
    ['infrastructure-scenario 159: a reboot keeps the id of the instance', reboots],
    ['infrastructure-scenario 178: a killed process is started again', recovers],
    ['infrastructure-scenario 165: a job ends with the exit code of its command', runsJobs],
    ['secrets are masked in answers and reach the process', masks],
    ['an application that cannot be started says why', explains],
  ]
  for (const [title, run] of cases) await t.test(title, (each) => run(infra, each))
})

test('programs run as the user of their account, behind HTTPS and with volumes', async (t) => {
  const { certificate, files } = writeCertificate(t)
  const [user, uid] = chooseUser()
  const settings = await localSettings(t)
  const [account] = settings['accounts'] as JsonObject[]
  const local = {
    ...settings,
    accounts: [{ ...account, user }],
    certificates: [{ name: 'shop', ...files }],
  }
  const infra = await startInfrastructure(t, { local })
  await infra.putImage('shop', '1.0.0')
  const port = await createBalancer(infra, 'shop-secure', {
    externalProtocol: 'HTTPS',
    sslCertificateId: 'shop',
  })
  const name = await createGroup(infra, 'secure', 1, { loadBalancers: ['shop-secure'] })
  await infra.until<Group>(groupPath(name), isUp(1))
  const dispatcher = new Agent({ connect: { ca: certificate } })
  t.after(() => dispatcher.close())

  const answer = await fetch(`https://localhost:${port}/`, { dispatcher } as RequestInit)

  assert.equal(((await answer.json()) as JsonObject)['group'], name)
  assert.deepEqual(
    infra.processes().map(({ pid }) => statSync(`/proc/${pid}`).uid),
    [uid],
  )
  assert.equal(
    (await fetch(`http://localhost:${port}/`).catch(() => undefined))?.ok ?? false,
    false,
  )
  await t.test('volumes stay over versions, and are backed up before', () =>
    keepsVolumes(infra, uid),
  )
})

interface VolumeView {
  readonly name: string
  readonly folder: string
  readonly bytes?: number
  readonly backups: readonly string[]
}

async function keepsVolumes(infra: TestInfrastructure, uid: number): Promise<void> {
  const script =
    'for volume in "$FAIRLEAD_VOLUME_DATA" "$FAIRLEAD_VOLUME_ALL_OF_US"; do echo "$VERSION" >>"$volume/log"; done'
  const toFile = (version: string) =>
    `command: [sh, -c, '${script}; exec ${process.execPath} server.mjs']\nready: { path: /health, intervalSeconds: 0.2 }\n` +
    `environment: { VERSION: '${version}' }\nvolumes: [{ name: data }, { name: all-of-us, shared: true }]\n`
  for (const version of ['1.0.0', '2.0.0']) await infra.putImage('keeper', version, toFile(version))
  const first = await createGroup(infra, 'keep', 2, { imageId: 'keeper:1.0.0' })
  await infra.until<Group>(groupPath(first), isUp(2))

  const second = await createGroup(infra, 'keep', 1, { imageId: 'keeper:2.0.0' })
  await infra.until<Group>(groupPath(second), isUp(1))
  await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: first } })

  const isMeasured = ({ volumes }: JsonObject) =>
    (volumes as VolumeView[]).every(({ bytes }) => bytes !== undefined)
  const group = await infra.until<JsonObject>(groupPath(second), isMeasured)
  const [own, shared] = group['volumes'] as [VolumeView, VolumeView]
  const root = join(infra.dataDir, 'volumes/dev/east/shop-keep')
  assert.deepEqual(
    [own.folder, shared.folder],
    [join(root, 'current/data'), join(root, 'current/all-of-us')],
  )
  const read = (...path: string[]) => readFileSync(join(root, ...path, 'log'), 'utf8')
  assert.deepEqual(
    ['0', '1'].map((ordinal) => read('current/data', ordinal)),
    ['1.0.0\n2.0.0\n', '1.0.0\n'],
  )
  assert.equal(read('current/all-of-us/shared'), '1.0.0\n1.0.0\n2.0.0\n')
  assert.equal(own.backups.length, 1)
  assert.match(own.backups[0] ?? '', /^\d{8}T\d{6}Z-1\.0\.0$/)
  assert.equal(read('backups', own.backups[0] ?? '', 'all-of-us/shared'), '1.0.0\n1.0.0\n')
  assert.equal(statSync(join(root, 'backups', own.backups[0] ?? '', 'data/0/log')).uid, uid)
  renameSync(join(root, 'backups'), join(root, 'hidden'))
  symlinkSync('hidden', join(root, 'backups'))
  const [linked] = (await infra.read(groupPath(second)))['volumes'] as VolumeView[]
  assert.deepEqual(linked?.backups, [], 'a link is not followed')
}

/** Another user where this one may switch, and the other may run Node; otherwise this one. */
function chooseUser(): [name: string, uid: number] {
  const { username, uid: own } = userInfo()
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout),
  ) as [number, number]
  const maySwitch =
    own === 0 &&
    uid > 0 &&
    spawnSync(process.execPath, ['-e', ''], { uid, gid, cwd: '/' }).status === 0
  return maySwitch ? ['nobody', uid] : [username, own]
}

async function createsGroup(infra: TestInfrastructure): Promise<void> {
  const name = await createGroup(infra, 't', 1)
  assert.equal(name, 'shop-t-v000')
  const group = await infra.until<Group>(groupPath(name), isUp(1))
  assert.equal((group['moniker'] as JsonObject)['sequence'], 0)
  assert.equal((group['buildInfo'] as JsonObject)['version'], '1.0.0')
  assert.equal((group['image'] as JsonObject)['imageId'], 'shop:1.0.0')
  const [instance] = group.instances
  const output = await infra.until<{ output: string }>(
    `/instances/dev/east/${instance!.id}/console`,
    (body) => body.output !== '',
  )
  assert.match(output.output, new RegExp(instance!.id))
  const details = await infra.read<Instance>(`/instances/dev/east/${instance!.id}`)
  assert.equal(details['serverGroup'], name)
  assert.equal(stateOf(details, 'Local'), 'Unknown')
  assert.equal(stateOf(details, 'Discovery'), 'Up')
  await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: name } })
}

async function serves(infra: TestInfrastructure, t: TestContext): Promise<void> {
  const port = await createBalancer(infra, 'shop-front')
  const name = await createGroup(infra, 'main', 2, { loadBalancers: ['shop-front'] })
  await infra.until<Group>(groupPath(name), isUp(2))
  assert.equal((await ask(port))['group'], name)

  await t.test(
    'infrastructure-scenario 160: a deregistered instance takes no requests',
    async () => {
      const { instances } = await infra.read<Group>(groupPath(name))
      const [one, other] = instances as [Instance, Instance]
      const registration = { ...place, instanceIds: [one.id], loadBalancerNames: ['shop-front'] }
      await infra.succeed({ deregisterInstancesFromLoadBalancer: registration })
      await infra.until<Instance>(
        `/instances/dev/east/${one.id}`,
        (body) => stateOf(body, 'LoadBalancer') === 'OutOfService',
      )
      assert.equal(
        stateOf(await infra.read<Instance>(`/instances/dev/east/${other.id}`), 'LoadBalancer'),
        'Up',
      )
      assert.equal((await ask(port))['id'], other.id)
      await infra.succeed({ registerInstancesWithLoadBalancer: registration })
      await infra.until<Group>(groupPath(name), isUp(2))
    },
  )

  await t.test(
    'infrastructure-scenario 153: a disabled server group keeps its processes and takes no requests',
    async () => {
      await infra.succeed({ disableServerGroup: { ...place, serverGroupName: name } })
      const group = await infra.until<Group>(groupPath(name), ({ instances }) =>
        instances.every((each) => stateOf(each, 'LoadBalancer') === 'OutOfService'),
      )
      assert.equal(group.isDisabled, true)
      assert.ok(group.instances.every(({ health }) => health.every(({ state }) => state !== 'Up')))
      assert.ok(group.instances.every((each) => stateOf(each, 'Local') === 'Unknown'))
      assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 503)
    },
  )

  await t.test('infrastructure-scenario 154: an enabled server group takes requests', async () => {
    const before = await infra.read<Group>(groupPath(name))
    await infra.succeed({ enableServerGroup: { ...place, serverGroupName: name } })
    const enabled = await infra.until<Group>(
      groupPath(name),
      (group) => isUp(2)(group) && !group.isDisabled,
    )
    assert.ok(
      Number(enabled['servingSinceMs']) > Number(before['servingSinceMs']),
      'it says since when',
    )
    assert.ok(Number(before['servingSinceMs']) >= Number(before['createdTime']))
    assert.equal((await ask(port))['group'], name)
  })

  await t.test('a server group gets exactly its share of the requests', () =>
    sharesTraffic(infra, port, name),
  )

  await t.test('infrastructure-scenario 155: a share of a server group is disabled', async () => {
    const task = await infra.succeed({
      disableServerGroup: { ...place, serverGroupName: name, desiredPercentage: 30 },
    })
    const [result] = task['resultObjects'] as JsonObject[]
    assert.equal((result!['instanceIdsToDisable'] as string[]).length, 1)
    const group = await infra.until<Group>(
      groupPath(name),
      ({ instanceCounts }) => instanceCounts.outOfService === 1,
    )
    assert.equal(group.isDisabled, false)
    assert.equal(group.instanceCounts.up, 1)
  })

  await t.test(
    'infrastructure-scenario 156: a destroyed server group is gone with its processes',
    async () => {
      const { instances } = await infra.read<Group>(groupPath(name))
      await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: name } })
      await waitUntil(
        async () => (await infra.ask('GET', groupPath(name))).status === 404,
        'the end of the server group',
      )
      const running = infra
        .processes()
        .map(({ pid }) => readFileSync(`/proc/${pid}/environ`, 'utf8'))
      assert.ok(
        running.every((environment) => instances.every(({ id }) => !environment.includes(id))),
      )
      await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: name } })
    },
  )

  await t.test('infrastructure-scenario 162: a deleted load balancer closes its port', async () => {
    await infra.succeed({
      deleteLoadBalancer: { ...place, loadBalancerName: 'shop-front', regions: ['east'] },
    })
    assert.equal((await infra.ask('GET', '/local/loadBalancers/shop-front')).status, 404)
    await waitUntil(
      () =>
        fetch(`http://127.0.0.1:${port}/`).then(
          () => false,
          () => true,
        ),
      'a closed port',
    )
  })
}

async function sharesTraffic(infra: TestInfrastructure, port: number, old: string): Promise<void> {
  const name = await createGroup(infra, 'main', 1, {
    loadBalancers: ['shop-front'],
    trafficPercent: 0,
  })
  await infra.until<Group>(groupPath(name), isUp(1))
  const count = async (requests: number) => {
    const groups = []
    for (let request = 0; request < requests; request++) groups.push((await ask(port))['group'])
    return groups.filter((group) => group === name).length
  }
  const share = (serverGroupName: string, percent: number | null) => ({
    shareTraffic: { ...place, serverGroupName, percent },
  })
  const young = {
    ...{
      ...place,
      application: 'shop',
      stack: 'main',
      imageId: 'shop:1.0.0',
      capacity: { min: 1, max: 1, desired: 1 },
    },
    ...{ loadBalancers: ['shop-front'], trafficPercent: 0 },
  }
  assert.equal(await count(10), 0)

  await infra.succeed(share(name, 10))
  assert.equal(await count(20), 2)
  const [summary] = (await infra.read<JsonObject[]>('/applications/shop/serverGroups')).filter(
    (each) => each['name'] === name,
  )
  const balancer = await infra.read<JsonObject[]>('/local/loadBalancers/dev/east/shop-front')
  const groups = balancer.flatMap((each) => each['serverGroups'] as JsonObject[])
  assert.deepEqual(
    [summary?.['trafficPercent'], (await infra.read(groupPath(name)))['trafficPercent']],
    [10, 10],
  )
  assert.deepEqual(
    groups.map((each) => [each['name'], each['trafficPercent']]),
    [
      [old, undefined],
      [name, 10],
    ],
  )
  const { status, body } = await infra.ask('POST', '/local/ops', [share(old, 95)])
  assert.equal(status, 400)
  assert.match(
    JSON.stringify(body),
    /at the load balancer shop-front would be 105 % together, as shop-main-v\d+ has 10 %/,
  )
  assert.equal((await infra.ask('POST', '/local/ops', [share(name, 1.5)])).status, 400)

  await infra.succeed(share(name, 100))
  assert.equal(await count(5), 5)
  await infra.succeed({ disableServerGroup: { ...place, serverGroupName: name } })
  await infra.succeed(share(name, 0))
  assert.equal((await infra.read(groupPath(name)))['trafficPercent'], undefined)
  const refusals: [JsonObject, RegExp][] = [
    [share(name, 5), /shop-main-v\d+ is disabled and takes no requests\. Enable it first/],
    [
      { createServerGroup: { ...young, startDisabled: true } },
      /trafficPercent: .* Leave startDisabled out/,
    ],
    [
      { createServerGroup: { ...young, loadBalancers: [] } },
      /trafficPercent: .* Name one in loadBalancers/,
    ],
  ]
  for (const [operation, says] of refusals) {
    const refused = await infra.ask('POST', '/local/ops', [operation])
    assert.equal(refused.status, 400)
    assert.match(JSON.stringify(refused.body), says)
  }
  await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: name } })
}

async function resizes(infra: TestInfrastructure): Promise<void> {
  const name = await createGroup(infra, 'size', 0)
  const resize = (desired: number) =>
    infra.succeed({
      resizeServerGroup: {
        ...place,
        serverGroupName: name,
        capacity: { min: desired, max: desired, desired },
      },
    })
  await resize(2)
  const group = await infra.until<Group>(groupPath(name), isUp(2))
  assert.deepEqual(group.instances.map(({ zone }) => zone).sort(), ['east-a', 'east-b'])
  await resize(1)
  const { capacity } = await infra.until<Group>(groupPath(name), isUp(1))
  assert.deepEqual({ ...capacity }, { min: 1, max: 1, desired: 1, pinned: true })
  const wrong = { ...place, serverGroupName: name, capacity: { min: 3, max: 2 } }
  const refused = await infra.ask('POST', '/local/ops', [{ resizeServerGroup: wrong }])
  assert.equal(refused.status, 400)
  await infra.succeed({
    resizeServerGroup: { ...place, serverGroupName: 'shop-size-v999', capacity: { desired: 1 } },
  })
  const path = `/applications/shop/clusters/dev/shop-size/local/serverGroups/${name}/scalingActivities?region=east`
  assert.equal((await infra.read<JsonObject[]>(path)).length, 3)
  await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: name } })
}

async function replaces(infra: TestInfrastructure): Promise<void> {
  const name = await createGroup(infra, 'kill', 1)
  const { instances } = await infra.until<Group>(groupPath(name), isUp(1))
  const [{ id }] = instances as [Instance]
  await infra.succeed({ terminateInstances: { ...place, instanceIds: [id] } })
  await waitUntil(
    async () => (await infra.ask('GET', `/instances/dev/east/${id}`)).status === 404,
    'the end of the instance',
  )
  const after = await infra.until<Group>(groupPath(name), isUp(1))
  assert.notEqual(after.instances[0]?.id, id)
  await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: name } })
}

async function shrinks(infra: TestInfrastructure): Promise<void> {
  const name = await createGroup(infra, 'less', 2)
  const { instances } = await infra.until<Group>(groupPath(name), isUp(2))
  const description = { ...place, serverGroupName: name, instance: instances[0]?.id }
  const refused = await infra.run({ terminateInstanceAndDecrementServerGroup: description })
  assert.equal((refused['status'] as JsonObject)['failed'], true)
  assert.deepEqual((await infra.read<Group>(groupPath(name))).capacity.desired, 2)
  await infra.succeed({
    terminateInstanceAndDecrementServerGroup: { ...description, adjustMinIfNecessary: true },
  })
  const group = await infra.until<Group>(groupPath(name), isUp(1))
  assert.deepEqual([group.capacity.min, group.capacity.desired], [1, 1])
  assert.equal(group.instances[0]?.id, instances[1]?.id)
  await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: name } })
}

async function reboots(infra: TestInfrastructure): Promise<void> {
  const name = await createGroup(infra, 'boot', 1)
  const before = await infra.until<Group>(groupPath(name), isUp(1))
  const [{ id, launchTime }] = before.instances as [Instance]
  await infra.succeed({ rebootInstances: { ...place, instanceIds: [id] } })
  const { instances } = await infra.until<Group>(
    groupPath(name),
    (group) => isUp(1)(group) && (group.instances[0]?.launchTime ?? 0) > launchTime,
  )
  assert.equal(instances[0]?.id, id)
  await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: name } })
}

async function recovers(infra: TestInfrastructure): Promise<void> {
  const name = await createGroup(infra, 'dies', 1)
  const { instances } = await infra.until<Group>(groupPath(name), isUp(1))
  const [{ process: known }] = instances as [Instance]
  const { pid } = known as { pid: number }
  process.kill(pid, 'SIGKILL')
  await infra.until<Group>(groupPath(name), (group) => {
    const { pid: next } = (group.instances[0]?.['process'] ?? {}) as { pid?: number }
    return isUp(1)(group) && next !== undefined && next !== pid
  })
  await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: name } })
}

async function runsJobs(infra: TestInfrastructure): Promise<void> {
  const start = async (command: string) => {
    const { resultObjects } = await infra.succeed({
      runJob: { ...place, application: 'shop', command },
    })
    const [result] = resultObjects as JsonObject[]
    return `/applications/shop/jobs/dev/east/${(result!['deployedNames'] as string[])[0]}`
  }
  const failing = await start('echo out; exit 3')
  const job = await infra.until<JsonObject>(failing, ({ jobState }) => jobState === 'Failed')
  assert.equal((job['completionDetails'] as JsonObject)['exitCode'], 3)
  const passing = await start('echo "color=blue" > facts.properties; mkfifo endless.properties')
  const passed = await infra.until<JsonObject>(passing, ({ jobState }) => jobState === 'Succeeded')
  assert.ok(Number(passed['createdTime']) <= Number(passed['completedTime']))
  assert.deepEqual(await infra.read(`${passing}/facts.properties`), { color: 'blue' })
  assert.deepEqual(await infra.read(`${passing}/endless.properties`), {})
  assert.deepEqual(await infra.read(`${passing}/${encodeURIComponent('../../../backends.db')}`), {})
  const listed = await infra.read<JsonObject[]>('/applications/shop/jobs')
  assert.ok(listed.some(({ id }) => passing.endsWith(String(id))))
  assert.equal((await infra.ask('DELETE', passing)).status, 200)
  assert.equal((await infra.ask('GET', passing)).status, 404)
}

async function masks(infra: TestInfrastructure): Promise<void> {
  const environment = { GREETING: 'hello', DB_PASSWORD: 'hunter2' }
  const name = await createGroup(infra, 'mask', 1, { environment, secrets: { LICENSE: 'abc-def' } })
  const group = await infra.until<Group>(groupPath(name), isUp(1))
  assert.doesNotMatch(JSON.stringify(group), /hunter2|abc-def/)
  const [{ process: known }] = group.instances as [Instance]
  const environ = readFileSync(`/proc/${(known as { pid: number }).pid}/environ`, 'utf8')
  assert.match(environ, /DB_PASSWORD=hunter2/)
  assert.match(environ, /LICENSE=abc-def/)
  // A client that clones sends the masked values back.
  const { environment: shown } = group['launchConfig'] as { environment: Record<string, string> }
  await infra.succeed({
    cloneServerGroup: { ...place, source: { serverGroupName: name }, environment: shown },
  })
  const clone = await infra.until<Group>(groupPath('shop-mask-v001'), isUp(1))
  const [{ process: cloned }] = clone.instances as [Instance]
  assert.match(
    readFileSync(`/proc/${(cloned as { pid: number }).pid}/environ`, 'utf8'),
    /DB_PASSWORD=hunter2/,
  )
  for (const each of [name, 'shop-mask-v001'])
    await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: each } })
}

async function explains(infra: TestInfrastructure): Promise<void> {
  const name = await createGroup(infra, 'broken', 1, { command: ['no-such-program'] })
  const group = await infra.until<Group>(
    groupPath(name),
    ({ instanceCounts }) => instanceCounts.down === 1,
  )
  assert.match(JSON.stringify(group.instances[0]?.health), /no-such-program/)
  await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: name } })
  await waitUntil(
    async () => (await infra.ask('GET', groupPath(name))).status === 404,
    'the end of the server group',
  )
}

test('infrastructure-scenario 179: after a restart everything is found again, and processes have not noticed', async (t) => {
  const dataDir = createFolder('infrastructure')
  t.after(() => removeFolder(dataDir))
  const local = await localSettings(t)
  const first = await startInfrastructure(t, { local, dataDir })
  await first.putImage('shop', '1.0.0')
  const port = await createBalancer(first, 'shop-front')
  const name = await createGroup(first, 'main', 1, { loadBalancers: ['shop-front'] })
  const before = await first.until<Group>(groupPath(name), isUp(1))
  const young = await createGroup(first, 'main', 1, {
    loadBalancers: ['shop-front'],
    trafficPercent: 25,
  })
  await first.until<Group>(groupPath(young), isUp(1))
  const shared = async () => {
    const names = []
    for (let request = 0; request < 8; request++) names.push((await ask(port))['group'])
    return names.filter((each) => each === young).length
  }
  await first.stop()
  assert.equal(await shared(), 2)

  const second = await startInfrastructure(t, { local, dataDir })
  const after = await second.until<Group>(groupPath(name), isUp(1))
  assert.deepEqual(after.instances[0]?.['process'], before.instances[0]?.['process'])
  assert.deepEqual(
    [(await second.read(groupPath(young)))['trafficPercent'], await shared()],
    [25, 2],
  )
  assert.equal((await second.read<JsonObject[]>('/local/images/find?q=shop')).length, 1)
  assert.equal(
    (await second.read<JsonObject>('/local/loadBalancers/shop-front'))['name'],
    'shop-front',
  )
})
