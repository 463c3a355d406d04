import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Execution } from '../../../packages/engine/orchestration/model.ts'
import { testProgram } from '../../support/program.ts'
import { waitFor, waitUntil } from '../../support/wait-until.ts'
import { at, F, J, W } from './support.ts'

interface EngineProcess {
  ask(
    service: string,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: unknown }>
  run(definition: Record<string, unknown>): Promise<string>
  execution(id: string): Promise<Execution>
  ends(id: string, status: string): Promise<Execution>
  /** Ends the process without warning. */
  crash(): Promise<void>
  /** Asks it to leave, and waits until it has. */
  terminate(): Promise<void>
}

/** Starts processes on one data directory; `laterMs` lets the new one believe that so much time has passed. */
function createMachine(t: TestContext): (laterMs?: number) => Promise<EngineProcess> {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-recovery-'))
  const children: ChildProcess[] = []
  t.after(async () => {
    for (const child of children) await end(child, 'SIGKILL')
    rmSync(dataDir, { recursive: true, force: true })
  })
  return async (laterMs = 0) => {
    const program = testProgram('backends/orchestration/engine-process')
    const child = spawn(process.execPath, [program, dataDir, String(laterMs)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    const [base] = (await once(createInterface(child.stdout!), 'line')) as [string]
    return connect(base, child)
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}

function connect(base: string, child: ChildProcess): EngineProcess {
  const ask: EngineProcess['ask'] = async (service, method, path, body) => {
    const answer = await fetch(`${base}/${service}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const execution = async (id: string) =>
    (await ask('orca', 'GET', `/pipelines/${id}`)).body as Execution
  return {
    ask,
    execution,
    async run(definition) {
      const answer = await ask('orca', 'POST', '/orchestrate', {
        application: 'app',
        name: 'p',
        ...definition,
      })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return String(at(answer.body, 'ref')).replace('/pipelines/', '')
    },
    async ends(id, status) {
      return waitFor(async () => {
        const found = await execution(id)
        return found.status === status ? found : undefined
      }, `${id} to be ${status}`)
    },
    crash: () => end(child, 'SIGKILL'),
    terminate: () => end(child, 'SIGTERM'),
  }
}

test('an engine continues after a kill or a stop', async (t) => {
  // Waits of hours, which the clock of each process jumps over: the minutes of a slow machine do not count.
  const start = createMachine(t)
  const limited = {
    id: 'C',
    limitConcurrent: true,
    keepWaitingPipelines: true,
    stages: [W('1', 3000)],
  }
  const first = await start()
  const interrupted = await first.run({ stages: [W('1', 3000), W('2', 0, '1')] })
  const slept = await first.run({ stages: [W('1', 6000)] })
  const [canceled, paused, judged] = [
    await first.run({ stages: [W('1', 60_000)] }),
    await first.run({ stages: [W('1', 6000)] }),
    await first.run({ stages: [J('1'), J('2', '1')] }),
  ]
  const turns = [await first.run(limited), await first.run(limited), await first.run(limited)]
  const { startTime } = await first.execution(interrupted)
  const judgment = (await first.execution(judged)).stages[0]!
  await first.ask('orca', 'PUT', `/pipelines/${canceled}/cancel`)
  await first.ask('orca', 'PUT', `/pipelines/${paused}/pause`)
  await first.ask('orca', 'PATCH', `/pipelines/${judged}/stages/${judgment.id}`, {
    judgmentStatus: 'continue',
  })
  const accepted = await Promise.all(
    Array.from({ length: 50 }, () => first.run({ stages: [W('1', 1), W('2', 0, '1')] })),
  )
  await first.crash()

  const second = await start(1_500_000)
  await t.test(
    'orchestration-scenario 176: what was accepted before a crash is carried out after it',
    async () => {
      for (const id of accepted) await second.ends(id, 'SUCCEEDED')
    },
  )
  await t.test(
    'orchestration-scenario 181, 182 and 184: what was answered before a crash holds after it',
    async () => {
      await second.ends(canceled, 'CANCELED')
      await second.ends(paused, 'PAUSED')
      const { stages } = await second.execution(judged)
      assert.deepEqual(
        stages.map((stage) => stage.status),
        ['SUCCEEDED', 'RUNNING'],
      )
    },
  )
  assert.equal((await second.execution(interrupted)).status, 'RUNNING')
  await second.terminate()

  const third = await start(3_100_000)
  await t.test(
    'orchestration-scenario 174 and 185: a wait ends on time after a crash and a stop',
    async () => {
      const done = await third.ends(interrupted, 'SUCCEEDED')
      assert.equal(done.startTime, startTime)
      assert.ok(done.stages[0]!.endTime! - done.stages[0]!.startTime! >= 3_000_000)
    },
  )
  await t.test(
    'orchestration-scenario 183: runs that wait for their turn keep their order',
    async () => {
      await third.ends(turns[0]!, 'SUCCEEDED')
      await third.ends(turns[1]!, 'RUNNING')
      assert.equal((await third.execution(turns[2]!)).status, 'NOT_STARTED')
    },
  )
  await third.crash()

  const fourth = await start(9_000_000)
  await t.test(
    'orchestration-scenario 175: a wait that expired during an outage ends at start',
    async () => {
      await fourth.ends(slept, 'SUCCEEDED')
    },
  )
  await t.test(
    'orchestration-scenario 183: the last of those that wait has its turn too',
    async () => {
      await fourth.ends(turns[1]!, 'SUCCEEDED')
      await fourth.ends(turns[2]!, 'RUNNING')
    },
  )
  await t.test(
    'orchestration-scenario 182: what was paused can be resumed after crashes',
    async () => {
      await fourth.ends(paused, 'PAUSED')
      await fourth.ask('orca', 'PUT', `/pipelines/${paused}/resume`)
      await fourth.ends(paused, 'SUCCEEDED')
    },
  )
})

test('orchestration-scenario 177: after crashes every execution completes and nothing runs twice', async (t) => {
  const start = createMachine(t)
  let engine = await start()
  const ids: string[] = []
  for (let round = 0; round < 4; round++) {
    const shape = { stages: [W('1', 0), W('2a', 1, '1'), W('2b', 0, '1'), W('3', 0, '2a', '2b')] }
    const started = await Promise.all(Array.from({ length: 5 }, () => engine.run(shape)))
    ids.push(...started)
    await sleep(round * 11)
    await engine.crash()
    engine = await start(round * 300)
  }

  for (const id of ids) {
    const { stages } = await engine.ends(id, 'SUCCEEDED')
    assert.ok(stages.every((stage) => stage.tasks.length === 1))
  }
})

test('orchestration-scenario 108 and 179: a crash leads to exactly one child and one dependent run', async (t) => {
  const start = createMachine(t)
  const first = await start()
  const store = async (definition: Record<string, unknown>) =>
    String(
      at(
        (await first.ask('front50', 'POST', '/pipelines', { application: 'app', ...definition }))
          .body,
        'id',
      ),
    )
  const child = await store({ name: 'child', stages: [W('1', 1)] })
  const parent = await store({ name: 'parent', stages: [] })
  const triggers = [
    { enabled: true, type: 'pipeline', pipeline: parent, status: ['successful', 'failed'] },
  ]
  const dependent = await store({ name: 'dependent', triggers, stages: [W('1', 0)] })
  const starting = await first.run({ stages: [{ refId: '1', type: 'pipeline', pipeline: child }] })
  const ending = await first.run({ id: parent, stages: [F('1')] })
  await first.crash()

  const second = await start(2000)

  await second.ends(starting, 'SUCCEEDED')
  await second.ends(ending, 'TERMINAL')
  const runsOf = async (id: string) =>
    (await second.ask('orca', 'GET', `/pipelines?pipelineConfigIds=${id}&limit=9`))
      .body as Execution[]
  await waitUntil(async () => (await runsOf(dependent)).length > 0, 'the dependent run')
  assert.equal((await runsOf(child)).length, 1)
  assert.equal((await runsOf(dependent)).length, 1)
})

test('orchestration-scenario 178: a crash during a webhook repeats the call at most once', async (t) => {
  const calls: { path: string | undefined; token: unknown; body: string }[] = []
  const server = createServer(async (request, response) => {
    const call = { path: request.url, token: request.headers['x-token'], body: await text(request) }
    calls.push(call)
    // The first call is held until the engine is dead.
    if (calls.filter(({ path }) => path === call.path).length > 1 || call.path === '/next')
      response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const secrets = {
    customHeaders: { 'X-Token': 'real-token-1' },
    payload: { password: 'real-pass-22' },
  }
  const webhook = (refId: string, path: string, ...after: string[]) => ({
    refId,
    type: 'webhook',
    requisiteStageRefIds: after,
    url: `${url}${path}`,
    ...secrets,
  })
  const start = createMachine(t)
  const first = await start()
  const id = await first.run({ stages: [webhook('1', '/held'), webhook('2', '/next', '1')] })
  await waitUntil(async () => calls.length === 1, 'the call')
  await first.crash()

  const second = await start(60_000)

  const done = await second.ends(id, 'SUCCEEDED')
  assert.deepEqual(
    calls.map(({ path }) => path),
    ['/held', '/held', '/next'],
  )
  const real = { token: 'real-token-1', body: '{"password":"real-pass-22"}' }
  for (const { token, body } of calls)
    assert.deepEqual({ token, body }, real, 'the engine goes on with what the author wrote')
  assert.doesNotMatch(JSON.stringify(done), /real-/)
  const notes = done.stages.map(({ context }) => context['repeated.call'])
  assert.match(
    String(notes[0]),
    /^The engine ended during the call of \d{4}-.*It was repeated, and may have had its effect twice\.$/,
  )
  assert.equal(notes[1], undefined)
})

test('an engine that is asked to end waits for the answer of a webhook, and begins nothing new', async (t) => {
  const paths: unknown[] = []
  const held = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    paths.push(request.url)
    if (request.url === '/held') await held.promise
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const webhook = (refId: string, path: string, ...after: string[]) => ({
    refId,
    type: 'webhook',
    requisiteStageRefIds: after,
    url: `${url}${path}`,
  })
  const start = createMachine(t)
  const first = await start()
  const id = await first.run({ stages: [webhook('1', '/held'), webhook('2', '/next', '1')] })
  await waitUntil(async () => paths.length === 1, 'the call')
  const ended = first.terminate()
  await sleep(200)
  held.resolve()
  await ended
  assert.deepEqual(paths, ['/held'])

  const done = await (await start()).ends(id, 'SUCCEEDED')
  assert.deepEqual(paths, ['/held', '/next'])
  assert.deepEqual(
    done.stages.map(({ context }) => context['repeated.call']),
    [undefined, undefined],
  )
})

test('orchestration-scenario 180: a save that a crash interrupts leaves one pipeline', async (t) => {
  const start = createMachine(t)
  let engine = await start()
  const refs: string[] = []
  for (let round = 0; round < 2; round++) {
    const pipeline = Buffer.from(
      JSON.stringify({ application: 'app', name: `p${round}`, stages: [] }),
    ).toString('base64')
    const body = { application: 'app', description: 'd', job: [{ type: 'savePipeline', pipeline }] }
    refs.push(String(at((await engine.ask('orca', 'POST', '/ops', body)).body, 'ref')))
    await sleep(round * 8)
    await engine.crash()
    engine = await start()
  }

  for (const ref of refs) {
    await waitUntil(
      async () => at((await engine.ask('orca', 'GET', ref)).body, 'endTime') !== undefined,
      'the end',
    )
    assert.equal(at((await engine.ask('orca', 'GET', ref)).body, 'status'), 'SUCCEEDED')
  }
  assert.equal(at((await engine.ask('front50', 'GET', '/pipelines/app')).body, 'length'), 2)
})
