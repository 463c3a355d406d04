import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { test } from 'node:test'
import { createKubernetesLease } from '../../../../packages/app/standby/kubernetes-lease.ts'
import { fieldAt, objectsOf } from '../../../../packages/base/json/values.ts'
import { KubeClient } from '../../../../packages/providers/kubernetes/api/client.ts'
import { loadKubeconfig } from '../../../../packages/providers/kubernetes/api/kubeconfig.ts'
import { checkLease } from '../../../standby/lease-suite.ts'
import { type ControlPlane, startControlPlane } from '../../../support/kubernetes.ts'
import type { KubernetesObject } from '../../../support/kubernetes-client.ts'
import { kubernetesVersion } from '../../../support/kubernetes-programs.ts'
import { memoryOf } from '../../../support/serve.ts'
import { waitFor, waitUntil } from '../../../support/wait-until.ts'

/** Before any other test: it tells how long the start takes. */
test('a control plane of the pinned version starts', async (t) => {
  const startedAt = performance.now()
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  const { body } = await kubernetes.api.call('/version')
  assert.equal(fieldAt(body, 'gitVersion'), `v${kubernetesVersion()}`)
  if (process.platform !== 'linux') return
  const megabytes = kubernetes.pids().map((pid) => Math.round(memoryOf(pid, 'RssAnon') / 1024 ** 2))
  t.diagnostic(
    `Kubernetes started in ${seconds} s; etcd, API server and controllers take ${megabytes.join(', ')} MB`,
  )
})

test('a deployment of two replicas becomes ready', async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const namespace = await kubernetes.namespace()

  const path = await deploy(kubernetes, namespace, 'nginx:1')

  await waitUntil(
    async () => (await kubernetes.api.get(path)).status['readyReplicas'] === 2,
    'two ready replicas',
  )
  const pods = await kubernetes.api.list(`/api/v1/namespaces/${namespace}/pods`)
  assert.deepEqual(
    pods.map(({ status }) => status['phase']),
    ['Running', 'Running'],
  )
  const { stdout } = await kubernetes.kubectl('get', 'deployments', '--namespace', namespace)
  assert.match(stdout, /web +2\/2/)
})

const failures = [
  { image: 'registry.example/team/bad:1', phase: 'Pending', reason: 'ImagePullBackOff' },
  { image: 'crash:1', phase: 'Running', reason: 'CrashLoopBackOff' },
] as const

for (const { image, phase, reason } of failures) {
  test(`a container of ${image} waits with ${reason}`, async (t) => {
    const kubernetes = await startControlPlane(t)
    if (kubernetes === undefined) return
    const namespace = await kubernetes.namespace()

    await deploy(kubernetes, namespace, image)

    const pod = await waitForPod(
      kubernetes,
      namespace,
      ({ status }) => firstContainer(status, 'state', 'waiting', 'reason') === reason,
    )
    assert.equal(pod.status['phase'], phase)
    await waitUntil(async () => {
      const events = await kubernetes.api.list(`/api/v1/namespaces/${namespace}/events`)
      return events.some(
        (event) =>
          event['reason'] === 'BackOff' &&
          fieldAt(event, 'involvedObject', 'name') === pod.metadata.name,
      )
    }, 'the event')
  })
}

test('a pod that fits no node stays unscheduled', async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const namespace = await kubernetes.namespace()

  await deploy(kubernetes, namespace, 'unschedulable:1')

  const pod = await waitForPod(
    kubernetes,
    namespace,
    ({ status }) => objectsOf(status['conditions']).length > 0,
  )
  assert.equal(objectsOf(pod.status['conditions'])[0]?.['reason'], 'Unschedulable')
  assert.equal(pod.spec['nodeName'], undefined)
})

test('pods become ready when their rule ends', async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const namespace = await kubernetes.namespace()
  const end = kubernetes.nodes.behave(({ metadata }) => metadata.namespace === namespace, {
    kind: 'unready',
  })
  const path = await deploy(kubernetes, namespace, 'nginx:1')
  await waitUntil(
    async () => (await kubernetes.api.get(path)).status['unavailableReplicas'] === 2,
    'two replicas',
  )
  await waitForPod(kubernetes, namespace, ({ status }) => status['phase'] === 'Running')

  end()

  await waitUntil(
    async () => (await kubernetes.api.get(path)).status['readyReplicas'] === 2,
    'two ready replicas',
  )
})

