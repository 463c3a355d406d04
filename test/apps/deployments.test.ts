/** Apps are deployed by their file, over the gateway, with real processes behind a load balancer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldOf, type JsonObject, objectsOf } from '../../packages/base/json/values.ts'
import { startReceiver } from '../backends/notifications/support.ts'
import { runCli } from '../support/cli.ts'
import {
  type Deployments,
  startDeployments,
  startTraffic,
  visitHost,
} from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'
import { startUserProxy } from '../support/user-proxy.ts'
import { waitFor } from '../support/wait-until.ts'

let fairlead: Deployments
let port: number

interface FileParts {
  readonly more?: string
  readonly services?: string
  readonly web?: string
}

function fileWith({ more = '', services = '', web = '' }: FileParts = {}): string {
  return `
application: shop
account: dev
services:
  web: { health: { path: /health, interval: 1s }, hosts: [shop.example]${web} }
${services}
${more}`
}

async function ask(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: JsonObject }> {
  const { status, body: answer } = await fairlead.ask(method, `/apps/shop${path}`, body)
  return { status, body: answer as JsonObject }
}

async function start(path: string, order: JsonObject, expected = 202): Promise<JsonObject> {
  const { status, body } = await ask('POST', path, order)
  assert.equal(status, expected, JSON.stringify(body))
  return body
}

async function deploy(
  version: string,
  file: string,
  { expected = 'SUCCEEDED', ...more }: JsonObject & { expected?: string } = {},
): Promise<JsonObject> {
  const run = await start('/deployments', { file, image: `shop:${version}`, ...more })
  const id = String(run['id'])
  await fairlead.ends(id, expected, 'pipelines').catch(async () => {
    const { stages } = await fairlead.read<{ stages: JsonObject[] }>(`/pipelines/${id}`)
    const failed = stages.filter(({ status }) => status === 'TERMINAL')
    assert.fail(
      JSON.stringify(failed.map(({ type, context }) => [type, fieldOf(context, 'exception')])),
    )
  })
  return run
}

async function serviceOf(name: string): Promise<JsonObject> {
  const { body } = await ask('GET', '')
  const [environment] = objectsOf(body['environments'])
  return objectsOf(environment?.['services']).find((each) => each['name'] === name) ?? {}
}

test('apps', async (t) => {
  port = await freePort()
  fairlead = await startDeployments(t, {
    front: { http: port, https: await freePort() },
    more: { 'webhook-notifications': { enabled: true, secret: 'signing-key-1' } },
  })

  const receiver = await startReceiver(t)
  let restrictedMs = 0
  // Its runs are looked at in the end: a schedule has no times between minutes.
  await t.test(
    'a service has a schedule of every minute, and its application permissions',
    async () => {
      const file =
        'application: clock\naccount: dev\nservices:\n  web: { health: /health }\n  tick: { command: [sh, -c, "exit 3"], schedule: "* * * * *" }'
      const { status, body } = await fairlead.ask('POST', '/apps/clock/deployments', {
        file,
        image: 'shop:1.0.0',
      })
      assert.equal(status, 202, JSON.stringify(body))
      await fairlead.ends(String(fieldOf(body, 'id')), 'SUCCEEDED', 'pipelines')
      const webhook = [{ address: receiver.url, when: ['pipeline.failed'] }]
      const kept = await fairlead.ask('POST', '/notifications/application/clock', { webhook })
      assert.equal(kept.status, 200, JSON.stringify(kept.body))
      const permissions = { READ: ['ops'], WRITE: ['ops'], EXECUTE: ['ops'] }
      await fairlead.run({ type: 'updateApplication', application: { name: 'clock', permissions } })
      restrictedMs = Date.now()
    },
  )

  await t.test(
    'app-scenario 57: a wrong file is rejected with all its errors and lines',
    async () => {
      const file = 'application: shop\nservices:\n  web: { instancs: 2, port: 99999 }\n'
      const { status, body } = await ask('POST', '/plan', { file })
      assert.equal(status, 400)
      assert.match(JSON.stringify(body), /instances/)
      assert.match(String(body['message']), /app.yml:3:/)
    },
  )

  await t.test(
    'app-scenario 64: a missing secret is named before anything is written',
    async () => {
      const { status, body } = await ask('POST', '/plan', {
        file: fileWith({ more: 'secrets: [TOKEN]' }),
      })
      assert.equal(status, 400)
      assert.match(String(body['message']), /fairlead secret set TOKEN/)
    },
  )

  await t.test('app-scenario 60: a file is compiled, deployed, marked, and answers', async () => {
    const services =
      '  worker: { command: sleep 1000 }\n  nightly: { command: "true", schedule: "0 3 * * 1" }'
    const run = await deploy('1.0.0', fileWith({ services }))
    assert.deepEqual(
      objectsOf(run['creates']).map(({ kind, name }) => `${kind} ${name}`),
      ['load-balancer shop-web', 'pipeline deploy production', 'pipeline nightly production'],
    )
    assert.equal((await visitHost(port, 'shop.example')).status, 200)
    const pipelines = await fairlead.read<JsonObject[]>('/applications/shop/pipelineConfigs')
    assert.deepEqual(
      pipelines.map(({ source }) => source),
      ['app-file', 'app-file'],
    )
  })

  await t.test('app-scenario 61: a second plan of the file changes nothing', async () => {
    const services =
      '  worker: { command: sleep 1000 }\n  nightly: { command: "true", schedule: "0 3 * * 1" }'
    const { body } = await ask('POST', '/plan', { file: fileWith({ services }) })
    for (const key of ['creates', 'changes', 'removes', 'drift'])
      assert.deepEqual(body[key], [], key)
  })

  await t.test(
    'app-scenario 62: a removed service stops, and no request is lost meanwhile',
    async () => {
      const traffic = startTraffic(port, 'shop.example')
      const deployed = await deploy('1.1.0', fileWith({ web: ', instances: 2' })).finally(() =>
        traffic.stop(),
      )
      assert.deepEqual(objectsOf(deployed['removes']), [
        { kind: 'pipeline', name: 'nightly production' },
      ])
      const answers = await traffic.stop()
      assert.deepEqual(
        answers.filter(({ status }) => status !== 200),
        [],
      )
      assert.deepEqual(await fairlead.cluster('shop-worker').catch(() => []), [])
    },
  )

  await t.test(
    'app-scenario 21: the state has version, instances, hosts and the last run',
    async () => {
      const web = await serviceOf('web')
      assert.equal(web['version'], '1.1.0')
      assert.deepEqual([web['ready'], web['wanted'], web['hosts']], [2, 2, ['shop.example']])
    },
  )

  await t.test('app-scenario 67: a failed release leaves the old version', async () => {
    const more = 'release: sh -c "echo no such table; exit 3"'
    await deploy('1.0.0', fileWith({ web: ', instances: 2', more }), { expected: 'TERMINAL' })
    assert.equal((await serviceOf('web'))['version'], '1.1.0')
  })

  await t.test(
    'app-scenario 51, 52: a rollback runs no release and names kept versions',
    async () => {
      const unknown = await ask('POST', '/rollback', { to: '9.9.9' })
      assert.equal(unknown.status, 400)
      assert.match(String(unknown.body['message']), /Kept are: 1.1.0, 1.0.0/)
      const dry = await ask('POST', '/rollback?dryRun=true', {})
      assert.deepEqual([dry.status, dry.body['from'], dry.body['to']], [200, '1.1.0', '1.0.0'])
      const run = await start('/rollback', {}, 200)
      const id = String(run['id'])
      await fairlead.ends(id, 'SUCCEEDED', 'pipelines')
      const { stages } = await fairlead.read<{ stages: JsonObject[] }>(`/pipelines/${id}`)
      assert.ok(!stages.some(({ type }) => type === 'runJob'))
      assert.equal((await serviceOf('web'))['version'], '1.0.0')
    },
  )

  await t.test(
    'app-scenario 65: an edited object is drift, and kept without overwrite',
    async () => {
      const file = fileWith({ web: ', instances: 2' })
      await deploy('1.1.0', file)
      const [pipeline] = await fairlead.read<JsonObject[]>('/applications/shop/pipelineConfigs')
      await fairlead.ask('PUT', `/pipelines/${pipeline?.['id']}`, {
        ...pipeline,
        keepWaitingPipelines: false,
      })
      const drifted = await deploy('1.1.0', file)
      assert.deepEqual(objectsOf(drifted['drift']), [
        { kind: 'pipeline', name: 'deploy production', fields: ['keepWaitingPipelines'] },
      ])
      const again = await deploy('1.1.0', file, { overwrite: true })
      assert.equal(objectsOf(again['drift']).length, 1)
      const { body } = await ask('POST', '/plan', { file })
      assert.deepEqual(body['drift'], [])
    },
  )

  await t.test('app-scenario 45: a second deployment waits and names the first', async () => {
    const order = { file: fileWith({ web: ', instances: 2' }), image: 'shop:1.0.0' }
    const first = await start('/deployments', order)
    const second = await start('/deployments', order)
    assert.deepEqual([first['waitsFor'], second['waitsFor']], [null, first['id']])
    const { body } = await ask('GET', '')
    const [production] = objectsOf(body['environments'])
    assert.match(JSON.stringify(production?.['waiting']), new RegExp(String(first['id'])))
    await fairlead.ends(String(second['id']), 'SUCCEEDED', 'pipelines')
  })

  await t.test('app-scenario 32: scaling holds until the file has another number', async () => {
    const traffic = startTraffic(port, 'shop.example')
    const { body } = await ask('PUT', '/scale', { services: { web: 3 } }).finally(() =>
      traffic.stop(),
    )
    await fairlead.ends(String(body['task']))
    assert.deepEqual(body['services'], [{ name: 'web', before: 2, after: 3 }])
    assert.deepEqual(
      (await traffic.stop()).filter(({ status }) => status !== 200),
      [],
    )
    await deploy('1.1.0', fileWith({ web: ', instances: 2' }))
    assert.equal((await serviceOf('web'))['wanted'], 3)
    await deploy('1.1.0', fileWith({ web: ', instances: 1' }))
    assert.equal((await serviceOf('web'))['wanted'], 1)
  })

  await t.test(
    'app-scenario 30, 31: a secret restarts what uses it, unless it is staged',
    async () => {
      const file = fileWith({ more: 'secrets: [TOKEN]' })
      const set = (value: string, stage?: boolean) => ask('PUT', '/secrets/TOKEN', { value, stage })
      await set('first-value')
      await deploy('1.1.0', file)
      const staged = await set('second-value', true)
      assert.deepEqual([staged.body['usedBy'], staged.body['runs']], [['production/web'], []])
      const applied = await set('third-value')
      const [run] = objectsOf(applied.body['runs'])
      await fairlead.ends(String(run?.['id']), 'SUCCEEDED', 'pipelines')
      const { body } = await ask('GET', '/variables')
      assert.ok(!JSON.stringify([staged, applied, body]).includes('-value'))
    },
  )

  await t.test(
    'app-scenario 13: without a terminal, the command line changes nothing that it should ask for',
    async () => {
      const env = {
        FAIRLEAD_URL: await startUserProxy(t, fairlead.url()),
        FAIRLEAD_TOKEN: 'alice',
        FAIRLEAD_APP: 'shop',
      }
      const run = (...args: string[]) => runCli(args, { env })
      const before = await serviceOf('web')
      const status = await run('status')
      assert.equal(status.code, 0, status.stderr)
      assert.match(
        status.stdout,
        /^production +web +\d\.\d\.0 +1 of 1 +http:\/\/shop\.example:\d+$/m,
      )

      const refused = await run('rollback')
      assert.deepEqual([refused.code, refused.stdout], [7, ''])
      assert.match(refused.stderr, /^production: \S+ → \S+\n.*Answer it with --yes\./s)
      assert.equal((await run('scale', 'web=0')).code, 7)
      assert.equal((await run('rollback', '--to', '9.9.9', '--yes')).code, 3)
      assert.deepEqual(await serviceOf('web'), before)

      const rolledBack = await run('rollback', '--yes')
      assert.equal(rolledBack.code, 0, rolledBack.stderr)
      assert.notEqual((await serviceOf('web'))['version'], before['version'])
      const scaled = await run('scale', 'web=3')
      assert.equal(scaled.code, 0, scaled.stderr)
      assert.match(scaled.stdout, /^web: \d → 3\n$/)
    },
  )

  await t.test('a host is added beside the file, survives a deployment, and goes', async () => {
    const env = {
      FAIRLEAD_URL: await startUserProxy(t, fairlead.url()),
      FAIRLEAD_TOKEN: 'alice',
      FAIRLEAD_APP: 'shop',
    }
    const run = (...args: string[]) => runCli(['domains', ...args], { env })
    const added = await run('add', 'Other.example.', '--service', 'web')
    assert.equal(added.code, 0, added.stderr)
    assert.match(
      added.stdout,
      /^other\.example is served by shop-web: http:\/\/other\.example:\d+$/m,
    )
    const file = fileWith({ web: ', instances: 2', more: 'secrets: [TOKEN]' })
    await deploy('1.1.0', file)
    assert.equal((await visitHost(port, 'other.example')).status, 200)
    const { stdout } = await run()
    assert.match(stdout, /^shop\.example +shop +file +shop-web +none/m)
    assert.match(stdout, /^other\.example +shop +added +shop-web +none/m)
    // No name of this domain is in the DNS.
    const checked = await run('check', 'other.example')
    assert.deepEqual([checked.code, /shop-web +- +none/.test(checked.stdout)], [1, true])
    assert.equal((await run('check', 'foreign.example')).code, 3)

    const own = await run('remove', 'shop.example', '--yes')
    assert.deepEqual([own.code, /Remove it from "hosts"/.test(own.stderr)], [1, true], own.stderr)
    const refused = await fairlead.ask('PUT', '/apps/blog/domains/shop.example', {})
    assert.equal(refused.status, 404, JSON.stringify(refused.body))
    assert.equal((await run('remove', 'other.example', '--yes')).code, 0)
    assert.equal((await visitHost(port, 'other.example')).status, 404)
  })

  await t.test(
    'app-scenario 66: after eject a deployment changes no object, and says so',
    async () => {
      const ejected = await ask('POST', '/eject')
      assert.equal(ejected.status, 200, JSON.stringify(ejected.body))
      const before = await fairlead.read<JsonObject[]>('/applications/shop/pipelineConfigs')
      const run = await deploy(
        '1.0.0',
        fileWith({ web: ', instances: 2', more: 'secrets: [TOKEN]' }),
      )
      assert.equal(run['ejected'], true)
      assert.deepEqual(await fairlead.read('/applications/shop/pipelineConfigs'), before)
      assert.equal(before[0]?.['source'], undefined)
    },
  )

  await t.test(
    'app-scenario 69, app-scenario 70: a schedule goes on with permissions, and its failure notifies',
    async () => {
      const runs = () => fairlead.read<JsonObject[]>('/applications/clock/pipelines?limit=50')
      let latest: unknown
      const scheduled = await waitFor(
        async () => {
          const found = await runs()
          latest = found
          return found.find(
            ({ trigger, startTime, endTime }) =>
              fieldOf(trigger, 'type') === 'cron' &&
              Number(startTime) > restrictedMs &&
              endTime !== undefined,
          )
        },
        () => JSON.stringify(latest),
      )
      assert.equal(scheduled['status'], 'TERMINAL')
      assert.match(JSON.stringify(scheduled['stages']), /exit(?:ed with)? code:? 3/)
      const told = await waitFor(
        () =>
          receiver.received.find(
            ({ body }) => fieldOf(body['execution'], 'id') === scheduled['id'],
          ),
        () => JSON.stringify(receiver.received),
      )
      assert.equal(told.body['subject'], 'clock: pipeline "tick production" has failed')
    },
  )
})
