/** The part `console`: how much a browser loads, how soon it is useful, how it scrolls, and what an open tab costs. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core'
import { refreshConsole } from '../scripts/build-console.ts'
import type { Manifest } from '../src/console/built-files.ts'
import { findProgram } from '../test/support/debian.ts'
import { type ConsoleService, largeExecution, sizes, startConsoleService } from './console-service.ts'
import { median, print, type Row, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { logIn, type Scratch, startGateway, type Target } from './targets.ts'

const builtDir = resolve(import.meta.dirname, '../dist/console')
const defaultMinutes = 3
const overview = 'applications/fleet'
const pipelines = 'applications/fleet/pipelines'
const execution = `executions/${largeExecution}`
const output = 'applications/fleet/instances/dev/east/i-0-0?tab=console'

export async function measureConsole(options: BenchOptions, scratch: Scratch): Promise<void> {
  await refreshConsole()
  print('Console: what a browser loads, gzip', toChunks())
  const executablePath = findProgram('chromium') ?? findProgram('chromium-headless-shell')
  if (executablePath === undefined) {
    console.log('chromium is not installed; only sizes are measured.')
    return
  }
  const service = await startConsoleService()
  const start = { dir: scratch.dir('console'), dist: options.dist, service }
  const gateway = await logIn(await startGateway({ ...start, env: { LIVE_ENABLED: 'false' } }))
  const browser = await chromium.launch({ executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu'] })
  const visit = { browser, gateway }
  try {
    print('Console: first screen', await measureFirst(visit))
    print('Console: reactions', await measureReactions(visit, service))
    print('Console: scrolling', await measureScrolling(visit))
    print('Console: an open tab', await measureIdle(visit, options.minutes ?? defaultMinutes))
    print('Console: an hour of an open tab, in a minute', await measureHour(visit, service))
  } finally {
    await browser.close()
    await gateway.process.stop()
    service.close()
  }
}

function toChunks(): Row[] {
  const { theme, script, style, preload } = JSON.parse(readFileSync(resolve(builtDir, 'manifest.json'), 'utf8')) as Manifest
  const first = new Set([theme, script, style, ...preload])
  const packed = readdirSync(resolve(builtDir, 'files')).filter((name) => name.endsWith('.gz'))
  const files = packed.map((name) => ({ name: name.slice(0, -3), bytes: statSync(resolve(builtDir, 'files', name)).size }))
  const sum = (some: typeof files) => some.reduce((total, { bytes }) => total + bytes, 0)
  const isFirst = files.filter(({ name }) => first.has(name))
  const later = files.filter(({ name }) => !first.has(name)).toSorted((a, b) => b.bytes - a.bytes)
  return [
    { file: 'first load, all', KB: kilobytes(sum(isFirst)) },
    ...later.slice(0, 12).map(({ name, bytes }) => ({ file: name.replace(/-[A-Z0-9]{8}(?=\.)/, ''), KB: kilobytes(bytes) })),
    { file: `${later.length} later files, all`, KB: kilobytes(sum(later)) },
  ]
}

function kilobytes(bytes: number): number {
  return Math.round(bytes / 100) / 10
}

interface Visit {
  readonly browser: Browser
  readonly gateway: Target
}

interface Tab {
  readonly page: Page
  readonly devtools: CDPSession
  readonly context: BrowserContext
  open(path: string): Promise<void>
}

async function openTab({ browser, gateway }: Visit): Promise<Tab> {
  const url = `http://127.0.0.1:${gateway.port}`
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const [name = '', value = ''] = (gateway.headers['cookie'] ?? '').split('=')
  await context.addCookies([{ name, value, url }])
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await page.addInitScript(recorder)
  return { page, devtools, context, open: async (path) => void (await page.goto(`${url}/console/${path}`)) }
}

/** In the page: long tasks, and when something appeared after a moment that was noted. */
const recorder = `
  globalThis.bench = { longest: 0, from: 0 }
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) if (startTime >= bench.from) bench.longest = Math.max(bench.longest, duration)
  }).observe({ type: 'longtask', buffered: true })
  bench.changes = (selector) => new Promise((resolve, reject) => {
    const textOf = () => document.querySelector(selector)?.textContent
    const before = textOf()
    setTimeout(() => reject(new Error(selector + ' still says ' + before)), 30_000)
    const seen = new MutationObserver(() => {
      if (textOf() !== before) { seen.disconnect(); resolve(performance.now()) }
    })
    seen.observe(document, { childList: true, characterData: true, subtree: true })
  })
  bench.appears = (selector, count = 1) => new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(selector + ' does not appear: ' + document.body.innerText.slice(0, 300))), 30_000)
    const look = () => {
      if (document.querySelectorAll(selector).length >= count) { seen.disconnect(); resolve(performance.now()) }
    }
    const seen = new MutationObserver(look)
    seen.observe(document, { childList: true, subtree: true })
    look()
  })
`

