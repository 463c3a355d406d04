/** Long output of an instance at the console, whose lines have addresses; and the measurements of a canary. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { findBarriers } from '../support/barriers.ts'
import { type Chromium, openChromium } from '../support/chromium.ts'
import { startGateway } from '../support/gateway.ts'
import { silence, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

const lineCount = 60_000
const partBytes = 1_048_576
const whole = Buffer.from(
  Array.from({ length: lineCount }, (_, at) => `line ${at} für alle\n`).join(''),
)
const byteOf = (line: number) => whole.indexOf(`line ${line} `)

/** A page whose output is long; of it, the service keeps what follows line 40,000 when it is asked for all. */
async function start(t: TestContext, browser: Chromium) {
  const offsets: number[] = []
  let isHeld = false
  const partAt = (asked: string | null) => {
    const offset = asked === '0' ? byteOf(40_000) : Number(asked ?? byteOf(lineCount - 2000))
    const nextOffset = Math.min(offset + partBytes, whole.length)
    const output = whole.subarray(offset, nextOffset).toString()
    return {
      output,
      offset,
      nextOffset,
      endOffset: whole.length,
      ...(asked === null && { line: lineCount - 2000 + 1 }),
    }
  }
  const clouddriver = await startUpstream(t, ({ path, query }) => {
    if (!path.endsWith('/console'))
      return {
        id: 'i-1',
        name: 'i-1',
        account: 'dev',
        region: 'east',
        healthState: 'Up',
        health: [],
      }
    const parameters = new URLSearchParams(query)
    const [asked, wanted] = [parameters.get('offset'), parameters.get('find')]
    if (parameters.get('tail') === '0')
      return { output: '', offset: whole.length, nextOffset: whole.length, line: lineCount + 1 }
    if (wanted !== null)
      return { output: '', matches: [{ offset: whole.indexOf(wanted), line: 1 }] }
    if (asked !== null) offsets.push(Number(asked))
    return isHeld && asked !== null && Number(asked) < byteOf(lineCount - 2000)
      ? silence
      : partAt(asked)
  })
  const url = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  const page = await browser.newPage({ extraHTTPHeaders: { 'X-SPINNAKER-USER': 'alice' } })
  const open = (query: string) =>
    page.goto(`${url}/console/applications/shop/instances/dev/east/i-1?tab=console${query}`)
  /** Earlier output is not sent until it is released. */
  const hold = () => {
    isHeld = true
  }
  const release = (offset: number) => {
    isHeld = false
    clouddriver.release(partAt(String(offset)))
  }
  return { page, offsets, open, hold, release, log: page.getByRole('log') }
}

test('earlier output appears on scrolling up', { timeout: 900_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const { page, offsets, open, hold, release, log } = await start(t, browser)
  await open('')
  const first = log.getByText(`line ${lineCount - 2000} `)
  const gone = page.getByText('The beginning of the output is no longer on this page.')
  await first.waitFor({ state: 'attached' })
  const firstBlock = log.locator('.log-block').first()
  const topOf = async () => {
    const box = await log
      .locator('.log-line', { hasText: `line ${lineCount - 2000} ` })
      .boundingBox()
    assert.ok(box !== null)
    return box.y
  }
  const top = (await log.boundingBox())?.y ?? 0
  // Meanwhile the page asks for what follows the end as well.
  const begin = byteOf(lineCount - 2000)
  const earlier = () => offsets.filter((offset) => offset < begin)
  // A key that is pressed once more must not move what has come meanwhile.
  hold()
  await goUp(log, () => earlier().length > 0)
  release(Number(earlier()[0]))
  await waitUntil(
    async () => !(await firstBlock.textContent())?.startsWith(`line ${lineCount - 2000} `),
    'earlier output',
  )
  assert.ok(Math.abs((await topOf()) - top) < 40, 'what was at the top stays there')
  // A part begins within a line, which is left out. The lines are drawn one after another, and only above all of them is more read.
  const from = whole.indexOf('\n', begin - partBytes) + 1
  const texts = whole.subarray(from).toString()
  await waitUntil(async () => (await log.textContent()) === texts, 'all lines of the part')
  assert.equal(earlier()[0], begin - partBytes)
  assert.equal(await gone.count(), 0)

  await goUp(log, () => earlier().length > 1)
  await gone.waitFor()
  assert.equal(await log.textContent(), texts)
})

