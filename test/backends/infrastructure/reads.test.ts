/** Reads of the infrastructure through the whole gateway, with real processes behind them. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { listen } from '../../live/listen.ts'
import { basic } from '../../login/support.ts'
import { startSeeded } from '../../permissions/support.ts'
import { endWithTest } from '../../support/agent.ts'
import { freePort } from '../../support/free-port.ts'
import { followTask, packImage, somePorts } from '../../support/infrastructure.ts'
import { waitFor, waitUntil } from '../../support/wait-until.ts'

/** Of all users of `startSeeded`. */
const password = 'correct horse'

type Seeded = Awaited<ReturnType<typeof startSeeded>>

interface Fixture {
  readonly gateway: Seeded
  /** An operation, sent to the service itself, that succeeds. */
  run(
    account: string,
    region: string,
    operation: string,
    description: JsonObject,
  ): Promise<JsonObject>
  /** The body of a GET through the gateway that succeeds. */
  read<T = JsonObject>(path: string, user?: string): Promise<T>
  /** Status and body. */
  ask(path: string, user?: string): Promise<[number, JsonObject]>
}

async function localSettings(t: TestContext): Promise<JsonObject> {
  const access = (read: string[], write: string[]) => ({
    permissions: { READ: read, WRITE: write },
  })
  const east = { name: 'east', zones: ['east-a'] }
  return {
    accounts: [
      {
        name: 'dev',
        environment: 'dev',
        accountType: 'default',
        ports: await somePorts(t, 10),
        regions: [
          { name: 'east', zones: ['east-a', 'east-b'] },
          { name: 'west', zones: ['west-a'] },
        ],
      },
      {
        name: 'prod',
        environment: 'default',
        accountType: 'main',
        ports: '64000-64009',
        regions: [east],
        ...access(['readers', 'ops'], ['ops']),
      },
      {
        name: 'secret',
        environment: 'prod',
        accountType: 'main',
        ports: '64010-64019',
        regions: [east],
        ...access(['ops'], ['ops']),
      },
      { name: 'team.dev', ports: '64020-64029', regions: [east], ...access(['ops'], ['ops']) },
    ],
    'drain-seconds': 1,
  }
}

async function startFixture(t: TestContext): Promise<Fixture> {
  const gateway = await startSeeded(t, {
    local: await localSettings(t),
    'user-configured-url-restrictions': { allowedAddresses: ['127.0.0.1/32'] },
    insights: {
      serverGroup: [
        {
          url: 'https://logs/$'.concat(
            '{application}/$',
            '{account}/$',
            '{region}/$',
            '{serverGroup}',
          ),
          label: 'Logs',
        },
      ],
    },
  })
  endWithTest(t, gateway.dataDir, async () => {})
  await gateway.add('alice', ['ops'])
  await gateway.add('bob', ['readers'])
  await gateway.add('carol', [])
  await gateway.createApplication('shop')
  await gateway.createApplication('vault', { READ: ['ops'] })
  const socketPath = join(gateway.dataDir, 'backends.sock')
  const service = (method: string, path: string, body?: Buffer | string) =>
    callService(socketPath, method, path, body)
  for (const version of ['1.0.0', '1.1.0']) {
    const answer = await service(
      'PUT',
      `/local/images/shop/${version}?accounts=dev&regions=east,west`,
      await packImage(version),
    )
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
  }
  const tool = await service('PUT', '/local/images/tool/1', await packImage('1'))
  assert.equal(tool.status, 201, JSON.stringify(tool.body))
  const run: Fixture['run'] = async (account, region, operation, description) => {
    const content = JSON.stringify([
      { [operation]: { credentials: account, region, cloudProvider: 'local', ...description } },
    ])
    const { status, body } = await service('POST', '/local/ops', content)
    assert.equal(status, 200, JSON.stringify(body))
    const task = await followTask(
      async (path) => (await service('GET', path)).body,
      String(body['id']),
    )
    assert.equal((task['status'] as JsonObject)['failed'], false, JSON.stringify(task))
    return task
  }
  const ask: Fixture['ask'] = async (path, user = 'alice') => {
    const answer = await gateway.ask(user, `GET ${path}`)
    return [answer.status, answer.text === '' ? {} : (answer.json() as JsonObject)]
  }
  const read = async <T>(path: string, user?: string): Promise<T> => {
    const [status, body] = await ask(path, user)
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
    return body as T
  }
  await deploy(run, join(gateway.dataDir, 'only-one'))
  await waitFor(async () => {
    const groups = await read<Group[]>('/applications/shop/serverGroups')
    const up = (name: string) => groups.find((group) => group.name === name)?.instanceCounts.up
    return (
      (up('shop-main-v005') === 3 && up('shop-main-v006') === 1 && up('shop-main-v002') === 1) ||
      undefined
    )
  }, 'the server groups of the fixture')
  return { gateway, run, ask, read }
}

interface Group extends JsonObject {
  name: string
  region: string
  account: string
  instanceCounts: { total: number; up: number; starting: number }
  instances: (JsonObject & { id: string })[]
}

