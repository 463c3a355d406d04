import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import type { Execution } from '../../../packages/engine/orchestration/model.ts'
import { StoredLists } from '../../../packages/ports/stored-lists.ts'
import { at, type EngineOptions, J, startEngine, type TestEngine, V, W } from './support.ts'

const day = 24 * 3600

interface Library extends TestEngine {
  /** Stores a pipeline and returns its id. */
  store(name: string): Promise<string>
  list(path: string): Promise<Execution[]>
}

async function startLibrary(t: TestContext, options: EngineOptions = {}): Promise<Library> {
  const engine = await startEngine(t, { backends: [definitionsBackend], ...options })
  return {
    ...engine,
    async store(name) {
      const stored = await engine.backends.ask('front50', 'POST', '/pipelines', {
        application: 'app',
        name,
        stages: [],
      })
      return String(at(stored.body, 'id'))
    },
    async list(path) {
      const answer = await engine.ask('GET', path)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return answer.body as Execution[]
    },
  }
}

/** Runs a pipeline some times, a second apart, and returns the ids, oldest first. */
async function runTimes(library: Library, configId: string, times: number): Promise<string[]> {
  const ids: string[] = []
  for (let count = 0; count < times; count++) {
    library.clock.pass(1)
    ids.push(await library.run({ id: configId, stages: [W('1', 600)] }))
  }
  return ids
}

const idsOf = (executions: readonly { id: string }[]) => executions.map((execution) => execution.id)
const listPath = '/v2/applications/app/pipelines'

test('orchestration-scenario 24: the unexpanded form keeps only the group of contexts', async (t) => {
  const library = await startLibrary(t)
  const configId = await library.store('p')
  await library.run({ id: configId, stages: [{ ...J('1'), group: 'g', x: 1 }, V('2', { a: 1 })] })

  const [execution] = await library.list(`${listPath}?expand=false`)

  const [first, second] = execution!.stages
  assert.deepEqual([first!.context, first!.outputs, first!.tasks], [{ group: 'g' }, {}, []])
  assert.deepEqual([second!.context, second!.outputs, second!.tasks], [{}, {}, []])
  assert.deepEqual([first!.refId, first!.type, first!.status], ['1', 'manualJudgment', 'RUNNING'])
})

test('orchestration-scenario 109 and 112: lists show the newest of each pipeline', async (t) => {
  const library = await startLibrary(t)
  const [one, other] = [await library.store('one'), await library.store('other')]
  const ids = await runTimes(library, one, 8)

  assert.deepEqual(idsOf(await library.list(listPath)), ids.slice(3))
  assert.deepEqual(idsOf(await library.list(`${listPath}?limit=2`)), ids.slice(6))
  assert.deepEqual(await library.list(`${listPath}?limit=0`), [])
  await runTimes(library, other, 3)
  assert.equal((await library.list(`${listPath}?limit=2`)).length, 4)
  assert.equal((await library.list(`${listPath}?limit=2&pipelineNameFilter=oth`)).length, 2)
  assert.equal((await library.list(`${listPath}?limit=2&pipelineLimit=1`)).length, 2)
  assert.equal((await library.list('/applications/app/pipelines?limit=2')).length, 4)
})

test('lists of definitions are read again only when their version is another', async () => {
  const versions = ['1', '1', '2', undefined, undefined]
  const lists = new StoredLists({ toEntry: ({ id }) => id })
  const found: unknown[] = []
  for (const [read, version] of versions.entries()) {
    const definitions = { version: () => version }
    found.push(
      ...(await lists.load(definitions, { key: 'app', kind: 'pipelines' }, async () => [
        { id: read },
      ])),
    )
  }

  assert.deepEqual(found, [0, 0, 2, 3, 4])
})

test('a polled list follows every change', async (t) => {
  const library = await startLibrary(t)
  const read = async () => idsOf(await library.list(listPath))
  const one = await library.store('one')
  assert.deepEqual([await read(), await read()], [[], []])
  const [first] = await runTimes(library, one, 1)
  assert.deepEqual([await read(), await read()], [[first], [first]])
  const early = await library.run({ id: 'stored-later', stages: [W('1', 0)] })
  await library.ends(early, 'SUCCEEDED')
  assert.deepEqual(await read(), [first])
  const pipeline = { application: 'app', name: 'later', id: 'stored-later', stages: [] }
  await library.backends.ask('front50', 'POST', '/pipelines', pipeline)
  assert.deepEqual((await read()).toSorted(), [first, early].toSorted())
})

