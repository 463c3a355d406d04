/** The console follows the event stream of an application: what it reads while nothing changes, after a change, and without the stream. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { basic } from '../login/support.ts'
import { type Chromium, openChromium } from '../support/chromium.ts'
import { startDeployments } from '../support/deployments.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

const password = 'correct-horse-1'
const overview = 'applications/web'
const admin = { fairlead: { admin: { password } } }

interface Tab {
  readonly page: Page
  /** Paths of the API that were read, without their query. */
  readonly reads: string[]
  /** Requests without an answer; event streams are none of them. */
  readonly open: ReadonlySet<unknown>
  /** Waits for the word of the top line. */
  says(word: string): Promise<void>
}

/** Signed in, at a screen. The clock of the page can be moved. */
async function openTab(context: BrowserContext, url: string, path: string): Promise<Tab> {
  const page = await context.newPage()
  await page.clock.install()
  const reads: string[] = []
  const open = new Set<unknown>()
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    // What waits is counted over all applications, which no stream reports.
    const isCount = pathname.endsWith('/executions/search')
    if (request.resourceType() === 'fetch' && !isCount) reads.push(pathname)
    if (!pathname.endsWith('/events')) open.add(request)
  })
  for (const end of ['requestfinished', 'requestfailed'] as const)
    page.on(end as 'requestfinished', (request) => open.delete(request))
  await page.goto(`${url}/console/${path}`)
  const name = page.getByLabel('User name')
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  if (await name.isVisible()) {
    await name.fill('admin')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  await page.locator('.live-word').waitFor()
  const says = async (word: string) => {
    await waitUntil(
      async () => (await page.locator('.live-word').textContent()) === word,
      `the word ${word}`,
    )
  }
  return { page, reads, open, says }
}

async function start(t: test.TestContext, browser: Chromium, settings = {}, embedded = true) {
  const url = await startGateway(t, { ...admin, ...settings }, { embedded })
  const send = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json', ...basic('admin', password) }
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, `${path} ${answer.status} ${await answer.text()}`)
  }
  const savePipeline = (name: string) =>
    send('/pipelines', { application: 'web', name, stages: [], triggers: [] })
  const startRun = () => {
    const stages = [{ refId: '1', type: 'wait', waitTime: 600, requisiteStageRefIds: [] }]
    return send('/pipelines/start', { application: 'web', name: 'long', stages })
  }
  await send('/tasks', {
    application: 'web',
    job: [{ type: 'createApplication', application: { name: 'web', email: 'a@example.com' } }],
  })
  const context = await browser.newContext()
  return {
    url,
    context,
    savePipeline,
    startRun,
    open: (path: string) => openTab(context, url, path),
  }
}

/** Waits until nothing is read any more. @returns what was read since the last time */
async function settle({ page, reads, open }: Tab): Promise<string[]> {
  for (let quiet = 0; quiet < 3; ) {
    const before = reads.length
    await page.waitForTimeout(500)
    // A page on a busy machine may have more to read once it has its turn.
    await page.evaluate('0')
    quiet = before === reads.length && open.size === 0 ? quiet + 1 : 0
  }
  return reads.splice(0).sort()
}

/** Moves a clock that stands in small steps until something is shown. */
async function runUntilShown(page: Page, text: string): Promise<void> {
  const shown = page.getByText(text, { exact: true })
  await waitUntil(async () => {
    await page.clock.runFor(20)
    return (await shown.count()) > 0
  }, text)
}

const streamPath = '/applications/web/executions/events'
const ofApplication = (...kinds: string[]) => kinds.map((kind) => `/applications/web/${kind}`)
const canaries = '/v2/canaries/web/executions'
const infrastructure = ofApplication('environments', 'loadBalancers', 'serverGroups')
const polled = [
  ...ofApplication('environments', 'loadBalancers', 'pipelines', 'releases', 'serverGroups'),
  canaries,
]
const lists = [...polled, ...ofApplication('clusters', 'delivery')].sort()

