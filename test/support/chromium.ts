/**
 * Debian's Chromium without windows, which takes less than half of the processor time of the whole browser: one for all tests of a
 * process. What a test opens in it ends with the test.
 */
import { after, type TestContext } from 'node:test'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { needs } from './debian.ts'

export interface Chromium {
  /** Cookies and storage that its pages share, empty at first. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
  /** A page in a context of its own. */
  newPage(options?: BrowserContextOptions): Promise<Page>
}

const options = ['--no-sandbox', '--disable-gpu', '--disable-quic']
const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync']
/** Messages between processes cost more than what they are about. */
const frugal = ['--in-process-gpu', '--enable-features=NetworkServiceInProcess2']
/** A machine under load takes its time: only what never comes fails. */
const timeoutMs = 300_000

let started: Promise<Browser> | undefined
after(async () => {
  await (await started)?.close()
})

/** In the page, before its scripts: clicks of the pointer, over all pages of the tab. */
const countClicks = `addEventListener('click', (event) => {
  if (event.isTrusted && event.detail > 0) sessionStorage.setItem('clicks', Number(sessionStorage.getItem('clicks') ?? 0) + 1)
}, true)`

/** @returns tells the clicks since it was last asked */
export async function startCountingClicks(page: Page): Promise<() => Promise<number>> {
  await page.addInitScript(countClicks)
  return async () => {
    const counted = Number(await page.evaluate(`sessionStorage.getItem('clicks')`))
    await page.evaluate(`sessionStorage.removeItem('clicks')`)
    return counted
  }
}

/** Undefined when Chromium is not installed; the test is skipped then. */
export async function openChromium(t: TestContext): Promise<Chromium | undefined> {
  const executablePath = needs(t, 'chromium-headless-shell', 'chromium')
  if (executablePath === undefined) return undefined
  started ??= chromium.launch({
    executablePath,
    args: [...options, ...quiet, ...frugal],
    timeout: timeoutMs,
  })
  const browser = await started
  const newContext: Chromium['newContext'] = async (contextOptions) => {
    // Without animations, which cost half a core where there is no graphics processor.
    const usual: BrowserContextOptions = {
      viewport: { width: 1280, height: 900 },
      reducedMotion: 'reduce',
    }
    const context = await browser.newContext({ ...usual, ...contextOptions })
    context.setDefaultTimeout(timeoutMs)
    t.after(() => context.close())
    return context
  }
  return {
    newContext,
    newPage: async (contextOptions) => (await newContext(contextOptions)).newPage(),
  }
}
