/** Switches of an external permission service that operators turn in the configuration while the gateway runs. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { loadConfig } from '../../packages/app/config/config.ts'
import { createGateway } from '../../packages/app/gateway.ts'
import {
  PermissionSwitches,
  type SwitchPositions,
} from '../../packages/gateway/permissions/switches.ts'
import { basic } from '../login/support.ts'
import { silentLog, temporaryDirectory } from '../sessions/support.ts'
import { type Answers, Reply, startUpstream } from '../support/upstream.ts'

const on = { enabled: true, legacyFallback: false }

function open(
  t: test.TestContext,
  reread: () => Promise<SwitchPositions>,
  intervalMs?: number,
): PermissionSwitches {
  const switches = new PermissionSwitches({
    positions: on,
    reread,
    log: silentLog,
    ...(intervalMs && { intervalMs }),
  })
  t.after(() => switches.close())
  return switches
}

test('switches are reread; unreadable ones stay', async (t) => {
  let reads = 0
  const positions: (SwitchPositions | Error)[] = [
    { enabled: false, legacyFallback: true },
    new Error('broken'),
    on,
  ]
  const switches = open(t, async () => {
    const next = positions[reads++] ?? on
    if (next instanceof Error) throw next
    return next
  })
  assert.deepEqual([switches.enabled, switches.legacyFallback], [true, false])
  await switches.refresh()
  assert.deepEqual([switches.enabled, switches.legacyFallback], [false, true])
  await switches.refresh()
  assert.deepEqual([switches.enabled, switches.legacyFallback], [false, true])
  await switches.refresh()
  assert.deepEqual([switches.enabled, switches.legacyFallback], [true, false])
})

test('nobody has to ask for it', async (t) => {
  const read = Promise.withResolvers<void>()
  open(
    t,
    async () => {
      read.resolve()
      return on
    },
    1,
  )
  await read.promise
})

test('auth-scenario 237: fiat can be switched off at run time', async (t) => {
  const home = temporaryDirectory(t)
  const view = {
    name: 'admin',
    admin: false,
    accounts: [],
    applications: [],
    serviceAccounts: [],
    roles: [],
  }
  const alive: Answers = ({ method }) => (method === 'GET' ? view : new Reply(200))
  const fiat = await startUpstream(t, alive)
  const orca = await startUpstream(t, { 'GET /v2/applications/web/pipelines': [] })
  const off = { enabled: false }
  const write = (more: Record<string, unknown>) =>
    writeFileSync(
      join(home, 'gate.yml'),
      JSON.stringify({
        data: { dir: join(home, 'data') },
        server: { port: 0, address: '127.0.0.1' },
        fairlead: { admin: { password: 'battery staple' } },
        permissions: { enforce: 'gateway' },
        services: {
          fiat: { baseUrl: fiat.url, cache: { expiresAfterWriteSeconds: 0 } },
          orca: { baseUrl: orca.url },
          ...{ clouddriver: off, front50: off, echo: off, igor: off, rosco: off },
        },
        ...more,
      }),
    )
  const places = {
    cwd: home,
    env: {},
    homeDir: home,
    systemDir: home,
    files: [join(home, 'gate.yml')],
  }
  write({})
  const { config } = await loadConfig(places)
  const gateway = await createGateway({
    config,
    log: silentLog as Parameters<typeof createGateway>[0]['log'],
    version: 'test',
    reread: async () => (await loadConfig(places)).config,
    rereadMs: 10,
  })
  t.after(() => gateway.close())
  const url = await gateway.listen()
  const ask = () =>
    fetch(`${url}/applications/web/pipelines`, { headers: basic('admin', 'battery staple') })
  assert.equal((await ask()).status, 403)

  write({ fiat: { enabled: false } })
  while ((await ask()).status === 403) await new Promise((resolve) => setTimeout(resolve, 10))
  fiat.answer(() => new Reply(500))
  assert.equal((await ask()).status, 200)
  assert.deepEqual(fiat.background, [])

  fiat.answer(alive)
  write({})
  while ((await ask()).status === 200) await new Promise((resolve) => setTimeout(resolve, 10))
})

test('with refreshable off the configuration of the start counts', async (t) => {
  const home = temporaryDirectory(t)
  const settings = {
    'services.fiat.baseUrl': 'http://fiat',
    'services.fiat.refreshable': false,
    'fiat.enabled': false,
  }
  const { config } = await loadConfig({
    cwd: home,
    env: {},
    homeDir: home,
    systemDir: home,
    settings,
  })
  assert.deepEqual([config.permissions.refreshable, config.permissions.enabled], [false, false])
})

test('the switch of the fallback wins over its older form', async (t) => {
  const home = temporaryDirectory(t)
  const load = async (settings: Record<string, unknown>) =>
    (await loadConfig({ cwd: home, env: {}, homeDir: home, systemDir: home, settings })).config
      .permissions.legacyFallback
  assert.equal(await load({}), false)
  assert.equal(await load({ 'services.fiat.legacyFallback': true }), true)
  assert.equal(
    await load({ 'services.fiat.legacyFallback': true, 'fiat.legacyFallback.enabled': false }),
    false,
  )
})