async function deploy(run: Fixture['run'], onlyOne: string): Promise<void> {
  const rule = (name: string, more: JsonObject) =>
    run('dev', 'east', 'upsertSecurityGroup', { name, description: name, ...more })
  await rule('shop-bastion', {})
  await rule('shop-fw', {
    ipIngress: [{ cidr: '10.0.0.0/8', startPort: 8080, endPort: 8080, type: 'tcp' }],
    securityGroupIngress: [{ name: 'shop-bastion', startPort: 9000, endPort: 9000, type: 'tcp' }],
  })
  const balance = async (account: string, name: string, health: JsonObject = {}) =>
    run(account, 'east', 'upsertLoadBalancer', {
      name,
      listeners: [{ externalProtocol: 'HTTP', externalPort: await freePort() }],
      ...health,
    })
  await balance('dev', 'shop-front', { healthCheck: 'HTTP:8080/health', healthInterval: 0.2 })
  await balance('dev', 'Shop-b')
  await balance('dev', 'shop-a')
  await balance('dev', 'common-lb')
  await balance('secret', 'shop-hidden')
  const group = (
    account: string,
    region: string,
    stack: string,
    sequence: number,
    desired: number,
    more: JsonObject = {},
  ) =>
    run(account, region, 'createServerGroup', {
      application: 'shop',
      stack,
      sequence,
      imageId: 'shop:1.0.0',
      capacity: { min: desired, max: desired, desired },
      ...more,
    })
  for (const [account, stack] of [
    ['prod', 'api'],
    ['secret', 'key'],
  ] as const)
    await group(account, 'east', stack, 0, 0, { imageId: 'tool:1' })
  const zones = (...names: string[]) => ({ availabilityZones: { east: names } })
  await group('dev', 'west', 'main', 2, 1)
  await group('dev', 'east', 'main', 4, 0, { startDisabled: true, ...zones('east-a', 'east-b') })
  await group('dev', 'east', 'main', 5, 3, {
    loadBalancers: ['shop-front', 'common-lb'],
    ...zones('east-a'),
  })
  await group('dev', 'east', 'main', 6, 2, {
    environment: { ONLY_ONE: onlyOne },
    ...zones('east-b'),
  })
}

function callService(
  socketPath: string,
  method: string,
  path: string,
  body?: Buffer | string,
): Promise<{ status: number; body: JsonObject }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: JsonObject }>()
  const headers = { 'content-type': 'application/json', 'x-spinnaker-user': 'admin' }
  const call = request(
    { socketPath, method, path: `/clouddriver${path}`, headers },
    async (answer) => {
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk as Buffer)
      resolve({
        status: answer.statusCode ?? 0,
        body: JSON.parse(Buffer.concat(chunks).toString() || '{}') as JsonObject,
      })
    },
  )
  call.once('error', reject)
  call.end(body)
  return promise
}

const names = (list: readonly JsonObject[]) => list.map(({ name }) => name)
const sorted = (list: readonly unknown[]) => [...list].map(String).sort()

test('the infrastructure is read through the gateway', async (t) => {
  const fixture = await startFixture(t)
  for (const [title, check] of Object.entries(cases)) await t.test(title, () => check(fixture))
  for (const [scenario, ...row] of targets) {
    await t.test(`infrastructure-scenario ${scenario}: ${describeTarget(row)}`, () =>
      checkTarget(fixture, row),
    )
  }
  for (const [title, change] of Object.entries(changes)) await t.test(title, () => change(fixture))
  await t.test('a client does not pass for the operator', async () => {
    const headers = { 'x-fairlead-operator': 'true', 'content-type': 'application/x-tar' }
    const upload = await fixture.gateway.ask(
      'bob',
      'PUT /local/images/shop/9?accounts=prod',
      'x',
      headers,
    )
    assert.equal(upload.status, 403, upload.text)
  })
  await t.test('an event stream reports the infrastructure of its application', async (t) => {
    const { gateway, run } = fixture
    const stream = await listen(
      t,
      `${gateway.url}/applications/shop/executions/events`,
      basic('alice', password),
    )
    const count = () =>
      stream.events.filter(
        ({ name, data }) => name === 'changed' && data['part'] === 'infrastructure',
      ).length
    const placed = {
      name: 'shop-new',
      listeners: [{ externalProtocol: 'HTTP', externalPort: await freePort() }],
    }
    await run('dev', 'east', 'upsertLoadBalancer', placed)
    await waitUntil(() => count() > 0, 'the new load balancer')
    const before = count()
    await run('dev', 'east', 'deleteLoadBalancer', { loadBalancerName: 'shop-new' })
    await waitUntil(() => count() > before, 'its end')
  })
  await t.test('a webhook calls an internal address that the configuration allows', () =>
    checkWebhook(fixture),
  )
})

const cluster = '/applications/shop/clusters/dev/shop-main'