test('orchestration-scenario 110: lists begin with waiting runs, then sort by start time', async (t) => {
  const library = await startLibrary(t)
  const configId = await library.store('p')
  const limited = {
    id: configId,
    maxConcurrentExecutions: 2,
    keepWaitingPipelines: true,
    stages: [W('1', 60)],
  }
  const ids: string[] = []
  for (let count = 0; count < 3; count++) {
    ids.push(await library.run(limited))
    library.clock.pass(1)
  }

  assert.deepEqual(idsOf(await library.list(listPath)), [ids[2], ids[0], ids[1]])
})

test('orchestration-scenario 111: lists can be limited to statuses', async (t) => {
  const library = await startLibrary(t)
  const configId = await library.store('p')
  const [one, two] = await runTimes(library, configId, 2)
  await library.ask('PUT', `/pipelines/${one}/pause`)
  const done = await library.run({ id: configId, stages: [W('1', 0)] })
  await library.ends(done, 'SUCCEEDED')

  assert.deepEqual(idsOf(await library.list(`${listPath}?statuses=RUNNING,PAUSED`)), [one, two])
  assert.deepEqual(idsOf(await library.list(`${listPath}?statuses=running`)), [two])
  assert.equal((await library.list(`${listPath}?statuses=`)).length, 3)
  assert.equal((await library.ask('GET', `${listPath}?statuses=BOGUS`)).status, 400)
})

test('orchestration-scenario 113 to 115: a list takes execution ids or pipelines, not both', async (t) => {
  const library = await startLibrary(t)
  const [a] = await runTimes(library, 'C', 2)
  const [, b] = await runTimes(library, 'D', 2)

  assert.deepEqual(idsOf(await library.list(`/pipelines?executionIds=${b},zzz,${a}`)), [b, a])
  assert.equal((await library.list('/pipelines?pipelineConfigIds=C,D')).length, 2)
  assert.equal(
    (await library.ask('GET', '/pipelines?pipelineConfigIds=C&executionIds=x')).status,
    400,
  )
  assert.deepEqual(await library.list('/pipelines'), [])
})

test('orchestration-scenario 116: runs older than two weeks appear only without newer ones', async (t) => {
  const library = await startLibrary(t)
  const configId = await library.store('p')
  const ids = await runTimes(library, configId, 3)
  library.clock.pass(15 * day)

  assert.deepEqual(idsOf(await library.list(listPath)), ids.slice(1))
  const [fresh] = await runTimes(library, configId, 1)
  assert.deepEqual(idsOf(await library.list(listPath)), [fresh])
})

test('orchestration-scenario 117: runs of a deleted pipeline are readable but not listed', async (t) => {
  const library = await startLibrary(t)
  const configId = await library.store('gone')
  const [id] = await runTimes(library, configId, 1)
  await library.backends.ask('front50', 'DELETE', '/pipelines/app/gone')

  assert.deepEqual(await library.list(listPath), [])
  assert.equal((await library.execution(id!)).id, id)
})

test('orchestration-scenario 118: a project lists the runs of its pipelines', async (t) => {
  const library = await startLibrary(t)
  const pipelineConfigs = ['C', 'D'].map((pipelineConfigId) => ({
    application: 'app',
    pipelineConfigId,
  }))
  const config = { applications: ['app'], clusters: [], pipelineConfigs }
  await library.backends.ask('front50', 'POST', '/v2/projects', {
    name: 'proj',
    email: 'a@b',
    config,
  })
  const c = await runTimes(library, 'C', 2)
  const d = await runTimes(library, 'D', 2)
  await runTimes(library, 'E', 1)

  assert.deepEqual(idsOf(await library.list('/projects/proj/pipelines')), [...c, ...d])
  assert.deepEqual(idsOf(await library.list('/projects/proj/pipelines?limit=1')), [c[1], d[1]])
  assert.deepEqual(await library.list('/projects/proj/pipelines?limit=0'), [])
  assert.deepEqual(await library.list('/projects/nope/pipelines'), [])
})