test('each node runs a pod of a daemon set', async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const namespace = await kubernetes.namespace()
  const folder = `/apis/apps/v1/namespaces/${namespace}`

  await kubernetes.api.create(`${folder}/daemonsets`, workload('apps/v1', 'DaemonSet', 'nginx:1'))
  await kubernetes.api.create(`${folder}/statefulsets`, {
    ...workload('apps/v1', 'StatefulSet', 'slow:200'),
    metadata: { name: 'db' },
  })

  await waitUntil(
    async () => (await kubernetes.api.get(`${folder}/daemonsets/web`)).status['numberReady'] === 2,
    'two ready pods',
  )
  const pods = await kubernetes.api.list(`/api/v1/namespaces/${namespace}/pods`)
  const nodes = pods
    .filter(({ metadata }) => metadata.name.startsWith('web-'))
    .map(({ spec }) => spec['nodeName'])
  assert.deepEqual(nodes.toSorted(), kubernetes.nodes.names)
  await waitUntil(
    async () =>
      (await kubernetes.api.get(`${folder}/statefulsets/db`)).status['readyReplicas'] === 1,
    'a slow pod',
  )
})

const jobs = [
  { image: 'migrate:1', condition: 'Complete', exitCode: 0 },
  { image: 'exit:3', condition: 'Failed', exitCode: 3 },
] as const

for (const { image, condition, exitCode } of jobs) {
  test(`a job of ${image} ends with ${exitCode}`, async (t) => {
    const kubernetes = await startControlPlane(t)
    if (kubernetes === undefined) return
    const namespace = await kubernetes.namespace()
    const jobsPath = `/apis/batch/v1/namespaces/${namespace}/jobs`

    await kubernetes.api.create(jobsPath, job(image))

    await waitUntil(async () => {
      const conditions = objectsOf(
        (await kubernetes.api.get(`${jobsPath}/migrate`)).status['conditions'],
      )
      return conditions.some(({ type, status }) => type === condition && status === 'True')
    }, condition)
    const pod = await waitForPod(kubernetes, namespace, () => true)
    assert.equal(firstContainer(pod.status, 'state', 'terminated', 'exitCode'), exitCode)
  })
}

