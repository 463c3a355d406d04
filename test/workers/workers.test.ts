import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { Browser } from '../login/browser.ts'
import { waitUntil } from '../support/wait-until.ts'
import { type Family, parseExposition } from '../telemetry/exposition.ts'
import { isAlive, type PinnedBrowser, password, startWorkers, untilServing, type WorkersUnderTest } from './support.ts'

const json = { 'content-type': 'application/json' }
const limits = {
  enabled: true,
  learning: false,
  capacity: 1_000_000,
  capacityBySourceApp: [{ sourceApp: 'batch', override: 14 }],
  rateSeconds: 3600,
}

suite('two workers', () => {
  const ends: (() => unknown)[] = []
  let workers: WorkersUnderTest
  let one: PinnedBrowser
  let two: PinnedBrowser

  before(async () => {
    workers = await startWorkers(
      { after: (end) => void ends.push(end) },
      { 'rate-limit': limits, 'api-tokens': { enabled: true } },
    )
    ;[one, two] = await workers.connectToBoth()
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })

  const firstValue = (families: Map<string, Family>, name: string) => families.get(name)?.samples[0]?.value
  const totals = async ({ browser }: PinnedBrowser) => parseExposition((await browser.ask('/spectator/metrics')).text)
  const countOf = (families: Map<string, Family>, operation: string) => {
    const samples = families.get('fairlead_requests_total')?.samples ?? []
    return samples.filter(({ labels }) => labels['operation'] === operation).reduce((sum, { value }) => sum + value, 0)
  }
  const post = (browser: Browser, path: string, body: unknown) =>
    browser.ask(path, { method: 'POST', headers: json, body: JSON.stringify(body) })

  test('a session of one worker counts in the other until its logout', async () => {
    const [first, second] = await workers.connectToBoth({ logsIn: false })
    assert.equal((await post(one.browser, '/auth/users', { username: 'lee', password })).status, 201)
    for (let round = 0; round < 3; round++) {
      assert.equal((await first.browser.login('lee', password)).status, 302)
      second.browser.resume(first.browser)
      assert.equal((await second.browser.ask('/applications')).status, 200)

      await first.browser.visit('/auth/logout')

      assert.equal((await second.browser.ask('/applications')).status, 401)
    }
  })

  test('sessions that an administrator ends are over in both', async () => {
    const [first, second] = await workers.connectToBoth({ logsIn: false })
    assert.equal((await post(one.browser, '/auth/users', { username: 'kim', password })).status, 201)
    await first.browser.login('kim', password)
    second.browser.resume(first.browser)
    assert.equal((await second.browser.ask('/applications')).status, 200)

    const ended = await one.browser.ask('/auth/sessions?username=kim', { method: 'DELETE' })

    assert.equal(ended.status, 204, ended.text)
    assert.equal((await second.browser.ask('/applications')).status, 401)
    assert.equal((await first.browser.ask('/applications')).status, 401)
  })

  test('requests to both workers count for one limit', async () => {
    const remaining: number[] = []
    const ask = (turn: number) =>
      (turn % 2 === 0 ? one : two).browser.ask('/version', { headers: { 'x-ratelimit-app': 'batch' } })
    for (let turn = 0; turn < 20 && remaining.at(-1) !== 0; turn++) {
      const { status, headers } = await ask(turn)
      assert.equal(status, 200)
      remaining.push(Number(headers.get('x-ratelimit-remaining')))
    }
    const first = remaining[0] as number
    assert.ok(first >= 4, `${first} were left`)
    assert.deepEqual(
      remaining,
      Array.from({ length: first + 1 }, (_, index) => first - index),
    )
    assert.equal((await ask(0)).status, 429)
    assert.equal((await ask(1)).status, 429)
  })

  test('wrong passwords at both workers count for one limit', async () => {
    const [first, second] = await workers.connectToBoth({ logsIn: false })
    const locations: (string | null)[] = []
    for (let turn = 0; turn < 11; turn++) {
      const { browser } = turn % 2 === 0 ? first : second
      locations.push((await browser.login('nobody', 'wrong')).location)
    }
    assert.match(String(locations[9]), /error$/)
    assert.match(String(locations[10]), /error=wait/)
  })

  test('a changed right counts at once in both', async () => {
    assert.equal((await post(one.browser, '/auth/users', { username: 'rita', password, roles: ['readers'] })).status, 201)
    const reader = new Browser(workers.url, {}, pinned())
    const readers = await workers.connectToBoth({ logsIn: false })
    await reader.login('rita', password)
    const run = async (type: string, roles: string[]) => {
      const application = { name: 'web', email: 'a@example.com', permissions: { READ: roles } }
      const job = [{ type, application }]
      const task = { application: 'web', description: type, job }
      const { ref } = JSON.parse((await post(one.browser, '/tasks', task)).text) as { ref: string }
      await waitUntil(async () => JSON.parse((await one.browser.ask(ref)).text).status === 'SUCCEEDED', type)
    }
    const statuses = async () => {
      const found = []
      for (const { browser } of readers) {
        browser.resume(reader)
        found.push((await browser.ask('/applications/web')).status)
      }
      return found
    }
    await run('createApplication', ['others'])
    assert.deepEqual(await statuses(), [403, 403])
    for (let round = 0; round < 3; round++) {
      await run('updateApplication', ['readers'])
      assert.deepEqual(await statuses(), [200, 200])
      await run('updateApplication', ['others'])
      assert.deepEqual(await statuses(), [403, 403])
    }
  })

  test('a change through one worker ends every 304 of both', async () => {
    const ask = async ({ browser }: PinnedBrowser, path: string, tag?: string) =>
      browser.ask(path, { headers: tag === undefined ? {} : { 'if-none-match': tag } })
    const run = async ({ browser }: PinnedBrowser, type: string, description: string) => {
      const application = { name: 'tags', email: 'a@example.com', description }
      const task = { application: 'tags', description, job: [{ type, application }] }
      const { ref } = JSON.parse((await post(browser, '/tasks', task)).text) as { ref: string }
      await waitUntil(async () => JSON.parse((await browser.ask(ref)).text).status === 'SUCCEEDED', type)
    }
    const save = async ({ browser }: PinnedBrowser, description: string) =>
      post(browser, '/pipelines', { application: 'tags', name: 'p', id: 'tags-p', description, stages: [], triggers: [] })
    const changes: Record<string, (by: PinnedBrowser, word: string) => Promise<unknown>> = {
      '/applications/tags/pipelineConfigs': save,
      '/applications/tags': (by, word) => run(by, 'updateApplication', word),
      '/applications': (by, word) => run(by, 'updateApplication', word),
      '/applications/tags/tasks': (by, word) => run(by, 'updateApplication', word),
    }
    await run(one, 'createApplication', 'first')
    await save(one, 'first')
    for (const [path, change] of Object.entries(changes)) {
      for (const [round, changer] of [one, two, one].entries()) {
        const tags = new Map<PinnedBrowser, string>()
        for (const worker of [one, two]) {
          const tag = String((await ask(worker, path)).headers.get('etag'))
          for (let repeated = 0; repeated < 2; repeated++) assert.equal((await ask(worker, path, tag)).status, 304, path)
          tags.set(worker, tag)
        }
        const word = `round ${round} of ${path}`
        await change(changer, word)
        for (const worker of [one, two]) {
          const { status, text } = await ask(worker, path, tags.get(worker))
          assert.equal(status, 200, `${path}, changed by ${changer.worker}, read from ${worker.worker}`)
          assert.ok(text.includes(word), `${path}, changed by ${changer.worker}, read from ${worker.worker}: ${text}`)
        }
      }
    }
  })

  test('a revoked token ends the event streams of both workers', async () => {
    const issued = JSON.parse((await post(one.browser, '/auth/apiTokens', { name: 'feed' })).text)
    const authorization = `Bearer ${issued.token}`
    const readers = await workers.connectToBoth({ logsIn: false })
    const streams = await Promise.all(
      readers.map(({ dispatcher }) =>
        request(`${workers.url}/applications/web/executions/events`, {
          dispatcher,
          headers: { authorization, accept: 'text/event-stream' },
        }),
      ),
    )
    const statuses = streams.map(({ statusCode }) => statusCode)
    assert.deepEqual(statuses, [200, 200])
    const texts = streams.map(({ body }) => body.text())

    const revoked = await two.browser.ask(`/auth/apiTokens/${issued.metadata?.id ?? issued.id}`, { method: 'DELETE' })

    assert.ok(revoked.status < 300, revoked.text)
    for (const text of texts) assert.match(await text, /event: /)
    for (const { dispatcher } of await workers.connectToBoth({ logsIn: false })) {
      const refused = new Browser(workers.url, { authorization }, dispatcher)
      assert.equal((await refused.ask('/applications')).status, 401)
    }
  })

  test('both workers record in one chain', async () => {
    await Promise.all(
      [one, two].flatMap(({ browser, worker }) =>
        Array.from({ length: 10 }, (_, turn) => post(browser, '/auth/users', { username: `w${worker}-${turn}`, password })),
      ),
    )

    const verified = JSON.parse((await two.browser.ask('/audit/verification')).text) as Record<string, unknown>

    assert.equal(verified['sound'], true, JSON.stringify(verified))
    const { events } = JSON.parse((await one.browser.ask('/audit/events?operation=addFormUserUsingPOST')).text)
    assert.ok(events.length >= 20)
  })

  test('metrics and readiness tell of both', async () => {
    for (const { browser, worker, dispatcher } of [one, two]) {
      const families = await totals({ browser, worker, dispatcher })
      assert.equal(firstValue(families, 'fairlead_workers'), 2)
      assert.equal(firstValue(families, 'fairlead_embedded_up'), 1)
      assert.equal(firstValue(families, 'fairlead_worker_deaths_total'), 0)
      assert.ok(!families.has('process_start_time_seconds'))
      const { workers: count } = JSON.parse((await browser.ask('/health/readiness')).text)
      assert.deepEqual(count, { running: 2, configured: 2 })
    }
    const before = countOf(await totals(one), 'getVersionUsingGET')
    for (let turn = 0; turn < 5; turn++) for (const { browser } of [one, two]) await browser.ask('/version')
    assert.equal(countOf(await totals(two), 'getVersionUsingGET') - before, 10)
  })

  test('a worker that is killed disturbs its own connections alone', async () => {
    const [first, second] = await workers.connectToBoth()
    const victim = workers.pids().get(first.worker) as number
    const countBefore = countOf(await totals(second), 'getVersionUsingGET')
    let killed = false
    let running = true
    const failures: string[] = []
    /** Each request has a connection of its own, and pauses leave the successor time to start. */
    const load = async () => {
      while (running) {
        const counts = killed
        const dispatcher = new Agent({ connections: 1 })
        const browser = new Browser(workers.url, {}, dispatcher)
        // Lines about requests without login are bounded, and one is awaited below.
        browser.resume(second.browser)
        const outcome = await browser.ask('/version').then(({ status }) => `${status}`, String)
        await dispatcher.destroy()
        if (counts && outcome !== '200') failures.push(outcome)
        await pause(5)
      }
    }
    const work = [1, 2, 3, 4].map(load)
    const survivor = (async () => {
      while (running) {
        const { status } = await second.browser.ask('/version')
        if (status !== 200) failures.push(`survivor ${status}`)
        await pause(5)
      }
    })()

    process.kill(victim, 'SIGKILL')
    killed = true
    await untilServing(workers.serve, 3)
    running = false
    await Promise.all([...work, survivor])

    assert.deepEqual(failures, [])
    assert.match(JSON.stringify(workers.serve.log()), /a worker process died and is started again/)
    const families = await totals(second)
    assert.equal(firstValue(families, 'fairlead_workers'), 2)
    assert.equal(firstValue(families, 'fairlead_worker_deaths_total'), 1)
    assert.ok(countOf(families, 'getVersionUsingGET') >= countBefore, 'totals never fall')
    const [again] = await workers.connectToBoth({ logsIn: false })
    again.browser.resume(second.browser)
    assert.equal((await again.browser.ask('/applications')).status, 200)
  })

  function pinned(): Agent {
    const dispatcher = new Agent({ connections: 1 })
    ends.push(() => dispatcher.destroy())
    return dispatcher
  }
})