test('orchestration-scenario 119: executions are found by their triggers', async (t) => {
  const library = await startLibrary(t)
  const start = async (name: string, trigger: Record<string, unknown>) => {
    library.clock.pass(1)
    return library.run({ id: 'C', name, trigger, stages: [W('1', 600)] })
  }
  const one = await start('x', {
    type: 'webhook',
    eventId: 'e1',
    payload: { branch: 'release-1' },
    artifacts: [{ n: 1 }, { n: 2 }],
  })
  const two = await start('y', { type: 'webhook', payload: { branch: 'main' } })
  const three = await start('y', { type: 'manual' })
  const search = async (query: Record<string, string>) =>
    idsOf(await library.list(`/applications/app/pipelines/search?${new URLSearchParams(query)}`))
  const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

  assert.deepEqual(await search({}), [three, two, one])
  assert.deepEqual(await search({ triggerTypes: 'webhook' }), [two, one])
  assert.deepEqual(await search({ triggerTypes: '*' }), [three, two, one])
  assert.deepEqual(await search({ eventId: 'e1' }), [one])
  assert.deepEqual(await search({ pipelineName: 'y' }), [three, two])
  assert.deepEqual(await search({ trigger: base64({ payload: { branch: 'rel.*' } }) }), [one])
  assert.deepEqual(await search({ trigger: base64({ artifacts: [{ n: 2 }, { n: 1 }] }) }), [one])
  assert.deepEqual(await search({ trigger: base64({ artifacts: [{ n: 1 }, { n: 1 }] }) }), [])
  assert.deepEqual(await search({ reverse: 'true' }), [one, two, three])
  assert.deepEqual(await search({ size: '1', startIndex: '1' }), [two])
  for (const query of [
    { size: '0' },
    { size: '-1' },
    { startIndex: '-1' },
    { triggerTimeStartBoundary: '-1' },
    { trigger: '%%%' },
  ]) {
    assert.equal(
      (
        await library.ask(
          'GET',
          `/applications/app/pipelines/search?${new URLSearchParams(query as never)}`,
        )
      ).status,
      400,
    )
  }
  assert.deepEqual(await library.list('/applications/other/pipelines/search'), [])
  assert.equal((await library.list('/applications/*/pipelines/search')).length, 3)
})

test('a search by user finds submitters and users of triggers', async (t) => {
  const library = await startLibrary(t)
  const start = async (user: string, triggerUser: string, application = 'app') => {
    library.clock.pass(1)
    return library.run(
      {
        id: 'C',
        application,
        trigger: { type: 'manual', user: triggerUser },
        stages: [W('1', 600)],
      },
      user,
    )
  }
  const search = async (query: string, application = 'app') =>
    idsOf(await library.list(`/applications/${application}/pipelines/search?${query}`))
  const own: string[] = []
  for (let count = 0; count < 5; count++) {
    own.push(await start('ann', 'ann'), await start('ann', 'cron'), await start('echo', 'ann'))
    await start('ben', 'ben')
  }
  const elsewhere = await start('ann', 'ann', 'other')
  const newestFirst = own.toReversed()

  assert.deepEqual(await search('user=ann&size=50'), newestFirst)
  assert.deepEqual(await search('user=ann&size=4&startIndex=7'), newestFirst.slice(7, 11))
  assert.deepEqual(await search('user=ann&size=50&reverse=true'), own)
  assert.deepEqual(await search('user=ann&size=2', '*'), [elsewhere, newestFirst[0]])
  assert.equal((await search('user=ben&size=50')).length, 5)
  assert.deepEqual(await search('user=Ann'), [])
  assert.equal((await search('user=&size=50')).length, 20)
})

test('a search by parameter and text covers all runs', async (t) => {
  const library = await startLibrary(t)
  const start = (trigger: Record<string, unknown>) => {
    library.clock.pass(1)
    return library.run({
      id: 'C',
      name: 'Release',
      trigger: { type: 'manual', ...trigger },
      stages: [W('1', 600)],
    })
  }
  const one = await start({ parameters: { version: '2.4.0', count: 3 }, hash: 'ABC123' })
  const two = await start({
    parameters: { version: '2.4.01' },
    artifacts: [{ type: 'docker/image', reference: 'r/web:7' }],
  })
  const search = async (query: Record<string, string>) =>
    idsOf(await library.list(`/applications/*/pipelines/search?${new URLSearchParams(query)}`))

  assert.deepEqual(await search({ parameter: 'version=2.4.0' }), [one])
  assert.deepEqual(await search({ parameter: 'version' }), [two, one])
  assert.deepEqual(await search({ parameter: 'count=3' }), [one])
  assert.deepEqual(await search({ parameter: '2.4.0' }), [])
  assert.deepEqual(await search({ text: '2.4.0' }), [two, one])
  assert.deepEqual(await search({ text: 'release abc' }), [one])
  assert.deepEqual(await search({ text: 'web:7', triggerTypes: 'manual' }), [two])
  assert.deepEqual(await search({ text: '2.4.0', size: '1', startIndex: '1' }), [one])
  assert.deepEqual(await search({ text: '%' }), [])
  assert.deepEqual(await search({ text: 'release', startIndex: '2' }), [])

  const tooMany = await library.ask(
    'GET',
    `/applications/*/pipelines/search?text=${'a+'.repeat(21)}`,
  )
  assert.equal(tooMany.status, 400)
})