test('a tab reads what has changed', { timeout: 900_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  // The clock of the page is moved, and heartbeats do not follow it.
  const { open, savePipeline, startRun } = await start(t, browser, { live: { heartbeat: '1h' } })

  await t.test(
    'lists are not read while nothing changes, and each of them after five minutes',
    async () => {
      const tab = await open(overview)
      await tab.says('Live')
      await settle(tab)
      await tab.page.clock.fastForward(250_000)
      assert.deepEqual(await settle(tab), [])
      await tab.page.clock.fastForward(90_000)
      assert.deepEqual(await settle(tab), ['/applications/web', ...lists])
      await tab.page.close()
    },
  )

  await t.test('a new run, a new pipeline and a new task appear at once', async () => {
    const [runs, pipelines, tasks] = [
      await open(overview),
      await open(`${overview}/pipelines`),
      await open(`${overview}/tasks`),
    ]
    for (const tab of [runs, pipelines, tasks]) {
      await tab.says('Live')
      await settle(tab)
    }
    await savePipeline('shown at once')
    await pipelines.page.getByText('shown at once').waitFor()
    await tasks.page
      .getByText(/Save Pipeline/i)
      .first()
      .waitFor()
    await startRun()
    await waitUntil(
      () => runs.reads.includes('/applications/web/pipelines'),
      'the read of the runs',
    )
    assert.ok(
      !runs.reads.includes('/applications/web/loadBalancers'),
      'the infrastructure has not changed',
    )
    for (const tab of [runs, pipelines, tasks]) await tab.page.close()
  })

  await t.test('many changes are read at the pace of polling', async (t) => {
    const tab = await open(`${overview}/pipelines`)
    await tab.says('Live')
    await settle(tab)
    const { page } = tab
    t.after(async () => {
      await page.clock.resume()
      await page.close()
    })
    await page.clock.pauseAt(await page.evaluate<number>('Date.now() + 1000'))
    await savePipeline('first')
    await runUntilShown(page, 'first')
    await savePipeline('second')
    // Longer than the change takes to arrive.
    await page.waitForTimeout(5000)
    for (let step = 0; step < 20; step++) {
      await page.clock.runFor(100)
      await page.waitForTimeout(50)
    }
    assert.equal(await page.getByText('second', { exact: true }).count(), 0)
    await page.clock.runFor(15_000)
    await runUntilShown(page, 'second')
  })

  await t.test('a hidden tab reads on return', async () => {
    const tab = await open(`${overview}/pipelines`)
    await tab.says('Live')
    const { page } = tab
    const show = (state: string) =>
      page.evaluate(`
        Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' })
        document.dispatchEvent(new Event('visibilitychange'))
      `)
    await settle(tab)
    await show('hidden')
    await savePipeline('of the meantime')
    await page.waitForTimeout(5000)
    assert.deepEqual(await settle(tab), [])
    await show('visible')
    await page.getByText('of the meantime').waitFor()
    await page.close()
  })

  await t.test('tabs share one stream, and another one takes over', async () => {
    const [first, second] = [
      await open(`${overview}/pipelines`),
      await open(`${overview}/pipelines`),
    ]
    for (const tab of [first, second]) await tab.says('Live')
    await settle(first)
    assert.ok(!(await settle(second)).includes(streamPath))
    await savePipeline('in both')
    for (const { page } of [first, second]) await page.getByText('in both').waitFor()
    await first.page.close()
    await waitUntil(() => second.reads.includes(streamPath), 'the stream of the other tab')
    await second.says('Live')
    await savePipeline('in the other one')
    await second.page.getByText('in the other one').waitFor()
    await second.page.close()
  })
})

