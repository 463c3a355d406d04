/** Kubernetes: the cost of results, of 5,000 pods and of an idle account, and deployments beside kubectl. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { evaluateHealth } from '../packages/providers/kubernetes/health/evaluate.ts'
import { startFakeKubernetes } from '../test/support/fake-kubernetes.ts'
import { openProcesses } from '../test/support/kubernetes-control-plane.ts'
import { deployment } from '../test/support/kubernetes-manifests.ts'
import { needsKubernetes } from '../test/support/kubernetes-programs.ts'
import { median, print, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { logIn, type Scratch, startGateway, type Target } from './targets.ts'
import { withEnd } from './with-end.ts'

/** By then, a start is over. */
const settleMs = 75_000
const readMs = 30_000
const minuteMs = 60_000
const pods = 5000
const annotations = { 'moniker.spinnaker.io/application': 'shop' }

/** One thread, each object with three conditions and a field of managers. */
export async function measureVerdicts(): Promise<void> {
  const nowMs = Date.parse('2026-01-01T00:00:00Z')
  const times = { nowMs, graceMs: 300_000, firstStatusMs: 10_000, unattendedMs: 30_000 }
  const time = '2025-12-31T00:00:00Z'
  const conditions = ['Ready', 'Available', 'Progressing'].map((type) => ({
    ...{ type, status: 'True', reason: 'AsExpected', message: 'All is well.' },
    lastTransitionTime: time,
  }))
  const objects = Array.from({ length: 5000 }, (_, index) => ({
    apiVersion: `group${index % 30}.example.test/v1`,
    kind: `Kind${index % 60}`,
    metadata: {
      name: `object-${index}`,
      generation: 1,
      managedFields: [{ manager: 'controller', operation: 'Update', subresource: 'status', time }],
    },
    spec: { replicas: 1 },
    status: { observedGeneration: 1, conditions },
  }))
  const passes = Array.from({ length: 20 }, () => {
    const before = process.threadCpuUsage()
    for (const object of objects) evaluateHealth(object, { ...times, hasStatus: true })
    return process.threadCpuUsage(before).user / 1000
  })
  print('Health results on 5,000 objects of 60 kinds: milliseconds of processor time a pass', [
    {
      first: round(passes[0] ?? 0),
      median: round(median(passes)),
      most: round(Math.max(...passes)),
    },
  ])
}

/** Memory with 5,000 pods. */
export async function measureAccount({ dist }: BenchOptions, scratch: Scratch): Promise<void> {
  await withEnd(async (t) => {
    const fake = await startFakeKubernetes(t)
    for (let index = 0; index < pods; index++) fake.objects.put(podOf(index))
    const target = await startWith(scratch.dir('account'), dist, fake.kubeconfig())
    try {
      await sleep(settleMs)
      const own = target.process.ownMebibytes()
      const { peak } = await target.process.watchMemory(async () => {
        await read(target, '/applications/shop/serverGroups')
        await sleep(readMs)
      })
      await sleep(minuteMs)
      print('An account with 5,000 pods: MiB without pages of files; the load of the machine', [
        {
          idle: round(own),
          'first read, at most': round(peak),
          'a minute later': round(target.process.ownMebibytes()),
          load: loadavg().map(round).join(' '),
        },
      ])
    } finally {
      await target.process.stop()
    }
  })
}

