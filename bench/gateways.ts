/** One gateway and three on the same back ends: what each costs says what they do on cores of their own. */
import { join, resolve } from 'node:path'
import { freePort } from '../test/support/free-port.ts'
import { type LoadResult, load } from './load.ts'
import { type Asked, median, print, type Row, round } from './measure.ts'
import { MeasuredProcess } from './measured-process.ts'
import type { BenchOptions } from './options.ts'
import { createApplication, post, untilSucceeded } from './standalone.ts'
import { logIn, type Scratch, startGateway, type Target } from './targets.ts'

const key = 'for-the-benchmark-alone-0000'
const several = 3
/** Of each gateway, unless given. */
const usualRate = 400
const warmUpSeconds = 10
/** Of each gateway. */
const connections = 8

/** Processor time of a request, in microseconds, in a gateway and in the back ends. */
interface Costs {
  readonly gateway: number
  readonly engine: number
}

export async function measureGateways(options: BenchOptions, scratch: Scratch): Promise<void> {
  const { dist } = options
  const engine = await startEngine(scratch.dir('engine'), dist)
  const gateways: Target[] = []
  try {
    const env = { FAIRLEAD_BACKENDS_KEY: key, SERVICES_EMBEDDED_BASEURL: engine.url, HTTP_SHAREDREADS: 'true' }
    for (let index = 0; index < several; index++)
      gateways.push(await logIn(await startGateway({ dir: scratch.dir('gateway'), dist, env })))
    const [first] = gateways as [Target]
    const rows: Row[] = []
    for (const [name, asked] of Object.entries(await createReads(first))) {
      const read = { ...asked, rate: options.rate ?? usualRate }
      for (const gateway of gateways) await ask([gateway], read, warmUpSeconds)
      rows.push(toRow(name, await compare(options, { engine: engine.process, gateways, read })))
    }
    print(`${several} gateways beside one, ${options.rate ?? usualRate} requests a second for each`, rows)
  } finally {
    for (const { process } of gateways) await process.stop()
    await engine.process.stop()
  }
}

async function startEngine(dir: string, dist: boolean): Promise<{ process: MeasuredProcess; url: string }> {
  const port = await freePort()
  const program = resolve(import.meta.dirname, '..', dist ? 'dist/fairlead.js' : 'bin/fairlead.js')
  const env = { FAIRLEAD_DATA_DIR: join(dir, 'data'), FAIRLEAD_BACKENDS_KEY: key, BACKENDS_PORT: String(port) }
  const engine = new MeasuredProcess({ command: process.execPath, args: [program, 'backends'], env, dir })
  const url = `http://127.0.0.1:${port}`
  await engine.answers(`${url}/livez`)
  return { process: engine, url }
}

/** What the console reads most, by what is measured. */
async function createReads(target: Target): Promise<Record<string, Asked>> {
  await createApplication(target, 'load')
  const stages = Array.from({ length: 10 }, (_, index) => ({
    refId: `${index}`,
    requisiteStageRefIds: index === 0 ? [] : [`${index - 1}`],
    type: 'wait',
    name: 'wait',
    waitTime: 0,
  }))
  await post(target, '/pipelines', { application: 'load', name: 'p', stages })
  let ref = ''
  for (let count = 0; count < 20; count++) ref = await post(target, '/pipelines/load/p', { type: 'manual' })
  await untilSucceeded(target, ref)
  const list = '/applications/load/pipelines?limit=20'
  const { headers } = await fetch(`http://127.0.0.1:${target.port}${list}`, { headers: target.headers })
  const paths = { applications: '/applications', pipelines: '/applications/load/pipelineConfigs', 'an execution': ref }
  return {
    ...Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, { path, connections }])),
    '20 executions, 304': { path: list, connections, headers: { 'if-none-match': headers.get('etag') ?? '' }, status: 304 },
  }
}

/** Each with the same rate. */
function ask(gateways: readonly Target[], read: Asked & { readonly rate: number }, seconds: number): Promise<LoadResult[]> {
  return Promise.all(
    gateways.map(({ port, headers }) => load({ ...read, port, headers: { ...headers, ...read.headers }, seconds })),
  )
}

interface Site {
  readonly engine: MeasuredProcess
  readonly gateways: readonly Target[]
  readonly read: Asked & { readonly rate: number }
}

/** In turns, as the machine may be faster in one of them. */
async function compare({ rounds, secondsEach }: BenchOptions, { engine, gateways, read }: Site): Promise<[Costs[], Costs[]]> {
  const costs: [Costs[], Costs[]] = [[], []]
  for (let turn = 0; turn < rounds; turn++) {
    for (const [index, asked] of [gateways.slice(0, 1), gateways].entries()) {
      const before = asked.map(({ process }) => process.cpuUs())
      const engineBefore = engine.cpuUs()
      const requests = (await ask(asked, read, secondsEach)).reduce((sum, each) => sum + each.requests, 0)
      const used = asked.reduce((sum, { process }, place) => sum + process.cpuUs() - (before[place] ?? 0), 0)
      costs[index as 0 | 1].push({ gateway: used / requests, engine: (engine.cpuUs() - engineBefore) / requests })
    }
  }
  return costs
}

/** With a core for each process, the gateways are the bound until the back ends are. */
function toRow(what: string, [one, three]: [Costs[], Costs[]]): Row {
  const of = (all: readonly Costs[], part: keyof Costs) => median(all.map((costs) => costs[part]))
  const gateway = of(one, 'gateway')
  return {
    read: what,
    'CPU µs, one gateway': round(gateway),
    'of three': round(of(three, 'gateway')),
    'back ends, with one': round(of(one, 'engine')),
    'with three': round(of(three, 'engine')),
    'gateways together, of one': ((several * gateway) / of(three, 'gateway')).toFixed(2),
    'back ends at most, of one gateway': (gateway / of(three, 'engine')).toFixed(2),
  }
}
