/** What keeps people from using a page, as axe finds it, and what axe does not ask. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What is not the same on all screens. */
const screen = '#main'
const desktop = { width: 1280, height: 900 }

/** Shows another address of the console as a link does, which costs less than to load the page again. */
export async function showAddress(page: Page, path: string): Promise<void> {
  await page.evaluate(`(async () => {
    history.pushState(null, '', document.baseURI + ${JSON.stringify(path)})
    dispatchEvent(new PopStateEvent('popstate'))
    await new Promise((resolve) => requestAnimationFrame(resolve))
  })()`)
}

/**
 * Shows an address, and finds the barriers of its screen: in light and dark, on narrow screens, and with large text. Around the screen all is
 * the same: the console's journey has it once.
 */
export async function findBarriersAt(page: Page, path: string): Promise<string[]> {
  await page.setViewportSize(desktop)
  await page.emulateMedia({ colorScheme: 'light' })
  await showAddress(page, path)
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  const found = await findBarriers(page, screen)
  await page.emulateMedia({ colorScheme: 'dark' })
  // The editor's test has the navigation in dark.
  found.push(...(await findPale(page, screen)), ...(await findLostText(page)))
  // The styles are the same up to 600 px: what has room here has it on any phone.
  await page.setViewportSize({ width: 320, height: 900 })
  const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
  return [...found, ...(wide > 0 ? [`${wide} px wider than a screen of 320`] : [])]
}

/** @param part Selector of what is checked; unless given, the dialog that covers the page, or all of it */
export async function findBarriers(page: Page, part = 'html'): Promise<string[]> {
  const found = await findViolations(page, part)
  return [...found, ...(await findPale(page, part)), ...(await findNameless(page))]
}

async function findViolations(page: Page, part: string): Promise<string[]> {
  await loadAxe(page)
  const rules = { 'target-size': { enabled: true }, 'color-contrast': { enabled: false } }
  // Styles are loaded a second time for one rule alone, about styles that turn the page.
  const options = { rules, preload: false, resultTypes: ['violations'] }
  const results = (await page.evaluate(
    `axe.run(${partOf(part)}, ${JSON.stringify(options)})`,
  )) as AxeResults
  return results.violations
    .map(({ id, nodes }) => {
      const places = nodes.filter(
        ({ target, any }) =>
          id !== 'target-size' || !(isInChart(target.join(' ')) || any.some(isCovered)),
      )
      return { id, places: places.map(({ html }) => html) }
    })
    .filter(({ places }) => places.length > 0)
    .map(({ id, places }) => `${id}: ${places.join(' ')}`)
}

async function loadAxe(page: Page): Promise<void> {
  if (await page.evaluate('globalThis.axe === undefined')) await page.evaluate(axe)
}

/** In the page. What a dialog covers cannot be used, and is checked without it. */
function partOf(selector: string): string {
  return `([...document.querySelectorAll('dialog:modal')].at(-1) ?? document.querySelector('${selector}'))`
}

/** Colours, sizes and backgrounds of text that axe has found readable: screens have the same ones again and again. */
const readable = new Set<string>()

/** Text that contrasts too little with its background. @param part As for `findBarriers` */
export async function findPale(page: Page, part = 'html'): Promise<string[]> {
  await loadAxe(page)
  const { pale, passed } = (await page.evaluate(
    `(${contrasts})(${partOf(part)}, new Set(${JSON.stringify([...readable])}))`,
  )) as { pale: string[]; passed: string[] }
  for (const look of passed) readable.add(look)
  return pale.map((html) => `color-contrast: ${html}`)
}

