/** Logs of pods, and programs in their containers. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { KubeClient } from '../../../../packages/providers/kubernetes/api/client.ts'
import { startFakeKubernetes } from '../../../support/fake-kubernetes.ts'
import { startExecServer } from '../../../support/kubernetes-exec.ts'
import { startKubernetesInfrastructure } from '../../../support/kubernetes-infrastructure.ts'
import { metadata, ownedBy, pod, workload } from '../../../support/kubernetes-objects.ts'

test('logs of the pods of a service are masked (app-scenario 135)', async (t) => {
  const fake = await startFakeKubernetes(t)
  const { backends } = await startKubernetesInfrastructure(t, {
    accounts: [{ name: 'k8s', kubeconfigContents: fake.kubeconfig() }],
  })
  const group = fake.objects.put(
    workload('ReplicaSet', 'shop-web-v000', {
      annotations: ownedBy('shop', 'replicaSet shop-web'),
    }),
  )
  const data = { TOKEN: Buffer.from('word-of-the-cluster').toString('base64') }
  fake.objects.put({ apiVersion: 'v1', kind: 'Secret', metadata: metadata('keys'), data })
  const envFrom = [{ secretRef: { name: 'keys' } }]
  for (const name of ['one', 'two'])
    fake.objects.put({
      ...pod(name, group, { annotations: ownedBy('shop', 'replicaSet shop-web') }),
      spec: { containers: [{ name: 'main', image: 'app:1', envFrom }] },
    })
  const time = (second: number) => `2026-01-01T00:00:0${second}.123456789Z`
  fake.logs.set('n1/one/main', `${time(1)} first\n${time(3)} third word-of-the-cluster\n`)
  fake.logs.set('n1/two/main', `${time(2)} second\n`)

  const answer = await fetch(`${backends.url('clouddriver')}/apps/shop/logs?service=web&grep=ir`)
  const lines = (await answer.text()).split('\n').filter(Boolean)

  assert.equal(answer.status, 200, lines.join('\n'))
  assert.deepEqual(
    lines.map((line) => {
      const { at, instance, text } = JSON.parse(line) as Record<string, string>
      return [at, instance, text]
    }),
    [
      ['2026-01-01T00:00:01.123Z', 'pod one', 'first'],
      ['2026-01-01T00:00:03.123Z', 'pod one', 'third ******'],
    ],
  )
})

test('programs in containers over a WebSocket (app-scenario 135)', async (t) => {
  const { url, asked } = await startExecServer(t)
  const login = { kind: 'none' } as const
  const client = new KubeClient({ server: url, login, namespace: 'default' } as never)
  t.after(() => client.close())
  const run = async (command: readonly string[], input = Buffer.alloc(0)) => {
    const connection = await client.exec({ namespace: 'n1', name: 'one' }, 'main', { command })
    const pieces: Buffer[] = []
    let exit: unknown
    const reading = (async () => {
      for await (const output of connection.output) {
        if (output.kind === 'exit') exit = output.code
        else pieces.push(output.bytes)
      }
    })()
    await connection.send({ kind: 'stdin', bytes: input })
    await connection.send({ kind: 'end' })
    await reading
    return { exit, output: Buffer.concat(pieces) }
  }

  const bytes = randomBytes(300_000)
  const cat = await run(['cat'], bytes)
  assert.deepEqual([cat.exit, cat.output.equals(bytes)], [0, true])
  assert.equal((await run(['sh', '-c', 'exit 7'])).exit, 7)
  assert.match(
    asked[0] ?? '',
    /^\/api\/v1\/namespaces\/n1\/pods\/one\/exec\?container=main&stdin=true&stdout=true&stderr=true&tty=false&command=cat$/,
  )
})
