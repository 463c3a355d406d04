/** Engine: what a run costs, by how many definitions and executions are stored. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { median, print, type Row, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { createApplication, post, read, send } from './standalone.ts'
import { logIn, type Scratch, startGateway, type Target } from './targets.ts'

const pipelinesEach = 20
const definitionCounts = [pipelinesEach, 600, 6000, 20_000]
const executionCounts = [1000, 100_000, 1_000_000]
const definitionsBesideExecutions = 600
const runsAtATime = 32
/** Of the first application; its runs wait for a judgment. */
const heldPipeline = 'held'
/** V8 compiles what runs take for some hundred of them. */
const warmUpRuns = 1500
/** One after another. */
const warmUpStarts = 100
const oneByOne = 40
const sleepers = 1000
/** Until they wake: so long it takes to start them. */
const sleepSeconds = 45
const probePauseMs = 10
const limitMs = 300_000

interface Stored {
  readonly definitions: number
  readonly executions: number
}

export async function measureDefinitions(options: BenchOptions, scratch: Scratch): Promise<void> {
  const counts = options.isShort ? definitionCounts.slice(0, 2) : definitionCounts
  await measureAll(
    options,
    scratch,
    counts.map((definitions) => ({ definitions, executions: 0 })),
  )
}

export async function measureExecutions(options: BenchOptions, scratch: Scratch): Promise<void> {
  const counts = options.isShort ? executionCounts.slice(0, 2) : executionCounts
  const definitions = definitionsBesideExecutions
  await measureAll(
    options,
    scratch,
    counts.map((executions) => ({ definitions, executions })),
  )
}

/** Executions whose waits end at the same moment, and what others wait for meanwhile. */
export async function measureWaking(
  { dist, isShort }: BenchOptions,
  scratch: Scratch,
): Promise<void> {
  const gateway = await startGateway({ dir: scratch.dir('waking'), dist })
  const count = isShort ? 100 : sleepers
  try {
    const target = await logIn(gateway)
    const application = 'sleepers'
    await createApplication(target, application)
    const stages = [{ refId: '1', type: 'wait', name: 'Wait', waitTime: '${parameters.seconds}' }]
    for (const [name, seconds] of Object.entries({ sleeper: 1, other: 0 }))
      await post(target, '/pipelines', {
        ...{ application, name, stages, triggers: [], limitConcurrent: false },
        parameterConfig: [{ name: 'seconds', default: String(seconds) }],
      })
    const start = (name: string, parameters: object) =>
      post(target, `/pipelines/${application}/${name}`, { type: 'manual', parameters })
    // A new process compiles what it runs for the first time.
    for (let n = 0; n < warmUpStarts; n++) await start('other', {})
    const wakeMs = Date.now() + sleepSeconds * 1000
    const refs: string[] = []
    const send = async () => {
      for (let n = refs.push(''); n <= count; n = refs.push(''))
        refs[n - 1] = await start('sleeper', { seconds: (wakeMs - Date.now()) / 1000 })
    }
    await Promise.all(Array.from({ length: runsAtATime }, send))
    if (Date.now() > wakeMs) throw new Error(`${count} starts took longer than ${sleepSeconds} s.`)
    const [ref = ''] = refs
    const probes = { GET: () => read(target, ref), start: () => start('other', {}) }
    const isAwake = async () => {
      const all = (await read(
        target,
        `/applications/${application}/pipelines?limit=1&statuses=RUNNING`,
      )) as { name: string }[]
      return !all.some(({ name }) => name === 'sleeper')
    }
    await sleep(Math.max(0, wakeMs - 5000 - Date.now()))
    const before = await probe(probes, async () => Date.now() > wakeMs - 500)
    await sleep(wakeMs - 50 - Date.now())
    const cpuUs = gateway.process.cpuUs()
    const during = await probe(probes, isAwake)
    const awakeMs = Date.now() - wakeMs
    const cpuMs = (gateway.process.cpuUs() - cpuUs) / 1000
    print(
      `${count} executions wake at once: all have ended after ${round(awakeMs)} ms and ${round(cpuMs)} ms of processor time`,
      [
        { when: 'before', ...before },
        { when: 'meanwhile', ...during },
      ],
    )
  } finally {
    await gateway.process.stop()
  }
}

