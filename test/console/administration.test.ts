/** An administrator at the console: access, users, the audit log, health and infrastructure. */
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { findBarriers, findBarriersAt, showAddress } from '../support/barriers.ts'
import { type Chromium, openChromium } from '../support/chromium.ts'
import { startGateway } from '../support/gateway.ts'
import { waitUntil } from '../support/wait-until.ts'

const password = 'correct-horse-1'
const hostile = 'e\u202evil<b>'

const execution = '01KB3W6Y0TJ9Q4M8H5R2ZC7VXA'
/** All but those that ask nothing before the user does. */
const screensWithReads = [
  '',
  'applications',
  'applications/web',
  'applications/web/pipelines',
  'applications/web/pipelines/release',
  'applications/web/runs',
  'applications/web/pipelines/release/edit',
  'applications/web/tasks',
  'applications/web/load-balancers',
  'applications/web/settings',
  'applications/web/server-groups/dev/east/web-v000',
  'applications/web/instances/dev/east/i-1',
  `executions/${execution}`,
  `executions/compare?left=${execution}&right=${execution}`,
  `tasks/${execution}`,
  'projects',
  'projects/none',
  'infrastructure',
  'infrastructure/images',
  'infrastructure/security-groups',
  'infrastructure/networks',
  'infrastructure/accounts',
  'access',
  'access/tokens',
  'access/logins',
  'health',
  'audit',
  'users',
]
const refused = (status: number, more: object) => ({
  status,
  json: { requestId: '5f3a9c0e-11aa', ...more },
})
const refusals = {
  failed: refused(502, {
    code: 'UPSTREAM_FAILED',
    message: 'refused',
    upstream: { service: 'clouddriver' },
  }),
  forbidden: refused(403, { code: 'PERMISSION_DENIED', message: 'This needs READ.' }),
}