/** A browser on a busy machine may stop on the way to the top, while it still lays out what comes into view: readers press again. */
async function goUp(log: Locator, isDone: () => boolean): Promise<void> {
  await waitUntil(async () => {
    if (!isDone()) await log.press('Home')
    return isDone()
  }, 'a read of what came before')
}

/** On a busy machine, a moment that was ahead has passed when the page is told to stop there. */
async function pauseSoon(page: Page): Promise<void> {
  for (let aheadMs = 100; ; aheadMs *= 2) {
    const moment = (await page.evaluate<number>('Date.now()')) + aheadMs
    const problem = await page.clock.pauseAt(moment).catch((error: unknown) => error)
    if (problem === undefined) return
    if (!/to the past/.test(String(problem)) || aheadMs > 60_000) throw problem
  }
}

test('the address of output marks a line', { timeout: 900_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const { page, offsets, open, log } = await start(t, browser)
  const marked = page.locator('.log-line[aria-current]')
  const lineInAddress = () => new URL(page.url()).searchParams.get('line')

  await t.test('among what came long before the end, which is read without a pause', async () => {
    await page.clock.install()
    await open(`&line=${byteOf(5000)}`)
    await waitUntil(() => offsets.length > 0, 'the first part')
    await pauseSoon(page)
    // All steps together are shorter than the pause between two polls.
    for (
      let step = 0;
      step < 150 && (await log.getByText(`line ${lineCount - 1} `).count()) === 0;
      step++
    ) {
      await page.clock.runFor(10)
      await page.waitForTimeout(200)
    }
    assert.equal(await log.getByText(`line ${lineCount - 1} `).count(), 1)
    await page.clock.resume()
    assert.equal(await marked.textContent(), 'line 5000 für alle\n')
    assert.equal(await marked.locator('.log-number').getAttribute('data-number'), '5001')
    assert.equal(offsets[0], byteOf(5000) - 65_536)
    const [line, box] = [await marked.boundingBox(), await log.boundingBox()]
    assert.ok(
      line !== null && box !== null && line.y > box.y && line.y + line.height < box.y + box.height,
      'in view',
    )
  })

  await t.test('unless the line is no longer kept', async () => {
    await open('&line=7')
    await page.getByText('The line of this address is no longer kept.').waitFor()
    assert.equal(await marked.count(), 0)
  })

  await t.test('a click chooses another, and once more none', async () => {
    await open(`&line=${byteOf(58_000)}`)
    await marked.waitFor()
    const other = log.getByRole('button', { name: 'Link to line 58002', exact: true })
    await other.click()
    await waitUntil(() => lineInAddress() === String(byteOf(58_001)), 'the next line')
    await other.click()
    await waitUntil(() => lineInAddress() === null, 'no line')
    assert.equal(await marked.count(), 0)
  })

  await t.test('all output is searched, and the letter l chooses the line of a hit', async () => {
    await open('')
    await page.getByLabel('Find').fill('line 45000 ')
    await page.locator('mark.is-current').waitFor()
    await page.getByLabel('Find').fill('line 59000 ')
    await page.locator('mark.is-current', { hasText: 'line 59000 ' }).waitFor()
    await page.locator('mark.is-current').waitFor()
    await log.press('l')
    await waitUntil(() => lineInAddress() === String(byteOf(59_000)), 'the line of the hit')
    assert.equal(await marked.textContent(), 'line 59000 für alle\n')
    assert.equal(await page.locator('mark.is-current').textContent(), 'line 59000 ')
  })
})

