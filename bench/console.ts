/** The part `console`: how much a browser loads, how soon it is useful, how it draws and scrolls, and what an open tab costs. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'
import { buildConsole } from '../scripts/build-console.ts'
import { type JsonObject, objectOf } from '../src/json/values.ts'
import { findProgram } from '../test/support/debian.ts'
import { median, print, type Row, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { createApplication, post, read, startWithSettings, untilSucceeded } from './standalone.ts'
import type { Scratch, Target } from './targets.ts'

const [runs, stages, lines] = [1000, 200, 20_000]
const idleMinutes = 1

/** As the console's budget has them. */
const limits = {
  'first load, kB gzip': 100,
  'first load, files': 10,
  'first content, ms': 400,
  'usable, ms': 800,
  'first content, 4 × slower, ms': 1200,
  'usable, 4 × slower, ms': 2000,
  'next screen, ms': 100,
  [`graph of ${stages} stages, ms`]: 700,
  [`output of ${lines} lines, ms`]: 300,
  [`${runs} runs, median frame, ms`]: 16.8,
  [`${runs} runs, longest frame, ms`]: 33.4,
  [`${runs} runs, nodes`]: 2500,
  'open tab, heap, MiB': 60,
  'open tab, growth in a minute, MiB': 5,
  'open tab, share of a core, %': 1,
} as const

type Measure = keyof typeof limits | (string & {})
type Results = Map<Measure, number>

export async function measureConsole(options: BenchOptions, scratch: Scratch): Promise<void> {
  const { firstLoadBytes, firstLoad } = await buildConsole(new URL('../dist/console', import.meta.url).pathname)
  // With the document.
  const results: Results = new Map([
    ['first load, kB gzip', firstLoadBytes / 1000],
    ['first load, files', firstLoad.length + 1],
  ])
  const executablePath = findProgram('chromium-headless-shell') ?? findProgram('chromium')
  if (executablePath === undefined) console.log('chromium is not installed; only sizes are measured.')
  else {
    const target = await startWithSettings(options, scratch.dir('console'), {})
    const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
    try {
      await measureAll({ browser, target, ...(await fill(target)) }, results)
    } finally {
      await browser.close()
      await target.process.stop()
    }
  }
  print('Console', toTable(results))
}

function toTable(results: Results): Row[] {
  return Object.entries(limits).flatMap(([what, limit]) => {
    const value = results.get(what)
    return value === undefined ? [] : [{ what, measured: round(value), limit, '': value > limit ? 'above' : '' }]
  })
}

interface Filled {
  /** Addresses below the console. */
  readonly execution: string
  readonly output: string
}

/** An application with a large run, a long output, and many runs. */
async function fill(target: Target): Promise<Filled> {
  await createApplication(target, 'fleet')
  const stage = (refId: string, requisiteStageRefIds: readonly string[], more: JsonObject = {}): JsonObject => {
    return { refId, name: `Stage ${refId}`, type: 'wait', waitTime: 0, requisiteStageRefIds: [...requisiteStageRefIds], ...more }
  }
  const columns = stages / 5
  const large = Array.from({ length: stages }, (_, at) => {
    const [column, row] = [at % columns, Math.floor(at / columns)]
    return stage(`${column}-${row}`, column === 0 ? [] : [`${column - 1}-${row}`, `${column - 1}-${(row + 1) % 5}`])
  })
  const start = (name: string, list: readonly JsonObject[]) =>
    post(target, '/pipelines/start', { application: 'fleet', name, stages: [...list] })
  const execution = await start('large', large)
  const command = `seq -f 'line %g of an output that is long enough to be read' ${lines}`
  const output = await start('output', [stage('1', [], { type: 'runCommand', command })])
  for (const ref of [execution, output]) await untilSucceeded(target, ref)
  const jobs = (await read(target, '/applications/fleet/jobs')) as JsonObject[]
  for (let count = 0; count < runs; count += 20) {
    await Promise.all(Array.from({ length: 20 }, () => start('many', [stage('1', [])])))
  }
  const { account, region, name } = objectOf(jobs[0])
  return {
    execution: execution.replace('/pipelines', 'executions'),
    output: `applications/fleet/jobs/${account}/${region}/${name}?tab=console`,
  }
}

interface Visit extends Filled {
  readonly browser: Browser
  readonly target: Target
}

interface Tab {
  readonly page: Page
  readonly devtools: CDPSession
  open(path: string): Promise<void>
  close(): Promise<void>
}

/** When something appears in the page. */
const recorder = `
  globalThis.appears = (selector, count = 1) => new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(selector + ' does not appear: ' + document.body.innerText.slice(0, 300))), 30_000)
    const look = () => {
      if (document.querySelectorAll(selector).length < count) return
      seen.disconnect()
      resolve(performance.now())
    }
    const seen = new MutationObserver(look)
    seen.observe(document, { childList: true, subtree: true })
    look()
  })
`

