/** What people come for, and how many clicks it takes them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions, Page, Route } from 'playwright-core'
import { findBarriers, showAddress } from '../support/barriers.ts'
import { type Chromium, openChromium, startCountingClicks } from '../support/chromium.ts'
import { type Deployments, startDeployments } from '../support/deployments.ts'
import { waitUntil } from '../support/wait-until.ts'

const asAlice = { 'X-SPINNAKER-USER': 'alice' }
const phone: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  hasTouch: true,
  isMobile: true,
}

interface Visitor {
  readonly page: Page
  open(path: string): Promise<void>
  /** Clicks since the last time that this was asked. */
  clicks(): Promise<number>
}

async function visit(
  browser: Chromium,
  fleet: Deployments,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const page = await browser.newPage({ extraHTTPHeaders: asAlice, ...options })
  const clicks = await startCountingClicks(page)
  return {
    page,
    open: async (path) => void (await page.goto(`${fleet.url()}/console/${path}`)),
    clicks,
  }
}

test('the way to an answer is short', { timeout: 900_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const fleet = await startDeployments(t)
  await fleet.balance('web-front')
  for (const pipeline of pipelines()) await savePipeline(fleet, pipeline)
  const { page, open, clicks } = await visit(browser, fleet)
  const run = async (id: string, parameters = {}, status = 'SUCCEEDED') => {
    const execution = await start(fleet, id, parameters)
    if (status !== '') await fleet.ends(execution, status, 'pipelines')
    return execution
  }
  await run('ship', { version: '1.0.0' })
  const second = await run('ship', { version: '1.1.0' })

  await t.test('which version runs where: one click', async () => {
    await open('')
    await page
      .getByRole('navigation', { name: 'Main' })
      .getByRole('link', { name: 'Environments' })
      .click()
    await page.getByText('1.1.0').first().waitFor()
    assert.equal(await clicks(), 1)
  })

  await t.test('what changed between two runs: one click', async () => {
    await open(`executions/${second}`)
    await page.getByRole('link', { name: /^Compare with/ }).click()
    await page
      .getByText(/version .*1\.0\.0.*1\.1\.0/)
      .first()
      .waitFor()
    assert.equal(await clicks(), 1)
    assert.deepEqual(await findBarriers(page), [])
  })

  await t.test('why a run of the night failed: one click', async () => {
    await run('nightly', { rows: '10' })
    await run('nightly', { rows: '0' }, 'TERMINAL')
    await open('')
    await page
      .getByRole('link', { name: /nightly/ })
      .first()
      .click()
    await page.getByText('no rows to copy').first().waitFor()
    await page
      .getByText(/rows .*10.*0/)
      .first()
      .waitFor()
    await page.getByRole('link', { name: 'Edit this stage' }).waitFor()
    assert.equal(await clicks(), 1)
    assert.deepEqual(await findBarriers(page), [])
  })

  await t.test('a judgment waits for those who may decide, on a phone two taps away', async () => {
    const permissions = { READ: ['ops', 'readers'], EXECUTE: ['ops'], WRITE: ['ops'] }
    await fleet.run({
      type: 'updateApplication',
      application: { name: 'shop', email: 'team@example.test', permissions },
    })
    const execution = await run('asked', {}, '')
    const reader = await visit(browser, fleet, { extraHTTPHeaders: { 'X-SPINNAKER-USER': 'bob' } })
    await reader.open('')
    await reader.page.getByText('Nothing waits for you.', { exact: true }).waitFor()
    assert.match(await reader.page.title(), /^Home/)
    await reader.page.getByRole('link', { name: /asked/ }).click()
    const denied = reader.page.getByRole('button', { name: 'Approve', disabled: true })
    await denied.first().waitFor()
    await reader.page.keyboard.press('Control+k')
    await reader.page.getByRole('option').first().waitFor()
    assert.equal(await reader.page.getByRole('option', { name: /^Judge/ }).count(), 0)
    await reader.open('applications')
    await reader.page.getByRole('button', { name: 'Create application' }).first().click()
    await reader.page.getByRole('dialog').getByLabel('Name').fill('shop')
    await reader.page
      .getByText('You may not do this: this needs WRITE. Ask team@example.test, the owner of shop.')
      .waitFor()
    await reader.page.close()

    const hand = await visit(browser, fleet, phone)
    await hand.open('')
    await hand.page
      .getByRole('link', { name: /Judge|asked/ })
      .first()
      .tap()
    const go = hand.page.getByRole('button', { name: 'Approve' }).first()
    await go.waitFor()
    const box = await go.boundingBox()
    assert.ok(
      box !== null && box.y >= 0 && box.y + box.height <= 844,
      `Approve is at ${JSON.stringify(box)}`,
    )
    await go.tap()
    await fleet.ends(execution, 'SUCCEEDED', 'pipelines')
    assert.equal(await hand.clicks(), 2)
    await hand.page.close()
  })

  await t.test('a rollback: three clicks', async () => {
    await open('applications/shop')
    await page.getByRole('button', { name: 'Actions of shop-web-v001' }).click()
    await page.getByRole('menuitem', { name: 'Roll back' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back shop-web-v001' }).click()
    await waitUntil(
      async () => (await fleet.group('shop-web-v001'))?.isDisabled === true,
      'the rollback',
    )
    assert.equal(await clicks(), 3)
  })

  await t.test('a rollback of one of two clusters, from the search', async () => {
    await run('beside', { version: '1.0.0' })
    await open(`executions/${await run('beside', { version: '1.1.0' })}`)
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Roll back what it deployed' }).click()
    await page.getByRole('button', { name: 'Roll back shop-side-v001' }).waitFor()
    const application = { name: 'bare', email: 'a@example.com' }
    await fleet.run({ type: 'createApplication', application })
    await open('environments')
    await page.getByText('rolled back from 1.1.0').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('roll back')
    await page.getByRole('option', { name: 'Roll back shop' }).click()
    assert.equal(await page.getByRole('option', { name: 'Roll back bare' }).count(), 0)
    const dialog = page.getByRole('dialog')
    await dialog
      .getByRole('combobox')
      .selectOption({ label: 'shop-side-v001: shop:1.1.0 in dev / east' })
    await dialog.getByRole('button', { name: 'Roll back shop' }).click()
    await dialog.getByText('shop-side-v001 is disabled and keeps running').waitFor()
    await dialog.getByRole('button', { name: 'Roll back shop-side-v001' }).press('Enter')
    await waitUntil(
      async () => (await fleet.group('shop-side-v001'))?.isDisabled === true,
      'the rollback',
    )
    assert.ok(
      Number((await fleet.group('shop-side-v000'))?.['servingSinceMs']) >
        Number((await fleet.group('shop-side-v001'))?.createdTime),
    )
    await clicks()
  })

  await t.test('the output of an instance that crashed: two clicks', async () => {
    await run('crash', {}, 'TERMINAL')
    await open('applications/shop')
    await page.locator('a[title^="i-"]:not([title$=": up"])').first().click()
    await page.getByRole('tab', { name: 'Console output' }).click()
    await page.getByText('cannot read its configuration').first().waitFor()
    assert.equal(await clicks(), 2)
  })

  await t.test(
    'the share of a canary and of its baseline, at the run and in the overview',
    async () => {
      const metric = {
        name: 'latency',
        groups: ['all'],
        query: { type: 'serverGroups', metricName: 'latency' },
      }
      const judge = { name: 'NetflixACAJudge-v1.0', judgeConfigurations: {} }
      const config = {
        id: 'golden',
        name: 'golden',
        applications: ['shop'],
        judge,
        metrics: [{ ...metric, scopeName: 'default' }],
      }
      const classifier = { groupWeights: { all: 100 }, scoreThresholds: { pass: 90, marginal: 40 } }
      assert.equal(
        (await fleet.ask('POST', '/v2/canaryConfig', { ...config, classifier })).status,
        200,
      )
      const execution = await run('canary', {}, '')
      await open(`executions/${execution}`)
      await page.getByText('v000 takes 10 % of the traffic, 1 up.').nth(1).waitFor()
      assert.equal(await page.getByText(/takes all traffic|100 % of traffic/).count(), 0)
      await open('applications/shop')
      await page.getByText('80 % of traffic').first().waitFor()
      await fleet.ask('PUT', `/pipelines/${execution}/cancel`)
      await fleet.ends(execution, 'CANCELED', 'pipelines')
    },
  )

  await t.test(
    'a screen of a slow server is there after one round of answers, at most two',
    async () => {
      const slow = await visit(browser, fleet)
      await slow.open('access')
      await slow.page.getByRole('heading', { level: 1 }).waitFor()
      const places = {
        [`executions/${second}`]: 'version',
        'applications/shop': 'shop-web',
        'applications/shop/pipelines': 'nightly',
        'applications/shop/runs': 'nightly',
        // As many instances as the steps before have left.
        environments: /of \d up/,
      }
      for (const [place, text] of Object.entries(places)) {
        const rounds = await countRounds(slow.page, place, text)
        assert.ok(rounds <= 2, `${place}: ${rounds} rounds`)
      }
      await slow.page.close()
    },
  )

  await t.test(
    'a service that fails is said to fail, is never shown as nothing, and is read again',
    async () => {
      const broken = { status: 503, contentType: 'application/json', body: '{"message":"down"}' }
      // Files of the console may have the same names.
      await page.route(
        /^(?!.*\/console\/).*\/(serverGroups|clusters|executions\/search)\b/,
        (route) => route.fulfill(broken),
      )
      for (const place of ['applications/shop', 'applications/shop/runs', '']) {
        await open(place)
        await page.getByRole('button', { name: 'Try again' }).first().waitFor()
        assert.doesNotMatch(
          (await page.locator('#main').textContent()) ?? '',
          /\b0 (up|of|runs)|Nothing (is deployed|failed|waits|runs)/,
        )
        assert.deepEqual(await findBarriers(page), [])
      }
      await page.unrouteAll({ behavior: 'wait' })
      await page.getByRole('button', { name: 'Try again' }).first().click()
      await page.getByText('nightly').first().waitFor()
    },
  )
})

/** Answers come in rounds, each when the page has asked for all that it can: how many it takes until the text is there. */
async function countRounds(page: Page, place: string, text: string | RegExp): Promise<number> {
  const held: Route[] = []
  let isHeld = true
  const isApi = (url: URL) =>
    !url.pathname.includes('/console/') && !url.pathname.endsWith('/events')
  await page.route(isApi, (route) => (isHeld ? void held.push(route) : route.continue()))
  await showAddress(page, place)
  const shown = page.locator('#main').getByText(text).filter({ visible: true }).first()
  for (let rounds = 0; ; rounds++) {
    await waitUntil(
      async () => held.length > 0 || (await shown.isVisible()),
      `something of ${place}`,
    )
    await page.evaluate(idle)
    if (held.length === 0 || (await shown.isVisible())) {
      isHeld = false
      // Another place may show what is still on its way.
      for (const route of held.splice(0)) await route.continue()
      await page.unrouteAll({ behavior: 'wait' })
      return rounds
    }
    for (const route of held.splice(0)) await route.continue()
  }
}

/** In the page: nothing is left to do at the moment. */
const idle = `(async () => {
  for (let times = 0; times < 5; times++) await new Promise((resolve) => requestIdleCallback(() => setTimeout(resolve, 50)))
})()`

function pipelines() {
  const cluster = {
    cloudProvider: 'local',
    account: 'dev',
    region: 'east',
    application: 'shop',
    stack: 'web',
    imageId: 'shop:${parameters.version}',
    capacity: { min: 1, max: 1, desired: 1 },
    loadBalancers: ['web-front'],
    strategy: 'redblack',
  }
  const command =
    'if [ "${parameters.rows}" = 0 ]; then echo no rows to copy; exit 3; fi; echo copied'
  const stage = (type: string, more: object) => ({
    refId: '1',
    requisiteStageRefIds: [],
    type,
    ...more,
  })
  return [
    {
      id: 'ship',
      name: 'ship',
      parameterConfig: [{ name: 'version', required: true }],
      stages: [stage('deploy', { name: 'Deploy', clusters: [cluster] })],
    },
    {
      id: 'beside',
      name: 'beside',
      stages: [
        stage('deploy', {
          name: 'Deploy',
          clusters: [{ ...cluster, stack: 'side', loadBalancers: [] }],
        }),
      ],
    },
    {
      id: 'nightly',
      name: 'nightly',
      parameterConfig: [{ name: 'rows', required: true }],
      stages: [
        stage('runCommand', {
          name: 'Copy',
          cloudProvider: 'local',
          account: 'dev',
          region: 'east',
          command: ['sh', '-c', command],
        }),
      ],
    },
    {
      id: 'canary',
      name: 'canary',
      stages: [
        stage('kayentaCanary', {
          analysisType: 'realTimeAutomatic',
          canaryConfig: {
            canaryConfigId: 'golden',
            metricsAccountName: 'server-groups',
            scopes: [{ scopeName: 'default', step: 5 }],
            lifetimeDuration: 'PT10M',
            scoreThresholds: { pass: 90, marginal: 40 },
          },
          deployments: {
            baseline: { cloudProvider: 'local', account: 'dev', cluster: 'shop-web' },
            serverGroupPairs: [
              {
                trafficPercent: 10,
                control: {
                  ...cluster,
                  strategy: '',
                  freeFormDetails: 'baseline',
                  imageId: undefined,
                },
                experiment: {
                  ...cluster,
                  strategy: '',
                  freeFormDetails: 'canary',
                  imageId: 'shop:1.1.0',
                },
              },
            ],
          },
        }),
      ],
    },
    {
      id: 'asked',
      name: 'asked',
      stages: [stage('manualJudgment', { name: 'Go on?', instructions: 'Look first.' })],
    },
    {
      id: 'crash',
      name: 'crash',
      stages: [
        stage('deploy', {
          name: 'Deploy',
          stageTimeoutMs: 20_000,
          clusters: [
            {
              ...cluster,
              stack: 'bad',
              imageId: 'shop:1.0.0',
              strategy: '',
              loadBalancers: [],
              command: ['sh', '-c', 'echo cannot read its configuration; exit 1'],
            },
          ],
        }),
      ],
    },
  ].map((pipeline) => ({ application: 'shop', ...pipeline }))
}

async function savePipeline(fleet: Deployments, pipeline: object): Promise<void> {
  const { status, body } = await fleet.ask('POST', '/pipelines', pipeline)
  assert.equal(status, 200, JSON.stringify(body))
}

async function start(fleet: Deployments, id: string, parameters: object): Promise<string> {
  const { status, body } = await fleet.ask('POST', `/pipelines/v2/shop/${id}`, {
    type: 'manual',
    parameters,
  })
  assert.equal(status, 202, JSON.stringify(body))
  return String((body as { ref: string }).ref)
    .split('/')
    .at(-1) as string
}