const cases: Record<string, (fixture: Fixture) => Promise<void>> = {
  'infrastructure-scenario 1: accounts are listed with their provider': async ({ read }) => {
    const accounts = await read<JsonObject[]>('/credentials')
    for (const account of accounts) assert.equal(typeof account['authorized'], 'boolean')
    assert.equal(accounts.find(({ name }) => name === 'dev')?.['type'], 'local')
  },
  'infrastructure-scenario 2: all fields of accounts are listed on demand': async ({ read }) => {
    const accounts = await read<JsonObject[]>('/credentials?expand=true')
    const [dev, prod] = ['dev', 'prod'].map(
      (wanted) => accounts.find(({ name }) => name === wanted)!,
    ) as [JsonObject, JsonObject]
    const { environment, accountType, cloudProvider, primaryAccount, challengeDestructiveActions } =
      dev
    assert.deepEqual(
      { environment, accountType, cloudProvider, primaryAccount, challengeDestructiveActions },
      {
        environment: 'dev',
        accountType: 'default',
        cloudProvider: 'local',
        primaryAccount: true,
        challengeDestructiveActions: false,
      },
    )
    assert.deepEqual(sorted(names(dev['regions'] as JsonObject[])), ['east', 'west'])
    assert.deepEqual([prod['challengeDestructiveActions'], prod['primaryAccount']], [true, false])
  },
  'infrastructure-scenario 3: accounts without READ are hidden, those without WRITE not authorized':
    async ({ read }) => {
      const accounts = await read<JsonObject[]>('/credentials', 'bob')
      const authorized = Object.fromEntries(
        accounts.map(({ name, authorized }) => [name, authorized]),
      )
      assert.deepEqual(authorized, { dev: true, prod: false })
    },
  'infrastructure-scenarios 4, 5: an account list follows the session, not the query': async ({
    read,
  }) => {
    const accounts = await read<JsonObject[]>('/credentials', 'carol')
    assert.deepEqual(names(accounts), ['dev'])
    const query = 'username=alice&roles=ops&allowedAccounts=secret&email=a@b&firstName=x&lastName=y'
    assert.deepEqual(await read(`/credentials?${query}`, 'carol'), accounts)
  },
  'lists of all accounts leave out those without READ': async ({ read }) => {
    const accountsIn = async (path: string, user?: string) => {
      const listed = await read<JsonObject | JsonObject[]>(path, user)
      const elements = Array.isArray(listed)
        ? listed
        : (Object.values(listed).flat() as JsonObject[])
      return sorted([...new Set(elements.flatMap(({ account, accounts }) => account ?? accounts))])
    }
    for (const path of [
      '/networks',
      '/networks/local',
      '/subnets/local',
      '/vpcs',
      '/instanceTypes',
      '/images/find?provider=local&q=tool',
    ]) {
      assert.deepEqual(await accountsIn(path), ['dev', 'prod', 'secret', 'team.dev'], path)
      assert.deepEqual(await accountsIn(path, 'bob'), ['dev', 'prod'], path)
    }
    assert.deepEqual(await accountsIn('/images/find?provider=local&q=shop', 'bob'), ['dev'])
    const { clusters } = await read('/applications/shop', 'bob')
    assert.deepEqual(sorted(Object.keys(clusters as JsonObject)), ['dev', 'prod'])
    const [set] = await read<JsonObject[]>('/search?q=shop&type=applications', 'bob')
    const [found] = set!['results'] as JsonObject[]
    assert.deepEqual(sorted(found!['accounts'] as string[]), ['dev', 'prod'])
  },
  'infrastructure-scenario 6: one account is read with all fields': async ({ read }) => {
    assert.equal((await read('/credentials/dev'))['environment'], 'dev')
  },
  'infrastructure-scenario 8: an account name may contain dots': async ({ read }) => {
    assert.equal((await read('/credentials/team.dev'))['name'], 'team.dev')
  },
  'infrastructure-scenario 11: applications list the accounts where they run': async ({ read }) => {
    const shop = await waitFor(
      async () =>
        (await read<JsonObject[]>('/applications')).find(
          ({ name, accounts }) => name === 'shop' && String(accounts).includes('secret'),
        ),
      'the accounts of the application',
    )
    assert.deepEqual(sorted(String(shop['accounts']).split(',')), ['dev', 'prod', 'secret'])
  },
  'infrastructure-scenario 12: an application shows its clusters': async ({ read }) => {
    const { name, clusters } = await read('/applications/shop')
    const [main] = (clusters as Record<string, JsonObject[]>)['dev'] as [JsonObject]
    assert.deepEqual([name, main['name'], main['provider']], ['shop', 'shop-main', 'local'])
    assert.deepEqual(main['serverGroups'], [
      'shop-main-v002',
      'shop-main-v004',
      'shop-main-v005',
      'shop-main-v006',
    ])
  },
  'infrastructure-scenario 13: an application without expansion has no clusters': async ({
    read,
  }) => {
    assert.deepEqual((await read('/applications/shop?expand=false'))['clusters'], {})
  },
  'infrastructure-scenario 15: a stored application that runs nowhere has no clusters': async ({
    read,
  }) => {
    assert.deepEqual((await read('/applications/vault'))['clusters'], {})
  },
  'infrastructure-scenario 16: an application that only runs is listed': async ({ run, read }) => {
    await run('prod', 'east', 'createServerGroup', {
      application: 'solo',
      imageId: 'tool:1',
      capacity: { min: 0, max: 0, desired: 0 },
    })
    await waitFor(
      async () => names(await read<JsonObject[]>('/applications')).includes('solo') || undefined,
      'the application',
    )
  },
  'infrastructure-scenario 18: applications without READ are hidden': async ({ read }) => {
    assert.ok(!names(await read<JsonObject[]>('/applications', 'carol')).includes('vault'))
  },
  'infrastructure-scenario 19: clusters are listed by account': async ({ read }) => {
    assert.deepEqual(await read('/applications/shop/clusters'), {
      dev: ['shop-main'],
      prod: ['shop-api'],
      secret: ['shop-key'],
    })
  },
  'infrastructure-scenario 20: clusters of accounts without READ are hidden': async ({ read }) => {
    assert.deepEqual(sorted(Object.keys(await read('/applications/shop/clusters', 'bob'))), [
      'dev',
      'prod',
    ])
  },
  'infrastructure-scenario 21: an unknown application has no clusters': async ({ read }) => {
    assert.deepEqual(await read('/applications/none/clusters'), {})
  },
  'infrastructure-scenario 22: clusters of an account are summaries': async ({ read }) => {
    const [main, ...others] = await read<JsonObject[]>('/applications/shop/clusters/dev')
    assert.equal(others.length, 0)
    const moniker = {
      app: 'shop',
      stack: 'main',
      detail: null,
      cluster: 'shop-main',
      sequence: null,
    }
    assert.deepEqual(
      [main!['name'], main!['account'], main!['moniker']],
      ['shop-main', 'dev', moniker],
    )
    assert.ok((main!['loadBalancers'] as string[]).includes('shop-front'))
    assert.equal((main!['serverGroups'] as string[]).length, 4)
  },
  'infrastructure-scenario 24: a cluster holds its server groups': async ({ read }) => {
    const { name, accountName, type, serverGroups } = await read(cluster)
    assert.deepEqual(
      [name, accountName, type, (serverGroups as unknown[]).length],
      ['shop-main', 'dev', 'local', 4],
    )
  },
  'infrastructure-scenario 26: server groups of a cluster are listed': async ({ read }) => {
    const groups = await read<Group[]>(`${cluster}/serverGroups`)
    assert.equal(new Set(groups.map(({ name, region }) => `${name} ${region}`)).size, 4)
  },
  'infrastructure-scenario 27: an absent cluster has no server groups': async ({ read }) => {
    assert.deepEqual(await read('/applications/shop/clusters/dev/absent/serverGroups'), [])
  },
  'infrastructure-scenario 28: a server group is found by name': async ({ read }) => {
    assert.deepEqual(names(await read<Group[]>(`${cluster}/serverGroups/shop-main-v005`)), [
      'shop-main-v005',
    ])
  },
  'infrastructure-scenario 29: an absent name finds nothing': async ({ read }) => {
    assert.deepEqual(await read(`${cluster}/serverGroups/shop-main-v999`), [])
  },
  'infrastructure-scenario 30: a name is found in all regions': async ({ run, read }) => {
    const capacity = { min: 0, max: 0, desired: 0 }
    await run('dev', 'west', 'createServerGroup', {
      application: 'shop',
      stack: 'main',
      sequence: 6,
      imageId: 'tool:1',
      capacity,
    })
    const groups = await read<Group[]>(`${cluster}/serverGroups/shop-main-v006`)
    assert.deepEqual(sorted(groups.map(({ region }) => region)), ['east', 'west'])
    await run('dev', 'west', 'destroyServerGroup', { serverGroupName: 'shop-main-v006' })
  },
  'infrastructure-scenario 31: a cluster lists its load balancers': async ({ read }) => {
    assert.ok(
      names(await read<JsonObject[]>(`${cluster}/local/loadBalancers`)).includes('shop-front'),
    )
    assert.deepEqual(await read('/applications/shop/clusters/dev/absent/local/loadBalancers'), [])
  },
  'infrastructure-scenario 32: server groups are listed with capacity and counts': async ({
    read,
  }) => {
    const groups = await read<Group[]>('/applications/shop/serverGroups')
    const group = (name: string) => groups.find((one) => one.name === name) as Group
    const five = group('shop-main-v005')
    const {
      account,
      region,
      cluster: owner,
      application,
      cloudProvider,
      isDisabled,
      instanceCounts,
    } = five
    assert.deepEqual(
      [account, region, owner, application, cloudProvider, isDisabled],
      ['dev', 'east', 'shop-main', 'shop', 'local', false],
    )
    assert.ok(Number.isInteger(five['createdTime']))
    assert.deepEqual(five['capacity'], { min: 3, max: 3, desired: 3, pinned: true })
    assert.deepEqual([instanceCounts.total, instanceCounts.up], [3, 3])
    assert.equal(group('shop-main-v004')['isDisabled'], true)
  },
  'infrastructure-scenario 33: a process that is not ready counts as starting': async ({
    read,
  }) => {
    const groups = await read<Group[]>('/applications/shop/serverGroups')
    const { instanceCounts } = groups.find(({ name }) => name === 'shop-main-v006') as Group
    assert.deepEqual(instanceCounts, {
      total: 2,
      up: 1,
      down: 0,
      unknown: 0,
      starting: 1,
      outOfService: 0,
    })
  },
  'infrastructure-scenario 34: instances are listed with their health': async ({ read }) => {
    const groups = await read<Group[]>('/applications/shop/serverGroups')
    const { instances } = groups.find(({ name }) => name === 'shop-main-v005') as Group
    for (const { id, name, healthState, launchTime, availabilityZone, health } of instances) {
      assert.deepEqual([name, healthState, availabilityZone], [id, 'Up', 'east-a'])
      assert.ok(Number.isInteger(launchTime))
      for (const { type, state } of health as JsonObject[])
        assert.ok(typeof type === 'string' && typeof state === 'string')
    }
  },
  'infrastructure-scenario 35: expanded server groups have further fields': async ({ read }) => {
    for (const group of await read<Group[]>('/applications/shop/serverGroups?expand=true')) {
      const expected = [group.account, group.name.split('-')[1], 'boolean']
      assert.deepEqual([group['accountName'], group['stack'], typeof group['disabled']], expected)
    }
  },
  'infrastructure-scenario 36: server groups are chosen by provider without regard to case':
    async ({ read }) => {
      assert.equal(
        (await read<Group[]>('/applications/shop/serverGroups?cloudProvider=LOCAL')).length,
        6,
      )
      assert.deepEqual(await read('/applications/shop/serverGroups?cloudProvider=other'), [])
    },
  'infrastructure-scenario 37: server groups are chosen by account and cluster': async ({
    read,
  }) => {
    for (const clusters of ['dev:shop-main', 'dev:shop-main,bad,prod:,:x,dev:absent']) {
      assert.equal(
        (await read<Group[]>(`/applications/shop/serverGroups?clusters=${clusters}`)).length,
        4,
      )
    }
  },
  'infrastructure-scenario 38: an empty choice of clusters finds nothing': async ({ read }) => {
    assert.deepEqual(await read('/applications/shop/serverGroups?clusters='), [])
  },
  'infrastructure-scenarios 39, 111: a caller sees no resources of accounts without READ': async ({
    read,
    ask,
  }) => {
    assert.ok(!Object.keys(await read('/securityGroups', 'bob')).includes('secret'))
    assert.ok(
      (await read<Group[]>('/applications/shop/serverGroups', 'bob')).every(
        ({ account }) => account !== 'secret',
      ),
    )
    assert.equal(
      (await ask('/loadBalancers/secret/east/shop-hidden?provider=local', 'bob'))[0],
      403,
    )
  },
  'infrastructure-scenario 40: a server group is read in full': async ({ read }) => {
    const group = await read<Group>('/applications/shop/serverGroups/dev/east/shop-main-v005')
    const { name, region, zones, loadBalancers, instances, insightActions } = group
    assert.deepEqual(
      [name, region, zones, instances.length],
      ['shop-main-v005', 'east', ['east-a'], 3],
    )
    assert.ok((loadBalancers as string[]).includes('shop-front') && Array.isArray(insightActions))
  },
  'infrastructure-scenario 41: a server group is read without its instances': async ({ read }) => {
    const path = '/applications/shop/serverGroups/dev/east/shop-main-v005?includeDetails=false'
    assert.deepEqual((await read<Group>(path)).instances, [])
  },
  'infrastructure-scenario 43: a server group of an unknown account is 404': async ({ ask }) => {
    const path = '/applications/shop/serverGroups/nope/east/shop-main-v005'
    // Of an account that the permission service does not know, others learn nothing.
    assert.deepEqual([(await ask(path, 'admin'))[0], (await ask(path))[0]], [404, 403])
  },
  'infrastructure-scenario 44: configured links are filled in': async ({ read }) => {
    const { insightActions } = await read('/applications/shop/serverGroups/dev/east/shop-main-v005')
    assert.deepEqual(insightActions, [
      { url: 'https://logs/shop/dev/east/shop-main-v005', label: 'Logs' },
    ])
  },
  'infrastructure-scenario 45: scaling activities are listed': async ({ read }) => {
    const path = `${cluster}/serverGroups/shop-main-v005/scalingActivities?provider=local&region=east`
    const activities = await read<JsonObject[]>(path)
    assert.equal(activities.length, 3)
    for (const { cause, description, statusCode, startTime, details } of activities) {
      assert.deepEqual(
        [typeof cause, typeof description, statusCode],
        ['string', 'string', 'Successful'],
      )
      assert.ok(Number.isInteger(startTime))
      assert.deepEqual(JSON.parse(String(details)), { 'Availability Zone': 'east-a' })
    }
  },
  'infrastructure-scenario 73: a target of an absent cluster is 404': async ({ ask }) => {
    assert.equal(
      (
        await ask('/applications/shop/clusters/dev/absent/local/east/serverGroups/target/current')
      )[0],
      404,
    )
  },
  'infrastructure-scenario 74: a target comes with its instances': async ({ read }) => {
    assert.equal(
      (await read<Group>(`${cluster}/local/east/serverGroups/target/current`)).instances.length,
      2,
    )
  },
  'infrastructure-scenario 75: an instance is read by its id': async ({ read }) => {
    const id = await someInstance(read)
    const { name, healthState, zone, serverGroup, health, insightActions } = await read(
      `/instances/dev/east/${id}`,
    )
    assert.deepEqual([name, healthState, zone, serverGroup], [id, 'Up', 'east-a', 'shop-main-v005'])
    assert.ok(Array.isArray(health) && Array.isArray(insightActions))
  },
  'infrastructure-scenario 77: an instance of an unknown account is 404': async ({ read, ask }) => {
    const path = `/instances/nope/east/${await someInstance(read)}`
    assert.deepEqual([(await ask(path, 'admin'))[0], (await ask(path))[0]], [404, 403])
  },
  'infrastructure-scenarios 78, 80: the console holds the output of the process': async ({
    read,
    ask,
  }) => {
    const id = await someInstance(read)
    const path = `/instances/dev/east/${id}/console?provider=local`
    const whole = await read(path)
    assert.match(String(whole['output']), new RegExp(`listening ${id}`))
    assert.deepEqual(Object.keys(whole), ['output'])

    const tail = await read(`${path}&tail=1`)
    const endOffset = Buffer.byteLength(String(whole['output']))
    assert.equal(
      tail['output'],
      String(whole['output'])
        .split(/(?<=\n)/)
        .at(-1),
    )
    assert.deepEqual([tail['nextOffset'], tail['endOffset']], [endOffset, endOffset])
    assert.equal((await read(`${path}&offset=0`))['output'], whole['output'])
    assert.equal((await read(`${path}&offset=${endOffset}`))['output'], '')
    for (const wrong of ['tail=-1', 'offset=x', 'tail=1&offset=1']) {
      assert.equal((await ask(`${path}&${wrong}`, 'admin'))[0], 400, wrong)
    }
  },
  'infrastructure-scenario 81: images are found with their accounts and regions': async ({
    read,
  }) => {
    const images = await read<JsonObject[]>('/images/find?provider=local&q=shop')
    assert.deepEqual(
      images.map(({ imageName }) => imageName),
      ['shop-1.0.0', 'shop-1.1.0'],
    )
    for (const { accounts, amis } of images) {
      assert.deepEqual([accounts, (amis as Record<string, string[]>)['east']?.length], [['dev'], 1])
    }
  },
  'infrastructure-scenario 82: images are found by region and pattern': async ({ read }) => {
    assert.deepEqual(await read('/images/find?provider=local&q=shop&region=north'), [])
    const images = await read<JsonObject[]>('/images/find?provider=local&q=shop-1.1*')
    assert.deepEqual(
      images.map(({ imageName }) => imageName),
      ['shop-1.1.0'],
    )
  },
  'infrastructure-scenario 85: an image is read by its id': async ({ read, ask }) => {
    assert.equal((await read<JsonObject[]>('/images/dev/east/shop:1.0.0?provider=local')).length, 1)
    assert.equal((await ask('/images/dev/east/none?provider=local'))[0], 404)
  },
  'infrastructure-scenario 86: versions of an image are its tags': async ({ read }) => {
    const tags = await read<string[]>('/images/tags?provider=local&account=dev&repository=shop')
    assert.deepEqual(sorted(tags), ['1.0.0', '1.1.0'])
  },
  'bakery-scenario 1, 19: options and the log of a real bake are read': async ({
    gateway,
    read,
    ask,
  }) => {
    const source = join(gateway.dataDir, 'packages', 'page')
    mkdirSync(source, { recursive: true })
    writeFileSync(join(source, 'fairlead-image.yml'), 'command: [sh, -c, "exit 0"]\n')
    const place = { cloudProviderType: 'local', region: 'east', account: 'dev' }
    await gateway.run('alice', 'shop', {
      type: 'bake',
      ...place,
      package: 'page',
      baseOs: 'directory',
      user: 'alice',
    })
    const [options] = (await read('/bakery/options')) as unknown as [JsonObject]
    const ids = (options['baseImages'] as JsonObject[]).map(({ id }) => id)
    assert.deepEqual(
      [options['cloudProvider'], ids],
      ['local', ['directory', 'node', 'python', 'go']],
    )
    assert.deepEqual(await read('/bakery/options/local'), options)
    assert.equal((await ask('/bakery/options/gce'))[0], 404)

    const [task] = (await read('/applications/shop/tasks?limit=1')) as unknown as [JsonObject]
    const status = (task['variables'] as JsonObject[]).find(({ key }) => key === 'status')?.[
      'value'
    ] as { id: string }
    const log = await read<string>(`/bakery/logs/east/${status.id}`)
    assert.match(
      log,
      /^<pre>[\s\S]*copy \. to \.[\s\S]*The image page:\S+ is stored[\s\S]*<\/pre>$/,
    )
    assert.equal((await ask('/bakery/logs/east/unknown'))[0], 404)
    const page = await gateway.ask('bob', `GET /bakery/logs/east/${status.id}`, undefined, {
      accept: 'text/html',
    })
    assert.deepEqual([page.status, page.text], [200, log.replaceAll('"', '&quot;')])
  },
  'accounts without READ are in no entity tag and no list of applications': async ({
    run,
    read,
    ask,
  }) => {
    for (const account of ['dev', 'secret']) {
      const entityRef = {
        entityType: 'servergroup',
        entityId: 'shop-x',
        application: 'shop',
        cloudProvider: 'local',
        account,
      }
      await run(account, 'east', 'upsertEntityTags', {
        entityRef,
        tags: [{ name: 'alert', value: `of ${account}` }],
      })
    }
    const tagged = async (user: string) =>
      (await read<{ id: string }[]>('/tags?application=shop', user)).map(({ id }) => id)
    const [id] = (await tagged('alice')).filter((each) => each.includes('secret')) as [string]
    assert.deepEqual([(await tagged('alice')).length, (await tagged('bob')).length], [2, 1])
    assert.deepEqual(
      [(await ask(`/tags/${id}`))[0], (await ask(`/tags/${id}`, 'bob'))[0]],
      [200, 403],
    )
    const shop = (await read<JsonObject[]>('/applications', 'bob')).find(
      ({ name }) => name === 'shop',
    )
    assert.deepEqual(sorted(String(shop?.['accounts']).split(',')), ['dev', 'prod'])
  },
  'infrastructure-scenarios 88, 90: an ended job is read and listed': async ({ run, read }) => {
    const { resultObjects } = await run('dev', 'east', 'runJob', {
      application: 'shop',
      command: 'exit 0',
    })
    const [id] = (resultObjects as JsonObject[])[0]!['deployedNames'] as [string]
    const job = await waitFor(async () => {
      const found = await read(`/applications/shop/jobs/dev/east/${id}`)
      return found['jobState'] === 'Succeeded' ? found : undefined
    }, 'the end of the job')
    assert.deepEqual(
      [job['account'], (job['completionDetails'] as JsonObject)['exitCode']],
      ['dev', 0],
    )
    assert.ok(
      Number(job['createdTime']) <= Number(job['completedTime']) &&
        Array.isArray(job['insightActions']),
    )
    assert.ok((await read<JsonObject[]>('/applications/shop/jobs')).some((one) => one['id'] === id))
    assert.deepEqual(await read('/applications/vault/jobs'), [])
  },
  'infrastructure-scenario 91: load balancers are grouped by account and region': async ({
    read,
  }) => {
    const item = (await read<JsonObject[]>('/loadBalancers?provider=local')).find(
      ({ name }) => name === 'shop-front',
    )
    assert.deepEqual(placeOfItem(item!), ['dev', 'east', 'shop-front', 'dev'])
  },
  'infrastructure-scenario 92: a load balancer is found by name': async ({ read }) => {
    assert.deepEqual(placeOfItem(await read('/loadBalancers/shop-front?provider=local')), [
      'dev',
      'east',
      'shop-front',
      'dev',
    ])
  },
  'infrastructure-scenario 93: an unknown load balancer is 404': async ({ ask }) => {
    assert.equal((await ask('/loadBalancers/none?provider=local'))[0], 404)
  },
  'infrastructure-scenario 94: the details of a load balancer are a list of one': async ({
    read,
  }) => {
    const details = await read<JsonObject[]>('/loadBalancers/dev/east/shop-front?provider=local')
    assert.deepEqual(
      [names(details), Array.isArray(details[0]?.['insightActions'])],
      [['shop-front'], true],
    )
  },
  'infrastructure-scenario 95: details of an unknown load balancer are empty': async ({
    read,
    ask,
  }) => {
    assert.deepEqual(await read('/loadBalancers/dev/east/none?provider=local'), [])
    const unknown = '/loadBalancers/nope/east/shop-front?provider=local'
    assert.deepEqual([await read(unknown, 'admin'), (await ask(unknown))[0]], [[], 403])
  },
  'infrastructure-scenarios 97, 99: load balancers of an application are sorted': async ({
    read,
  }) => {
    const own = await read<JsonObject[]>('/applications/shop/loadBalancers')
    assert.deepEqual(names(own), ['common-lb', 'shop-a', 'Shop-b', 'shop-front', 'shop-hidden'])
    for (const { account, region, cloudProvider, serverGroups } of own) {
      assert.deepEqual(
        [typeof account, region, cloudProvider, Array.isArray(serverGroups)],
        ['string', 'east', 'local', true],
      )
    }
    const ofBob = await read<JsonObject[]>('/applications/shop/loadBalancers', 'bob')
    assert.ok(ofBob.every(({ account }) => account !== 'secret'))
  },
  'infrastructure-scenario 98: a load balancer lists the instances behind it': async ({ read }) => {
    const front = (await read<JsonObject[]>('/applications/shop/loadBalancers')).find(
      ({ name }) => name === 'shop-front',
    )
    const [group] = front!['serverGroups'] as Group[]
    assert.deepEqual(
      [group!.name, group!['isDisabled'], group!.instances.length],
      ['shop-main-v005', false, 3],
    )
    for (const { id, health } of group!.instances)
      assert.deepEqual([typeof id, (health as JsonObject)['state']], ['string', 'InService'])
  },
  'infrastructure-scenarios 100, 101: a short query finds nothing unless it is allowed': async ({
    read,
  }) => {
    assert.deepEqual(await read('/search?q=sh&type=serverGroups'), [])
    assert.equal(
      (await read<unknown[]>('/search?q=sh&type=serverGroups&allowShortQuery=true')).length,
      1,
    )
  },
  'infrastructure-scenarios 102, 107: a search finds server groups in any case': async ({
    read,
  }) => {
    for (const query of ['shop-main', 'SHOP-MAIN']) {
      const [set] = await read<JsonObject[]>(`/search?q=${query}&type=serverGroups`)
      assert.deepEqual(
        [set!['query'], set!['pageNumber'], set!['pageSize'], set!['totalMatches']],
        [query, 1, 10_000, 4],
      )
      for (const hit of set!['results'] as JsonObject[]) {
        assert.deepEqual(
          [hit['type'], hit['application'], hit['cluster'], hit['account']],
          ['serverGroups', 'shop', 'shop-main', 'dev'],
        )
        assert.match(
          String(hit['url']),
          /^\/applications\/shop\/clusters\/dev\/shop-main\/local\/serverGroups\/shop-main-v00\d\?region=/,
        )
      }
    }
  },
  'infrastructure-scenario 103: a search is read by pages': async ({ read }) => {
    const page = async (number: number) => {
      const [set] = await read<JsonObject[]>(
        `/search?q=shop-main&type=serverGroups&pageSize=3&page=${number}`,
      )
      return [(set!['results'] as unknown[]).length, set!['totalMatches']]
    }
    assert.deepEqual(
      [await page(2), await page(3)],
      [
        [1, 4],
        [0, 4],
      ],
    )
  },
  'infrastructure-scenario 106: a search hides server groups of accounts without READ': async ({
    read,
  }) => {
    const [set] = await read<JsonObject[]>('/search?q=shop-key&type=serverGroups', 'bob')
    assert.equal(set!['totalMatches'], 0)
  },
  'infrastructure-scenarios 110, 112: security groups are listed by account and region': async ({
    read,
  }) => {
    const all =
      await read<Record<string, Record<string, Record<string, JsonObject[]>>>>('/securityGroups')
    assert.deepEqual(names(all['dev']!['local']!['east']!), ['shop-bastion', 'shop-fw'])
    const own = await read<Record<string, JsonObject[]>>('/securityGroups/dev?provider=local')
    assert.deepEqual(names(own['east']!), ['shop-bastion', 'shop-fw'])
  },
  'infrastructure-scenarios 113, 115: a security group is read by name and by id': async ({
    read,
    ask,
  }) => {
    const group = await read('/securityGroups/dev/east/shop-fw?provider=local')
    const [byAddress, byGroup] = group['inboundRules'] as [JsonObject, JsonObject]
    assert.deepEqual([group['accountName'], group['region']], ['dev', 'east'])
    const portRanges = [{ startPort: 8080, endPort: 8080 }]
    assert.deepEqual(byAddress, {
      protocol: 'tcp',
      portRanges,
      range: { ip: '10.0.0.0', cidr: '/8' },
    })
    const bastion = await read('/securityGroups/dev/east/shop-bastion?provider=local')
    assert.equal((byGroup['securityGroup'] as JsonObject)['id'], bastion['id'])
    assert.equal((await read(`/securityGroups?id=${String(group['id'])}`))['name'], 'shop-fw')
    const [status, body] = await ask('/securityGroups?id=fw-999')
    assert.deepEqual([status, /fw-999/.test(String(body['message']))], [404, true])
  },
  'infrastructure-scenarios 117, 118: networks are the interfaces of the machine': async ({
    read,
  }) => {
    const networks = (await read<Record<string, JsonObject[]>>('/networks'))[
      'local'
    ] as JsonObject[]
    assert.ok(
      networks.some(
        ({ name, account, region }) => name === 'lo' && account === 'dev' && region === 'east',
      ),
    )
    assert.deepEqual(await read('/networks/local'), networks)
    assert.deepEqual(await read('/networks/unknown'), [])
  },
  'infrastructure-scenarios 119, 120: subnets and networks are listed': async ({ read }) => {
    const subnets = await read<JsonObject[]>('/subnets/local')
    assert.ok(
      subnets.some(
        ({ id, type, purpose }) => typeof id === 'string' && type === 'local' && purpose === 'lo',
      ),
    )
    assert.deepEqual(await read('/subnets/unknown'), [])
    for (const path of ['/subnets', '/vpcs'])
      assert.ok(
        (await read<JsonObject[]>(path)).some(({ account }) => account === 'dev'),
        path,
      )
  },
  'infrastructure-scenario 121: instance types are named limits': async ({ read }) => {
    assert.ok(names(await read<JsonObject[]>('/instanceTypes')).includes('small'))
  },
  'infrastructure-scenarios 122, 123: snapshots are read, the newest first': async ({
    run,
    read,
  }) => {
    for (let count = 0; count < 3; count++)
      await run('dev', 'east', 'saveSnapshot', { applicationName: 'shop' })
    const { id, application, account, timestamp, infrastructure } = await read(
      '/applications/shop/snapshots/dev',
    )
    assert.deepEqual(
      [id, application, account, Number.isInteger(timestamp)],
      ['shop-dev', 'shop', 'dev', true],
    )
    assert.ok(
      Object.keys((infrastructure as JsonObject)['serverGroups'] as JsonObject).includes(
        'east:shop-main-v005',
      ),
    )
    const history = await read<JsonObject[]>('/applications/shop/snapshots/dev/history?limit=2')
    assert.deepEqual(
      [history.length, Number(history[0]!['timestamp']) > Number(history[1]!['timestamp'])],
      [2, true],
    )
  },
  'infrastructure-scenario 125: a snapshot that was never saved is 404': async ({ ask }) => {
    assert.equal((await ask('/applications/shop/snapshots/prod'))[0], 404)
  },
}

