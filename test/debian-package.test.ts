/** The Debian package on a machine with systemd: installed, upgraded below a deployed program, removed and purged. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { writeDebianPackage } from '../scripts/package.ts'
import { bootMachine } from './support/booted-machine.ts'
import { needs } from './support/debian.ts'
import { claimPorts, freePort } from './support/free-port.ts'
import { packageFolder } from './support/package-folder.ts'
import { waitFor, waitUntil } from './support/wait-until.ts'

const root = resolve(import.meta.dirname, '..')
const password = 'correct-horse-battery'
const dropIns = '/etc/systemd/system/fairlead.service.d'
const place = { cloudProvider: 'local', credentials: 'local', account: 'local', region: 'local' }

test('the Debian package serves, and its upgrade leaves deployed programs running', async (t) => {
  if (needs(t, 'dpkg-deb') === undefined || needs(t, 'systemd-notify') === undefined) return
  if (process.getuid?.() !== 0) return t.skip('only root can install a package')
  // The packages are too large for a temporary folder in memory.
  const folder = mkdtempSync('/var/tmp/fairlead-debian-')
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const dist = join(await packageFolder(t), 'dist')
  const [former, next] = ['0.1.0', '0.2.0'].map((version) =>
    join(
      '/mnt',
      writeDebianPackage({ dist, outDir: folder, version, compression: ['-Znone'] }).slice(
        folder.length,
      ),
    ),
  ) as [string, string]
  mkdirSync(join(folder, 'machine'))
  const machine = await bootMachine(t, join(folder, 'machine'), folder)
  if (machine === undefined) return
  const { inside } = machine
  const [port, webPort, ports] = [await freePort(), await freePort(), await claimPorts(t)]
  const show = async (unit: string, key: string) =>
    inside('systemctl', 'show', '--value', `--property=${key}`, unit)
  /** Asks again within the machine, which costs little. */
  const until = (question: string, pattern: string) =>
    inside(
      'timeout',
      '300',
      'sh',
      '-c',
      `until ${question} | grep --quiet "$1"; do sleep 0.5; done`,
      'sh',
      pattern,
    )
  const login = { authorization: `Basic ${btoa(`admin:${password}`)}` }
  const ask = async (path: string, body?: object) =>
    (await fetch(`http://127.0.0.1:${port}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...login, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).then((answer) => answer.json())) as Record<string, string>
  const doTask = async (job: object) => {
    const { ref = '' } = await ask('/tasks', {
      application: 'web',
      description: 'Deploy web',
      job: [job],
    })
    const done = await waitFor(async () => {
      const now = await ask(ref)
      return ['NOT_STARTED', 'RUNNING'].includes(now['status'] ?? '') ? undefined : now
    }, JSON.stringify(job))
    assert.equal(done['status'], 'SUCCEEDED', JSON.stringify(done))
  }
  /** An agent that is replaced ends with its last connection. */
  const greeting = async () =>
    (await fetch(`http://127.0.0.1:${webPort}/`, { headers: { connection: 'close' } })).text()
  const programs = () =>
    inside('sh', '-c', 'grep --files-with-matches "[s]erver.mjs" /proc/[0-9]*/cmdline')

  await t.test('installed, it serves as its own user', async () => {
    mkdirSync(machine.path('/etc/fairlead'))
    const accounts = [{ name: 'local', ports: `${ports.first}-${ports.last}` }]
    const variables = {
      SERVER_PORT: port,
      SPRING_APPLICATION_JSON: JSON.stringify({ local: { accounts } }),
    }
    const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`)
    writeFileSync(machine.path('/etc/fairlead/environment'), lines.join(''), { mode: 0o600 })
    const credentials = {
      '/etc/credstore/secrets.key': randomBytes(32).toString('base64'),
      '/etc/fairlead/password': `${password}\n`,
    }
    mkdirSync(machine.path('/etc/credstore'), { recursive: true })
    for (const [file, text] of Object.entries(credentials))
      writeFileSync(machine.path(file), text, { mode: 0o600 })
    mkdirSync(machine.path(dropIns))
    const more = '[Service]\nLoadCredential=fairlead.admin.password:/etc/fairlead/password\n'
    writeFileSync(machine.path(join(dropIns, 'password.conf')), more)
    await inside('dpkg', '--install', former)
    assert.equal(await show('fairlead', 'StatusText'), 'serving')
    assert.equal(await show('fairlead-agent', 'StatusText'), 'running')
    assert.equal(
      await inside('stat', '--format=%U', `/proc/${await show('fairlead', 'MainPID')}`),
      'fairlead',
    )
    assert.equal(await inside('systemctl', 'is-enabled', 'fairlead'), 'enabled')
  })

  await t.test('the agent runs what is deployed', async () => {
    const body = execFileSync('tar', [
      '--create',
      '--directory',
      join(root, 'examples/hello/v1'),
      '.',
    ])
    const pushed = await fetch(`http://127.0.0.1:${port}/local/images/hello/1`, {
      method: 'PUT',
      headers: login,
      body,
    })
    assert.ok(pushed.ok, await pushed.text())
    await doTask({
      type: 'createApplication',
      application: { name: 'web', email: 'you@example.com' },
    })
    const listeners = [{ externalProtocol: 'HTTP', externalPort: webPort, internalPort: webPort }]
    await doTask({
      type: 'upsertLoadBalancer',
      ...place,
      name: 'web-front',
      healthCheck: `HTTP:${webPort}/`,
      listeners,
    })
    const capacity = { min: 1, max: 1, desired: 1 }
    await doTask({
      type: 'createServerGroup',
      ...place,
      application: 'web',
      imageId: 'hello:1',
      capacity,
      loadBalancers: ['web-front'],
    })
    await waitUntil(async () => (await greeting()).startsWith('Hello'), 'the program')
  })

  await t.test('its credentials are settings: the password, and the key of secrets', async () => {
    const { status } = await fetch(`http://127.0.0.1:${port}/applications/web/secrets/token`, {
      method: 'PUT',
      headers: { ...login, 'content-type': 'application/json' },
      body: JSON.stringify({ value: 'hunter2' }),
    })
    assert.equal(status, 200)
    assert.ok(!existsSync(machine.path('/var/lib/fairlead/data/secrets.key')))
  })

  await t.test('it applies its configuration again', async () => {
    await inside('systemctl', 'reload', 'fairlead')
    await until('journalctl --unit=fairlead', 'the configuration was read again')
    await until('systemctl show --property=StatusText fairlead', '=serving')
  })

  await t.test('an upgrade replaces server and agent, and no program', async () => {
    const [running, agent] = [await programs(), await show('fairlead-agent', 'MainPID')]
    await inside('dpkg', '--install', next)
    await until(
      'systemctl show --property=StatusText fairlead-agent',
      'a former agent has started it',
    )
    assert.notEqual(await show('fairlead-agent', 'MainPID'), agent)
    assert.match(await greeting(), /^Hello/)
    assert.equal(await programs(), running)
  })

  await t.test('purged, it ends everything and leaves its data only', async () => {
    for (const file of ['/etc/fairlead/environment', '/etc/fairlead/password', dropIns])
      rmSync(machine.path(file), { recursive: true })
    const said = await inside('dpkg', '--purge', 'fairlead')
    assert.match(said, /The deployed programs and load balancers are stopped\./)
    assert.equal(await inside('find', '/proc', '-maxdepth', '1', '-user', 'fairlead'), '')
    const [, advice = ''] = /^Kept \/var\/lib\/fairlead, .* To remove both: (.*)$/m.exec(said) ?? []
    const left = (await machine.changedFiles('*fairlead*')).filter(
      (file) => !file.startsWith('/var/lib/fairlead/'),
    )
    assert.deepEqual(left, ['/var/lib/fairlead'])
    await inside('sh', '-c', advice)
    await assert.rejects(inside('id', 'fairlead'))
  })
})
