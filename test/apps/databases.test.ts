/** Databases beside an app: PostgreSQL, Redis and MariaDB of this machine, through deployments, kills, backups and removal. */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { fieldOf, type JsonObject, objectsOf } from '../../packages/base/json/values.ts'
import { runCli } from '../support/cli.ts'
import { pushProgramsImage, startPodman } from '../support/container-runtime.ts'
import { needs } from '../support/debian.ts'
import { type Deployments, startDeployments, startTraffic } from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'
import { startOciRegistry } from '../support/oci-registry.ts'
import { mountSmallDisk } from '../support/small-disk.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { runInTerminal } from '../support/terminal.ts'
import { startUserProxy } from '../support/user-proxy.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

const run = promisify(execFile)

let fairlead: Deployments

const databases =
  '  db: { type: postgresql, keep: 2 }\n  cache: { type: redis, persistence: always }\n  legacy: mariadb'

function fileWith(attach = databases): string {
  return `
application: shop
account: dev
services:
  web: { health: { path: /health, interval: 1s }, hosts: [shop.example] }
${attach === '' ? '' : `attach:\n${attach}`}`
}

async function deploy(version: string, file = fileWith()): Promise<JsonObject> {
  const { status, body } = await fairlead.ask('POST', '/apps/shop/deployments', {
    file,
    image: `shop:${version}`,
  })
  assert.equal(status, 202, JSON.stringify(body))
  await ends(body)
  return body as JsonObject
}

async function ends(started: unknown, expected = 'SUCCEEDED'): Promise<readonly JsonObject[]> {
  const id = String(fieldOf(started, 'id'))
  await waitUntil(
    async () => (await fairlead.read(`/pipelines/${id}`))['endTime'] != null,
    `the end of ${id}`,
  )
  const { stages, status } = await fairlead.read<{ stages: JsonObject[]; status: string }>(
    `/pipelines/${id}`,
  )
  const failed = stages.filter((stage) => stage['status'] === 'TERMINAL')
  const reasons = failed.map(({ name, context }) => [name, fieldOf(context, 'exception')])
  assert.equal(status, expected, JSON.stringify(reasons))
  return stages
}

async function database(name: string): Promise<JsonObject> {
  const { databases: found } = await fairlead.read('/apps/shop/databases')
  return objectsOf(found).find((each) => each['name'] === name) ?? {}
}

/** The process that an instance of a cluster is, with the server below it. */
async function processOf(cluster: string): Promise<number> {
  return waitFor(async () => {
    const groups = await fairlead.groups()
    const group = groups.find((each) => each['cluster'] === cluster && !each.isDisabled)
    const id = group?.instances[0]?.id
    return fairlead.processes().find(({ instanceId }) => instanceId === id)?.pid
  }, `a process of ${cluster}`)
}