/** They change the fixture, so they come last. */
const changes: Record<string, (fixture: Fixture) => Promise<void>> = {
  'a detached instance runs on without its server group and load balancer': async ({
    run,
    read,
    ask,
  }) => {
    const name = await deployOne(run, 'off', { loadBalancers: ['shop-front'] })
    const [{ id }] = (await awaitUp(read, name)).instances as [{ id: string }]
    const before = await read(`/instances/dev/east/${id}`)
    assert.deepEqual(before['loadBalancers'], ['shop-front'])
    const target = {
      serverGroupName: name,
      instanceIds: [id],
      decrementDesiredCapacity: true,
      adjustMinIfNecessary: true,
    }
    await run('dev', 'east', 'detachInstances', target)
    assert.deepEqual(
      (await read<Group>(`/applications/shop/serverGroups/dev/east/${name}`)).instances,
      [],
    )
    const after = await read(`/instances/dev/east/${id}`)
    assert.deepEqual(
      [after['serverGroup'], after['loadBalancers'], after['healthState']],
      [undefined, [], 'Up'],
    )
    assert.equal(
      after['application'],
      'shop',
      'its readers and its output are still those of the application',
    )
    assert.deepEqual(
      (after['process'] as JsonObject)['pid'],
      (before['process'] as JsonObject)['pid'],
    )
    const front = (await read<JsonObject[]>('/applications/shop/loadBalancers')).find(
      (one) => one['name'] === 'shop-front',
    )
    assert.ok(!(front!['instances'] as string[]).includes(id))
    await run('dev', 'east', 'terminateInstances', { instanceIds: [id] })
    await waitFor(
      async () => (await ask(`/instances/dev/east/${id}`))[0] === 404 || undefined,
      'the end of the instance',
    )
  },
  'a restored snapshot brings server groups back with their processes': async ({
    run,
    read,
    ask,
  }) => {
    const name = await deployOne(run, 'back')
    await awaitUp(read, name)
    await run('dev', 'east', 'saveSnapshot', { applicationName: 'shop' })
    await run('dev', 'east', 'destroyServerGroup', { serverGroupName: name })
    const path = `/applications/shop/serverGroups/dev/east/${name}`
    await waitFor(
      async () => (await ask(path))[0] === 404 || undefined,
      'the end of the server group',
    )
    await run('dev', 'east', 'restoreSnapshot', { applicationName: 'shop' })
    const { instances, capacity } = await awaitUp(read, name)
    assert.deepEqual([instances.length, (capacity as JsonObject)['desired']], [1, 1])
    const { output } = await read(`/instances/dev/east/${instances[0]!.id}/console?provider=local`)
    assert.match(String(output), /listening/)
  },
}