/** Requests one after another of each kind until it is over. */
async function probe(
  probes: Readonly<Record<string, () => Promise<unknown>>>,
  isOver: () => Promise<boolean>,
): Promise<Row> {
  let over = false
  const rows = Object.entries(probes).map(async ([name, send]) => {
    const times: number[] = []
    while (!over) {
      const begunMs = performance.now()
      await send()
      times.push(performance.now() - begunMs)
      await sleep(probePauseMs)
    }
    times.sort((one, other) => one - other)
    const at = (part: number) => (times[Math.floor((times.length - 1) * part)] ?? 0).toFixed(1)
    return { [name]: times.length, [`${name} p50 ms`]: at(0.5), [`${name} p99 ms`]: at(0.99) }
  })
  while (!(await isOver())) await sleep(100)
  over = true
  return Object.assign({}, ...(await Promise.all(rows))) as Row
}

async function measureAll(
  options: BenchOptions,
  scratch: Scratch,
  all: readonly Stored[],
): Promise<void> {
  const rows: Row[] = []
  for (const stored of all) {
    rows.push(await measureStored(options, scratch, stored))
    console.log(JSON.stringify(rows.at(-1)))
  }
  print('Runs of five evaluateVariables stages, by what is stored', rows)
}

async function measureStored(
  { dist, isShort }: BenchOptions,
  scratch: Scratch,
  stored: Stored,
): Promise<Row> {
  const dir = scratch.dir('engine')
  const start = { dir, dist }
  await fill(start, stored)
  const gateway = await startGateway(start)
  const startMs = performance.now() - gateway.process.startedAt
  const startCpuMs = gateway.process.cpuUs() / 1000
  const db = new DatabaseSync(databaseIn(dir), { readOnly: true })
  try {
    await sleep(3000)
    const memory = gateway.process.ownMebibytes()
    const engine = { target: await logIn(gateway), db, definitions: stored.definitions }
    await run(engine, warmUpRuns)
    const runs = await run(engine, isShort ? 200 : 600)
    const started = await inTurn(engine, (n) => startRun(engine.target, n))
    const hooked = await inTurn(engine, (n) =>
      post(engine.target, `/webhooks/webhook/source-${n}`, {}),
    )
    const steered: Row = {}
    for (const [name, { ready, send }] of Object.entries(requests)) {
      const costs: number[] = []
      for (let n = 0; n < oneByOne; n++) {
        const subject = await ready(engine, (n * 13) % stored.definitions)
        const before = gateway.process.cpuUs()
        await send(engine.target, subject)
        costs.push((gateway.process.cpuUs() - before) / 1000)
      }
      steered[`CPU ms: ${name}`] = median(costs).toFixed(1)
    }
    return {
      definitions: stored.definitions,
      executions: stored.executions,
      'runs/s': round(runs.perSecond),
      'CPU ms/run': runs.cpuMs.toFixed(2),
      'start ms': median(started).toFixed(1),
      'webhook ms': median(hooked).toFixed(1),
      ...steered,
      'up after ms': round(startMs),
      'with CPU ms': round(startCpuMs),
      'idle MiB': round(memory),
    }
  } finally {
    db.close()
    await gateway.process.stop()
  }
}

interface Engine {
  readonly target: Target
  readonly db: DatabaseSync
  readonly definitions: number
}

interface Steering {
  /** What is not measured. @returns the address of its subject */
  readonly ready: (engine: Engine, n: number) => Promise<string>
  readonly send: (target: Target, subject: string) => Promise<unknown>
}

const ofApplication = async (_engine: Engine, n: number) => `/applications/${applicationOf(n)}`
const readOf = (path: string): Steering => ({
  ready: ofApplication,
  send: (target, application) => read(target, `${application}/${path}`),
})