/** Requests that the API server itself has recorded of an account that no client looks at. */
export async function measureRequests({ dist }: BenchOptions, scratch: Scratch): Promise<void> {
  const programs = needsKubernetes({ skip: (why) => console.log(why) })
  if (programs === undefined) return
  const dir = scratch.dir('requests')
  const [policy, records] = [join(dir, 'policy.json'), join(dir, 'audit.log')]
  writeFileSync(
    policy,
    JSON.stringify({
      ...{ apiVersion: 'audit.k8s.io/v1', kind: 'Policy' },
      omitStages: ['ResponseStarted', 'ResponseComplete', 'Panic'],
      rules: [{ level: 'Metadata', users: [account] }, { level: 'None' }],
    }),
  )
  const flags = [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${records}`,
    '--audit-log-mode=blocking-strict',
  ]
  const plane = await openProcesses(programs, flags)
  const group = 'rbac.authorization.k8s.io'
  await plane.clientOf('admin').create(`/apis/${group}/v1/clusterrolebindings`, {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'bench' },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: group, kind: 'User', name: account }],
  })
  const target = await startWith(dir, dist, plane.kubeconfigOf(account))
  const count = () => readFileSync(records, 'utf8').split('\n').length - 1
  const inMinute = async () => {
    const before = count()
    await sleep(minuteMs)
    return count() - before
  }
  try {
    await sleep(settleMs)
    const started = count()
    const unused = await inMinute()
    await read(target, '/applications/shop/serverGroups')
    await sleep(readMs)
    const opened = count() - started - unused
    print('Requests in the audit log of the API server, idle', [
      {
        'of the start': started,
        'unused, a minute': unused,
        'first read': opened,
        'kinds in use, a minute': await inMinute(),
      },
    ])
  } finally {
    await target.process.stop()
    await plane.close()
  }
}

const account = 'limited-1'

function podOf(index: number) {
  const name = `web-${index}`
  const env = Array.from({ length: 20 }, (_, at) => ({ name: `NAME_${at}`, value: `value ${at}` }))
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name, namespace: `n${index % 20}`, annotations, labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image: 'registry.test/web:1', env }] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

const rounds = 10
const pollMs = 20

/** In turns, a new deployment of one pod each, on a real control plane with simulated nodes. */
export async function measureDeploys({ dist }: BenchOptions, scratch: Scratch): Promise<void> {
  const programs = needsKubernetes({ skip: (why) => console.log(why) })
  if (programs === undefined) return
  const dir = scratch.dir('deploys')
  const plane = await openProcesses(programs)
  const kubeconfig = plane.kubeconfigOf('admin')
  const target = await startWith(dir, dist, kubeconfig)
  try {
    const env = { ...process.env, KUBECONFIG: join(dir, 'kubeconfig') }
    const kubectl = (...args: string[]) => promisify(execFile)(programs.kubectl, args, { env })
    const own: number[] = []
    const theirs: number[] = []
    for (let index = 0; index < rounds; index++) {
      const manifest = (name: string) => {
        const made = deployment(`${name}-${index}`, 'registry.test/app:1', 1)
        return { ...made, metadata: { name: `${name}-${index}`, namespace: 'default' } }
      }
      const file = join(dir, 'deployment.json')
      writeFileSync(file, JSON.stringify(manifest('theirs')))
      theirs.push(
        await timed(async () => {
          await kubectl('apply', '-f', file)
          await kubectl('rollout', 'status', `deployment/theirs-${index}`)
        }),
      )
      own.push(await timed(() => deploy(target, manifest('own'))))
    }
    const [mine, other] = [median(own), median(theirs)]
    print('A deployment of one pod: median milliseconds until it is stable', [
      { kubectl: round(other), fairlead: round(mine), ratio: (mine / other).toFixed(2) },
    ])
  } finally {
    await target.process.stop()
    await plane.close()
  }
}

async function deploy(target: Target, manifest: unknown): Promise<void> {
  const place = { cloudProvider: 'kubernetes', account: 'k8s', source: 'text' }
  const job = { type: 'deployManifest', ...place, moniker: { app: 'shop' }, manifests: [manifest] }
  await runTask(target, job)
}

async function runTask(target: Target, job: unknown): Promise<void> {
  const body = JSON.stringify({ application: 'shop', description: 'bench', job: [job] })
  const { ref } = (await read(target, '/tasks', { method: 'POST', body })) as { ref: string }
  for (;;) {
    const { status } = (await read(target, ref)) as { status: string }
    if (status === 'SUCCEEDED') return
    if (status === 'TERMINAL') throw new Error(`${ref} failed`)
    await sleep(pollMs)
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

async function startWith(dir: string, dist: boolean, kubeconfig: string): Promise<Target> {
  const file = join(dir, 'kubeconfig')
  writeFileSync(file, kubeconfig, { mode: 0o600 })
  const env = {
    KUBERNETES_ENABLED: 'true',
    KUBERNETES_ACCOUNTS_0_NAME: 'k8s',
    KUBERNETES_ACCOUNTS_0_KUBECONFIGFILE: file,
  }
  const target = await logIn(await startGateway({ dir, dist, env }))
  const application = { name: 'shop', email: 'team@example.test' }
  await runTask(target, { type: 'createApplication', application })
  return target
}

async function read({ port, headers }: Target, path: string, init: RequestInit = {}) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...init,
    headers: { ...headers, 'content-type': 'application/json' },
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${text}`)
  return JSON.parse(text) as unknown
}