/** Signs in, and returns the page at the console. */
async function signIn(
  browser: Chromium,
  url: string,
  name: string,
  secret: string,
  options = {},
): Promise<Page> {
  const page = await browser.newPage(options)
  await page.goto(`${url}/console/access`)
  await page.getByLabel('User name').fill(name)
  await page.getByLabel('Password').fill(secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Access' }).waitFor()
  return page
}

test('an administrator works at the console', { timeout: 900_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const settings = { fairlead: { admin: { password } }, 'api-tokens': { enabled: true } }
  const url = await startGateway(t, settings, { embedded: true })
  const page = await signIn(browser, url, 'admin', password)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  const click = (role: 'button' | 'link' | 'menuitem', name: string | RegExp) =>
    page.getByRole(role, { name }).first().click()
  const open = (path: string) => page.goto(`${url}/console/${path}`)
  let benPassword = ''

  await t.test('adds a user, whose password is shown once', async () => {
    await click('link', 'Users')
    await click('button', 'Add user')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('ben')
    await dialog.getByLabel('Roles').fill('dev, dev , ops')
    await dialog.getByRole('button', { name: 'Add user' }).click()
    await page.getByRole('heading', { name: 'The password of ben' }).waitFor()
    benPassword = (await page.locator('.secret code').textContent()) ?? ''
    await page.keyboard.press('Escape')
    await click('button', 'I have stored it')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.ok(!((await page.locator('main').textContent()) ?? '').includes(benPassword))
    await page.getByRole('row', { name: /ben dev ops/ }).waitFor()
  })

  await t.test('does not remove the last administrator', async () => {
    await click('button', 'Actions of admin')
    const remove = page.getByRole('menuitem', { name: /^Remove/ })
    assert.equal(await remove.getAttribute('aria-disabled'), 'true')
    assert.match((await remove.textContent()) ?? '', /You cannot remove yourself/)
    await page.keyboard.press('Escape')
  })

  await t.test('creates a token, which works until it is revoked', async () => {
    await open('access/tokens')
    await click('button', 'Create token')
    await page.getByRole('dialog').getByLabel('Name').fill(hostile)
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    await page.getByText('This secret is shown once.').waitFor()
    const token = (await page.locator('.secret code').textContent()) ?? ''
    await click('button', 'I have stored it')
    const status = async () =>
      (await fetch(`${url}/applications`, { headers: { authorization: `Bearer ${token}` } })).status
    assert.equal(await status(), 200)
    await page.getByText('e␣202evil<b>').waitFor()
    await page.getByRole('row', { name: /evil/ }).getByRole('button').click()
    await click('menuitem', 'Revoke')
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Revoke/ })
      .click()
    await page.getByText('You have no token.').waitFor()
    assert.equal(await status(), 401)
  })

  await t.test('asks what another user may do, at an address', async () => {
    await open('access/explain')
    await page.getByLabel('User', { exact: true }).fill('ben')
    await page.getByLabel('What').selectOption({ label: 'read the audit log' })
    await click('button', 'Ask')
    await page.getByText('Denied.').waitFor()
    assert.equal(new URL(page.url()).searchParams.get('username'), 'ben')
    await page.reload()
    await page
      .getByText('ben has not signed in yet. The login form would give: dev, ops.')
      .waitFor()
    await click('link', 'Suppose these roles')
    await page.getByText('the user has no role of').waitFor()
    await page.getByLabel('What').selectOption({ label: 'Another operation …' })
    const operation = page.getByRole('textbox', { name: 'Operation' })
    // A usual operation is the beginning of this one.
    await operation.pressSequentially('POST /auth/apiTokens/{id}/rotate')
    assert.equal(await operation.inputValue(), 'POST /auth/apiTokens/{id}/rotate')
  })

  await t.test('filters, exports and verifies the audit log', async () => {
    await open('audit?kind=change')
    await page
      .getByRole('row', { name: /admin added the user ben/ })
      .getByRole('link')
      .click()
    await click('button', 'addFormUserUsingPOST')
    await page.waitForURL(/operation=addFormUserUsingPOST/)
    await page.getByRole('row').nth(1).waitFor()
    const [download] = await Promise.all([page.waitForEvent('download'), click('button', 'Export')])
    const lines = (await text(await download.createReadStream())).trim().split('\n')
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { operation: string }).operation),
      ['addFormUserUsingPOST'],
    )
    await page.getByText('Verification').click()
    await click('button', 'Verify the log')
    await page.getByText(/The chain is intact/).waitFor()
    await page.getByLabel('Hash that you kept (optional)').fill('0'.repeat(64))
    await click('button', 'Verify the log')
    await page.getByText('The record with the hash that you kept is missing.').waitFor()
  })

  await t.test('each screen says what it waits for, what failed, and whom to ask', async () => {
    // A screen is shown again as after a load, in less time: what no screen shows is forgotten after two minutes.
    const context = await browser.newContext({ storageState: await page.context().storageState() })
    const visitor = await context.newPage()
    await visitor.clock.install()
    await visitor.goto(`${url}/console/nowhere`)
    await visitor.locator('h1').first().waitFor()
    const otherTitle = await visitor.title()
    let answer: 'hold' | 'pass' | keyof typeof refusals = 'hold'
    const held: Route[] = []
    const isApi = ({ pathname }: URL) =>
      !pathname.startsWith('/console') && pathname !== '/auth/user'
    await visitor.route(isApi, async (route) => {
      if (answer === 'hold') held.push(route)
      else if (answer === 'pass') await route.continue()
      else await route.fulfill(refusals[answer])
    })
    const failed = visitor.locator('.state.is-failed:not(.is-forbidden)')
    const forbidden = visitor.locator('.state.is-forbidden')
    for (const path of screensWithReads) {
      answer = 'hold'
      await showAddress(visitor, 'nowhere')
      await visitor.clock.fastForward(130_000)
      await showAddress(visitor, path)
      await visitor.locator('#main [aria-busy="true"]').first().waitFor()
      await visitor.locator('h1').first().waitFor()
      await waitUntil(
        async () => !['Fairlead', otherTitle].includes(await visitor.title()),
        `the title of ${path}`,
      )

      answer = 'failed'
      await Promise.all(held.splice(0).map((route) => route.fulfill(refusals.failed)))
      const text = (await failed.first().textContent()) ?? ''
      assert.match(
        text,
        /The deployment service does not answer \(refused\)\. The page tries again.*Try again.*Request 5f3a9c0e/,
        path,
      )

      answer = 'forbidden'
      await failed.first().getByRole('button', { name: 'Try again' }).click()
      const refusal = (await forbidden.first().textContent()) ?? ''
      assert.match(
        refusal,
        /This needs READ\. Your roles: .*Ask the owner.*Explain my rights/,
        path,
      )
    }
    // The last screen, for all: what is granted meanwhile is shown.
    answer = 'pass'
    for (let left = await forbidden.count(); left > 0; left = await forbidden.count()) {
      await forbidden.first().getByRole('button', { name: 'Try again' }).click()
      await forbidden.nth(left - 1).waitFor({ state: 'detached' })
    }
    assert.equal(await failed.count(), 0)
    await visitor.close()
  })

  await t.test('what was read stays while reads fail, and the focus with it', async () => {
    const list = (...names: string[]) => ({
      json: names.map((name) => ({ name, email: 'ops@example.org' })),
    })
    let answer: Parameters<Route['fulfill']>[0] = list('api', 'web')
    const isList = (url: string) => new URL(url).pathname === '/applications'
    await page.route(
      ({ href }) => isList(href),
      (route) => route.fulfill(answer),
    )
    await open('applications')
    const web = page.getByRole('link', { name: 'web', exact: true })
    await web.focus()
    answer = refusals.failed
    const readTwice = async () => {
      for (let count = 0; count < 2; count++) {
        const read = page.waitForResponse((response) => isList(response.url()))
        await page.keyboard.press('r')
        await read
      }
    }
    await readTwice()
    await page
      .getByText(
        /Data from .* The deployment service does not answer \(refused\)\. Next try in \d+ s\./,
      )
      .waitFor()
    const indicator = page
      .getByRole('banner')
      .getByText(/^(Live|Every few seconds|Reconnecting|Stale)$/)
    const said = page.locator('[role="status"].visually-hidden').last()
    assert.deepEqual(
      [await indicator.textContent(), await said.textContent()],
      ['Stale', 'Fairlead does not answer; this page shows older data.'],
    )
    answer = list('aaa', 'api', 'web')
    await page.keyboard.press('r')
    await page.getByText(/Data from/).waitFor({ state: 'detached' })
    assert.deepEqual(
      [await indicator.textContent(), await said.textContent()],
      ['Every few seconds', 'This page reads changes every few seconds.'],
    )
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'web')
    answer = refused(404, { message: 'No such thing.' })
    await page.keyboard.press('r')
    await page
      .getByText(/This was deleted, or you may no longer read it\. The page shows what it read at /)
      .waitFor()
    await web.waitFor()
    answer = list('api', 'web')
    await page.evaluate(`
      const cut = new TypeError('cut off')
      const whole = fetch
      fetch = async (...call) => new Response(new ReadableStream({ start: (body) => body.error(cut) }), await whole(...call))
    `)
    await readTwice()
    await page.getByText(/Data from .* Fairlead does not answer\. Next try in/).waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  await t.test('meets no barrier on any screen, in light and dark', async () => {
    const paths = [
      'access',
      'access/explain?operation=POST+/pipelines',
      'access/tokens',
      'access/logins',
      'audit',
      'audit?user=nobody',
      'users',
      'health',
      'infrastructure/load-balancers',
      'infrastructure/images',
      'infrastructure/security-groups',
      'infrastructure/networks',
      'infrastructure/accounts',
      'applications/nothing/load-balancers',
      'applications/nothing/security-groups',
      'applications/nothing/jobs',
      'executions/compare',
      'runs?status=failed',
    ]
    for (const path of paths) assert.deepEqual(await findBarriersAt(page, path), [], path)
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  await t.test('a dialog that was closed leads nowhere, and tells its failure', async () => {
    const { promise: answer, resolve: release } = Promise.withResolvers<void>()
    let sent = 0
    await page.route(/\/applications\/late\/tasks$/, async (route) => {
      sent++
      await answer
      await route.fulfill(refused(400, { message: 'late cannot be created' }))
    })
    await open('applications')
    await click('button', 'Create application')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('late')
    await dialog.getByLabel('Owner’s email address').fill('ops@example.org')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'Create application', disabled: true }).waitFor()
    await page.keyboard.press('Escape')
    await click('link', 'Projects')
    await click('button', 'Create project')
    await dialog.getByLabel('Name').fill('typed')
    release()
    await page.getByText('Create application: late cannot be created').waitFor()
    assert.deepEqual([await dialog.getByLabel('Name').inputValue(), sent], ['typed', 1])
    await page.keyboard.press('Escape')
    await page.evaluate(
      "document.querySelector('main').style.minHeight = '3000px'; scrollTo(0, 2000)",
    )
    const box = await page.getByText('late cannot be created').boundingBox()
    assert.ok(box !== null && box.y > 0, 'the failure is in view')
    await click('button', 'Close')
    await page.getByText('late cannot be created').waitFor({ state: 'detached' })
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  await t.test('a task goes on while its reads fail', async () => {
    let reads = 0
    await page.route(/\/applications\/soon\/tasks$/, (route) =>
      route.fulfill({ json: { ref: '/tasks/t1' } }),
    )
    await page.route(/\/tasks\/t1$/, (route) =>
      route.fulfill(
        reads++ === 0
          ? refusals.failed
          : { json: { id: 't1', status: 'SUCCEEDED', variables: [] } },
      ),
    )
    await open('applications')
    await click('button', 'Create application')
    await page.getByRole('dialog').getByLabel('Name').fill('soon')
    await page.getByRole('dialog').getByLabel('Owner’s email address').fill('ops@example.org')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'soon' }).waitFor()
    assert.equal(reads, 2)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  await t.test('settings that were typed are not lost by a look elsewhere', async () => {
    const attributes = { name: 'shop', email: 'ops@example.org' }
    await page.route(/\/applications\/shop\?expand=false$/, (route) =>
      route.fulfill({ json: { name: 'shop', attributes } }),
    )
    await open('applications/shop/settings')
    const description = page.getByLabel('Description')
    await description.fill('typed')
    await page.getByRole('tab', { name: 'Notifications' }).click()
    await page.getByText('No notification').waitFor()
    await page.getByRole('tab', { name: 'General' }).click()
    assert.equal(await description.inputValue(), 'typed')
    await click('link', 'Tasks')
    await page.getByText('1 setting of shop is not saved.').waitFor()
    await click('button', 'Stay')
    assert.equal(await description.inputValue(), 'typed')
    await click('link', 'Tasks')
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await page.waitForURL(/applications\/shop\/tasks$/)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  await t.test('a pipeline that was saved after its editor was left leads nowhere', async () => {
    const { promise: answer, resolve: release } = Promise.withResolvers<void>()
    const stored: object[] = []
    await page.route(/\/applications\/fresh\/pipelineConfigs/, (route) =>
      route.fulfill({
        json: route.request().url().endsWith('/pipelineConfigs') ? stored : stored[0],
      }),
    )
    await page.route(/\/pipelines\?staleCheck=true$/, async (route) => {
      await answer
      stored.push({ id: 'p1', name: 'release', application: 'fresh', stages: [] })
      await route.fulfill({ json: {} })
    })
    await open('applications/fresh/pipelines/new')
    await page.getByRole('radio', { name: /^Empty/ }).check()
    await page.getByRole('textbox', { name: 'Name' }).fill('release')
    await page.keyboard.press('Enter')
    await click('button', 'Save')
    await page.getByRole('dialog').getByRole('button', { name: 'Save release' }).click()
    await page.keyboard.press('Escape')
    await click('link', 'Projects')
    await page.waitForURL(/console\/projects$/)
    release()
    await page.getByText('Saved', { exact: true }).waitFor({ state: 'attached' })
    await page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor()
    assert.match(page.url(), /console\/projects$/)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  await t.test('what is denied in a menu leads nowhere', async () => {
    const reasons = [{ need: 'WRITE on the application shop', allowed: false, rule: 'no role' }]
    const pipeline = { id: 'p1', name: 'release', application: 'shop', stages: [] }
    await page.route(/\/applications\/shop\/pipelineConfigs$/, (route) =>
      route.fulfill({ json: [pipeline] }),
    )
    await page.route(/\/auth\/explain\?/, (route) =>
      route.fulfill({ json: { decision: 'denied', demands: 'WRITE', reasons } }),
    )
    await open('applications/shop/pipelines')
    await click('button', 'Actions of release')
    await page
      .getByRole('menuitem', {
        name: /^Copy .* You may not save pipelines of shop/,
        disabled: true,
      })
      .press('Enter')
    assert.match(page.url(), /shop\/pipelines$/)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  await t.test('the filter of a list leaves the place of the chosen object', async () => {
    const groups = {
      dev: { local: { east: [{ name: 'web-a' }] } },
      prod: { local: { west: [{ name: 'web-b' }] } },
    }
    await page.route(/\/securityGroups$/, (route) => route.fulfill({ json: groups }))
    await open('infrastructure/security-groups?provider=local&account=dev&region=east&name=web-a')
    await page.getByRole('combobox', { name: 'Account' }).selectOption('prod')
    await page.getByRole('link', { name: 'web-b' }).waitFor()
    assert.equal(new URL(page.url()).search, '?account=prod')
    await open('applications/web/security-groups/dev/east/web-a')
    await page.getByRole('link', { name: 'web-b' }).waitFor()
    assert.equal(await page.getByRole('combobox', { name: 'Account' }).count(), 0)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  await t.test('a failed deployment leads to what its instances wrote', async () => {
    const at = { account: 'dev', region: 'east' }
    const stage = {
      id: 's',
      refId: '1',
      type: 'deploy',
      name: 'Deploy',
      status: 'TERMINAL',
      context: {
        account: 'dev',
        'deploy.server.groups': { east: ['web-v003'] },
        exception: { message: 'See https://x.example/ first' },
      },
      outputs: {},
      tasks: [],
    }
    const run = {
      id: execution,
      application: 'web',
      name: 'ship\u202e',
      type: 'PIPELINE',
      status: 'TERMINAL',
      trigger: { type: 'manual' },
    }
    const health = [{ type: 'Program', state: 'Down', description: 'exit code 1' }]
    const group = {
      ...at,
      name: 'web-v003',
      instances: [{ name: 'i-7', healthState: 'Down', health }],
    }
    await page.route(new RegExp(`/pipelines/${execution}$`), (route) =>
      route.fulfill({ json: { ...run, stages: [stage] } }),
    )
    await page.route(/\/serverGroups\/dev\/east\/web-v003$/, (route) =>
      route.fulfill({ json: group }),
    )
    let streams = 0
    await page.route(/\/events$/, (route) => {
      streams++
      return route.fulfill({ status: streams === 1 ? 401 : 404 })
    })
    await open(`executions/${execution}`)
    await page.getByRole('heading', { name: 'Your login has ended' }).waitFor()
    await click('button', 'Try again')
    await waitUntil(async () => /^ship␣202e/.test(await page.title()), 'the title of the run')
    assert.equal(
      await page.locator('.cause .plain-text').textContent(),
      'See https://x.example/ first',
    )
    await page.getByText(/^Program: exit code 1 1 of 1 instances of web-v003/).waitFor()
    await waitUntil(async () => streams > 1, 'the stream that was refused')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await click('link', 'Whole output')
    await page.waitForURL(/instances\/dev\/east\/i-7\?tab=console$/)
  })

  await t.test('a run that waits names the one before it', async () => {
    const run = {
      id: execution,
      application: 'web',
      name: 'ship',
      type: 'PIPELINE',
      pipelineConfigId: 'p',
      trigger: { type: 'manual' },
      stages: [],
    }
    const waiting = { ...run, status: 'NOT_STARTED', limitConcurrent: true }
    await page.route(new RegExp(`/pipelines/${execution}$`), (route) =>
      route.fulfill({ json: waiting }),
    )
    await page.route(/\/executions\?/, (route) =>
      route.fulfill({ json: [{ ...run, id: 'other-8PD1', status: 'RUNNING' }] }),
    )
    await open(`executions/${execution}`)
    await page.getByText('ship allows one run at a time. This one waits for 8PD1.').waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  await t.test(
    'a table of very many rows is cut, and a secret is copied without HTTPS',
    async () => {
      const users = Array.from({ length: 1200 }, (_, at) => ({
        username: `user${at}`,
        roles: [],
        isAdmin: false,
      }))
      await page.route(/\/auth\/users$/, (route) =>
        route.request().method() === 'GET'
          ? route.fulfill({ json: users })
          : route.fulfill({ json: { username: 'x', password: 'se-cret' } }),
      )
      await open('users')
      await page.getByText('Showing 500 of 1,200.').waitFor()
      await click('button', 'Show more')
      await page.getByText('user999', { exact: true }).waitFor()
      await page.evaluate(`
      Object.defineProperty(navigator, 'clipboard', { value: undefined })
      addEventListener('copy', () => { globalThis.copied = document.activeElement.value })
    `)
      await click('button', 'Add user')
      await page.getByRole('dialog').getByLabel('Name').fill('x')
      await page.keyboard.press('Enter')
      await click('button', 'Copy the password')
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      assert.equal(await page.evaluate('copied'), 'se-cret')
      await click('button', 'I have stored it')
      await page.unrouteAll({ behavior: 'ignoreErrors' })
    },
  )

  await t.test('a phone says on every screen how many runs wait', async () => {
    // A time that no calendar has costs its place, not the page.
    const stage = {
      id: 's',
      type: 'manualJudgment',
      name: 'Ship it?',
      status: 'RUNNING',
      startTime: 9e15,
      context: {},
    }
    const run = {
      id: 'r',
      application: 'web',
      name: 'release',
      type: 'PIPELINE',
      status: 'RUNNING',
      stages: [stage],
    }
    const isSearch = (url: URL) =>
      url.pathname.endsWith('/executions/search') && url.searchParams.has('statuses')
    await page.route(isSearch, (route) => route.fulfill({ json: [run] }))
    await open('projects')
    await click('button', 'Notifications, 1 waiting for you')
    await page.getByRole('dialog').getByRole('button', { name: 'Review' }).waitFor()
    await page.getByRole('heading', { name: 'Your commits' }).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 390, height: 844 })
    await open('projects')
    await page.getByRole('link', { name: 'Waiting 1' }).click()
    await page.getByRole('heading', { level: 1, name: 'Waiting for you' }).waitFor()
    await page.getByRole('button', { name: 'Review' }).waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Running' }).count(), 0)
    assert.deepEqual(await page.locator('.rail [aria-current]').allTextContents(), ['Waiting 1'])
    assert.deepEqual(await findBarriers(page), [])
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  await t.test('a long commit text is read in full', async () => {
    const message = Array.from({ length: 99 }, (_, at) => `word ${at}`).join(' ')
    const lists = { images: [], serves: [], events: [] }
    await page.route(
      ({ pathname }) => pathname === '/applications/web/releases/1',
      (route) => route.fulfill({ json: { ...lists, version: '1', commit: { sha: 'a', message } } }),
    )
    await open('applications/web/releases/1')
    await page.getByText(message, { exact: true }).waitFor()
  })

  await t.test('another user is offered nothing of administration', async () => {
    const other = await signIn(browser, url, 'ben', benPassword)
    const rail = other.getByRole('navigation', { name: 'Main' })
    await rail.getByRole('link', { name: 'Health' }).waitFor()
    assert.equal(await rail.getByRole('link', { name: 'Audit log' }).count(), 0)
    assert.equal(await rail.getByRole('link', { name: 'Users' }).count(), 0)
    await other.goto(`${url}/console/audit`)
    await other.locator('.state.is-forbidden').waitFor()
    await other.goto(`${url}/console/users`)
    await other.locator('.state.is-forbidden').waitFor()
    await other.goto(`${url}/console/access`)
    assert.equal(await other.getByRole('button', { name: 'Read roles again' }).count(), 0)
  })

  assert.deepEqual(complaints, [])
})
