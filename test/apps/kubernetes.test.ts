/** Apps on a cluster: the file of an app on one machine with another account, against a real control plane. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { fieldAt, type JsonObject, objectsOf, textsOf } from '../../packages/base/json/values.ts'
import { endWithTest } from '../support/agent.ts'
import { runCli } from '../support/cli.ts'
import { putImage } from '../support/deployments.ts'
import { claimPorts, freePort } from '../support/free-port.ts'
import { runGateway } from '../support/gateway.ts'
import { startControlPlane } from '../support/kubernetes.ts'
import type { KubernetesObject } from '../support/kubernetes-client.ts'
import { startExecServer } from '../support/kubernetes-exec.ts'
import { type Platform, startPlatform } from '../support/kubernetes-platform.ts'
import { routeDefinition } from '../support/kubernetes-routes.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { startUserProxy } from '../support/user-proxy.ts'
import { waitUntil } from '../support/wait-until.ts'

let platform: Platform
let namespace: string

const fileWith = (account: string, more = '') => `
application: shop
account: ${account}
registry: registry.example/shop
services:
  web: { instances: 2, health: /health, hosts: [shop.example], stop: 1s }
  worker: { command: sleep 1000, memory: 512Mi }
  nightly: { command: "true", schedule: "0 3 * * 1", timezone: Europe/Berlin }
env: { LOG_LEVEL: info }
secrets: [SESSION_KEY]
${more}`

async function ask(method: string, path: string, body?: unknown, expected = 202) {
  const { status, body: answer } = await platform.ask(method, `/apps/shop${path}`, body)
  assert.equal(status, expected, JSON.stringify(answer))
  return answer as JsonObject
}

async function deploy(version: string, file: string, expected = 'SUCCEEDED', image = '') {
  const order = { file, image: image || `registry.example/shop:${version}` }
  const run = await ask('POST', '/deployments', order)
  const { error } = await platform.finish(String(run['id']), expected)
  return { run, error }
}

const paths: Readonly<Record<string, string>> = {
  Secret: '/api/v1/namespaces/NS/secrets',
  Service: '/api/v1/namespaces/NS/services',
  Deployment: '/apis/apps/v1/namespaces/NS/deployments',
  CronJob: '/apis/batch/v1/namespaces/NS/cronjobs',
  Job: '/apis/batch/v1/namespaces/NS/jobs',
  Ingress: '/apis/networking.k8s.io/v1/namespaces/NS/ingresses',
  PodDisruptionBudget: '/apis/policy/v1/namespaces/NS/poddisruptionbudgets',
  HTTPRoute: '/apis/gateway.networking.k8s.io/v1/namespaces/NS/httproutes',
}
const pathOf = (kind: string) => (paths[kind] ?? '').replace('NS', namespace)
const find = (kind: string, name: string) => platform.api.get(`${pathOf(kind)}/${name}`)
const namesOf = async (kind: string) =>
  (await platform.api.list(pathOf(kind))).map(({ metadata }) => metadata.name).sort()
const containerOf = (object: KubernetesObject): JsonObject =>
  objectsOf(fieldAt(object, 'spec', 'template', 'spec', 'containers'))[0] ?? {}

async function serviceOf(name: string): Promise<JsonObject> {
  const { environments } = await ask('GET', '', undefined, 200)
  const [environment] = objectsOf(environments)
  return objectsOf(environment?.['services']).find((each) => each['name'] === name) ?? {}
}

test('apps on a cluster', async (t) => {
  const plane = await startControlPlane(t)
  if (plane === undefined) return
  namespace = await plane.namespace('apps')
  const behind = await startExecServer(t, plane)
  const kubeconfigContents = plane
    .kubeconfig()
    .replace(plane.server, behind.url)
    .replace(/.*certificate-authority-data.*\n/, '')
  const home = createFolder('apps-kubernetes')
  t.after(() => removeFolder(home))
  const dataDir = join(home, 'data')
  mkdirSync(dataDir)
  const { first, last } = await claimPorts(t)
  const front = { http: await freePort(), https: await freePort() }
  const gated = { gateway: 'infra/public', pullSecret: 'registry-login' }
  const started = await startPlatform(t, {
    settings: {
      local: { accounts: [{ name: 'machine', front, ports: `${first}-${last}` }] },
      kubernetes: {
        enabled: true,
        accounts: [
          { name: 'cluster', kubeconfigContents, namespaces: [namespace] },
          { name: 'gated', kubeconfigContents, namespaces: ['default'], apps: gated },
        ],
      },
    },
    start: async (end, settings) => {
      const gateway = await runGateway(end, settings, { embedded: true, dataDir })
      endWithTest(end, dataDir, () => gateway.stop())
      return gateway
    },
  })
  if (started === undefined) return
  platform = started
  const { api } = platform
  const env = {
    FAIRLEAD_URL: await startUserProxy(t, platform.url()),
    FAIRLEAD_TOKEN: 'alice',
    FAIRLEAD_APP: 'shop',
  }
  const cli = (...args: string[]) => runCli(args, { env })
  await putImage(dataDir, '1.0.0')
  await ask('PUT', '/secrets/SESSION_KEY', { value: 'first-value' }, 200)

  await t.test('app-scenario 134: attach is refused before any change', async () => {
    const file = fileWith('cluster', 'attach: { db: postgresql }')
    const { message } = await ask('POST', '/deployments', { file, image: 'a/b:1' }, 400)
    assert.match(String(message), /attach\.db: .*external: DATABASE_URL/)
    assert.deepEqual(await platform.read('/applications/shop/pipelineConfigs'), [])
    assert.deepEqual(await namesOf('Secret'), [])
  })

  await t.test(
    'app-scenario 131: another account alone makes the objects, and the former one goes on',
    async () => {
      await deploy('1.0.0', fileWith('machine'), 'SUCCEEDED', 'shop:1.0.0')
      const file = fileWith('cluster')
      const { run } = await deploy('1.0.0', file)
      assert.match(textsOf(run['notes']).join(), /machine: the app still runs there/)
      assert.deepEqual(await namesOf('Deployment'), ['shop-web', 'shop-worker'])
      assert.deepEqual(await namesOf('Service'), ['shop-web'])
      assert.deepEqual(await namesOf('PodDisruptionBudget'), ['shop-web'])
      assert.deepEqual(await namesOf('Secret'), ['shop-production-v000'])
      const cron = await find('CronJob', 'shop-nightly')
      assert.deepEqual(
        [cron.spec['schedule'], cron.spec['timeZone'], cron.spec['concurrencyPolicy']],
        ['0 3 * * 1', 'Europe/Berlin', 'Forbid'],
      )
      const web = await find('Deployment', 'shop-web')
      const { labels = {} } = web.metadata
      assert.deepEqual(
        ['name', 'component', 'version', 'instance', 'managed-by'].map(
          (key) => labels[`app.kubernetes.io/${key}`],
        ),
        ['shop', 'web', '1.0.0', 'shop-production', 'spinnaker'],
      )
      const worker = containerOf(await find('Deployment', 'shop-worker'))
      assert.deepEqual(worker['command'], ['sh', '-c', 'exec sleep 1000'])
      assert.deepEqual(fieldAt(worker, 'resources', 'limits'), { memory: '536870912' })
      const container = containerOf(web)
      assert.deepEqual(container['envFrom'], [{ secretRef: { name: 'shop-production-v000' } }])
      assert.deepEqual(container['env'], [
        { name: 'LOG_LEVEL', value: 'info' },
        { name: 'PORT', value: '8080' },
        { name: 'HOST', value: '0.0.0.0' },
      ])
      assert.equal(fieldAt(web, 'spec', 'template', 'spec', 'terminationGracePeriodSeconds'), 6)
      const secret = await find('Secret', 'shop-production-v000')
      assert.equal(
        Buffer.from(String(fieldAt(secret, 'data', 'SESSION_KEY')), 'base64').toString(),
        'first-value',
      )
      const served = await serviceOf('web')
      assert.deepEqual([served['version'], served['ready'], served['wanted']], ['1.0.0', 2, 2])

      const groups = await platform.read<JsonObject[]>('/applications/shop/serverGroups')
      assert.ok(groups.some(({ account }) => account === 'machine'))
      const left = await ask('DELETE', '?account=machine', undefined, 200)
      await platform.ends(String(left['task']))
      const { notes } = await ask('POST', '/plan', { file }, 200)
      assert.doesNotMatch(textsOf(notes).join(), /still runs/)
      assert.deepEqual(await namesOf('Deployment'), ['shop-web', 'shop-worker'])
    },
  )

  await t.test(
    'app-scenario 132: hosts are an Ingress or a route by the account, whose weights are the shares of a canary',
    async () => {
      const ingress = await find('Ingress', 'shop-web')
      assert.deepEqual(
        objectsOf(ingress.spec['rules']).map(({ host }) => host),
        ['shop.example'],
      )
      const { readinessProbe, startupProbe, livenessProbe } = containerOf(
        await find('Deployment', 'shop-web'),
      )
      for (const probe of [readinessProbe, startupProbe]) {
        assert.equal(fieldAt(probe, 'httpGet', 'path'), '/health')
        assert.deepEqual(fieldAt(probe, 'httpGet', 'httpHeaders'), [
          { name: 'Host', value: 'shop.example' },
        ])
      }
      assert.equal(livenessProbe, undefined)

      const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
      // Test files of a process share the control plane.
      if ((await api.find(`${definitions}/httproutes.gateway.networking.k8s.io`)) === undefined)
        await api.create(definitions, routeDefinition)
      const routes = '/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes'
      await waitUntil(async () => (await api.find(`${routes}?limit=1`)) !== undefined, 'routes')
      const file = fileWith('gated')
      await deploy('1.0.0', file)
      const route = await api.get(`${routes}/shop-web`)
      assert.deepEqual(
        [route.spec['hostnames'], route.spec['parentRefs']],
        [['shop.example'], [{ name: 'public', namespace: 'infra' }]],
      )
      const web = await api.get('/apis/apps/v1/namespaces/default/deployments/shop-web')
      assert.deepEqual(fieldAt(web, 'spec', 'template', 'spec', 'imagePullSecrets'), [
        { name: 'registry-login' },
      ])

      const promote =
        'environments: { production: { promote: { canary: { percent: 25%, duration: 1h } } } }'
      await deploy('1.0.0', fileWith('gated', promote))
      const weights = async () =>
        objectsOf(fieldAt(await api.get(`${routes}/shop-web`), 'spec', 'rules')).flatMap((rule) =>
          objectsOf(rule['backendRefs']).map(({ weight }) => weight ?? 1),
        )
      const image = 'registry.example/shop:1.1.0'
      const { id } = await ask('POST', '/deployments', { file: fileWith('gated', promote), image })
      let seen: unknown[] = []
      const isShared = async (wanted: readonly number[]) => {
        seen = await weights()
        return isDeepStrictEqual(seen, wanted)
      }
      await waitUntil(
        () => isShared([75, 25]),
        () => `the weights of the canary, not ${seen}`,
      )
      await platform.ask('PUT', `/pipelines/${id}/cancel`)
      await platform.finish(String(id), 'CANCELED')
      await waitUntil(
        () => isShared([1]),
        () => `the weights of before, not ${seen}`,
      )

      await deploy('1.0.0', fileWith('cluster'))
      const left = await cli('leave', 'gated', '--yes')
      await platform.ends(left.stdout.trim())
      assert.deepEqual(await api.list('/apis/apps/v1/namespaces/default/deployments'), [])
      assert.deepEqual(await api.list(routes), [])
    },
  )

  await t.test(
    'app-scenario 133: a failed release changes no Deployment, a new secret changes its pods',
    async () => {
      const more = 'release: node migrate.js'
      const before = await find('Deployment', 'shop-web')
      const end = plane.nodes.behave(
        ({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === 'release',
        { kind: 'exit', exitCode: 3 },
      )
      const file = fileWith('cluster', more)
      const failed = await deploy('2.0.0', file, 'TERMINAL')
      end()
      assert.match(failed.error, /shop-release-2-0-0.*exited with code: 3/)
      assert.deepEqual((await find('Deployment', 'shop-web')).spec, before.spec)

      await deploy('2.0.0', file)
      assert.equal(fieldAt(await find('Job', 'shop-release-2-0-0'), 'spec', 'backoffLimit'), 0)
      const templateOf = async () =>
        JSON.stringify(fieldAt(await find('Deployment', 'shop-web'), 'spec', 'template'))
      const old = await templateOf()
      const { runs } = await ask('PUT', '/secrets/SESSION_KEY', { value: 'second-value' }, 200)
      await platform.finish(String(objectsOf(runs)[0]?.['id']))
      assert.notEqual(await templateOf(), old)
      assert.match(await templateOf(), /shop-production-v001/)
      for (const path of ['/applications/shop/pipelineConfigs', '/applications/shop/pipelines'])
        assert.doesNotMatch(JSON.stringify(await platform.read(path)), /second-value|c2Vjb25kLXZh/)
    },
  )

  await t.test(
    'app-scenario 53: a canary stands beside what serves, then takes over or goes',
    async () => {
      const steps = (canary: string) =>
        fileWith('cluster', `environments: { production: { promote: { canary: ${canary} } } }`)
      const groups = async () =>
        (await platform.read<JsonObject[]>('/applications/shop/serverGroups'))
          .filter(({ cluster }) => cluster === 'shop-web')
          .map(({ name, isDisabled }) => (isDisabled ? `(${name})` : String(name)))
          .sort()
      const pods = async () =>
        (
          await api.list(
            `/api/v1/namespaces/${namespace}/pods?labelSelector=fairlead/service=shop-web`,
          )
        )
          .map(({ metadata }) => metadata.name.split('-').slice(0, -1).join('-'))
          .sort()

      // The first version beside a Deployment gets all of its traffic at once.
      await deploy('3.0.0', steps('{ percent: 50%, duration: 2s }'))
      assert.deepEqual(await namesOf('Deployment'), ['shop-worker'])
      assert.deepEqual(await groups(), ['replicaSet shop-web-v000'])
      assert.deepEqual(await pods(), ['shop-web-v000', 'shop-web-v000'])
      assert.equal((await serviceOf('web'))['version'], '3.0.0')

      const order = {
        file: steps('{ percent: 50%, duration: 1h }'),
        image: 'registry.example/shop:3.1.0',
      }
      const { id } = await ask('POST', '/deployments', order)
      const both = ['shop-web-v000', 'shop-web-v001']
      await waitUntil(
        async () => isDeepStrictEqual(await pods(), both),
        () => `one pod of each version, of ${behind.asked.length}`,
      )
      await platform.ask('PUT', `/pipelines/${id}/cancel`)
      await platform.finish(String(id), 'CANCELED')
      await waitUntil(
        async () => isDeepStrictEqual(await groups(), ['replicaSet shop-web-v000']),
        'the end of the canary',
      )
      assert.deepEqual(await pods(), ['shop-web-v000', 'shop-web-v000'])

      await deploy('3.1.0', steps('{ percent: 50%, duration: 2s }'))
      assert.deepEqual(await groups(), ['(replicaSet shop-web-v000)', 'replicaSet shop-web-v001'])
      assert.deepEqual(await pods(), ['shop-web-v001', 'shop-web-v001'])
      assert.equal((await serviceOf('web'))['version'], '3.1.0')
      const scaled = await ask('PUT', '/scale', { services: { web: 1 } }, 200)
      await platform.ends(String(scaled['task']))
      await waitUntil(async () => (await pods()).length === 1, 'one instance')

      const back = await ask('POST', '/rollback', {}, 200)
      await platform.finish(String(back['id']))
      assert.equal((await serviceOf('web'))['version'], '3.0.0')

      await deploy('2.0.0', fileWith('cluster'))
      assert.deepEqual(await namesOf('Deployment'), ['shop-web', 'shop-worker'])
      assert.equal((await serviceOf('web'))['version'], '2.0.0')
      await waitUntil(
        async () => (await groups()).every((name) => !name.includes('-v0')),
        'no rest',
      )
      await ask('PUT', '/scale', { services: { web: 2 } }, 200)
      await waitUntil(async () => (await serviceOf('web'))['ready'] === 2, 'two instances')
    },
  )

  await t.test('app-scenario 135: logs, exec and run are as on one machine', async () => {
    const { stdout: status } = await cli('status')
    assert.match(status, /^production +web +2\.0\.0 +2 of 2 +http:\/\/shop\.example$/m)
    const pods = await api.list(`/api/v1/namespaces/${namespace}/pods?labelSelector=app=shop-web`)
    for (const [index, { metadata }] of pods.entries())
      plane.nodes.setLog(
        namespace,
        metadata.name,
        'web',
        `2026-01-01T00:00:0${index}Z line ${index}\n`,
      )
    const logs = await cli('logs', 'web')
    assert.match(logs.stdout, /line 0\n.*line 1\n$/s, logs.stderr)
    const exec = await cli('exec', 'web', '--', 'sh', '-c', 'echo inside; exit 7')
    assert.deepEqual([exec.stdout, exec.code], ['inside\n', 7], exec.stderr)

    // Simulated kubelets end jobs at once, whatever their command.
    const end = plane.nodes.behave(({ metadata }) => metadata.name.includes('-run-'), {
      kind: 'run',
    })
    const ran = await cli('run', '--service', 'web', '--', 'sh', '-c', 'echo once; exit 3')
    assert.deepEqual([ran.stdout, ran.code], ['once\n', 3], ran.stderr)
    const [, job = ''] =
      /\/pods\/(shop-web-\S+-run-[0-9a-f]{6})-/.exec(behind.asked.at(-1) ?? '') ?? []
    assert.notEqual(job, '')
    await waitUntil(async () => !(await namesOf('Job')).includes(job), 'the end of the job')
    end()

    const detached = await cli('run', '--detach', '--service', 'web', '--', 'node', 'report.js')
    assert.equal(detached.code, 0, detached.stderr)
    await platform.finish(detached.stdout.trim())
    const jobs = await api.list(pathOf('Job'))
    const report = jobs.find((each) => textsOf(containerOf(each)['command']).includes('report.js'))
    assert.ok(report !== undefined)
    const { envFrom, readinessProbe } = containerOf(report)
    assert.deepEqual(envFrom, [{ secretRef: { name: 'shop-production-v001' } }])
    assert.equal(readinessProbe, undefined)
    const labels = Object.keys(fieldAt(report, 'spec', 'template', 'metadata', 'labels') ?? {})
    assert.ok(!labels.includes('fairlead/service') && !labels.includes('app'), labels.join())
  })

  await t.test('app-scenario 135: scale, rollback and removal are as on one machine', async () => {
    const scaled = await ask('PUT', '/scale', { services: { web: 3 } }, 200)
    await platform.ends(String(scaled['task']))
    assert.equal((await find('Deployment', 'shop-web')).spec['replicas'], 3)
    await waitUntil(async () => (await serviceOf('web'))['ready'] === 3, 'three instances')

    const back = await ask('POST', '/rollback', {}, 200)
    // That was one of replica sets.
    assert.deepEqual([back['from'], back['to']], ['2.0.0', '3.0.0'])
    const { execution } = await platform.finish(String(back['id']))
    assert.ok(!execution.stages.some(({ type }) => type === 'runJobManifest'))
    assert.equal((await serviceOf('web'))['version'], '3.0.0')
    assert.deepEqual(await namesOf('Deployment'), ['shop-worker'])

    const slim = fileWith('cluster')
      .replace(/ {2}(?:worker|nightly): .*\n/g, '')
      .replace(', hosts: [shop.example]', '')
    await deploy('1.0.0', slim)
    assert.deepEqual(await namesOf('Deployment'), ['shop-web'])
    assert.deepEqual([await namesOf('CronJob'), await namesOf('Ingress')], [[], []])

    const { task } = await ask('DELETE', '', undefined, 200)
    await platform.ends(String(task))
    for (const kind of ['Deployment', 'Service', 'Secret'])
      assert.deepEqual(await namesOf(kind), [])
  })
})
