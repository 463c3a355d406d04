/** Memory for accounts and their objects, and reads of an application with many pods. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../src/json/values.ts'
import { fill, listPods, openCluster } from './kubernetes-cluster.ts'
import { type FakeServer, openFakeServer } from './kubernetes-fake.ts'
import { load } from './load.ts'
import { median, print, type Row, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { read, settledMemory, startWithAccounts } from './standalone.ts'
import type { Scratch, Target } from './targets.ts'

/** 10,000 pods in all. */
const fleet = { applications: 20, groupsPerApplication: 5, podsPerGroup: 100 }
const namespace = 'fleet'
const smallAccounts = 200
const idleAccounts = 1500
const starts = 3
/** Reads that make every kind of an application's pages watched. */
const pages = ['serverGroups', 'serverGroupManagers', 'loadBalancers']

export async function measureMemory(options: BenchOptions, scratch: Scratch): Promise<void> {
  const idleMiB = await measured(options, scratch, undefined)
  const rows: Row[] = [{ what: 'idle, the provider switched off', MiB: round(idleMiB), 'above idle': 0, aim: '' }]
  const row = (what: string, miB: number, aim: number) =>
    rows.push({ what, MiB: round(miB), 'above idle': round(miB - idleMiB), aim })
  row('10,000 pods in one account', await measurePods(options, scratch), 60)
  const fake = openFakeServer()
  try {
    row('200 accounts of 50 objects, all watched', await measureSmallAccounts(options, scratch, fake), 80)
    row('1,500 accounts that no client reads', await measureIdleAccounts(options, scratch, fake), 30)
  } finally {
    await fake.close()
  }
  print('Resident memory', rows)
}

/** @param use Before the memory settles */
async function measured(
  options: BenchOptions,
  scratch: Scratch,
  accounts: readonly JsonObject[] | undefined,
  use: (gateway: Target) => Promise<void> = async () => {},
): Promise<number> {
  const gateway = await startWithAccounts(options, scratch, accounts)
  try {
    await use(gateway)
    return await settledMemory(gateway)
  } finally {
    await gateway.process.stop()
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

async function readPages(gateway: Target, application: string): Promise<void> {
  for (const page of pages) await read(gateway, `/applications/${application}/${page}`)
}

/** Also times reads: the first ones after a start, and later ones. */
async function measurePods(options: BenchOptions, scratch: Scratch): Promise<number> {
  const cluster = await openCluster()
  if (cluster === undefined) return Number.NaN
  try {
    await cluster.createNamespace(namespace)
    await fill(cluster, namespace, fleet)
    const account = { name: 'fleet', kubeconfigFile: cluster.kubeconfigFile }
    const path = '/applications/app-7/serverGroups'
    const [listMs, firstMs]: [number[], number[]] = [[], []]
    for (let start = 0; start < starts; start++) {
      const gateway = await startWithAccounts(options, scratch, [account])
      listMs.push(await timed(() => listPods(cluster)))
      firstMs.push(await timed(() => read(gateway, path)))
      await gateway.process.stop()
    }
    let laterMs = { p50: Number.NaN, p99: Number.NaN }
    const miB = await measured(options, scratch, [account], async (gateway) => {
      await readPages(gateway, 'app-7')
      const { port, headers } = gateway
      await load({ port, headers, path, connections: 1, seconds: 3 })
      laterMs = await load({ port, headers, path, connections: 2, rate: 20, seconds: options.secondsEach * 5 })
    })
    print('Server groups of an application with 500 of 10,000 pods, API server with simulated nodes', [
      { what: 'the list of all pods, without Fairlead, median ms', measured: round(median(listMs)), aim: '' },
      { what: 'first read after a start, median ms', measured: round(median(firstMs)), aim: 2000 },
      { what: 'later reads, 20 a second, p50 ms', measured: laterMs.p50.toFixed(1), aim: '' },
      { what: 'later reads, p99 ms', measured: laterMs.p99.toFixed(1), aim: 50 },
    ])
    return miB
  } finally {
    await cluster.close()
  }
}

async function measureSmallAccounts(options: BenchOptions, scratch: Scratch, fake: FakeServer): Promise<number> {
  const kubeconfigContents = await fake.ask('kubeconfig', 'small')
  const names = Array.from({ length: smallAccounts }, (_, index) => `team-${index}`)
  for (const name of names) await fake.ask('smallApplication', { application: name.replace('-', ''), namespace: name })
  const accounts = names.map((name) => ({ name, kubeconfigContents, namespaces: [name] }))
  return measured(options, scratch, accounts, async (gateway) => {
    await readPages(gateway, 'team7')
    console.log(`\n200 accounts: ${await fake.ask('watches')} watches, ${await fake.ask('connections')} connections`)
  })
}

/** Each with a file of its own. */
async function measureIdleAccounts(options: BenchOptions, scratch: Scratch, fake: FakeServer): Promise<number> {
  const text = await fake.ask('kubeconfig', 'idle')
  const dir = scratch.dir('kubeconfigs')
  const accounts = Array.from({ length: idleAccounts }, (_, index) => {
    const kubeconfigFile = join(dir, `${index}.yml`)
    writeFileSync(kubeconfigFile, text, { mode: 0o600 })
    return { name: `cluster-${index}`, kubeconfigFile }
  })
  return measured(options, scratch, accounts)
}