test('a worker that hangs is replaced, and no request is lost', async (t) => {
  const { serve, url, pids } = await startWorkers(t, { anonymous: { enabled: true } }, { embedded: false })
  const hung = Number(pids().get(1))
  process.kill(hung, 'SIGSTOP')
  const hangs = () => serve.log().some(({ msg }) => msg === 'a worker process hangs and is ended')
  const ask = async () => {
    const { status } = await fetch(`${url}/version`, { headers: { connection: 'close' } })
    return { status, beforeEnd: !hangs() }
  }
  const asked: ReturnType<typeof ask>[] = []
  for (let count = 0; count < 10; count++) {
    asked.push(ask())
    // The next one finds what became of this one.
    await new Promise((resolve) => setImmediate(resolve))
  }
  await waitUntil(hangs, 'the hung worker to be noticed')
  await untilServing(serve, 3)
  const answers = await Promise.all(asked)
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  // Until it confirms a connection, a worker gets no other one while another has fewer such.
  assert.ok(answers.filter(({ beforeEnd }) => beforeEnd).length >= 5, JSON.stringify(answers))
  assert.ok(!isAlive(hung))
})

test('workers end with a primary that is killed', async (t) => {
  const { serve, pids, connect } = await startWorkers(t)
  await connect()
  const processes = [...pids().values()]

  serve.signal('SIGKILL')

  await serve.exited
  await waitUntil(() => !processes.some(isAlive), 'the end of the workers')
})
