/** Watches: many changes, nothing at all, and an API server that restarts. */
import { setTimeout as sleep } from 'node:timers/promises'
import { objectOf, objectsOf } from '../src/json/values.ts'
import { type FakeServer, openFakeServer } from './kubernetes-fake.ts'
import { toDeployment, toNetworkPolicy, toReplicaSet, toService } from './kubernetes-objects.ts'
import { load } from './load.ts'
import { median, print, type Row, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { read, startWithAccounts } from './standalone.ts'
import type { Scratch, Target } from './targets.ts'

/** Those of the pages of an application. */
const pages = ['serverGroups', 'serverGroupManagers', 'loadBalancers', 'securityGroups']
const changesPerSecond = 1000
const longestEventMs = 10_000
const settleMs = 20_000

/** Reads a page of the application; firewalls are listed for all. */
async function readPage(gateway: Target, application: string, page: string): Promise<unknown> {
  return read(gateway, page === 'securityGroups' ? '/securityGroups' : `/applications/${application}/${page}`)
}

async function readPages(gateway: Target, application: string): Promise<void> {
  for (const page of pages) await readPage(gateway, application, page)
}

/** Other requests and events meanwhile. The fake API server, as a real one would need more than this machine. */
export async function measureChanges(options: BenchOptions, scratch: Scratch): Promise<void> {
  const fake = openFakeServer()
  const seconds = options.isShort ? 15 : 60
  const kubeconfigContents = await fake.ask('kubeconfig', 'changes')
  for (let index = 0; index < 20; index++) {
    await fake.ask('fleet', { application: `app${index}`, namespace: 'busy', groups: 5, podsPerGroup: 100 })
  }
  await fake.ask('fleet', { application: 'quiet', namespace: 'quiet', groups: 2, podsPerGroup: 5 })
  const gateway = await startWithAccounts(options, scratch, [{ name: 'fleet', kubeconfigContents }])
  try {
    await readPages(gateway, 'quiet')
    await readPages(gateway, 'app7')
    const { port, headers } = gateway
    const reads = { port, headers, connections: 2, rate: 20, seconds }
    const other = { ...reads, path: '/applications/quiet/pipelines' }
    await load({ ...other, seconds: 5 })
    const before = await load({ ...other, seconds: 10 })
    const cpuUs = gateway.process.cpuUs()
    const [made, others, groups, busyGroups, eventMs] = await Promise.all([
      fake.ask('churn', { perSecond: changesPerSecond, seconds }),
      load(other),
      load({ ...reads, path: '/applications/quiet/serverGroups' }),
      load({ ...reads, path: '/applications/app7/serverGroups', rate: 2 }),
      timeEvents(gateway, fake, seconds),
    ])
    const busy = (gateway.process.cpuUs() - cpuUs) / 1e6 / seconds
    print(`${round(made / seconds)} changes a second for ${seconds} s, 10,000 pods; fake API server`, [
      { what: 'executions of an application, p99 ms', before: before.p99.toFixed(1), measured: others.p99.toFixed(1), aim: 50 },
      { what: 'server groups of another application, p99 ms', before: '', measured: groups.p99.toFixed(1), aim: 50 },
      { what: 'server groups that change, 500 pods, p99 ms', before: '', measured: busyGroups.p99.toFixed(1), aim: '' },
      { what: 'change until event in a browser, median ms', before: '', measured: round(median(eventMs)), aim: '' },
      { what: 'the same, longest ms', before: '', measured: round(Math.max(...eventMs)), aim: 1000 },
      { what: 'processor time of the gateway, of a core', before: '', measured: `${round(busy * 100)} %`, aim: '' },
    ])
  } finally {
    await gateway.process.stop()
    await fake.close()
  }
}

/** One pod of a quiet application changes again and again: until its event stream says so. */
async function timeEvents(gateway: Target, fake: FakeServer, seconds: number): Promise<number[]> {
  const stop = new AbortController()
  const events = await openEvents(gateway, 'quiet', stop.signal)
  const times: number[] = []
  try {
    await sleep(1000)
    const endMs = performance.now() + (seconds - 1) * 1000
    for (let turn = 0; performance.now() < endMs; turn++) {
      const heard = events.next()
      const changedMs = await fake.ask('flip', { namespace: 'quiet', name: 'quiet-0-0', isReady: turn % 2 === 1 })
      const heardMs = await Promise.race([heard, sleep(longestEventMs, Number.POSITIVE_INFINITY)])
      times.push(heardMs - changedMs)
      // At any time between two looks at the infrastructure.
      await sleep(300 + ((turn * 137) % 700))
    }
  } finally {
    stop.abort()
  }
  return times
}

interface Events {
  /** The time at which the next event about infrastructure arrives, by `Date.now`. */
  next(): Promise<number>
}

async function openEvents({ port, headers }: Target, application: string, signal: AbortSignal): Promise<Events> {
  const url = `http://127.0.0.1:${port}/applications/${application}/executions/events`
  const answer = await fetch(url, { headers, signal })
  if (answer.status !== 200 || answer.body === null) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  let tell: (atMs: number) => void = () => {}
  const listen = async (body: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true })
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      if (parts.some((part) => /^event: changed$/m.test(part) && part.includes('"infrastructure"'))) tell(Date.now())
    }
  }
  listen(answer.body).catch(() => {})
  return { next: () => new Promise((resolve) => (tell = resolve)) }
}