test('databases of an app', async (t) => {
  for (const program of ['pg_ctlcluster', 'redis-server', 'mariadbd'] as const)
    if (needs(t, program) === undefined) return
  const home = createFolder('databases')
  t.after(() => removeFolder(home))
  const front = { http: await freePort(), https: await freePort() }
  fairlead = await startDeployments(t, { isProcess: true, front })
  const env = { HOME: home, FAIRLEAD_TOKEN: 'alice', FAIRLEAD_APP: 'shop' }
  const cli = async (...args: string[]) =>
    runCli(args, { env: { ...env, FAIRLEAD_URL: await startUserProxy(t, fairlead.url()) } })
  const variables: Record<string, string> = {}
  const readVariables = async () => {
    const place = join(home, 'variables')
    const { code, stderr } = await cli('exec', 'web', '--', 'sh', '-c', `env > ${place}`)
    assert.equal(code, 0, stderr)
    for (const line of readFileSync(place, 'utf8').split('\n')) {
      const [, name, value] = /^((?:PG\w+|\w+_URL))=(.*)$/.exec(line) ?? []
      if (name !== undefined && value !== undefined) variables[name] = value
    }
  }
  const sql = async (text: string, given = variables) => {
    const { stdout } = await run('psql', ['-XAtqc', text], { env: { PATH, ...given } })
    return stdout.trim()
  }
  const withCache = async <T>(use: (client: Redis) => Promise<T>, given = variables) => {
    const client = new Redis(given['REDIS_URL'] ?? '', { maxRetriesPerRequest: null })
    client.on('error', () => {})
    try {
      return await use(client)
    } finally {
      client.disconnect()
    }
  }

  await t.test('a deployment starts databases, and services find them', async () => {
    const before = await fairlead.ask('POST', '/apps/shop/plan', { file: fileWith() })
    assert.equal(before.status, 200, JSON.stringify(before.body))
    await deploy('1.0.0')
    await readVariables()
    assert.match(
      variables['DATABASE_URL'] ?? '',
      /^postgresql:\/\/shop:[\w-]{43}@127\.0\.0\.1:\d+\/shop$/,
    )
    assert.match(variables['LEGACY_URL'] ?? '', /^mysql:\/\/shop:[\w-]{43}@127\.0\.0\.1:\d+\/shop$/)
    assert.equal(await sql('CREATE TABLE written (number int PRIMARY KEY)'), '')
    const { stdout } = await run('psql', [variables['DATABASE_URL'] ?? '', '-XAtqc', 'SELECT 1'])
    assert.equal(stdout.trim(), '1')
  })

  await t.test('app-scenario 117: no other address of the machine reaches them', async () => {
    const others = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')
    for (const { address } of others) {
      const outcome = await new Promise((resolve) => {
        const socket = connect(Number(variables['PGPORT']), address)
        socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
        socket.once('connect', () => resolve('connected'))
      })
      assert.equal(outcome, 'ECONNREFUSED', address)
    }
    const listening = execFileSync('ss', ['-Hltn'], { encoding: 'utf8' })
    const own = fairlead.ports
    const open = listening.split('\n').flatMap((line) => line.trim().split(/\s+/)[3] ?? [])
    const wide = open.filter((address) => {
      const port = Number(address.slice(address.lastIndexOf(':') + 1))
      return port >= own.first && port <= own.last && !address.startsWith('127.0.0.1:')
    })
    assert.deepEqual(wide, [])
  })

  await t.test(
    'app-scenario 116: acknowledged writes outlive ten deployments and kills',
    async () => {
      const acknowledged = { sql: [] as number[], redis: [] as number[] }
      let isOver = false
      const write = async (client: Redis) => {
        for (let number = 1; !isOver; number++) {
          await Promise.all([
            sql(`INSERT INTO written VALUES (${number})`).then(
              () => acknowledged.sql.push(number),
              () => {},
            ),
            client.sadd('written', number).then(
              () => acknowledged.redis.push(number),
              () => {},
            ),
            // Each is a process, and what is deployed meanwhile needs the processor, too.
            sleep(100),
          ])
        }
      }
      const writing = withCache(write)
      const groups = async () =>
        (await fairlead.groups())
          .filter(({ labels }) => fieldOf(labels, 'fairlead.database') !== undefined)
          .map(({ name }) => name)
          .sort()
      const before = await groups()
      assert.equal(before.length, 3)
      for (let round = 1; round <= 10; round++) {
        const deployment = deploy(round % 2 === 0 ? '1.0.0' : '1.1.0')
        if (round % 3 === 0) process.kill(await processOf('shop-db'), 'SIGKILL')
        if (round % 3 === 1) process.kill(await processOf('shop-cache'), 'SIGKILL')
        if (round === 5) {
          const [postgres = 0] = childrenOf(await processOf('shop-db'))
          process.kill(postgres, 'SIGKILL')
        }
        await deployment
        if (round === 7) await fairlead.restart()
        const [rows, members] = [acknowledged.sql.length, acknowledged.redis.length]
        await waitUntil(
          () => acknowledged.sql.length > rows && acknowledged.redis.length > members,
          `writes after deployment ${round}`,
        )
      }
      isOver = true
      await writing
      await waitUntil(async () => (await sql('SELECT 1').catch(() => '')) === '1', 'PostgreSQL')
      const rows = new Set((await sql('SELECT number FROM written')).split('\n').map(Number))
      const found = await withCache((client) => client.smembers('written'))
      const members = new Set(found.map(Number))
      assert.deepEqual(
        acknowledged.sql.filter((number) => !rows.has(number)),
        [],
      )
      assert.deepEqual(
        acknowledged.redis.filter((number) => !members.has(number)),
        [],
      )
      // No deployment has replaced a database.
      assert.deepEqual(await groups(), before)
    },
  )

  await t.test('app-scenario 118: no output, log or process list has a password', async () => {
    const password = variables['PGPASSWORD'] ?? ''
    assert.equal(password.length, 43)
    const outputs = [
      await cli('env'),
      await cli('db', 'list'),
      await cli('logs', 'db'),
      await cli('status'),
      await fairlead.read('/applications/shop/serverGroups'),
      await fairlead.read('/applications/shop/pipelineConfigs'),
    ]
    const processes = execFileSync('ps', ['axww', '-o', 'args'], { encoding: 'utf8' })
    assert.ok(!JSON.stringify([outputs, processes]).includes(password))
    assert.match(
      (outputs[0] as { stdout: string }).stdout,
      /^DATABASE_URL +postgresql:\/\/shop:\*{6}@/m,
    )
  })

  await t.test('app-scenario 119: a backup brings back what was dropped', async () => {
    const rows = await sql('SELECT count(*) FROM written')
    const legacy = (statement: string) =>
      cli('db', 'connect', 'legacy', '--', '--batch', '--skip-column-names', '-e', statement)
    await legacy('CREATE TABLE t (n int); INSERT INTO t VALUES (7)')
    for (const name of ['db', 'cache', 'legacy']) {
      const { code, stderr, stdout } = await cli('db', 'backup', name)
      assert.equal(code, 0, stderr + stdout)
    }
    await sql('DROP TABLE written')
    await withCache((client) => client.flushall())
    await legacy('DROP TABLE t')
    const refused = await cli('db', 'restore', 'db', '--yes')
    assert.equal(refused.code, 7, refused.stderr)
    const unknown = await cli('db', 'restore', 'db', '--at', '2020', '--confirm', 'shop')
    assert.match(unknown.stderr, /db has no backup "2020"\. Choose one of \d{4}.*\.dump/)
    for (const name of ['db', 'cache', 'legacy']) {
      const { code, stderr, stdout } = await cli('db', 'restore', name, '--confirm', 'shop')
      assert.equal(code, 0, stderr + stdout)
    }
    assert.equal(await sql('SELECT count(*) FROM written'), rows)
    assert.ok((await withCache((client) => client.scard('written'))) > 10)
    assert.equal((await legacy('SELECT n FROM t')).stdout, '7\n')
  })

  await t.test('app-scenario 119: a broken dump replaces nothing', async () => {
    const folder = backupsOf('shop-db')
    const good = readdirSync(folder).filter((name) => name.endsWith('.dump'))
    writeFileSync(join(folder, 'broken.dump'), 'not a dump')
    const { status, body } = await fairlead.ask('POST', '/apps/shop/databases/db/restore', {
      from: 'broken.dump',
      confirm: 'shop',
    })
    assert.equal(status, 202)
    await ends(body, 'TERMINAL')
    const rows = await sql('SELECT count(*) FROM written')
    // The table that a backup cannot read, as its owner lost the right.
    await sql('REVOKE SELECT ON written FROM shop')
    const backup = await fairlead.ask('POST', '/apps/shop/databases/db/backups', {})
    await ends(backup.body, 'TERMINAL')
    await sql('GRANT SELECT ON written TO shop')
    assert.equal(await sql('SELECT count(*) FROM written'), rows)
    const left = readdirSync(folder).filter((name) => name.endsWith('.dump'))
    assert.deepEqual(left.sort(), [...good, 'broken.dump'].sort())
  })

  await t.test(
    'app-scenario 125: a full disk refuses deployments, and the database runs',
    async (subtest) => {
      const disk = mountSmallDisk(subtest, '1m', join(backupsOf('shop-db'), '..'))
      if (disk === undefined) return
      const plan = () => fairlead.ask('POST', '/apps/shop/plan', { file: fileWith() })
      const fill = (bytes: number) => writeFileSync(join(disk, 'rest'), Buffer.alloc(bytes))
      fill(900_000)
      const warned = await plan()
      assert.match(JSON.stringify(warned.body), /disk of the database db is 8\d % full/)
      fill(1_020_000)
      const { status, body } = await fairlead.ask('POST', '/apps/shop/deployments', {
        file: fileWith(),
        image: 'shop:1.0.0',
      })
      assert.equal(status, 507, JSON.stringify(body))
      assert.match(JSON.stringify(body), /disk of the database db is 9\d % full\..*deploy again/)
      assert.equal(await sql('SELECT 1'), '1')
    },
  )

  await t.test(
    'app-scenario 120: an upgrade keeps all rows, and a failed one changes nothing',
    async () => {
      const rows = await sql('SELECT count(*), sum(number) FROM written')
      const major = (await sql('SHOW server_version_num')).slice(0, -4)
      const folders = () =>
        readdirSync(join(backupsOf('shop-db'), '../../data/0')).filter((name) =>
          name.startsWith('data-'),
        )
      const before = folders()
      const upgrade = (to: string) => cli('db', 'upgrade', 'db', '--to', to, '--yes')
      const refused = await upgrade('99')
      assert.equal(refused.code, 3, refused.stderr)
      assert.match(refused.stderr, /apt-get install postgresql-99/)
      // Dumps have its rows before those of the table that its check reads: they cannot be loaded.
      await sql(`CREATE TABLE zone (name text); INSERT INTO zone VALUES ('east');
      CREATE FUNCTION known() RETURNS bool LANGUAGE sql AS 'SELECT count(*) > 0 FROM public.zone';
      CREATE TABLE broken (number int CHECK (known())); INSERT INTO broken VALUES (1)`)
      const failed = await upgrade(major)
      assert.equal(failed.code, 1, failed.stderr)
      const answers = () => sql('SELECT count(*), sum(number) FROM written').catch(String)
      await waitUntil(async () => (await answers()) === rows, 'the former rows')
      assert.equal(await sql('SELECT count(*) FROM broken'), '1')
      assert.deepEqual(folders(), before)
      await sql('DROP TABLE broken; DROP FUNCTION known; DROP TABLE zone')
      const { code, stderr, stdout } = await upgrade(major)
      assert.equal(code, 0, stderr + stdout)
      assert.equal(await sql('SELECT count(*), sum(number) FROM written'), rows)
      assert.notDeepEqual(folders(), before)
      assert.equal((await sql('SHOW server_version_num')).slice(0, -4), major)
    },
  )

  await t.test('app-scenario 122: a second process does not get the volume', async () => {
    const [server = 0] = childrenOf(await processOf('shop-db'))
    const lock = join(backupsOf('shop-db'), '../../data/0/lock')
    assert.throws(() => execFileSync('flock', ['--nonblock', lock, 'true']))
    assert.ok(readFileSync(`/proc/${server}/status`, 'utf8').includes('Name:\tpostgres'))
  })

  await t.test('app-scenario 123: connect is psql, with its exit code', async () => {
    const url = await startUserProxy(t, fairlead.url())
    const terminal = runInTerminal(['db', 'connect', 'db'], { env: { ...env, FAIRLEAD_URL: url } })
    await terminal.read(/shop=>/)
    terminal.type('SELECT 40 + 2 AS answer;\n')
    await terminal.read(/42/)
    terminal.type('\\q\n')
    assert.equal(await terminal.ended, 0)
    const failed = await cli('db', 'connect', 'db', '--', '-Xc', 'SELECT nothing')
    assert.equal(failed.code, 1)
  })

  await t.test('a changed setting restarts the database, and its data stay', async () => {
    const rows = await sql('SELECT count(*) FROM written')
    await deploy('1.0.0', fileWith(databases.replace('keep: 2', 'keep: 3')))
    assert.equal(await sql('SELECT count(*) FROM written'), rows)
    assert.deepEqual(await fairlead.cluster('shop-db'), ['(shop-db-v000)', 'shop-db-v001'])
  })

  await t.test(
    'services have a rotated password, and databases refuse the former one',
    async () => {
      const legacy = async (given = variables) => {
        const { port, username, password } = new URL(given['LEGACY_URL'] ?? '')
        const place = ['--no-defaults', '-h', '127.0.0.1', '-P', port, '-u', username]
        const env = { PATH, MYSQL_PWD: password }
        return (await run('mariadb', [...place, '-Ne', 'SELECT n FROM t', 'shop'], { env })).stdout
      }
      const rows = await sql('SELECT count(*) FROM written')
      const members = await withCache((client) => client.scard('written'))
      const first = { ...variables }
      const started = await fairlead.ask('POST', '/apps/shop/databases/db/rotation', {})
      assert.equal(started.status, 202, JSON.stringify(started.body))
      await fairlead.ask('PUT', `/pipelines/${fieldOf(started.body, 'id')}/cancel`)
      await ends(started.body, 'CANCELED')
      assert.equal(await sql('SELECT count(*) FROM written'), rows)

      const traffic = startTraffic(front.http, 'shop.example')
      for (const user of ['shop_b', 'shop']) {
        const former = { ...variables }
        for (const name of ['db', 'cache', 'legacy']) {
          const { code, stderr, stdout } = await cli('db', 'rotate', name, '--yes')
          assert.equal(code, 0, stderr + stdout)
        }
        await readVariables()
        assert.equal(variables['PGUSER'], user)
        assert.equal(new URL(variables['LEGACY_URL'] ?? '').username, user)
        await assert.rejects(sql('SELECT 1', former), /password authentication failed/)
        await assert.rejects(legacy(former), /Access denied/)
        await assert.rejects(
          withCache((client) => client.ping(), former),
          /WRONGPASS|NOAUTH/,
        )
        assert.equal(await sql('SELECT count(*) FROM written'), rows)
        assert.equal(await legacy(), '7\n')
        assert.equal(await withCache((client) => client.scard('written')), members)
        await sql(`CREATE TABLE of_${user} ()`)
      }
      assert.notEqual(variables['PGPASSWORD'], first['PGPASSWORD'])
      const owners = await sql(
        "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'",
      )
      assert.equal(owners, 'shop')

      const rollback = await fairlead.ask('POST', '/apps/shop/rollback', { to: '1.1.0' })
      assert.equal(rollback.status, 200, JSON.stringify(rollback.body))
      await ends(rollback.body)
      await readVariables()
      assert.equal(await sql('SELECT count(*) FROM written'), rows)
      const lost = (await traffic.stop()).filter(({ status }) => status !== 200)
      assert.deepEqual(lost, [])

      const former = { ...variables }
      const killed = await fairlead.ask('POST', '/apps/shop/databases/cache/rotation', {})
      assert.equal(killed.status, 202, JSON.stringify(killed.body))
      await fairlead.restart()
      await ends(killed.body)
      await readVariables()
      await assert.rejects(
        withCache((client) => client.ping(), former),
        /WRONGPASS|NOAUTH/,
      )
      assert.equal(await withCache((client) => client.scard('written')), members)
    },
  )

  await t.test('a database that leaves the file runs on, until it is removed', async () => {
    const kept = '  cache: { type: redis, persistence: always }'
    const inFile = await cli('db', 'remove', 'legacy', '--confirm', 'legacy')
    assert.equal(inFile.code, 3)
    assert.match(inFile.stderr, /Remove it from attach, deploy/)
    const run = await deploy('1.1.0', fileWith(kept))
    assert.match(JSON.stringify(run['notes']), /fairlead db remove legacy/)
    assert.equal((await database('legacy'))['state'], 'ready')
    const pipelines = await fairlead.read<JsonObject[]>('/applications/shop/pipelineConfigs')
    assert.ok(pipelines.some(({ name }) => name === 'backup legacy production'))

    const untyped = await fairlead.ask('POST', '/apps/shop/databases/legacy/removal', {})
    assert.equal(untyped.status, 400)
    assert.equal((await cli('db', 'remove', 'legacy', '--yes')).code, 7)
    const { code, stderr, stdout } = await cli('db', 'remove', 'legacy', '--confirm', 'legacy')
    assert.equal(code, 0, stderr + stdout)
    assert.deepEqual(await database('legacy'), {})
    const folder = backupsOf('shop-legacy')
    await waitUntil(() => !readdirSync(folder).includes('.remove'), 'the removal')
    assert.equal(readdirSync(folder).filter((name) => name.endsWith('.sql')).length, 1)
    assert.deepEqual(
      readdirSync(join(folder, '../../data/0')).filter((name) => name.startsWith('data-')),
      [],
    )
  })

  await t.test(
    'app-scenario 121: a deleted app leaves volumes, which a new one finds',
    async () => {
      const rows = await sql('SELECT count(*) FROM written')
      const { body } = await fairlead.ask('DELETE', '/apps/shop')
      await fairlead.ends(String(fieldOf(body, 'task')))
      await waitUntil(
        () => fairlead.processes().length === 0,
        () => JSON.stringify(fairlead.processes()),
      )
      assert.ok(readdirSync(backupsOf('shop-db')).some((name) => name.endsWith('.dump')))
      await deploy('1.0.0')
      const place = join(home, 'again')
      await cli('exec', 'web', '--', 'sh', '-c', `env > ${place}`)
      const url = /^DATABASE_URL=(.*)$/m.exec(readFileSync(place, 'utf8'))?.[1] ?? ''
      const counted = await run('psql', [url, '-XAtqc', 'SELECT count(*) FROM written'])
      assert.equal(counted.stdout.trim(), rows)
    },
  )

  await t.test('a version that is not installed is named with its package', async () => {
    const file = fileWith('  db: { type: postgresql, version: "9" }')
    const { status, body } = await fairlead.ask('POST', '/apps/shop/plan', { file })
    assert.equal(status, 400)
    assert.match(String(fieldOf(body, 'message')), /attach\.db: .*apt-get install postgresql-9/)
  })
})

