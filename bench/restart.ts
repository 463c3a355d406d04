/** The engine killed or stopped under load, time and again: what is lost, what is done twice, and how long requests wait. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type JsonObject, listOf, objectOf } from '../packages/base/json/values.ts'
import { repeatedKey } from '../packages/engine/orchestration/model.ts'
import { isComplete, type Status } from '../packages/engine/orchestration/statuses.ts'
import { freePort } from '../test/support/free-port.ts'
import { type Marks, openMarks } from './marks.ts'
import { median, print, type Row, round } from './measure.ts'
import { MeasuredProcess } from './measured-process.ts'
import type { BenchOptions } from './options.ts'
import { createApplication, post, read } from './standalone.ts'
import { logIn, password, type Scratch, type Target } from './targets.ts'

const running = 1000
const kills = 100
const starters = 20
/** Of a call; a start may wait for the engine. */
const patienceMs = 30_000
const endMs = 300_000
const key = 'for-the-benchmark-alone-0000'
const markedStages = 6
/** One in so many pipelines starts another one, and waits for it. */
const everyParent = 5
const pipelines = 10

interface Site {
  readonly gateway: Target
  /** Ends the engine and starts it again, without waiting for it. */
  replace(end: 'kill' | 'stop'): Promise<void>
  /** Of the engine, since its start. */
  cpuMs(): number
  stop(): Promise<void>
}

/**
 * @param kind The back ends of a gateway as a process of their own, or one process with everything
 * @param end Without warning, or in order
 */
export async function measureRestarts(
  kind: 'apart' | 'standalone',
  end: 'kill' | 'stop',
  options: BenchOptions,
  scratch: Scratch,
): Promise<void> {
  const marks = await openMarks()
  const site = await openSite(kind, options, scratch.dir(kind))
  const load = startLoad(site.gateway, marks)
  try {
    await createApplication(site.gateway, 'load')
    await savePipelines(site.gateway, marks.url)
    load.begin()
    await load.untilFull()
    const times: number[] = []
    const counts: number[] = []
    const cpuMs: number[] = []
    for (let count = 0; count < (options.isShort ? 10 : kills); count++) {
      await sleep(200 + Math.random() * 1300)
      await load.untilFull()
      counts.push(load.running())
      const endedAt = performance.now()
      await site.replace(end)
      await answerOf(site.gateway, load.accepted[0] ?? '')
      times.push(performance.now() - endedAt)
      cpuMs.push(site.cpuMs())
    }
    await load.end()
    const row: Row = {
      kind,
      [`${end}s`]: times.length,
      'running at least': Math.min(...counts),
      ...(await judge(site.gateway, load, marks)),
      ...describeTimes(times),
      'processor time until then, median ms': round(median(cpuMs)),
    }
    print(`${end === 'kill' ? 'Killed' : 'Stopped'} while ${running} executions run`, [row])
  } finally {
    await load.end()
    await site.stop()
    marks.close()
  }
}

function describeTimes(times: readonly number[]): Row {
  const [longest = Number.NaN] = times.toSorted((one, other) => other - one)
  return { 'first answer, median ms': round(median(times)), 'longest ms': round(longest) }
}

async function openSite(
  kind: 'apart' | 'standalone',
  { dist }: BenchOptions,
  dir: string,
): Promise<Site> {
  const [port, enginePort] = [await freePort(), await freePort()]
  const settings = {
    'user-configured-url-restrictions': {
      rejectLocalhost: false,
      rejectVerbatimIps: false,
      allowedAddresses: ['127.0.0.1/32'],
    },
  }
  const env = {
    SERVER_DRAINMS: '0',
    SERVER_PORT: String(port),
    SERVER_ADDRESS: '127.0.0.1',
    FAIRLEAD_ADMIN_PASSWORD: password,
    FAIRLEAD_BACKENDS_KEY: key,
    BACKENDS_PORT: String(enginePort),
    // A busy machine would have requests rejected instead of measured.
    HTTP_OVERLOAD_MAXEVENTLOOPDELAY: '60s',
  }
  const program = resolve(import.meta.dirname, '..', dist ? 'dist/fairlead.js' : 'bin/fairlead.js')
  const start = (name: string, command: string, more: Record<string, string> = {}) => {
    const home = join(dir, name)
    mkdirSync(join(home, 'config'), { recursive: true })
    writeFileSync(join(home, 'config', 'fairlead.yml'), JSON.stringify(settings), { mode: 0o600 })
    const own = { FAIRLEAD_DATA_DIR: join(home, 'data'), ...more }
    return new MeasuredProcess({
      command: process.execPath,
      args: [program, command],
      env: { ...env, ...own },
      dir: home,
    })
  }
  const isApart = kind === 'apart'
  const startEngine = () => start('engine', isApart ? 'backends' : 'serve')
  let engine = startEngine()
  const gateway = isApart
    ? start('gateway', 'serve', { SERVICES_EMBEDDED_BASEURL: `http://127.0.0.1:${enginePort}` })
    : engine
  await gateway.answers(`http://127.0.0.1:${port}/readyz`)
  return {
    gateway: await logIn({ name: kind, port, process: gateway, headers: {} }),
    replace: async (end) => {
      await engine[end]()
      engine = startEngine()
    },
    cpuMs: () => engine.cpuUs() / 1000,
    stop: async () => {
      if (isApart) await gateway.stop()
      await engine.stop()
    },
  }
}

