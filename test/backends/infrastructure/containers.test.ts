/** Containers as instances of the provider `local`, run by a real Podman and a real Docker from a registry of the test. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { askAgent } from '../../../packages/agent/agent-request.ts'
import { type JsonObject, objectsOf, textsOf } from '../../../packages/base/json/values.ts'
import type { ObservedState } from '../../../packages/base/net/agent-protocol.ts'
import { socketPathFor } from '../../../packages/base/storage/socket-path.ts'
import { pushWebImage, startDocker, startPodman } from '../../support/container-runtime.ts'
import { freePort } from '../../support/free-port.ts'
import { somePorts, startInfrastructure, writeCertificate } from '../../support/infrastructure.ts'
import { startOciRegistry } from '../../support/oci-registry.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Group extends JsonObject {
  readonly instanceCounts: { readonly up: number; readonly total: number }
  readonly instances: readonly {
    readonly id: string
    readonly enforcement?: JsonObject
    readonly process?: { pid: number }
  }[]
  readonly image: JsonObject
}

const place = { credentials: 'local', region: 'local', cloudProvider: 'local' }
const groupPath = (name: string) => `/serverGroups/local/local/${name}`
const isUp =
  (count: number) =>
  ({ instanceCounts: { up, total } }: Group) =>
    up === count && total === count

for (const [name, start] of Object.entries({ Podman: startPodman, Docker: startDocker })) {
  test(`${name} deploys, adopts, limits, stops and prunes containers`, async (t) => {
    const registry = await startOciRegistry(t)
    const runtime = await start(t, registry)
    if (runtime === undefined) return
    const repository = `${registry.host}/shop/web`
    const digest = await pushWebImage(registry, 'shop/web', '1.0')
    const { certificate, files } = writeCertificate(t)
    const outgoing = {
      'ca-file': files['certificate-file'],
      proxy: 'http://gate:word-4711@127.0.0.1:9',
    }
    const account = {
      name: 'local',
      ports: await somePorts(t, 20),
      'container-runtime': runtime.path,
      ...outgoing,
    }
    const infra = await startInfrastructure(t, {
      local: { accounts: [account], 'drain-seconds': 0 },
    })
    t.after(runtime.close)
    const port = await freePort()
    const listener = {
      externalProtocol: 'HTTP',
      externalPort: port,
      internalProtocol: 'HTTP',
      internalPort: 8080,
    }
    const health = {
      healthCheck: 'HTTP:8080/health',
      healthInterval: 0.2,
      healthTimeout: 2,
      healthyThreshold: 1,
    }
    // It opens once the agent has started, which may take longer than the task waits.
    await infra.run({
      upsertLoadBalancer: { ...place, name: 'shop-front', listeners: [listener], ...health },
    })
    const deploy = async (imageId: string, more: JsonObject = {}) => {
      const description = {
        ...place,
        application: 'shop',
        imageId,
        loadBalancers: ['shop-front'],
        capacity: { desired: 1 },
        ...more,
      }
      const { resultObjects } = await infra.succeed({ createServerGroup: description })
      const names = (resultObjects as JsonObject[]).at(-1)?.['serverGroupNameByRegion'] as Record<
        string,
        string
      >
      return names['local'] ?? ''
    }
    const visit = async () => (await fetch(`http://127.0.0.1:${port}/cgi-bin/env`)).text()
    const containers = async () => (await runtime.call('ps', '--quiet')).split('\n').filter(Boolean)
    const data = (...path: string[]) =>
      readFileSync(join(infra.dataDir, 'volumes/local/local/shop', ...path, 'log'), 'utf8')
    const first = await deploy(`${repository}:1.0`, {
      environment: { GREETING: 'hello there', HOME: '/nowhere' },
      secrets: { DB_PASSWORD: 'hunter2', DOCKER_PASSWORD: 'hunter2' },
      limits: { memoryMb: 64, processes: 40, openFiles: 512 },
      ready: { path: '/health', intervalSeconds: 0.2 },
      stopSeconds: 5,
      volumes: [{ name: 'data', path: '/var/lib/shop' }],
    })

    await t.test('a tag is resolved once, and its container serves', async () => {
      const group = await infra.until<Group>(groupPath(first), isUp(1))
      assert.deepEqual(
        [group.image['imageId'], group.image['version'], group.image['digest']],
        [`${repository}:1.0`, digest, digest],
      )
      const environment = await visit()
      for (const line of [
        'GREETING=hello there',
        'HOME=/nowhere',
        'DB_PASSWORD=hunter2',
        'FAIRLEAD_VOLUME_DATA=/var/lib/shop',
      ]) {
        assert.match(environment, new RegExp(`^${line}$`, 'm'))
      }
      assert.doesNotMatch(environment, /FAIRLEAD_PROCESS/)
      await pushWebImage(registry, 'shop/web', '1.0', { version: '1.0-changed' })
      await infra.succeed({
        resizeServerGroup: {
          ...place,
          serverGroupName: first,
          capacity: { min: 2, max: 2, desired: 2 },
        },
      })
      await infra.until<Group>(groupPath(first), isUp(2))
      assert.deepEqual(
        [data('current/data/0'), data('current/data/1')],
        ['started 1.0\n', 'started 1.0\n'],
      )
      await infra.succeed({
        resizeServerGroup: {
          ...place,
          serverGroupName: first,
          capacity: { min: 1, max: 1, desired: 1 },
        },
      })
      await infra.until<Group>(groupPath(first), isUp(1))
    })

    await t.test('limits are those of the runtime, secrets are in no argument', async () => {
      const [id = ''] = await containers()
      const inspected = await runtime.call(
        'inspect',
        '--format',
        '{{.HostConfig.Memory}} {{.HostConfig.PidsLimit}} {{.HostConfig.Ulimits}}',
        id,
      )
      assert.match(inspected, /^67108864 40 .*nofile[ =]512[ :]512/i)
      const { instances } = await infra.read<Group>(groupPath(first))
      assert.deepEqual(
        { ...instances[0]?.enforcement },
        { memory: 'cgroup', processes: 'cgroup', openFiles: 'prlimit', disk: 'none' },
      )
      const command = readFileSync(`/proc/${instances[0]?.process?.pid}/cmdline`, 'utf8')
      assert.match(command, /--env\0DB_PASSWORD\0/)
      assert.doesNotMatch(command, /hunter2|word-4711/)
      const environment = await visit()
      assert.match(environment, /^HTTPS_PROXY=http:\/\/gate:word-4711@127\.0\.0\.1:9$/m)
      const [, authorities = ''] = /^SSL_CERT_FILE=(.+)$/m.exec(environment) ?? []
      assert.ok(
        (await runtime.call('exec', id, '/bin/busybox', 'cat', authorities)).includes(
          certificate.trim(),
        ),
      )
      await assert.rejects(
        runtime.call(
          'exec',
          '--user',
          '0',
          id,
          '/bin/busybox',
          'sh',
          '-c',
          `echo >> ${authorities}`,
        ),
        /ead-only/,
      )
      const output = await infra.read<JsonObject>(
        `/instances/local/local/${instances[0]?.id}/console`,
      )
      assert.match(String(output['output']), new RegExp(`started as ${instances[0]?.id}`))
    })

    await t.test('the next agent adopts a container that runs', async () => {
      const before = await containers()
      const socketPath = socketPathFor(infra.dataDir, 'agent.sock')
      const observe = async () =>
        JSON.parse(
          (await askAgent({ socketPath, method: 'GET', path: '/observed', signal: t.signal })).text,
        ) as ObservedState
      const { pid } = await observe()
      process.kill(pid, 'SIGKILL')
      await waitUntil(async () => {
        const state = await observe().catch(() => undefined)
        return (
          state !== undefined &&
          state.pid !== pid &&
          state.instances.some(({ phase }) => phase === 'ready')
        )
      }, 'the next agent')
      assert.match(await visit(), /VERSION=1\.0$/m)
      assert.deepEqual(await containers(), before)
    })

    await runtime.call('pull', '--quiet', `${repository}:1.0`)
    await infra.putImage(
      'shop',
      '2.0.0',
      `container: { image: '${repository}:1.0', port: 8080 }\nready: { path: /health, intervalSeconds: 0.2 }\nvolumes: [{ name: data, path: /data }]\n`,
    )
    const second = await deploy('shop:2.0.0')

    await t.test('an image file describes a container, and volumes stay', async () => {
      await infra.until<Group>(groupPath(second), isUp(1))
      await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: first } })
      await waitUntil(
        async () => (await containers()).length === 1,
        'the end of the first container',
      )
      assert.match(await visit(), /VERSION=1\.0-changed$/m)
      assert.equal(data('current/data/0'), 'started 1.0\nstarted 1.0-changed\nstopped 1.0\n')
      const [{ backups }] = (await infra.read<JsonObject>(groupPath(second)))['volumes'] as [
        { backups: string[] },
      ]
      assert.equal(backups.length, 1)
      assert.equal(data('backups', backups[0] ?? '', 'data/0'), 'started 1.0\n')
    })

    await t.test('an open port of a container that ends is not ready', async () => {
      const image = {
        imageId: `${repository}:1.0`,
        command: ['/bin/busybox', 'sh', '-c', 'sleep 0.5; exit 3'],
      }
      const name = await deploy(`${repository}:1.0`, { ...image, loadBalancers: [] })
      const { instanceCounts } = await infra.until<Group>(groupPath(name), ({ instances }) =>
        /exit code 3, [^"]*before it was ready/.test(JSON.stringify(instances)),
      )
      assert.equal(instanceCounts.up, 0)
      await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: name } })
    })

    await t.test('a container whose client is killed is replaced', async () => {
      const [before] = await containers()
      const { instances } = await infra.read<Group>(groupPath(second))
      process.kill(instances[0]?.process?.pid ?? 0, 'SIGKILL')
      await waitUntil(async () => {
        const now = await containers()
        return now.length === 1 && now[0] !== before
      }, 'another container')
      await infra.until<Group>(groupPath(second), isUp(1))
    })

    if (runtime.crash !== undefined) {
      await t.test('a daemon that is down is reported, and waited for', async () => {
        const start = await runtime.crash?.()
        await infra.until<Group>(groupPath(second), ({ instances }) =>
          /docker does not answer.* Start Docker;.* connect to the Docker/i.test(
            JSON.stringify(instances),
          ),
        )
        const image = { imageId: `${repository}:1.0`, command: ['true'] }
        assert.match(
          JSON.stringify(await infra.run({ runJob: { ...place, application: 'shop', ...image } })),
          /docker cannot be used\. See whether \\"docker info\\" works for the user/,
        )
        await start?.()
        await infra.until<Group>(groupPath(second), isUp(1))
        assert.equal((await containers()).length, 1)
      })
    }

    await t.test('a job is a container that ends by itself, or at its limits', async () => {
      await pushWebImage(registry, 'shop/job', '1.0', { user: '0' })
      const start = async (command: string, more: JsonObject = {}) => {
        const image = {
          imageId: `${registry.host}/shop/job:1.0`,
          command: ['/bin/busybox', 'sh', '-c', command],
        }
        const { resultObjects } = await infra.succeed({
          runJob: { ...place, application: 'shop', ...image, ...more },
        })
        return `/applications/shop/jobs/local/local/${textsOf(objectsOf(resultObjects)[0]?.['deployedNames'])[0]}`
      }
      const isOver = ({ jobState }: JsonObject) => jobState === 'Failed' || jobState === 'Succeeded'
      const paths = [
        await start('test "$GREETING" = hello && exit 3', { environment: { GREETING: 'hello' } }),
        await start('/bin/busybox dd if=/dev/zero of=/large bs=1M count=3; sleep 3600', {
          limits: { diskMb: 1 },
        }),
      ]
      const ends: JsonObject[] = []
      for (const path of paths)
        ends.push((await infra.until<JsonObject>(path, isOver))['completionDetails'] as JsonObject)
      assert.equal(ends[0]?.['exitCode'], 3)
      assert.match(
        String(ends[1]?.['message']),
        /^Its container exceeded its limit of 1 MiB, and it was ended/,
      )
    })

    await t.test('what Fairlead has pulled goes with its last server group', async () => {
      await infra.succeed({ destroyServerGroup: { ...place, serverGroupName: second } })
      let left = ''
      await waitUntil(
        async () => {
          left = await runtime.call('ps', '--all', '--format', '{{.Names}} {{.Status}}')
          return left === ''
        },
        () => `the end of all containers: ${left}`,
      )
      await waitUntil(
        async () =>
          (await runtime.call('images', '--format', '{{.Digest}}')).split('\n').length === 1,
        'one image',
      )
      assert.notEqual(await runtime.call('images', '--format', '{{.Digest}}'), digest)
    })
  })
}

test('an account without a container runtime says what to install', async (t) => {
  const account = {
    name: 'local',
    ports: await somePorts(t, 2),
    'container-runtime': '/nowhere/podman',
  }
  const infra = await startInfrastructure(t, { local: { accounts: [account] } })
  const description = {
    ...place,
    application: 'shop',
    imageId: 'registry.example/shop/web:1.0',
    capacity: { desired: 1 },
  }

  const { status, body } = await infra.ask('POST', '/local/ops', [
    { createServerGroup: description },
  ])

  assert.equal(status, 400)
  assert.match(
    JSON.stringify(body),
    /The container runtime of the account local, \/nowhere\/podman, is not installed\. Install it/,
  )
})