test('the API server answers with logs of containers', async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const namespace = await kubernetes.namespace()
  await deploy(kubernetes, namespace, 'nginx:1')
  const { metadata } = await waitForPod(
    kubernetes,
    namespace,
    ({ status }) => status['phase'] === 'Running',
  )
  const log = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/log`

  assert.equal(await kubernetes.api.text(log), 'main starts\nmain is ready\n')
  assert.equal(await kubernetes.api.text(`${log}?tailLines=1`), 'main is ready\n')
  await assert.rejects(kubernetes.api.text(`${log}?previous=true`), {
    status: 400,
    message: /previous terminated container "main"/,
  })
  kubernetes.nodes.setLog(namespace, metadata.name, 'main', 'one\ntwo\n')
  assert.equal(await kubernetes.api.text(log), 'one\ntwo\n')
})

test('a log that is followed shows new lines', async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const namespace = await kubernetes.namespace()
  await deploy(kubernetes, namespace, 'nginx:1')
  const { metadata } = await waitForPod(
    kubernetes,
    namespace,
    ({ status }) => status['phase'] === 'Running',
  )
  const { port } = new URL(kubernetes.server)
  const answer = await openLog(
    kubernetes,
    Number(port),
    `/api/v1/namespaces/${namespace}/pods/${metadata.name}/log?follow=true`,
  )
  t.after(() => answer.destroy())
  let text = ''
  answer.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  await waitUntil(() => text === 'main starts\nmain is ready\n', 'the log so far')

  kubernetes.nodes.setLog(namespace, metadata.name, 'main', `${text}later\n`)

  await waitUntil(() => text.endsWith('later\n'), 'the new line')
})

test('deleted objects and their pods go', async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const namespace = await kubernetes.namespace()
  const path = await deploy(kubernetes, namespace, 'nginx:1')
  await waitForPod(kubernetes, namespace, ({ status }) => status['phase'] === 'Running')

  await kubernetes.api.delete(path, { propagationPolicy: 'Foreground' })

  await waitUntil(
    async () => (await kubernetes.api.find(path)) === undefined,
    'the end of the deployment',
  )
  assert.deepEqual(await kubernetes.api.list(`/api/v1/namespaces/${namespace}/pods`), [])
})

test('an API server that a test stops runs again afterwards, with its data', async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const namespace = await kubernetes.namespace()
  const path = await deploy(kubernetes, namespace, 'nginx:1')
  const { metadata } = await kubernetes.api.get(path)

  await t.test('it is stopped', async (stopping) => {
    const own = await startControlPlane(stopping)
    await own?.stopApiServer()
    await assert.rejects(kubernetes.api.get('/version'))
  })

  assert.equal((await kubernetes.api.get(path)).metadata.uid, metadata.uid)
  await kubernetes.api.patch(path, { spec: { replicas: 3 } })
  await waitUntil(
    async () => (await kubernetes.api.get(path)).status['readyReplicas'] === 3,
    'three ready replicas',
  )
})

test('a limited user may do what it is granted', async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const namespace = await kubernetes.namespace()
  const user = kubernetes.user()
  const path = `/api/v1/namespaces/${namespace}/pods`
  await assert.rejects(kubernetes.clientOf(user).list(path), { status: 403 })

  await kubernetes.grant(
    user,
    [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }],
    namespace,
  )

  assert.deepEqual(await kubernetes.clientOf(user).list(path), [])
  await assert.rejects(kubernetes.clientOf(user).list('/api/v1/namespaces/default/pods'), {
    status: 403,
  })
  const { stdout } = await kubernetes.kubectl(
    'auth',
    'whoami',
    '--kubeconfig',
    kubernetes.kubeconfigFile(user),
  )
  assert.ok(stdout.includes(user))
})

async function deploy({ api }: ControlPlane, namespace: string, image: string): Promise<string> {
  const folder = `/apis/apps/v1/namespaces/${namespace}/deployments`
  const deployment = workload('apps/v1', 'Deployment', image)
  await api.create(folder, { ...deployment, spec: { ...deployment.spec, replicas: 2 } })
  return `${folder}/web`
}

function workload(apiVersion: string, kind: string, image: string) {
  const labels = { app: kind.toLowerCase() }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } }
  return {
    apiVersion,
    kind,
    metadata: { name: 'web' },
    spec: { selector: { matchLabels: labels }, template },
  }
}

function job(image: string) {
  const spec = { restartPolicy: 'Never', containers: [{ name: 'main', image }] }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate' },
    spec: { backoffLimit: 0, template: { spec } },
  }
}

function waitForPod(
  { api }: ControlPlane,
  namespace: string,
  holds: (pod: KubernetesObject) => boolean,
): Promise<KubernetesObject> {
  return waitFor(
    async () => (await api.list(`/api/v1/namespaces/${namespace}/pods`)).find(holds),
    'a pod',
  )
}

function firstContainer(status: unknown, ...path: string[]): unknown {
  return fieldAt(objectsOf(fieldAt(status, 'containerStatuses'))[0], ...path)
}

async function openLog(
  { caFile, token }: ControlPlane,
  port: number,
  path: string,
): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${token()}` }
  const [answer] = (await once(
    get({ host: '127.0.0.1', port, path, headers, ca: readFileSync(caFile) }),
    'response',
  )) as [IncomingMessage]
  return answer
}

test('the lease of the back ends in Kubernetes has one holder', async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const namespace = await kubernetes.namespace()
  const user = kubernetes.user()
  const verbs = ['get', 'create', 'update']
  await kubernetes.grant(
    user,
    [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs }],
    namespace,
  )
  const access = await loadKubeconfig({ contents: kubernetes.kubeconfig(user) })
  await checkLease(t, {
    open: async () => createKubernetesLease(new KubeClient(access), namespace),
    forget: () =>
      kubernetes.kubectl('delete', 'lease', '--namespace', namespace, 'fairlead-backends'),
  })
  const { spec } = await kubernetes.api.get(
    `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/fairlead-backends`,
  )
  assert.equal(fieldAt(spec, 'holderIdentity'), 'a')
})
