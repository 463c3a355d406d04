/** What keeps people from using a page, as axe finds it, and what axe does not ask. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Shows another address of the console as a link does, which costs less than to load the page again. */
export async function showAddress(page: Page, path: string): Promise<void> {
  await page.evaluate(`(async () => {
    history.pushState(null, '', document.baseURI + ${JSON.stringify(path)})
    dispatchEvent(new PopStateEvent('popstate'))
    await new Promise((resolve) => requestAnimationFrame(resolve))
  })()`)
}

/** Shows an address, and finds the barriers of its screen: in light and dark, on narrow screens, and with large text. */
export async function findBarriersAt(page: Page, path: string): Promise<string[]> {
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  await showAddress(page, path)
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  const found = await findBarriers(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  // The editor's test has the navigation in dark.
  found.push(...(await findBarriers(page, ['color-contrast'], '#main')))
  for (const width of [320, 390]) {
    await page.setViewportSize({ width, height: 900 })
    const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
    if (wide > 0) found.push(`${wide} px wider than a screen of ${width}`)
  }
  return [...found, ...(await findLostText(page))]
}

/** @param rules Those to check; all unless given. @param part Selector of what is checked */
export async function findBarriers(
  page: Page,
  rules?: readonly string[],
  part = 'html',
): Promise<string[]> {
  if (await page.evaluate('globalThis.axe === undefined')) await page.evaluate(axe)
  const wanted =
    rules === undefined ? { rules: { 'target-size': { enabled: true } } } : { runOnly: rules }
  // Styles are loaded a second time for one rule alone, about styles that turn the page.
  const options = { ...wanted, preload: false, resultTypes: ['violations'] }
  const results = (await page.evaluate(
    `axe.run('${part}', ${JSON.stringify(options)})`,
  )) as AxeResults
  const found = results.violations.map(({ id, nodes }) => {
    const places = nodes.filter(
      ({ target, any }) =>
        id !== 'target-size' || !(isInChart(target.join(' ')) || any.some(isCovered)),
    )
    return { id, places: places.map(({ html }) => html) }
  })
  const barriers = found
    .filter(({ places }) => places.length > 0)
    .map(({ id, places }) => `${id}: ${places.join(' ')}`)
  return rules === undefined ? [...barriers, ...(await findNameless(page))] : barriers
}

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
  await page.setViewportSize({ width: 1280, height: 900 })
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