/** Requests whose processor time is measured until they are answered. */
const requests: Readonly<Record<string, Steering>> = {
  list: readOf('pipelines?limit=2'),
  tasks: readOf('tasks'),
  search: readOf('executions/search?triggerTypes=manual&size=5'),
  'search for none': readOf('executions/search?triggerTypes=git&size=5'),
  'by parameter': readOf('executions/search?parameter=ring%3Dblue&size=5'),
  'by parameter, none': readOf('executions/search?parameter=ring%3Dred&size=5'),
  judgment: {
    ready: async (engine) => {
      const run = await untilHeld(engine)
      const { stages } = (await read(engine.target, run)) as { stages: { id: string }[] }
      return `${run}/stages/${stages[0]?.id}`
    },
    send: (target, stage) => send(target, 'PATCH', stage, { judgmentStatus: 'continue' }),
  },
  cancel: {
    ready: untilHeld,
    send: (target, run) => send(target, 'PUT', `${run}/cancel`, {}),
  },
}

/** A run that waits for a judgment. */
async function untilHeld({ target }: Engine): Promise<string> {
  const run = await post(target, `/pipelines/${applicationOf(0)}/${heldPipeline}`, {})
  for (const endMs = performance.now() + limitMs; performance.now() < endMs; await sleep(5)) {
    const { stages } = (await read(target, run)) as { stages: { status: string }[] }
    if (stages[0]?.status === 'RUNNING') return run
  }
  throw new Error(`${run} does not wait for its judgment.`)
}

/** So many runs of different pipelines, some at a time. */
async function run(
  { target, db, definitions }: Engine,
  count: number,
): Promise<{ perSecond: number; cpuMs: number }> {
  const after = newestOf(db)
  const cpuUs = target.process.cpuUs()
  const begunMs = performance.now()
  let next = 0
  const send = async () => {
    while (next < count) await startRun(target, (next++ * 7) % definitions)
  }
  await Promise.all(Array.from({ length: runsAtATime }, send))
  await untilEnded(db, after, count)
  return {
    perSecond: (count * 1000) / (performance.now() - begunMs),
    cpuMs: (target.process.cpuUs() - cpuUs) / 1000 / count,
  }
}

/** Milliseconds of each request, of which the next one waits until the run has ended. */
async function inTurn(
  { db, definitions }: Engine,
  send: (n: number) => Promise<unknown>,
): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < oneByOne; n++) {
    const after = newestOf(db)
    const begunMs = performance.now()
    await send((n * 11) % definitions)
    times.push(performance.now() - begunMs)
    await untilEnded(db, after, 1)
  }
  return times
}

function startRun(target: Target, n: number): Promise<string> {
  return post(target, `/pipelines/${applicationOf(n)}/pipeline-${n}`, {})
}

function newestOf(db: DatabaseSync): string {
  return String(
    db.prepare('SELECT max(id) AS id FROM orchestration_executions').get()?.['id'] ?? '',
  )
}

async function untilEnded(db: DatabaseSync, after: string, count: number): Promise<void> {
  const ended = db.prepare(
    `SELECT count(*) AS n FROM orchestration_executions WHERE id > ? AND status = 'SUCCEEDED'`,
  )
  for (const endMs = performance.now() + limitMs; performance.now() < endMs; await sleep(5))
    if (Number(ended.get(after)?.['n']) >= count) return
  throw new Error(`${count} runs have not ended within ${limitMs / 1000} s.`)
}

/** Written into the database: through the interface it would take longer than what is measured. */
async function fill(
  start: Parameters<typeof startGateway>[0],
  { definitions, executions }: Stored,
): Promise<void> {
  await (await startGateway(start)).process.stop()
  const db = new DatabaseSync(databaseIn(start.dir))
  try {
    writeDefinitions(db, definitions)
    // What was written past the store is indexed by a start.
    const gateway = await startGateway(start)
    if (executions > 0) await run({ target: await logIn(gateway), db, definitions }, 1)
    await gateway.process.stop()
    if (executions > 0) writeExecutions(db, executions, definitions)
  } finally {
    db.close()
  }
}