/** The engine runs in a thread of its own, which gets what the configuration allows. */
async function checkWebhook({ gateway }: Fixture): Promise<void> {
  const called: (string | undefined)[] = []
  const server = createServer((incoming, response) => {
    called.push(incoming.url)
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await gateway.run('alice', 'shop', {
    type: 'webhook',
    method: 'POST',
    url: `http://127.0.0.1:${port}/hook`,
  })
  server.close()
  assert.deepEqual(called, ['/hook'])
}

async function deployOne(
  run: Fixture['run'],
  stack: string,
  more: JsonObject = {},
): Promise<string> {
  const capacity = { min: 1, max: 1, desired: 1 }
  const group = {
    application: 'shop',
    stack,
    sequence: 0,
    imageId: 'shop:1.0.0',
    capacity,
    ...more,
  }
  await run('dev', 'east', 'createServerGroup', group)
  return `shop-${stack}-v000`
}

async function awaitUp(read: Fixture['read'], name: string): Promise<Group> {
  return waitFor(async () => {
    const group = await read<Group>(`/applications/shop/serverGroups/dev/east/${name}`)
    return group.instanceCounts.up === 1 ? group : undefined
  }, `the instance of ${name}`)
}

async function someInstance(read: Fixture['read']): Promise<string> {
  const { instances } = await read<Group>('/applications/shop/serverGroups/dev/east/shop-main-v005')
  return instances[0]!.id
}

function placeOfItem({ accounts }: JsonObject): unknown[] {
  const [account] = accounts as (JsonObject & {
    regions: (JsonObject & { loadBalancers: JsonObject[] })[]
  })[]
  const [region] = account!.regions
  return [
    account!['name'],
    region!['name'],
    region!.loadBalancers[0]!['name'],
    region!.loadBalancers[0]!['account'],
  ]
}

type TargetRow = readonly [scope: string, target: string, query: string, found: string | undefined]

/** Undefined: 404. */
const targets: (readonly [scenario: number, ...row: TargetRow])[] = [
  [47, 'east', 'current', '', 'v006'],
  [48, 'east', 'newest', '', 'v006'],
  [49, 'east', 'NEWEST', '', 'v006'],
  [50, 'east', 'current_asg_dynamic', '', 'v006'],
  [51, 'east', 'previous', '', 'v005'],
  [52, 'east', 'ancestor_asg_dynamic', '', 'v005'],
  [53, 'east', 'oldest', '', 'v004'],
  [54, 'east', 'oldest_asg_dynamic', '?onlyEnabled=true', 'v005'],
  [55, 'east', 'largest', '', 'v005'],
  [56, 'east', 'fail', '', undefined],
  [57, 'east-a', 'current', '', 'v005'],
  [58, 'east-a', 'previous', '', 'v004'],
  [59, 'east-a', 'previous', '?onlyEnabled=true', undefined],
  [60, 'east-a', 'oldest', '?onlyEnabled=true', undefined],
  [61, 'east-a', 'oldest', '?onlyEnabled=true&validateOldest=false', 'v005'],
  [62, 'east-b', 'fail', '?onlyEnabled=true', 'v006'],
  [63, 'west', 'current', '', 'v002'],
  [64, 'west', 'ancestor', '', undefined],
  [65, 'west', 'oldest', '', undefined],
  [66, 'west', 'oldest', '?validateOldest=false', 'v002'],
  [67, 'west', 'fail', '', 'v002'],
  [68, 'nowhere', 'current', '', undefined],
  [69, 'nowhere', 'oldest', '?validateOldest=false', undefined],
  [70, 'east', 'biggest', '', undefined],
]

function describeTarget([scope, target, query, found]: TargetRow): string {
  return `${target}${query} in ${scope} is ${found ?? 'missing'}`
}

async function checkTarget(
  { ask }: Fixture,
  [scope, target, query, found]: TargetRow,
): Promise<void> {
  const [status, body] = await ask(
    `${cluster}/local/${scope}/serverGroups/target/${target}${query}`,
  )
  assert.deepEqual(
    [status, body['name']],
    found === undefined ? [404, undefined] : [200, `shop-main-${found}`],
  )
  if (found === undefined)
    assert.ok(
      String(body['message']).includes(`${target} in local/dev/${scope}/shop-main`),
      String(body['message']),
    )
}