const contrasts = `async (part, readable) => {
  const layers = new Map([[null, '']])
  const layersOf = (element) => {
    if (layers.has(element)) return layers.get(element)
    const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode } = getComputedStyle(element)
    const own = [backgroundColor, backgroundImage, opacity, filter, mixBlendMode].join()
    const below = layersOf(element.parentElement)
    layers.set(element, own === 'rgba(0, 0, 0, 0),none,1,none,normal' ? below : own + ';' + below)
    return layers.get(element)
  }
  const lookOf = (element) => {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element)
    return [color, fontSize, fontWeight, textShadow, layersOf(element)].join(';')
  }
  const hasText = (element) =>
    element.matches('input, select, textarea') || [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
  const looks = new Map([part, ...part.querySelectorAll('*')].filter(hasText).map((element) => [element, lookOf(element)]))
  const include = [...looks.keys()].filter((element) => !readable.has(looks.get(element)))
  if (include.length === 0) return { pale: [], passed: [] }
  const { violations, passes } = await axe.run({ include }, {
    runOnly: ['color-contrast'], preload: false, elementRef: true, resultTypes: ['violations', 'passes'],
  })
  const nodesOf = (results) => results.flatMap(({ nodes }) => nodes)
  return {
    pale: nodesOf(violations).map(({ html }) => html),
    passed: nodesOf(passes).flatMap(({ element }) => looks.get(element) ?? []),
  }
}`

/** A bar of a chart is as wide as it is: what it leads to has another way. @see WCAG 2.2, 2.5.8, exceptions */
function isInChart(selector: string): boolean {
  return /\.run\b|\.marks\b|\.step-\d/.test(selector)
}

/** By a bar at the edge of the screen, from which it scrolls away. */
function isCovered({ data }: { readonly data?: unknown }): boolean {
  const { messageKey } = (data ?? {}) as { messageKey?: string }
  return /obscured/i.test(messageKey ?? '')
}

/** One heading names the screen, the tab is named after it, and what describes a field exists. */
async function findNameless(page: Page): Promise<string[]> {
  const { headings, title, missing } = (await page.evaluate(`({
    headings: [...document.querySelectorAll('h1')].filter((one) => one.textContent.trim() !== '').length,
    title: document.title,
    missing: [...document.querySelectorAll('[aria-describedby], [aria-controls], [aria-labelledby]')].flatMap((one) =>
      ['aria-describedby', 'aria-controls', 'aria-labelledby'].flatMap((name) =>
        (one.getAttribute(name) ?? '').split(' ').filter((id) => id !== '' && document.getElementById(id) === null))),
  })`)) as { headings: number; title: string; missing: string[] }
  return [
    ...(headings === 1 ? [] : [`${headings} headings of the first level`]),
    ...(/^.+ (?:- Fairlead|· .+)$/.test(title) ? [] : [`the tab is called ${title}`]),
    ...missing.map((id) => `nothing has the id ${id}`),
  ]
}

/**
 * What a page loses at twice the text size, with the distances of WCAG 1.4.12: width, and text of controls and headings.
 *
 * @see WCAG 2.2, 1.4.4 and 1.4.12
 */
export async function findLostText(page: Page): Promise<string[]> {
  const devtools = await page.context().newCDPSession(page)
  const setTextSize = (standard: number) =>
    devtools.send('Page.setFontSizes', { fontSizes: { standard } })
  await setTextSize(32)
  await page.setViewportSize(desktop)
  await page.evaluate(spacious)
  const lost = (await page.evaluate(lostText)) as string[]
  await page.evaluate('document.adoptedStyleSheets = document.adoptedStyleSheets.slice(0, -1)')
  await setTextSize(16)
  await devtools.detach()
  return lost
}

const spacious = `(() => {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }')
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
})()`

/** In the page. Names are cut on purpose, and graphs and editors scroll. */
const lostText = `(() => {
  const wide = document.documentElement.scrollWidth - innerWidth
  const cut = [...document.querySelectorAll('button, h1, h2, h3, p, label, th, .chip, .status-badge')].filter((element) => {
    if (element.closest('.cut, .visually-hidden, .graph, .cm-editor, [hidden]') || element.querySelector('.cut')) return false
    const { overflowX, overflowY } = getComputedStyle(element)
    const hides = overflowX !== 'visible' || overflowY !== 'visible'
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = element
    return hides && clientWidth > 1 && (scrollWidth > clientWidth + 1 || scrollHeight > clientHeight + 1)
  })
  return [
    ...(wide > 0 ? [wide + ' px wider than the screen'] : []),
    ...cut.map((element) => 'cut: ' + element.className + ' ' + element.textContent.slice(0, 60)),
  ]
})()`