function writeDefinitions(db: DatabaseSync, count: number): void {
  const write = db.prepare(
    'INSERT INTO definitions_documents (kind, key, application, name, modified_ms, document) VALUES (?, ?, ?, ?, 0, ?)',
  )
  const note = db.prepare(
    `INSERT INTO definitions_history (kind, key, modified_ms, document) VALUES ('pipeline', ?, 0, ?)`,
  )
  db.exec('BEGIN IMMEDIATE')
  for (let n = 0; n < count; n++) {
    const application = applicationOf(n)
    if (n % pipelinesEach === 0)
      write.run(
        'application',
        application,
        null,
        null,
        JSON.stringify({ name: application, email: 'a@b.c' }),
      )
    const id = `pipeline-${n}`
    const document = JSON.stringify(toPipeline(id, application, n))
    write.run('pipeline', id, application, id, document)
    note.run(id, document)
  }
  const held = {
    ...{ id: heldPipeline, name: heldPipeline, application: applicationOf(0), triggers: [] },
    stages: [{ refId: '1', type: 'manualJudgment', name: 'Judge' }],
    limitConcurrent: false,
  }
  write.run('pipeline', heldPipeline, applicationOf(0), heldPipeline, JSON.stringify(held))
  db.exec('DELETE FROM definitions_marked; COMMIT')
}

function toPipeline(id: string, application: string, n: number): object {
  const stages = Array.from({ length: 5 }, (_, index) => ({
    refId: String(index + 1),
    requisiteStageRefIds: index === 0 ? [] : [String(index)],
    type: 'evaluateVariables',
    name: `Evaluate ${index + 1}`,
    variables: [{ key: `value${index}`, value: '${1 + 1}' }],
  }))
  const triggers = [{ id: `trigger-${n}`, type: 'webhook', source: `source-${n}`, enabled: true }]
  const parameterConfig = [{ name: 'ring', default: 'blue' }]
  const saved = { updateTs: '0', lastModifiedBy: 'admin' }
  return { id, name: id, application, stages, triggers, parameterConfig, ...saved }
}

function applicationOf(n: number): string {
  return `app${Math.floor(n / pipelinesEach)}`
}

/** Copies of the one that has run, older and of all pipelines. */
function writeExecutions(db: DatabaseSync, count: number, definitions: number): void {
  const copied = db.prepare('SELECT * FROM orchestration_executions').get() as Record<
    string,
    string
  >
  const changed: Record<string, string> = {
    id: `printf('01A%023d', n)`,
    application: `'app' || ((n % ${definitions}) / ${pipelinesEach})`,
    config_id: `'pipeline-' || (n % ${definitions})`,
    build_time: 'build_time - n * 1000',
    start_time: 'start_time - n * 1000',
    body: `replace(body, '${copied['id']}', printf('01A%023d', n))`,
  }
  const columns = Object.keys(copied)
  const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT ${count})`
  db.exec(`BEGIN IMMEDIATE;
    INSERT INTO orchestration_executions (${columns.join(', ')}) ${numbers}
      SELECT ${columns.map((column) => changed[column] ?? column).join(', ')}
      FROM orchestration_executions, numbers WHERE id = '${copied['id']}';
    INSERT INTO orchestration_searched (id, trigger_type, text) ${numbers}
      SELECT printf('01A%023d', n), trigger_type, text FROM orchestration_searched, numbers WHERE id = '${copied['id']}';
    INSERT INTO orchestration_search_marks (application, mark, build_time, id) ${numbers}
      SELECT ${changed['application']}, mark, ${changed['build_time']}, ${changed['id']}
      FROM orchestration_search_marks, numbers WHERE id = '${copied['id']}';
    COMMIT`)
}

function databaseIn(dir: string): string {
  return join(dir, 'data', 'backends.db')
}