async function openTab({ browser, target }: Visit): Promise<Tab> {
  const url = `http://127.0.0.1:${target.port}`
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const [name = '', value = ''] = (target.headers['cookie'] ?? '').split('=')
  await context.addCookies([{ name, value, url }])
  const page = await context.newPage()
  await page.addInitScript(recorder)
  return {
    page,
    devtools: await context.newCDPSession(page),
    open: async (path) => void (await page.goto(`${url}/console/${path}`)),
    close: () => context.close(),
  }
}

async function measureAll(visit: Visit, results: Results): Promise<void> {
  for (const slower of [1, 4]) {
    const suffix = slower === 1 ? '' : `, ${slower} × slower`
    const [content, usable] = await measureFirst(visit, slower)
    results.set(`first content${suffix}, ms`, content)
    results.set(`usable${suffix}, ms`, usable)
  }
  const tab = await openTab(visit)
  await tab.open('applications')
  await tab.page.evaluate("appears('main a[href*=fleet]')")
  results.set('next screen, ms', await react(tab.page, 'audit', 'main h1'))
  results.set(`graph of ${stages} stages, ms`, await react(tab.page, visit.execution, '.node'))
  results.set(`output of ${lines} lines, ms`, await react(tab.page, visit.output, '.log-line'))
  await tab.close()
  await measureScrolling(visit, results)
  await measureIdle(visit, results)
}

async function measureFirst(visit: Visit, slower: number): Promise<[content: number, usable: number]> {
  const [contents, usable]: [number[], number[]] = [[], []]
  for (let count = 0; count < 5; count++) {
    const { page, devtools, open, close } = await openTab(visit)
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: slower })
    await open('runs')
    usable.push(Number(await page.evaluate(`appears('main a[href*="executions/"]')`)))
    contents.push(Number(await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN")))
    await close()
  }
  return [median(contents), median(usable)]
}

/** Goes to another screen as a link does. @returns milliseconds until it shows what it is about */
async function react(page: Page, path: string, selector: string): Promise<number> {
  return (await page.evaluate(`(async () => {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const before = document.querySelector('${selector}')
    before?.setAttribute('data-former', '')
    const from = performance.now()
    const appeared = appears('${selector}:not([data-former])')
    history.pushState(null, '', document.baseURI + '${path}')
    dispatchEvent(new PopStateEvent('popstate'))
    return (await appeared) - from
  })()`)) as number
}

/** Three seconds of scrolling, 40 pixels a frame, to the end and back. */
const scrolling = `new Promise((resolve) => {
  const frames = []
  let last = performance.now(), step = 40
  const until = last + 3000, end = document.documentElement.scrollHeight - 2
  const frame = (now) => {
    frames.push(now - last)
    last = now
    if (scrollY + innerHeight >= end) step = -40
    else if (scrollY === 0) step = 40
    scrollBy(0, step)
    if (now < until) requestAnimationFrame(frame)
    else resolve(frames.slice(2))
  }
  requestAnimationFrame(frame)
})`

async function measureScrolling(visit: Visit, results: Results): Promise<void> {
  const { page, open, close } = await openTab(visit)
  await open('applications/fleet/runs')
  await page.evaluate(`appears('main a[href*="executions/"]', 20)`)
  await sleep(1500)
  const frames = (await page.evaluate(scrolling)) as number[]
  results.set(`${runs} runs, median frame, ms`, median(frames))
  results.set(`${runs} runs, longest frame, ms`, Math.max(...frames))
  results.set(`${runs} runs, nodes`, Number(await page.evaluate("document.querySelectorAll('*').length")))
  await close()
}

async function measureIdle(visit: Visit, results: Results): Promise<void> {
  const { page, devtools, open, close } = await openTab(visit)
  const heapMiB = async () => {
    await devtools.send('HeapProfiler.collectGarbage')
    return (await devtools.send('Runtime.getHeapUsage')).usedSize / 1_048_576
  }
  const scriptMs = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return 1000 * (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? Number.NaN)
  }
  await devtools.send('Performance.enable')
  await open('applications/fleet')
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await sleep(5000)
  const [heapBefore, scriptBefore] = [await heapMiB(), await scriptMs()]
  await sleep(idleMinutes * 60_000)
  const [heapAfter, scriptAfter] = [await heapMiB(), await scriptMs()]
  await close()
  results.set('open tab, heap, MiB', heapBefore)
  results.set('open tab, growth in a minute, MiB', Math.max(0, heapAfter - heapBefore))
  results.set('open tab, share of a core, %', ((scriptAfter - scriptBefore) / (idleMinutes * 60_000)) * 100)
}