async function measureFirst(visit: Visit): Promise<Row[]> {
  const rows: Row[] = []
  for (const slower of [1, 4]) {
    const contents: number[] = []
    const usable: number[] = []
    for (let count = 0; count < 5; count++) {
      const { page, devtools, context, open } = await openTab(visit)
      await devtools.send('Emulation.setCPUThrottlingRate', { rate: slower })
      await open('')
      usable.push(Number(await page.evaluate("bench.appears('.run-row')")))
      const paint = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN")
      contents.push(Number(paint))
      await context.close()
    }
    rows.push({
      processor: slower === 1 ? 'as it is' : `${slower} × slower`,
      'first content, median ms': round(median(contents)),
      'usable, median ms': round(median(usable)),
      'least ms': round(Math.min(...usable)),
    })
  }
  return rows
}

async function measureReactions(visit: Visit, service: ConsoleService): Promise<Row[]> {
  const { page, devtools, context, open } = await openTab(visit)
  const rows: Row[] = []
  await open('')
  await page.evaluate("bench.appears('.run-row')")
  await page.keyboard.press('g')
  await page.keyboard.press('a')
  await page.getByRole('link', { name: 'fleet' }).waitFor()
  await page.goBack()
  await page.evaluate("bench.appears('.run-row')")
  rows.push(await react(page, 'next screen, chunk cached', go('applications'), '.letter'))

  await page.evaluate("bench.appears('.letter')")
  rows.push(await react(page, `graph of ${sizes.stages} stages, first time`, go(execution), '.node'))
  await page.waitForTimeout(1000)

  const before = await scriptMs(devtools)
  const changes = 5
  // The page reads a running execution every two seconds, and what a change costs is that read and what it draws.
  for (let change = 0; change < changes; change++) {
    service.endStage()
    // Without a choice of the reader, the panel shows the stage that runs.
    await page.evaluate("bench.changes('.stage-panel h2')")
  }
  const changed = ((await scriptMs(devtools)) - before) / changes
  rows.push({ reaction: `a change of state in ${sizes.stages} stages, script`, ms: round(changed), 'longest task ms': '' })

  await open(overview)
  await page.evaluate("bench.appears('.group-row')")
  rows.push(await react(page, `log of ${sizes.lines.toLocaleString('en')} lines`, go(output), '.log-block'))
  await context.close()
  return rows
}

/** As the way forward of the browser does. */
function go(path: string): string {
  return `history.pushState(null, '', document.baseURI + '${path}'); dispatchEvent(new PopStateEvent('popstate'))`
}

async function react(page: Page, reaction: string, act: string, selector: string, count = 1): Promise<Row> {
  const script = `(async () => {
    bench.longest = 0; bench.from = performance.now()
    const appeared = bench.appears('${selector}', ${count});
    ${act}
    const ms = (await appeared) - bench.from
    await new Promise((resolve) => setTimeout(resolve, 600))
    return [ms, bench.longest]
  })()`
  const [ms = Number.NaN, longest = Number.NaN] = (await page.evaluate(script)) as number[]
  return { reaction, ms: round(ms), 'longest task ms': round(longest) }
}

/** Script, style and layout of the page so far. */
async function scriptMs(devtools: CDPSession): Promise<number> {
  // Of the thread alone: what other programs of this machine do meanwhile is no script.
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  const { metrics } = await devtools.send('Performance.getMetrics')
  return 1000 * (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? Number.NaN)
}