test('the report of a canary shows its verdict, its lines, and why it has none', {
  timeout: 900_000,
}, async (t) => {
  // Measured half as often as the step of the configuration asks.
  const values = {
    control: [1, 'NaN', 2, 'NaN', 1, 'NaN', 2],
    experiment: [4, 'NaN', 5, 'NaN', 4, 'NaN', 5],
  }
  const sides = {
    controlMetadata: { stats: { mean: 1.5, count: 4 } },
    experimentMetadata: { stats: { mean: 4.5, count: 4 } },
  }
  const metrics = [
    {
      id: 'm1',
      name: 'errors',
      classification: 'High',
      groups: ['Errors'],
      critical: true,
      resultMetadata: { ratio: 3 },
      ...sides,
    },
    {
      id: 'm2',
      name: 'latency',
      classification: 'Pass',
      groups: ['Errors'],
      resultMetadata: { ratio: 1 },
      ...sides,
    },
    { id: 'm3', name: 'gone', classification: 'Nodata', groups: ['Errors'] },
  ]
  const judgeResult = {
    score: { score: 50, classificationReason: '' },
    groupScores: [{ name: 'Errors', score: 50 }],
    results: metrics,
  }
  const analysis = {
    ...{
      application: 'web',
      pipelineId: 'a1',
      complete: true,
      status: 'succeeded',
      metricSetPairListId: 'p1',
    },
    ...{
      config: { name: 'golden' },
      canaryExecutionRequest: { thresholds: { pass: 90, marginal: 40 } },
      result: { judgeResult },
    },
  }
  const broken = {
    ...analysis,
    ...{ pipelineId: 'a2', status: 'terminal', result: {}, config: { name: 'away' } },
    exception: { details: { errors: ['The metrics are away.'] } },
  }
  const kayenta = await startUpstream(t, ({ path }) => {
    if (path.endsWith('/a2')) return broken
    if (path.includes('/metricSetPairList/'))
      return metrics.slice(0, 2).map(({ id, name }) => ({ id, name, values }))
    return path.includes('/executions')
      ? [analysis, broken]
      : path.includes('/canaryConfig')
        ? [{ id: 'c1', name: 'golden' }]
        : analysis
  })
  const front50 = await startUpstream(t, ({ path }) =>
    path === '/v2/applications/web' ? { name: 'web' } : [],
  )
  const url = await startGateway(t, {
    services: {
      front50: { baseUrl: front50.url },
      kayenta: { baseUrl: kayenta.url, enabled: true },
    },
  })
  const browser = await openChromium(t)
  if (browser === undefined) return
  const page = await browser.newPage({ extraHTTPHeaders: { 'X-SPINNAKER-USER': 'alice' } })
  await page.goto(`${url}/console/applications/web/delivery`)
  await page
    .getByRole('row', { name: /marginal/ })
    .getByRole('link', { name: 'golden' })
    .click()
  await page
    .getByText(
      'The canary is not good enough: its score of 50 is below 90: errors is higher than the baseline.',
    )
    .waitFor()
  await page.getByText('pass 90').waitFor()
  const row = (name: string) =>
    page.getByRole('table', { name: `Figures of ${name}` }).getByRole('row', { name: /canary/ })
  await row('errors').getByText('4.5').waitFor()
  await page.getByText('no data, not compared').last().waitFor()
  await page.locator('summary', { hasText: 'latency' }).focus()
  await page.keyboard.press('Enter')
  await row('latency').waitFor()
  const lengths = await page
    .locator('.measurements svg:not(.boxes) path')
    .evaluateAll((paths) =>
      paths.map((path) => (path as unknown as { getTotalLength(): number }).getTotalLength()),
    )
  assert.deepEqual(
    [lengths.length, lengths.every((length) => length > 250)],
    [4, true],
    `${lengths}`,
  )
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    assert.deepEqual(await findBarriers(page), [])
  }
  await page.goto(`${url}/console/applications/web`)
  const unjudged = page.getByRole('row', { name: /could not be judged/ })
  await unjudged.getByRole('link', { name: 'away' }).click()
  await page.getByText('The canary could not be judged: The metrics are away.').waitFor()
  await page
    .getByRole('button', { name: 'Interval 1: could not be judged, The metrics are away.' })
    .waitFor()
})
