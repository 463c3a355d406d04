/** The page of a run names who steered it. */
import { test } from 'node:test'
import { openChromium } from '../support/chromium.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'

test('the page of a run names who steered it, and how', { timeout: 300_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const run = {
    ...{
      id: '01KB3W6Y0TJ9Q4M8H5R2ZC7VXA',
      type: 'PIPELINE',
      application: 'web',
      name: 'ship',
      status: 'SUCCEEDED',
      stages: [],
    },
    ...{ buildTime: Date.now(), trigger: { type: 'manual', user: 'alice' } },
    authentication: {
      user: 'alice',
      steeredBy: [{ user: 'bob', at: Date.now(), how: 'restarted the stage Deploy' }],
    },
  }
  const orca = await startUpstream(t, ({ path }) => (path === `/pipelines/${run.id}` ? run : []))
  const url = await startGateway(t, { services: { orca: { baseUrl: orca.url } } })
  const page = await browser.newPage({ extraHTTPHeaders: { 'X-SPINNAKER-USER': 'alice' } })
  await page.goto(`${url}/console/executions/${run.id}`)
  await page.getByText('alice started it').waitFor()
  await page.getByText('Steered by bob, who restarted the stage Deploy').waitFor()
})
