/** Idle browser tabs on an application: what they cost with plain polling, with conditional reads, with event streams besides, and with the console. */
import { Agent, get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { print, type Row, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { addApplications, addExecutions, createData } from './seed.ts'
import { logIn, type Scratch, startGateway, type Target } from './targets.ts'

const tabs = 200
const applications = 500
const executions = 2000
const usualMinutes = 1
const settleMs = 15_000
const idleForMs = 10_000

/** Paths and how often they are read, in seconds. */
type Polls = readonly (readonly [path: string, seconds: number])[]

const polls = [
  ['/applications/shop/pipelines?limit=5', 10],
  ['/applications/shop/tasks?limit=100', 10],
  ['/applications/shop/serverGroups', 15],
  ['/applications/shop/loadBalancers', 15],
  ['/applications/shop/pipelineConfigs', 15],
  ['/applications', 60],
] as const
/** What an event stream replaces, and how often it is read nevertheless. */
const streamed: Readonly<Record<string, number>> = { [polls[0][0]]: 15 }
const stream = '/applications/shop/executions/events'
/** What the console reads for the overview of an application whose stream it follows, while nothing changes. */
const consolePolls: Polls = [
  ['/applications/shop/pipelines?statuses=RUNNING&expand=false&limit=10', 300],
  ['/applications/shop/serverGroups', 300],
  ['/applications/shop/loadBalancers', 300],
  ['/applications/shop/clusters', 300],
  ['/applications/shop?expand=false', 300],
  ['/auth/explain?operation=POST%20%2Fapplications%2F%7Bapplication%7D%2Ftasks&application=shop', 900],
]

interface Kind {
  readonly name: string
  readonly isConditional: boolean
  readonly hasStream: boolean
  readonly polls: Polls
}

const kinds: readonly Kind[] = [
  { name: 'plain polling', isConditional: false, hasStream: false, polls },
  { name: 'conditional reads', isConditional: true, hasStream: false, polls },
  { name: 'conditional reads and event streams', isConditional: true, hasStream: true, polls },
  { name: 'event streams alone', isConditional: true, hasStream: true, polls: [] },
  { name: 'the console, overview of the application', isConditional: true, hasStream: true, polls: consolePolls },
]

/** Everything is opened, read once, and has come to rest before it counts: tabs stay open for hours. */
export async function measureTabs({ dist, minutes = usualMinutes }: BenchOptions, scratch: Scratch): Promise<void> {
  const dir = scratch.dir('tabs')
  await createData(dir, dist)
  addApplications(dir, applications)
  addExecutions(dir, executions, true)
  const env = { LIVE_MAXSTREAMSPERUSER: String(tabs), HTTP_SHAREDREADS: 'true' }
  const rows: Row[] = []
  let plain: { bytes: number; cpuMs: number } | undefined
  for (const kind of kinds) {
    const gateway = await logIn(await startGateway({ dir, dist, env }))
    try {
      // Until what a start leaves behind is done.
      await sleep(settleMs)
      const idleMs = await cpuMsOf(gateway, idleForMs)
      const measured = await openTabs(gateway, kind, minutes * 60_000)
      const cpuMs = Math.max(0, measured.cpuMs - (idleMs * (minutes * 60_000)) / idleForMs)
      plain ??= { ...measured, cpuMs }
      rows.push({
        tabs: kind.name,
        reads: measured.reads,
        unchanged: percentage(measured.unchanged, measured.reads),
        failed: measured.failed,
        MB: (measured.bytes / 1e6).toFixed(2),
        'of plain': percentage(measured.bytes, plain.bytes),
        'CPU s': (cpuMs / 1000).toFixed(2),
        'of plain ': percentage(cpuMs, plain.cpuMs),
        'CPU ms/read': measured.reads === 0 ? '' : (cpuMs / measured.reads).toFixed(2),
        'memory MiB': round(gateway.process.memory().now),
      })
    } finally {
      await gateway.process.stop()
    }
  }
  print(`${tabs} idle tabs for ${minutes} min, every service embedded; processor time beyond that of an idle process`, rows)
}

function percentage(part: number, whole: number): string {
  return whole === 0 ? '' : `${((100 * part) / whole).toFixed(1)} %`
}

async function cpuMsOf({ process }: Target, forMs: number): Promise<number> {
  const before = process.cpuUs()
  await sleep(forMs)
  return (process.cpuUs() - before) / 1000
}

interface Measured {
  readonly reads: number
  /** Answered with 304. */
  readonly unchanged: number
  readonly failed: number
  readonly bytes: number
  readonly cpuMs: number
}

interface Tab {
  readonly agent: Agent
  readonly tags: Map<string, string>
}

async function openTabs(target: Target, kind: Kind, forMs: number): Promise<Measured> {
  const all = Array.from({ length: tabs }, (): Tab => ({ agent: new Agent({ keepAlive: true }), tags: new Map() }))
  let [reads, bytes, failed, unchanged] = [0, 0, 0, 0]
  const read = async (tab: Tab, path: string) => {
    const tag = kind.isConditional ? tab.tags.get(path) : undefined
    const answer = await ask(target, tab.agent, path, tag)
    if (answer.tag !== undefined) tab.tags.set(path, answer.tag)
    if (answer.failed) failed++
    if (answer.unchanged) unchanged++
    reads++
    bytes += answer.bytes
  }
  const streams: IncomingMessage[] = []
  for (const tab of all) {
    for (const [path] of kind.polls) await read(tab, path)
    if (kind.hasStream) {
      const opened = await openStream(target, tab.agent)
      opened.on('data', (piece: Buffer) => {
        bytes += piece.length
      })
      streams.push(opened)
    }
  }
  await sleep(settleMs)
  reads = bytes = failed = unchanged = 0
  const cpuBefore = target.process.cpuUs()
  const endsMs = performance.now() + forMs
  const poll = async (tab: Tab, path: string, seconds: number) => {
    const wait = (ms: number) => sleep(Math.max(0, Math.min(ms, endsMs - performance.now())))
    for (await wait(Math.random() * seconds * 1000); performance.now() < endsMs; await wait(seconds * 1000)) await read(tab, path)
  }
  const paceOf = (path: string, seconds: number) => (kind.hasStream ? (streamed[path] ?? seconds) : seconds)
  await Promise.all([
    sleep(forMs),
    ...all.flatMap((tab) => kind.polls.map(([path, seconds]) => poll(tab, path, paceOf(path, seconds)))),
  ])
  const cpuMs = (target.process.cpuUs() - cpuBefore) / 1000
  for (const opened of streams) opened.destroy()
  for (const { agent } of all) agent.destroy()
  return { reads, unchanged, failed, bytes, cpuMs }
}

/** Bytes of head and body, as they came. A busy gateway may reject a read; anything else but 200 and 304 is a mistake of the measurement. */
async function ask(
  target: Target,
  agent: Agent,
  path: string,
  tag: string | undefined,
): Promise<{ bytes: number; failed: boolean; unchanged: boolean; tag?: string }> {
  const answer = await open(target, agent, path, tag === undefined ? {} : { 'if-none-match': tag })
  let bytes = answer.rawHeaders.reduce((sum, text) => sum + text.length + 2, 0)
  for await (const piece of answer as AsyncIterable<Buffer>) bytes += piece.length
  const failed = answer.statusCode === 503
  if (answer.statusCode !== 200 && answer.statusCode !== 304 && !failed)
    throw new Error(`${path} was answered with ${answer.statusCode}.`)
  const unchanged = answer.statusCode === 304
  return { bytes, failed, unchanged, ...(answer.headers.etag !== undefined && { tag: answer.headers.etag }) }
}

async function openStream(target: Target, agent: Agent): Promise<IncomingMessage> {
  const answer = await open(target, agent, stream, {})
  if (answer.statusCode !== 200) throw new Error(`${stream} was answered with ${answer.statusCode}.`)
  return answer
}

function open({ port, headers }: Target, agent: Agent, path: string, more: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const all = { ...headers, accept: 'application/json', 'accept-encoding': 'gzip', ...more }
    get({ host: '127.0.0.1', port, path, agent, headers: all }, resolve).on('error', reject)
  })
}