/** The first answer of the engine, asked until there is one. */
async function answerOf({ port, headers }: Target, id: string): Promise<void> {
  for (const until = performance.now() + patienceMs; performance.now() < until; await sleep(3)) {
    const answer = await fetch(`http://127.0.0.1:${port}/pipelines/${id}`, { headers }).catch(
      () => undefined,
    )
    await answer?.arrayBuffer().catch(() => undefined)
    if (answer?.status === 200) return
  }
  throw new Error('The engine does not answer after a kill.')
}

/** Stages that leave marks, with waits in between; some have a child, which leaves one as well. */
async function savePipelines(target: Target, url: string): Promise<void> {
  const parameters = '${trigger.parameters.token}/${execution.id}'
  const mark = (name: string) => ({
    type: 'webhook',
    name,
    method: 'POST',
    url: `${url}/${name}/${parameters}`,
    payload: {},
  })
  const save = (name: string, stages: readonly JsonObject[]) => {
    const numbered = stages.map((stage, index) => ({
      refId: `${index}`,
      requisiteStageRefIds: index === 0 ? [] : [`${index - 1}`],
      ...stage,
    }))
    return post(target, '/pipelines', {
      application: 'load',
      name,
      stages: numbered,
      limitConcurrent: false,
      keepWaitingPipelines: true,
    })
  }
  await save('child', [mark('child')])
  const [child] = listOf(await read(target, '/applications/load/pipelineConfigs')).map(objectOf)
  const start = {
    type: 'pipeline',
    name: 'start',
    application: 'load',
    pipeline: child?.['id'],
    waitForCompletion: true,
    pipelineParameters: { token: '${trigger.parameters.token}' },
  }
  for (let index = 0; index < pipelines; index++) {
    const stages = Array.from({ length: markedStages }, (_, step) => [
      mark(`m${step}`),
      { type: 'wait', name: 'wait', waitTime: 20 + index + step },
    ])
    await save(`p${index}`, [
      ...(index % everyParent === 0 ? [start] : []),
      ...stages.flat(),
      mark('last'),
    ])
  }
}

/** Keeps the number of running executions: whenever one ends, another one is started. */
function startLoad(target: Target, marks: Marks) {
  const accepted: string[] = []
  let begun = 0
  let isEnding = false
  const startOne = async () => {
    const token = `t${begun++}`
    const answer = await fetch(
      `http://127.0.0.1:${target.port}/pipelines/load/p${begun % pipelines}`,
      {
        method: 'POST',
        headers: { ...target.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ type: 'manual', parameters: { token } }),
        signal: AbortSignal.timeout(patienceMs),
      },
    ).catch(() => undefined)
    const text = await answer?.text().catch(() => undefined)
    if (answer?.status === 202 && text !== undefined)
      accepted.push(
        String(objectOf(JSON.parse(text))['ref'])
          .split('/')
          .at(-1) ?? '',
      )
    else await sleep(20)
  }
  const isFull = () => accepted.length - marks.ended() >= running
  const work = async () => {
    while (!isEnding) await (isFull() ? sleep(5) : startOne())
  }
  let working: Promise<unknown> | undefined
  return {
    accepted,
    begun: () => begun,
    running: () => accepted.length - marks.ended(),
    begin() {
      working = Promise.all(Array.from({ length: starters }, work))
    },
    async untilFull() {
      while (!isFull()) await sleep(20)
    },
    async end() {
      isEnding = true
      await working
    },
  }
}

async function judge(
  target: Target,
  load: ReturnType<typeof startLoad>,
  marks: Marks,
): Promise<Row> {
  const lost: string[] = []
  const until = performance.now() + endMs
  for (const id of load.accepted) {
    const execution = await endOf(target, id, until)
    if (execution?.['status'] !== 'SUCCEEDED') lost.push(`${id} ${String(execution?.['status'])}`)
  }
  const repeated = marks.repeated()
  const silent: string[] = []
  for (const [name, id] of repeated)
    if (!(await tellsOf(target, String(id), name))) silent.push(`${name} of ${id}`)
  if (lost.length + silent.length > 0)
    console.log(`Lost: ${lost.join(', ')}; done twice: ${silent.join(', ')}`)
  return {
    started: load.accepted.length,
    lost: lost.length,
    'started twice': marks.startedTwice(),
    'calls of stages': marks.count(),
    missing: marks.missing(load.accepted, markedStages),
    'cut off, repeated and said so': repeated.length - silent.length,
    'done twice otherwise': silent.length,
  }
}

/** Whether the stage says that its call was repeated because the engine ended during it. */
async function tellsOf(target: Target, id: string, name: string | undefined): Promise<boolean> {
  const stages = listOf(objectOf(await read(target, `/pipelines/${id}`))['stages']).map(objectOf)
  return stages.some(
    (stage) => stage['name'] === name && objectOf(stage['context'])[repeatedKey] !== undefined,
  )
}

async function endOf(target: Target, id: string, until: number): Promise<JsonObject | undefined> {
  for (;;) {
    const found = await read(target, `/pipelines/${id}`).catch(() => undefined)
    const execution = found === undefined ? undefined : objectOf(found)
    const isOver = execution !== undefined && isComplete(execution['status'] as Status)
    if (isOver || performance.now() > until) return execution
    await sleep(200)
  }
}