/** Requests of accounts that are watched, and of accounts that no client reads. */
export async function measureIdle(options: BenchOptions, scratch: Scratch): Promise<void> {
  const fake = openFakeServer()
  const minutes = options.isShort ? 0.5 : 2
  await fake.ask('smallApplication', { application: 'shop', namespace: 'shop' })
  const account = async (name: string, namespace: string) => ({
    name,
    namespaces: [namespace],
    kubeconfigContents: await fake.ask('kubeconfig', name),
  })
  const gateway = await startWithAccounts(options, scratch, [await account('read', 'shop')])
  const other = await startWithAccounts(options, scratch, [
    { ...(await account('unread', 'none')), namespaces: [] },
    await account('unread-too', 'none'),
  ])
  try {
    await readPages(gateway, 'shop')
    await sleep(settleMs)
    const watches = await fake.ask('watches')
    const tokens = ['read', 'unread', 'unread-too']
    const count = () => Promise.all(tokens.map((token) => fake.ask('requests', token)))
    const since = await fake.ask('requests')
    const before = await count()
    await sleep(minutes * 60_000)
    const after = await count()
    const perMinute = after.map((requests, index) => (requests - (before[index] ?? 0)) / minutes)
    const [ofRead = 0, ...ofUnread] = perMinute
    print(`Requests to the API server while nothing happens, ${minutes} min; fake API server`, [
      { what: `for each of ${watches} watched kinds, a minute`, measured: (ofRead / watches).toFixed(2), aim: 2 },
      { what: 'of accounts that no client reads, a minute', measured: Math.max(...ofUnread).toFixed(2), aim: 0 },
    ])
    for (const line of (await fake.ask('lines', since)).slice(0, 5)) console.log(line)
  } finally {
    await gateway.process.stop()
    await other.process.stop()
    await fake.close()
  }
}

const watchedNamespaces = ['ns-0', 'ns-1', 'ns-2', 'ns-3', 'ns-4']

/** Watches of ten kinds in five namespaces; what has changed meanwhile must show. */
export async function measureRestart(options: BenchOptions, scratch: Scratch): Promise<void> {
  const fake = openFakeServer()
  for (const namespace of watchedNamespaces) await fake.ask('smallApplication', { application: 'shop', namespace })
  const account = { name: 'shop', namespaces: watchedNamespaces, kubeconfigContents: await fake.ask('kubeconfig', 'shop') }
  const gateway = await startWithAccounts(options, scratch, [account])
  try {
    await readPages(gateway, 'shop')
    await sleep(2000)
    const rows: Row[] = []
    for (const isForgotten of [false, true]) {
      rows.push(await restart(gateway, fake, isForgotten))
      await sleep(settleMs)
    }
    print('API server restarts, after five seconds; fake API server', rows)
  } finally {
    await gateway.process.stop()
    await fake.close()
  }
}

/** @param isForgotten Watches cannot be resumed: each list is read again */
async function restart(gateway: Target, fake: FakeServer, isForgotten: boolean): Promise<Row> {
  const suffix = isForgotten ? 'b' : 'a'
  const watches = await fake.ask('watches')
  await fake.ask('disconnect')
  for (const namespace of watchedNamespaces) {
    const named = { application: 'shop', namespace, name: `late-${suffix}` }
    await fake.ask('put', [
      toReplicaSet(named),
      toDeployment(named, 0),
      toService(named, { app: 'late' }),
      toNetworkPolicy(named),
    ])
  }
  if (isForgotten) await fake.ask('compact')
  await sleep(5000)
  const before = { requests: await fake.ask('requests'), connections: await fake.ask('connections') }
  await fake.ask('reconnect')
  const startMs = performance.now()
  const first = sleep(10_000).then(async () => ({
    requests: (await fake.ask('requests')) - before.requests,
    connections: (await fake.ask('connections')) - before.connections,
  }))
  const watched = untilWatched(fake, watches).then(() => performance.now() - startMs)
  await untilCurrent(gateway, `late-${suffix}`)
  const currentMs = performance.now() - startMs
  const watchedMs = await watched
  const { requests, connections } = await first
  return {
    watches,
    'they are': isForgotten ? 'begun anew' : 'resumed',
    'requests in 10 s': requests,
    'aim ': 60,
    connections,
    'changes show after s': (currentMs / 1000).toFixed(1),
    'all watched again after s': (watchedMs / 1000).toFixed(1),
    aim: 15,
  }
}

async function untilWatched(fake: FakeServer, watches: number): Promise<void> {
  for (const endMs = performance.now() + 60_000; performance.now() < endMs; await sleep(100)) {
    if ((await fake.ask('watches')) >= watches) return
  }
  throw new Error(`fewer than ${watches} watches are open again within a minute`)
}

async function untilCurrent(gateway: Target, name: string): Promise<void> {
  for (const endMs = performance.now() + 60_000; performance.now() < endMs; await sleep(100)) {
    const counts = await Promise.all(pages.map(async (page) => countOf(await readPage(gateway, 'shop', page), name)))
    if (counts.every((count) => count >= watchedNamespaces.length)) return
  }
  throw new Error(`lists do not show ${name} within a minute`)
}

/** Objects of a page by that bare name; a list, or records within records. */
function countOf(page: unknown, name: string): number {
  if (Array.isArray(page)) return objectsOf(page).filter((entry) => String(entry['name']).endsWith(` ${name}`)).length
  return Object.values(objectOf(page)).reduce<number>((sum, part) => sum + countOf(part, name), 0)
}