test('a database in a container', async (t) => {
  if (needs(t, 'redis-server') === undefined) return
  const registry = await startOciRegistry(t)
  const runtime = startPodman(t, registry)
  if (runtime === undefined) return
  const words =
    'sh cat cmp cp date flock grep head id ln ls mkdir mv rm sed setpriv sleep sort sync tail tr wc xargs'
  const programs = [...words.split(' '), 'redis-server', 'redis-cli', 'redis-check-rdb']
  const imageOf = (tag: string) => pushProgramsImage(registry, 'db/redis', { tag, programs })
  const image = await imageOf('1')
  const front = { http: await freePort(), https: await freePort() }
  fairlead = await startDeployments(t, {
    hasThread: true,
    front,
    containerRuntime: runtime.path,
  })
  t.after(runtime.close)
  const url = await startUserProxy(t, fairlead.url())
  const env = { FAIRLEAD_URL: url, FAIRLEAD_TOKEN: 'alice', FAIRLEAD_APP: 'shop' }
  const cli = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli(args, { env })
    assert.equal(code, 0, stderr + stdout)
    return stdout.trim()
  }
  const fileOf = (container: string) =>
    fileWith(`  cache: { type: redis, persistence: always, container: '${container}' }`)
  const redis = (...args: string[]) => cli('db', 'connect', 'cache', '--', ...args)
  const isServed = async (value: string) =>
    waitUntil(
      async () => (await redis('GET', 'key').catch(String)) === value,
      () => `${value} of ${registry.requests.join('\n')}`,
    )

  await deploy('1.0.0', fileOf(image))
  assert.equal(await redis('SET', 'key', 'first'), 'OK')
  const [running = ''] = (await runtime.call('ps', '--format', '{{.Image}}')).split('\n')
  assert.match(running, /db\/redis/)
  const { port } = new URL(/^REDIS_URL +(\S+)/m.exec(await cli('env'))?.[1] ?? '')
  const listening = execFileSync('ss', ['-Hltn'], { encoding: 'utf8' })
  assert.deepEqual(listening.match(new RegExp(`\\S+(?=:${port} )`, 'g')), ['127.0.0.1'], listening)

  const before = await fairlead.cluster('shop-cache')
  await deploy('1.1.0', fileOf(image))
  await runtime.call('kill', '--all')
  await isServed('first')
  assert.deepEqual(await fairlead.cluster('shop-cache'), before)

  await cli('db', 'backup', 'cache')
  assert.equal(await redis('SET', 'key', 'second'), 'OK')
  await cli('db', 'restore', 'cache', '--confirm', 'shop')
  await isServed('first')

  const refused = await runCli(['db', 'upgrade', 'cache', '--yes'], { env })
  assert.equal(refused.code, 3)
  assert.match(refused.stderr, /runs in a container of .*\/db\/redis:1\. .*container: IMAGE/)
  const run = await deploy('1.1.0', fileOf(await imageOf('2')))
  const { stages } = await fairlead.read<{ stages: JsonObject[] }>(`/pipelines/${run['id']}`)
  assert.ok(stages.some(({ name, status }) => name === 'Back cache up' && status === 'SUCCEEDED'))
  await isServed('first')
  assert.match((await runtime.call('ps', '--format', '{{.Image}}')).split('\n').join(), /db\/redis/)

  await t.test('app-scenario 73: a folder with a Dockerfile is built and runs', async (t) => {
    const folder = createFolder('dockerfile')
    t.after(() => removeFolder(folder))
    const inFolder = async (...args: string[]) => {
      const site = { ...env, FAIRLEAD_APP: 'site' }
      const { code, stdout, stderr } = await runCli(args, { env: site, cwd: folder })
      assert.equal(code, 0, stderr + stdout)
      return stdout.trim()
    }
    const write = (words: string, attach = '') => {
      const files = {
        '.fairlead/app.yml': `application: site
account: dev
env: { WORDS: ${words} }
services:
  web: { hosts: [site.example], volumes: [{ name: data, path: /data }] }
release: echo released
${attach}`,
        'web.Dockerfile': `FROM scratch
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "/bin"]
COPY serve page /srv/
EXPOSE 3000
CMD ["/bin/sh", "/srv/serve"]
`,
        page: words,
        serve:
          'echo "$WORDS on $PORT"; date >>/data/starts; trap exit TERM; httpd -f -p "$PORT" -h /srv & wait\n',
      }
      mkdirSync(join(folder, '.fairlead'), { recursive: true })
      for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text)
      copyFileSync('/bin/busybox', join(folder, 'busybox'))
      const link = join(folder, 'Dockerfile')
      if (!existsSync(link)) symlinkSync('web.Dockerfile', link)
    }
    const page = async () => {
      const address = { port: front.http, host: '127.0.0.1', path: '/page' }
      const asked = get({ ...address, headers: { host: 'site.example' } })
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      return text(answer)
    }
    const images = async () =>
      (await runtime.call('images', '--quiet', '--no-trunc', 'localhost/fairlead')).split('\n')

    write('one')
    await inFolder('deploy')
    assert.equal(await page(), 'one')
    assert.match(await inFolder('logs'), /one on 3000$/m)
    assert.equal(await inFolder('run', '--', 'cat', '/srv/page'), 'one')
    const [first] = await images()

    // It reaches what listens on loopback, and so has no port of its own.
    write('two', `attach: { cache: { type: redis, container: '${image}' } }`)
    await inFolder('deploy')
    assert.equal(await page(), 'two')
    const ask = `printf "PING\\r\\nQUIT\\r\\n" | nc 127.0.0.1 $(echo "$REDIS_URL" | sed "s/.*://;s/[^0-9].*//")`
    const answer = await inFolder('exec', 'web', '--', 'sh', '-c', ask)
    assert.match(answer, /NOAUTH/)
    assert.equal((await inFolder('exec', 'web', '--', 'wc', '-l', '/data/starts'))[0], '2')

    await runtime.call('image', 'prune', '--all', '--force')
    assert.ok(!(await images()).includes(String(first)))
    await inFolder('rollback', '--yes')
    assert.equal(await page(), 'one')
    assert.ok((await images()).includes(String(first)))
  })
})

const PATH = process.env['PATH'] ?? ''

function backupsOf(cluster: string): string {
  return join(fairlead.dataDir, 'volumes/dev/east', cluster, 'current/backups/shared')
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}