async function measureScrolling(visit: Visit): Promise<Row[]> {
  const rows: Row[] = []
  const screens = [
    {
      screen: `${(sizes.pipelines * sizes.runsEach).toLocaleString('en')} executions`,
      path: pipelines,
      selector: '.run-strip .run',
    },
    { screen: `${sizes.groups} server groups`, path: overview, selector: '.group-row' },
  ]
  for (const { screen, path, selector } of screens) {
    const { page, context, open } = await openTab(visit)
    await open(path)
    await page.evaluate(`bench.appears('${selector}')`)
    await page.waitForTimeout(1500)
    const frames = (await page.evaluate(scrolling)) as number[]
    const nodes = await page.evaluate("document.querySelectorAll('*').length")
    rows.push({
      screen,
      'median frame ms': round(median(frames)),
      'longest frame ms': round(Math.max(...frames)),
      'frames over 33 ms': frames.filter((ms) => ms > 33.4).length,
      frames: frames.length,
      'DOM nodes': Number(nodes),
    })
    await context.close()
  }
  return rows
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

async function measureIdle(visit: Visit, minutes: number): Promise<Row[]> {
  const { page, devtools, context, open } = await openTab(visit)
  let requests = 0
  let unchanged = 0
  let bytes = 0
  await devtools.send('Network.enable')
  const asked = new Set<string>()
  devtools.on('Network.responseReceived', ({ requestId, response }) => {
    if (response.url.includes('/console/')) return
    asked.add(requestId)
    requests++
    unchanged += Number(response.status === 304)
  })
  devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (asked.delete(requestId)) bytes += encodedDataLength
  })
  await open(overview)
  await page.evaluate("bench.appears('.group-row')")
  await page.waitForTimeout(5000)
  const before = await heapMiB(devtools)
  const scriptBefore = await scriptMs(devtools)
  bytes = 0
  requests = 0
  unchanged = 0
  await page.waitForTimeout(minutes * 60_000)
  const busy = (await scriptMs(devtools)) - scriptBefore
  const idle = { requests, unchanged, bytes }
  const after = await heapMiB(devtools)
  await context.close()
  return [
    { 'open tab': `heap at first, MiB`, value: round(before) },
    { 'open tab': `growth in ${minutes} min, MiB`, value: Math.round((after - before) * 100) / 100 },
    { 'open tab': 'script, % of a core', value: Math.round((busy / (minutes * 60_000)) * 10_000) / 100 },
    { 'open tab': 'requests a minute', value: round(idle.requests / minutes) },
    { 'open tab': 'of them answered 304', value: round(idle.unchanged / minutes) },
    { 'open tab': 'kB a minute', value: kilobytes(idle.bytes / minutes) },
    { 'open tab': 'requests of a tab that was hidden for 11 min, in 5 min', value: await hiddenRequests(visit) },
  ]
}

async function heapMiB(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.collectGarbage')
  return (await devtools.send('Runtime.getHeapUsage')).usedSize / 1_048_576
}

/** What a screen holds on to while it is read again and again: the clock of the page goes as fast as the answers come. */
async function measureHour(visit: Visit, service: ConsoleService): Promise<Row[]> {
  const screens = [
    {
      screen: `execution of ${sizes.stages} stages, one ends every 10 s`,
      path: execution,
      appears: '.node',
      act: () => service.endStage(),
    },
    { screen: 'output, 100 lines every 10 s', path: output, appears: '.log-block', act: () => service.write(100) },
    { screen: `${sizes.groups} server groups`, path: overview, appears: '.group-row', act: () => {} },
    { screen: 'runs of pipelines', path: pipelines, appears: '.run', act: () => {} },
  ]
  const rows: Row[] = []
  for (const { screen, path, appears, act } of screens) {
    const { page, devtools, context, open } = await openTab(visit)
    let requests = 0
    page.on('request', () => requests++)
    await page.clock.install()
    await open(path)
    await page.evaluate(`bench.appears('${appears}')`)
    const pass = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        if (second % 10 === 0) act()
        await page.clock.runFor(1000)
      }
    }
    await pass(120)
    const before = await held(devtools)
    requests = 0
    await pass(3600)
    const after = await held(devtools)
    await context.close()
    const change = (name: keyof Held) => `${round(before[name])} → ${round(after[name])}`
    rows.push({ screen, requests, 'heap MiB': change('heapMiB'), nodes: change('nodes'), listeners: change('listeners') })
  }
  return rows
}

interface Held {
  readonly heapMiB: number
  readonly nodes: number
  readonly listeners: number
}

async function held(devtools: CDPSession): Promise<Held> {
  const heap = await heapMiB(devtools)
  const { nodes, jsEventListeners: listeners } = await devtools.send('Memory.getDOMCounters')
  return { heapMiB: heap, nodes, listeners }
}

/** With the clock of the page in hand. */
async function hiddenRequests(visit: Visit): Promise<number> {
  const { page, context, open } = await openTab(visit)
  await page.clock.install()
  await open(overview)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' })
    document.dispatchEvent(new Event('visibilitychange'))
  `)
  await page.clock.fastForward(11 * 60_000)
  await page.waitForTimeout(1000)
  let requests = 0
  page.on('request', () => requests++)
  for (let minute = 0; minute < 5; minute++) {
    await page.clock.fastForward(60_000)
    await page.waitForTimeout(200)
  }
  await context.close()
  return requests
}