test('a search by text finds no secret that a stage has learnt from a parameter', async (t) => {
  const library = await startLibrary(t)
  const stage = { ...W('1', 600), secrets: { password: '${parameters.password}' } }
  const trigger = { type: 'manual', parameters: { password: 'Wr7-keep-it' } }
  const run = await library.run({ id: 'C', name: 'Release', trigger, stages: [stage] })
  const search = async (query: string) =>
    idsOf(await library.list(`/applications/*/pipelines/search?${query}`))

  assert.deepEqual(await search('parameter=password'), [run])
  assert.deepEqual(await search('parameter=password%3DWr7-keep-it'), [])
  assert.deepEqual(await search('text=wr7'), [])
})

test('a search covers many runs; lists skip unreadable ones', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-lists-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const library = await startLibrary(t, { dataDir })
  const ids: string[] = []
  for (let count = 0; count < 30; count++) {
    if (count % 3 === 0) library.clock.pass(1)
    ids.push(
      await library.run({
        id: 'C',
        stages: [W('1', 600)],
        trigger: { type: count % 2 === 0 ? 'even' : 'odd' },
      }),
    )
  }
  const search = (query: string) => library.list(`/applications/app/pipelines/search?${query}`)
  const even = ids.filter((_id, index) => index % 2 === 0)

  assert.deepEqual(idsOf(await search('triggerTypes=even&size=50&reverse=true')), even)
  assert.deepEqual(
    idsOf(await search('triggerTypes=even&size=4&startIndex=9')),
    even.toReversed().slice(9, 13),
  )
  const db = new DatabaseSync(join(dataDir, 'backends.db'))
  db.prepare("UPDATE orchestration_executions SET body = '{' WHERE id = ?").run(ids[3]!)
  db.close()
  assert.equal((await library.ask('GET', `/pipelines/${ids[3]}`)).status, 500)
  assert.equal((await library.list('/pipelines?pipelineConfigIds=C&limit=50')).length, 29)
  assert.equal((await search('size=50')).length, 29)
})

test("orchestration-scenario 120: without expansion a run's parent has no stages", async (t) => {
  const library = await startLibrary(t)
  const configId = await library.store('child')
  const parent = await library.run({
    stages: [{ refId: '1', type: 'pipeline', pipeline: configId }],
  })
  await library.ends(parent, 'TERMINAL')

  const [child] = await library.list(`${listPath}?expand=false`)

  assert.equal(at(child!.trigger, 'parentExecution', 'id'), parent)
  assert.deepEqual(at(child!.trigger, 'parentExecution', 'stages'), [])
})

test('lists work from stored runs while definitions are unavailable', async (t) => {
  const engine = await startEngine(t, {
    others: async () => {
      throw new Error('connection refused')
    },
  })
  const id = await engine.run({ id: 'C', stages: [W('1', 600)] })

  const { status, body } = await engine.ask('GET', listPath)

  assert.equal(status, 200)
  assert.deepEqual(idsOf(body as Execution[]), [id])
})

test('lists of absent features are empty, retired paths say so', async (t) => {
  const { ask, run } = await startEngine(t)
  await run({ stages: [W('1', 600)] })
  for (const path of [
    '/capabilities/deploymentMonitors',
    '/webhooks/preconfigured',
    '/jobs/preconfigured',
    '/installedPlugins',
  ]) {
    assert.deepEqual(await ask('GET', path), { status: 200, body: [] })
  }
  for (const path of ['/pipelines/running', '/pipelines/waiting'])
    assert.deepEqual(await ask('GET', path), { status: 410, body: [] })
  const { body } = await ask('GET', '/executions/activeByInstance')
  assert.deepEqual(Object.values(body as object), [{ overdue: false, count: 1 }])
})

test('a query parameter that is given repeatedly is a list, as with commas', async (t) => {
  const library = await startLibrary(t)
  const configIds = [await library.store('first'), await library.store('second')]
  const ids: string[] = []
  for (const id of configIds) ids.push(await library.run({ id, stages: [W('1', 600)] }))

  const listed = await library.list(
    `/pipelines?pipelineConfigIds=${configIds.join('&pipelineConfigIds=')}`,
  )
  assert.deepEqual(idsOf(listed).sort(), ids.toSorted())
  assert.equal((await library.list(`${listPath}?statuses=RUNNING&statuses=SUCCEEDED`)).length, 2)
  assert.deepEqual(
    await library.list('/applications/app/tasks?statuses=RUNNING&statuses=SUCCEEDED'),
    [],
  )
  assert.equal((await library.ask('GET', `${listPath}?limit=1&limit=2`)).status, 400)
})