test('pages of one server group and of one instance follow the stream', {
  timeout: 900_000,
}, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const fleet = await startDeployments(t)
  const name = await fleet.deploy('live')
  const { instances } = await fleet.until(name, ({ instanceCounts: { up, total } }) => up === total)
  const context = await browser.newContext({ extraHTTPHeaders: { 'X-SPINNAKER-USER': 'alice' } })
  const open = (path: string) => openTab(context, fleet.url(), `applications/shop/${path}`)
  const [group, instance] = [
    await open(`server-groups/dev/east/${name}`),
    await open(`instances/dev/east/${instances[0]?.id}`),
  ]
  for (const tab of [group, instance]) await tab.says('Live')
  // Longer than a poll waits. Pages of a context have one clock, and heartbeats do not follow it.
  const pass = async () => {
    await group.page.clock.fastForward(18_000)
    const reads = [await settle(group), await settle(instance)]
    // Charts are of moments, which no stream reports.
    return reads.map((paths) => paths.filter((path) => !path.startsWith('/cloudMetrics/')))
  }
  // What the deployment has changed last.
  await pass()
  assert.deepEqual(await pass(), [[], []])
  await fleet.run({ type: 'disableServerGroup', serverGroupName: name })
  for (const { page } of [group, instance])
    await page.locator('.page-title .status-badge.is-disabled').waitFor()
})

test('the end of a login reaches a tab by the stream', { timeout: 900_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const { url, context, open, savePipeline } = await start(t, browser)
  const tab = await open(`${overview}/pipelines`)
  await tab.says('Live')
  await settle(tab)
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
  await fetch(`${url}/auth/logout`, { headers: { cookie }, redirect: 'manual' })
  await savePipeline('of somebody else')
  await tab.page.getByRole('heading', { name: 'Your login has ended' }).waitFor()
  assert.deepEqual(await settle(tab), [streamPath])
})

test('a tab polls what no stream reports', { timeout: 900_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return

  await t.test('the infrastructure of an external service', async (t) => {
    const clouddriver = await startUpstream(t, ({ path }) => (path.endsWith('/clusters') ? {} : []))
    const { open } = await start(t, browser, {
      live: { heartbeat: '1h' },
      services: { clouddriver: { baseUrl: clouddriver.url } },
    })
    const tab = await open(overview)
    await waitUntil(() => tab.reads.includes(streamPath), 'the stream')
    await tab.says('Every few seconds')
    await settle(tab)
    await tab.page.clock.fastForward(16_000)
    assert.deepEqual(await settle(tab), infrastructure)
  })

  await t.test('everything where streams are switched off', async (t) => {
    const { open } = await start(t, browser, { live: { maxStreams: 0 } })
    const tab = await open(overview)
    await tab.says('Every few seconds')
    await settle(tab)
    await tab.page.clock.fastForward(16_000)
    const reads = (await settle(tab)).filter((path) => path !== streamPath)
    assert.deepEqual(reads, polled)
  })

  await t.test('everything where a proxy keeps the events back', async (t) => {
    const { open, context } = await start(t, browser)
    await context.route(`**${streamPath}`, (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: ':\n\n' }),
    )
    const tab = await open(overview)
    await tab.says('Every few seconds')
    await settle(tab)
    await tab.page.clock.fastForward(16_000)
    assert.deepEqual(
      (await settle(tab)).filter((path) => path !== streamPath),
      polled,
    )
  })
})

test('a stream that the server ends in order is followed again without a break', {
  timeout: 900_000,
}, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const { open, context } = await start(t, browser, { live: { maxAge: '2s' } })
  const words: string[] = []
  await context.exposeFunction('noteWord', (word: string) => words.push(word))
  const { page, reads, says } = await open(overview)
  await says('Live')
  await page.evaluate(`
    const word = document.querySelector('.live-word')
    new MutationObserver(() => noteWord(word.textContent)).observe(word, { subtree: true, characterData: true, childList: true })
  `)
  await waitUntil(() => reads.filter((path) => path === streamPath).length > 2, 'two more streams')
  await says('Live')
  assert.deepEqual(words, [])
})
