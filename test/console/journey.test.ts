/** A person at the console: from an empty application to a deployed and rolled-back program, and what goes wrong on the way. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Locator, Page } from 'playwright-core'
import { findBarriers, findBarriersAt, showAddress } from '../support/barriers.ts'
import { type Chromium, openChromium, startCountingClicks } from '../support/chromium.ts'
import { type Deployments, startDeployments } from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'
import { startGateway } from '../support/gateway.ts'
import { startGitServer } from '../support/git-server.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import type { TestEnd } from '../support/test-end.ts'
import { Reply, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

const asAlice = { 'X-SPINNAKER-USER': 'alice' }
const hostile = `<script>alert(1)</script>\u202e\u0007 “🚢” ${'x'.repeat(200)}`

interface Visitor {
  readonly page: Page
  readonly complaints: readonly string[]
  /** Opens an address below the console: the first one from outside, the next ones as links do, without loading the page again. */
  open(path: string): Promise<void>
}

async function visit(
  browser: Chromium,
  url: string,
  options: Parameters<Chromium['newPage']>[0],
): Promise<Visitor> {
  const page = await browser.newPage(options)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    // The browser itself tells of answers with an error status.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
      complaints.push(message.text())
  })
  page.on('dialog', (dialog) => {
    complaints.push(`a script ran: ${dialog.message()}`)
    void dialog.dismiss()
  })
  const open = async (path: string) => {
    if (page.url().startsWith(`${url}/console`)) await showAddress(page, path)
    else await page.goto(`${url}/console/${path}`)
  }
  return { page, complaints, open }
}

interface Journey extends Visitor {
  readonly t: TestEnd
  readonly browser: Chromium
  readonly fleet: Deployments
  /** Where the load balancer `web-front` listens. */
  readonly port: number
  heading(name: string | RegExp): Promise<void>
  click(role: 'button' | 'link' | 'menuitem' | 'radio', name: string | RegExp): Promise<void>
}

/** In their order: each begins where the one before has ended. */
const steps: { readonly name: string; readonly run: (journey: Journey) => Promise<void> }[] = []

function step(name: string, run: (journey: Journey) => Promise<void>): void {
  steps.push({ name, run })
}

step(
  'deploys the example of a new installation, in two clicks',
  async ({ fleet, page, open, heading, click }) => {
    const port = await freePort()
    const clicks = await startCountingClicks(page)
    await open('')
    await page.getByRole('button', { name: 'Deploy the example' }).waitFor()
    await click('button', 'Deploy the example')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Port of the load balancer').fill('port')
    await dialog.getByText('Enter a number from 1 to 65535.').waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await dialog.getByLabel('Port of the load balancer').fill(String(port))
    await dialog.getByRole('button', { name: 'Deploy the example' }).click()
    await heading(/^ship/)
    await runIs(page, 'succeeded')
    assert.match(await (await fetch(`http://127.0.0.1:${port}/`)).text(), /^Hello from version 1/)
    assert.equal(await clicks(), 2)
    await click('link', /v000$/)
    await heading('hello-v000')
    await page.getByText('2 of 2 up').waitFor()
    await open('applications/hello')
    await page
      .locator('.flow-column')
      .getByRole('link', { name: `:${port}` })
      .waitFor()
    const [pipeline] = await fleet.read<[{ id: string }]>('/applications/hello/pipelineConfigs')
    const read = page.waitForResponse(/\/applications\/hello\/loadBalancers$/)
    await page.goto(
      `${fleet.url()}/console/applications/hello/pipelines/${pipeline.id}/edit?stage=1`,
    )
    await (await read).finished()
    const chip = page.locator('.removable-chips .chip')
    await chip.first().waitFor()
    await page.getByRole('combobox', { name: 'Account' }).click()
    await page.getByRole('option', { name: 'dev' }).waitFor()
    await page.keyboard.press('Escape')
    assert.deepEqual(await chip.allTextContents(), ['hello-front'])
  },
)

step('creates an application', async ({ page, open, heading, click }) => {
  await open('applications')
  await click('button', 'Create application')
  await page.getByRole('dialog').getByRole('button', { name: 'Create application' }).click()
  await page.getByText('Letters, digits and hyphens, beginning with a letter.').last().waitFor()
  const wanted = ['Name *', 'true', 'Letters, digits and hyphens, beginning with a letter.']
  // It gets the focus once the message has been drawn.
  await waitUntil(
    async () => isDeepStrictEqual(await page.evaluate(focusedField), wanted),
    'the focus on the name',
  )
  await page.getByLabel('Name').fill('web')
  await page.getByLabel('Owner’s email address').fill('ops@example.org')
  await page.getByRole('dialog').getByRole('button', { name: 'Create application' }).click()
  await heading('web')
  await page.getByText('Nothing is deployed.').waitFor()
  assert.equal(new URL(page.url()).pathname, '/console/applications/web')
})

step('starts a pipeline with parameters', async ({ fleet, page, open, heading, click }) => {
  await savePipelines(fleet)
  await open('applications/web/pipelines/none/start')
  await page.getByText('There is no pipeline none in web.').waitFor()
  await click('link', 'Pipelines')
  await click('link', 'Start release')
  await page.getByRole('button', { name: 'Start release' }).click()
  await page.getByText('Enter a value.').waitFor()
  await page.getByLabel('Version').fill('1.0.0')
  await page.keyboard.press('Control+Enter')
  await heading(/^release/)
  assert.match(page.url(), /\/console\/executions\/[0-9A-Z]{26}$/)
})

step('judges, and sees the run succeed', async ({ page, click }) => {
  await page.getByText('Ship it?').first().waitFor()
  await page.getByText('Look first.').waitFor()
  await waitUntil(
    async () => await page.getByRole('radio', { name: 'all' }).isChecked(),
    'the only answer is chosen',
  )
  await page.getByRole('heading', { name: 'If it fails' }).waitFor()
  await click('button', 'Approve')
  await runIs(page, 'succeeded')
  await page.getByRole('button', { name: /^Deploy ?, succeeded/ }).waitFor()
})

step(
  'starts it again for the next version, and hears each change once',
  async ({ page, click }) => {
    await page.evaluate(hear)
    await click('link', 'Start again')
    await page.getByLabel('Version').fill('1.1.0')
    await click('button', 'Start release')
    await page.setViewportSize({ width: 390, height: 844 })
    const judged = page.getByRole('form', { name: 'Judgment of Ship it?' })
    await judged.getByText('Look first.').waitFor()
    assert.deepEqual(await findBarriers(page), [])
    const box = await judged.boundingBox()
    assert.ok(box !== null && box.y + box.height <= 844, 'it is answered without scrolling')
    await click('button', 'Approve')
    await page.setViewportSize({ width: 1280, height: 720 })
    await runIs(page, 'succeeded')
    const heard = (await page.evaluate('heard')) as string[]
    assert.equal(heard.at(-1), 'release succeeded')
    assert.ok(heard.includes('release waiting for judgment'))
    assert.ok(
      heard.every((text, at) => text !== heard[at - 1]),
      heard.join(', '),
    )
  },
)

step('sees which version has the traffic', async ({ port, page }) => {
  await page
    .getByRole('navigation', { name: 'Path' })
    .getByRole('link', { name: 'web', exact: true })
    .click()
  const newest = groupRow(page, 'v001')
  await newest.getByText('100 % of traffic').waitFor()
  await newest.getByText('shop:1.1.0').waitFor()
  await groupRow(page, 'v000').getByText('disabled').waitFor()
  assert.equal(await versionAt(port), '1.1.0')
})

step('rolls back after reading what will happen', async ({ port, page, click }) => {
  await click('button', 'Actions of web-prod-v001')
  await click('menuitem', 'Roll back')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('web-prod-v001 is disabled and keeps running').waitFor()
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'SELECT')
  await dialog.getByRole('button', { name: 'Roll back web-prod-v001' }).click()
  await page.getByText('Roll back web-prod-v001 to web-prod-v000').waitFor()
  await groupRow(page, 'v000').getByText('100 % of traffic').waitFor()
  await groupRow(page, 'v001').getByText('disabled').waitFor()
  assert.equal(await versionAt(port), '1.0.0')
})

step('enables, resizes and disables a server group', async ({ page, click }) => {
  const group = groupRow(page, 'v001')
  const dialog = page.getByRole('dialog')
  const act = async (action: string) => {
    await click('button', 'Actions of web-prod-v001')
    await page.getByRole('menuitem', { name: action }).first().click()
  }
  await act('Enable')
  await group.getByText('shares the traffic').waitFor()
  await act('Resize')
  await dialog.getByLabel('Desired instances').fill('2')
  await dialog.getByRole('button', { name: 'Resize web-prod-v001' }).click()
  await group.getByText('2 of 2 up').waitFor()
  // The account is read again when the next dialog opens.
  await challenge(page)
  await act('Resize')
  await dialog.getByLabel('Desired instances').fill('0')
  await dialog.getByLabel(/To confirm, type/).waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await act('Disable')
  await dialog.getByLabel(/To confirm, type/).fill('web-prod-v001')
  await dialog.getByRole('button', { name: 'Disable web-prod-v001' }).click()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await group.getByText('disabled').waitFor()
  await act('Clone')
  const desired = dialog.getByLabel('Desired instances')
  await desired.fill('')
  const asInSource = page.waitForRequest((request) => {
    if (!request.url().endsWith('/tasks/judge')) return false
    const [job] = request.postDataJSON().job
    return job.imageId === 'shop:1.0.0' && job.capacity === undefined
  })
  await dialog.getByLabel('Image').fill('shop:1.0.0')
  await asInSource
  await desired.fill('1')
  await dialog.getByRole('button', { name: 'Clone web-prod-v001' }).click()
  // Nothing moves where the focus is.
  await click('button', '1 new')
  const clone = groupRow(page, 'v002')
  await clone.getByText('shop:1.0.0').waitFor()
  await clone.getByText('1 of 1 up').waitFor()
  await page.locator('.chip.is-running').waitFor({ state: 'detached' })
  await click('button', 'Actions of web-prod-v002')
  await click('menuitem', 'Destroy')
  await page.getByLabel(/To confirm, type/).fill('web-prod-v002')
  await dialog.getByRole('button', { name: 'Destroy web-prod-v002' }).click()
  await clone.waitFor({ state: 'detached' })
})

step('terminates an instance, which another one replaces', async ({ page, click }) => {
  await click('link', 'web-prod-v001')
  const instances = page.getByRole('link', { name: /^i-/ })
  await instances.nth(1).waitFor()
  const before = await instances.allTextContents()
  await click('button', /^Actions of i-/)
  await challenge(page)
  await page.getByRole('menuitem', { name: 'Terminate', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog
    .getByLabel(/To confirm, type/)
    .fill((await dialog.locator('code').textContent()) ?? '')
  await dialog.getByRole('button', { name: /^Terminate i-/ }).click()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await waitUntil(async () => {
    const now = await instances.allTextContents()
    return now.length === 2 && now.some((id) => !before.includes(id))
  }, 'another instance')
  await page.keyboard.press('Escape')
})

step('must type the name of what is destroyed', async ({ page, click }) => {
  await click('button', 'Actions of web-prod-v001')
  await click('menuitem', 'Destroy')
  const confirm = page.getByRole('dialog').getByRole('button', { name: 'Destroy web-prod-v001' })
  assert.equal(await confirm.getAttribute('aria-disabled'), 'true')
  await page.getByLabel(/To confirm, type/).fill('web-prod-v001')
  assert.equal(await confirm.getAttribute('aria-disabled'), 'false')
  await confirm.click()
  await groupRow(page, 'v001').waitFor({ state: 'detached' })
})

step('finds the tasks of all that', async ({ fleet, page, heading, click }) => {
  await click('link', 'Tasks')
  const first = page.getByRole('list', { name: 'Tasks' }).getByRole('listitem').first()
  await first.getByText('Destroy web-prod-v001').waitFor()
  await first.hover()
  const job = [
    { type: 'updateApplication', application: { name: 'web', email: 'ops@example.org' } },
  ]
  const task = { application: 'web', description: 'Meanwhile', job }
  await page.request.post(`${fleet.url()}/applications/web/tasks`, { data: task })
  const more = page.getByRole('button', { name: '1 new' })
  await more.waitFor()
  assert.match(
    (await first.textContent()) ?? '',
    /Destroy web-prod-v001/,
    'nothing moves under the pointer',
  )
  await more.click()
  await first.getByText('Meanwhile').waitFor()
  await click('link', 'Roll back web-prod-v001 to web-prod-v000')
  await heading('Roll back web-prod-v001 to web-prod-v000')
})

step('changes the settings of an application', async ({ fleet, page, open, click }) => {
  await open('applications/web/settings?tab=guards')
  await click('button', 'Add traffic guard')
  const guard = page.getByRole('group', { name: /^Traffic guard/ }).last()
  await guard.getByLabel('Account').selectOption('dev')
  await guard.getByLabel('Stack').fill('test')
  await page.getByRole('tab', { name: 'Permissions' }).click()
  await click('button', 'Add role')
  await page.getByRole('combobox', { name: 'Role' }).fill('readers')
  await page
    .getByText('You could no longer read, start and change this application yourself.')
    .waitFor()
  await click('button', 'Add role')
  await page.getByRole('combobox', { name: 'Role' }).last().fill('ops')
  await page.getByRole('group', { name: 'ops may' }).getByLabel('change').check()
  await page.getByText(/^You could no longer/).waitFor({ state: 'detached' })
  await page.keyboard.press('Control+s')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('row', { name: /Permissions none/ }).waitFor()
  await changeAsAnother(fleet, {
    description: 'meanwhile',
    permissions: { READ: ['ops'], WRITE: ['ops'] },
  })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await click('button', 'Review changes')
  await page.getByText('Saving replaces that with your values.').waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await dialog.getByRole('button', { name: 'Save web' }).click()
  await page.getByText('Nothing is changed.').waitFor()
  const { attributes } = await fleet.read<{ attributes: object }>('/applications/web?expand=false')
  assert.partialDeepStrictEqual(attributes, {
    description: 'meanwhile',
    permissions: { READ: ['readers', 'ops'], WRITE: ['ops'] },
    trafficGuards: [{ account: 'dev', stack: 'test', enabled: true }],
  })
})

step('adds and removes a notification', async ({ fleet, page, click }) => {
  const stored = () => fleet.read<{ email?: object[] }>('/notifications/application/web')
  const dialog = page.getByRole('dialog')
  const review = async () => {
    await click('button', 'Review changes')
    await dialog.getByRole('button', { name: 'Save web' }).click()
    await page.getByText('Nothing is changed.').waitFor()
  }
  await page.getByRole('tab', { name: 'Notifications' }).click()
  await click('button', 'Add notification')
  const first = page.getByRole('group', { name: 'Notification 1' })
  await first.getByLabel('To').fill('ops@example.org')
  await first.getByLabel('a run starts').check()
  await review()
  const when = ['pipeline.failed', 'rollback', 'pipeline.starting']
  assert.deepEqual((await stored()).email, [
    { type: 'email', level: 'application', address: 'ops@example.org', when },
  ])
  await click('button', 'Remove notification 1')
  await review()
  assert.deepEqual((await stored()).email ?? [], [])
})

step('cannot delete an application that runs', async ({ page, heading, click }) => {
  await page.getByRole('tab', { name: 'Delete' }).click()
  await page.getByText('web cannot be deleted while something is deployed').waitFor()
  await click('link', 'web-prod-v000')
  await heading('web-prod-v000')
})

step(
  'reads the objection of the traffic guard before the click',
  async ({ fleet, page, open, click }) => {
    const guard = { account: 'dev', location: 'east', stack: 'prod', detail: '*', enabled: true }
    await changeAsAnother(fleet, { trafficGuards: [guard] })
    await open('applications/web')
    const dialog = page.getByRole('dialog')
    await click('button', 'Actions of web-prod-v000')
    await click('menuitem', 'Disable')
    await dialog
      .getByText(
        'The traffic guard of the cluster web-prod in dev/east forbids disabling web-prod-v000',
      )
      .waitFor()
    assert.equal(
      await dialog.getByRole('button', { name: 'Try anyway' }).getAttribute('aria-disabled'),
      'true',
    )
    assert.deepEqual(await findBarriers(page), [])
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.equal(
      await page.evaluate('document.activeElement.ariaLabel'),
      'Actions of web-prod-v000',
      'the focus returns',
    )
    await changeAsAnother(fleet, { trafficGuards: [] })
  },
)

step(
  'creates, restricts and deletes an application',
  async ({ fleet, page, open, heading, click }) => {
    await open('applications')
    await click('button', 'Create application')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('gone')
    await dialog.getByLabel('Owner’s email address').fill('ops@example.org')
    await dialog.getByText('Permissions').click()
    await dialog.getByRole('button', { name: 'Add role' }).click()
    await dialog.getByRole('combobox', { name: 'Role' }).fill('ops')
    await dialog.getByRole('group', { name: 'ops may' }).getByLabel('change').check()
    await dialog.getByRole('button', { name: 'Create application' }).click()
    await heading('gone')
    const { attributes } = await fleet.read<{ attributes: object }>(
      '/applications/gone?expand=false',
    )
    assert.partialDeepStrictEqual(attributes, { permissions: { READ: ['ops'], WRITE: ['ops'] } })
    await click('link', 'Settings')
    await page.getByRole('tab', { name: 'Delete' }).click()
    await click('button', 'Delete gone')
    await page.getByLabel(/To confirm, type/).fill('gone')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete gone' }).click()
    await heading('Applications')
    await page.getByRole('link', { name: 'gone' }).waitFor({ state: 'detached' })
  },
)

step(
  'bakes, judges and deploys red/black from a template, in at most 15 clicks',
  async ({ fleet, page, open, heading }) => {
    const folder = createFolder('template')
    for (const [name, content] of Object.entries(program))
      writeFileSync(join(folder, name), content)
    let clicks = 0
    const click: Click = async (role, name, within = page) => {
      clicks++
      await within.getByRole(role, { name }).first().click()
    }
    const dialog = page.getByRole('dialog')
    await open('applications')
    await click('button', 'Create application')
    await dialog.getByLabel('Name').fill('ship')
    await dialog.getByLabel('Owner’s email address').fill('ops@example.org')
    await click('button', 'Create application', dialog)
    await heading('ship')
    await click('link', 'Pipelines')
    await click('link', 'Create pipeline')
    await click('radio', /^Bake, judge, deploy/)
    clicks++
    await page.getByRole('combobox', { name: 'Account' }).selectOption('dev')
    await page.getByLabel('Folder or repository').fill(folder)
    await createAndRun(page, fleet, click)
    assert.ok(clicks <= 15, `${clicks} clicks`)
    removeFolder(folder)
  },
)

step('goes from a push to production by a template', async ({ t, fleet, page, open }) => {
  const repository = await startGitServer(t)
  repository.commit(program)
  await open('applications/ship/pipelines/new')
  const click: Click = (role, name, within = page) =>
    within.getByRole(role, { name }).first().click()
  await click('radio', /^Push to production/)
  const accounts = page.getByRole('combobox', { name: /^Account/ })
  await accounts.nth(1).waitFor()
  assert.deepEqual(await Promise.all((await accounts.all()).map((one) => one.inputValue())), [
    'dev',
    'prod',
  ])
  await page.getByRole('textbox', { name: /^Repository/ }).fill(repository.url)
  await page.getByLabel('Branch').fill('main')
  await createAndRun(page, fleet, click)
  const groups = await fleet.read<{ name: string; account: string }[]>(
    '/applications/ship/serverGroups',
  )
  const names = groups.map(({ account, name }) => `${account} ${name}`)
  assert.deepEqual(names.sort(), ['dev ship-test-v000', 'dev ship-v000', 'prod ship-prod-v000'])
})

/** As an image. */
const program = {
  'fairlead-image.yml': 'command: [node, server.mjs]\n',
  'server.mjs': "process.getBuiltinModule('node:http').createServer().listen(process.env.PORT)\n",
}

type Click = (
  role: 'button' | 'link' | 'radio',
  name: string | RegExp,
  within?: Page | Locator,
) => Promise<void>

/** A pipeline whose beginning is filled in: creates, saves and starts it, and agrees to its judgment. */
async function createAndRun(page: Page, fleet: Deployments, click: Click): Promise<void> {
  await click('button', 'Create pipeline')
  await click('button', 'Save')
  await click('button', /^Save/, page.getByRole('dialog'))
  await click('button', 'Start')
  await click('button', /^Start/, page.getByRole('dialog'))
  await page.waitForURL(/executions\//)
  await click('button', 'Approve')
  const id = new URL(page.url()).pathname.split('/').at(-1)
  const status = async () => (await fleet.read<{ status: string }>(`/pipelines/${id}`)).status
  await waitUntil(async () => (await status()) === 'SUCCEEDED', 'the end of the run')
}

step('walks a graph with folded stages by keyboard', async ({ page, open, click }) => {
  await open('applications/web/pipelines/wide/start')
  await click('button', 'Start wide')
  await runIs(page, 'failed')
  const isFocused = (name: string | RegExp) =>
    page.getByRole('button', { name }).and(page.locator(':focus')).waitFor()
  await page
    .getByRole('region', { name: 'Gate failed' })
    .getByRole('link', { name: 'Edit this stage' })
    .waitFor()
  await page.getByRole('button', { name: /^Gate ?, failed, .*after 8 × Region, 3 of 4$/ }).focus()
  await page.keyboard.press('ArrowDown')
  await isFocused('1 inner stage of Gate')
  await page.keyboard.press('ArrowDown')
  await isFocused(/Check precondition.*, failed$/)
  await page.keyboard.press('Home')
  await isFocused(/^Collect, succeeded, .*1 of 4$/)
  await page.keyboard.press('ArrowRight')
  await isFocused(/^8 × Region, 8 succeeded, .*after Collect, 2 of 4$/)
  assert.deepEqual(await findBarriers(page), [])
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: /^Region 7 ?, succeeded, .*9 of 11$/ }).waitFor()
  await click('button', 'Fold again')
  await page.getByRole('button', { name: /^8 × Region/ }).waitFor()
  await page.keyboard.press('c')
  await page.waitForURL(/executions\/compare\?left=/)
})

step('pauses, resumes, cancels, restarts and removes a run', async ({ page, open, click }) => {
  await open('applications/web/pipelines/slow/start')
  await click('button', 'Start slow')
  const dialog = page.getByRole('dialog')
  const is = (state: string) => runIs(page, state)
  const inMenu = async (action: string | RegExp) => {
    await page.locator('.page-head .menu > button').click()
    await click('menuitem', action)
  }
  // A second tab shows the same without a stream of its own, until the first one is closed.
  await page.waitForURL(/\/executions\//)
  await is('running')
  const other = await page.context().newPage()
  let streams = 0
  other.on('request', (request) => {
    if (request.url().endsWith('/events')) streams++
  })
  await other.goto(page.url())
  await runIs(other, 'running')
  await page.bringToFront()
  await click('button', 'Pause')
  await dialog.getByRole('button', { name: /^Pause run/ }).click()
  await is('paused')
  await runIs(other, 'paused')
  assert.equal(streams, 0)
  const run = page.url()
  await page.goto('about:blank')
  await waitUntil(async () => streams > 0, 'the stream of the other tab')
  await other.close()
  await page.goto(run)
  await click('button', 'Resume')
  await is('running')
  await page.getByRole('button', { name: /^Long ?, running/ }).click()
  await click('button', 'Stop waiting')
  await dialog.getByRole('button', { name: 'Stop waiting' }).click()
  await page.getByRole('button', { name: /^Long ?, succeeded/ }).waitFor()
  await inMenu(/^Cancel/)
  assert.equal(await dialog.getByRole('button', { name: 'Keep running' }).count(), 1)
  await dialog.getByRole('textbox').fill(hostile)
  await dialog.getByRole('button', { name: /^Cancel run/ }).click()
  await is('cancelled')
  await page.getByText(/Cancelled by alice: <script>/).waitFor()
  await page.getByRole('button', { name: /^Longer ?, cancelled/ }).click()
  await click('button', 'Restart from here')
  await dialog.getByRole('button', { name: /^Restart from/ }).click()
  await is('running')
  await inMenu(/^Cancel/)
  await dialog.getByRole('button', { name: /^Cancel run/ }).click()
  await is('cancelled')
  assert.equal(await page.getByText(/Cancelled by alice\./).textContent(), 'Cancelled by alice.')
  await inMenu('Delete the record')
  await page.getByLabel(/To confirm, type/).fill((await dialog.locator('code').textContent()) ?? '')
  await dialog.getByRole('button', { name: /^Delete the record/ }).click()
  await page.waitForURL(/applications\/web\/pipelines/)
})

step(
  'creates, changes and deletes a security group and a load balancer',
  async ({ page, open, click }) => {
    const dialog = page.getByRole('dialog')
    await open('infrastructure/security-groups')
    await click('button', 'Create security group')
    await dialog.getByLabel('Name').fill('web-office')
    await dialog.getByLabel('Description').fill('People')
    await dialog.getByRole('button', { name: 'Add rule' }).click()
    await dialog.getByRole('textbox', { name: 'From', exact: true }).fill('127.0.0.0/8')
    await dialog.getByLabel('From port').fill('80')
    assert.deepEqual(await findBarriers(page), [])
    await dialog.getByRole('button', { name: 'Create security group' }).click()
    await click('link', 'web-office')
    await page.getByRole('row', { name: /tcp.*80/ }).waitFor()
    await open('applications/web/security-groups')
    await click('link', 'web-office')
    await page.getByRole('row', { name: /tcp.*80/ }).waitFor()
    assert.equal(
      new URL(page.url()).pathname,
      '/console/applications/web/security-groups/dev/east/web-office',
    )
    assert.deepEqual(await findBarriers(page), [])

    await open('applications/web/load-balancers')
    await click('button', 'Create load balancer')
    await dialog.getByLabel('Name').fill('web-extra')
    await dialog.getByRole('textbox', { name: 'Port', exact: true }).fill(String(await freePort()))
    await dialog.getByLabel('web-office').check()
    assert.deepEqual(await findBarriers(page), [])
    await dialog.getByRole('button', { name: 'Create load balancer' }).click()
    await click('link', 'web-extra')
    assert.equal(
      new URL(page.url()).pathname,
      '/console/applications/web/load-balancers/dev/east/web-extra',
    )
    await click('button', 'Actions of web-extra')
    await click('menuitem', 'Edit')
    await dialog.getByLabel('Check every, in seconds').fill('3')
    await dialog.getByRole('row', { name: 'Check every, in seconds 10 3' }).waitFor()
    await dialog.getByRole('button', { name: 'Save web-extra' }).click()
    const extra = page.getByRole('region', { name: 'web-extra' })
    await extra.getByText(/every 3 s/).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await open('applications/web/load-balancers?provider=kubernetes')
    await page.getByText('None of the load balancers matches “kubernetes”.').waitFor()
    await click('button', 'Clear filters')
    await page.getByRole('link', { name: 'web-extra' }).waitFor()

    await open(
      'infrastructure/security-groups?provider=local&account=dev&region=east&name=web-office',
    )
    await click('button', 'Actions of web-office')
    await click('menuitem', 'Delete')
    await page.getByLabel(/To confirm, type/).fill('web-office')
    await dialog.getByRole('button', { name: 'Delete web-office' }).click()
    await dialog.getByText(/in use by the load balancer web-extra/).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()

    await open('applications/web/load-balancers')
    await click('link', 'web-extra')
    await click('button', 'Actions of web-extra')
    await click('menuitem', 'Delete')
    await page.getByLabel(/To confirm, type/).fill('web-extra')
    await dialog.getByRole('button', { name: 'Delete web-extra' }).click()
    await extra.waitFor({ state: 'detached' })
  },
)

step(
  'reads how a job has ended, and what it wrote',
  async ({ fleet, page, open, heading, click }) => {
    await open('applications/web/jobs')
    await page.getByText('No job.').waitFor()
    const imageId = 'shop:1.0.0'
    await fleet.run(
      {
        type: 'runJob',
        application: 'web',
        name: 'migrate',
        imageId,
        command: 'echo to do; exit 3',
      },
      'TERMINAL',
    )
    await page.keyboard.press('r')
    await click('link', 'migrate')
    await heading('migrate')
    await page.getByText('It ended with exit code 3').waitFor()
    await page.getByRole('tab', { name: 'Console output' }).click()
    await page.getByText('to do').waitFor()
    await open('applications/web/jobs/dev/east/none')
    await page.getByText('There is no job none.').waitFor()
  },
)

step(
  'reads why a run has failed, within the pipeline that it has started',
  async ({ fleet, page, open, click }) => {
    const place = { cloudProvider: 'local', credentials: 'dev', account: 'dev', region: 'east' }
    const job = {
      refId: '1',
      requisiteStageRefIds: [],
      type: 'runJob',
      name: 'Migrate',
      ...place,
      imageId: 'shop:1.0.0',
    }
    const child = {
      refId: '1',
      requisiteStageRefIds: [],
      type: 'pipeline',
      name: 'Checks',
      application: 'web',
      pipeline: 'check',
    }
    const check = (command: string) =>
      savePipeline(fleet, {
        id: 'check',
        application: 'web',
        name: 'check',
        stages: [{ ...job, command }],
      })
    await check('echo done')
    await savePipeline(fleet, { id: 'night', application: 'web', name: 'night', stages: [child] })
    const night = async (status: string) => {
      const { body } = await fleet.ask('POST', '/pipelines/v2/web/night', { type: 'manual' })
      const id = String((body as { ref: string }).ref)
        .split('/')
        .at(-1) as string
      await fleet.ends(id, status, 'pipelines')
      return id
    }
    await night('SUCCEEDED')
    await check('echo table of orders is missing; exit 3')
    await open(`executions/${await night('TERMINAL')}`)
    const cause = page.getByRole('region', { name: /^Migrate failed in run check/ })
    await cause.getByText(/^table of orders is missing/).waitFor()
    assert.match(
      (await cause.getByRole('alert').textContent()) ?? '',
      /^The job \S+ failed with exit code 3/,
    )
    assert.equal(
      await cause.getByRole('link', { name: /^job-/ }).count(),
      1,
      'names in the message are links',
    )
    assert.deepEqual(await findBarriers(page), [])
    await click('link', 'Whole output')
    await page
      .getByRole('log')
      .getByText(/table of orders is missing/)
      .last()
      .waitFor()
    assert.equal(await cause.count(), 0, 'the output has the page for itself')
  },
)

step('deploys an image, and removes the one that runs nowhere', async ({ page, open, click }) => {
  await open('infrastructure/images?image=shop:1.0.0')
  await click('button', 'Actions of shop:1.0.0')
  await page.getByRole('menuitem', { name: /^Delete.*Runs in web-prod-v000/ }).waitFor()
  const remove = page.getByRole('menuitem', { name: 'Delete', exact: true })
  await click('menuitem', 'Start release')
  assert.equal(await page.getByLabel('Version').inputValue(), '1.0.0')
  await open('infrastructure/images?image=shop:1.1.0')
  await click('button', 'Actions of shop:1.1.0')
  await remove.click()
  await page.getByLabel(/To confirm, type/).fill('shop:1.1.0')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete shop:1.1.0' }).click()
  await page.getByRole('link', { name: 'shop:1.1.0', exact: true }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'shop:1.0.0', exact: true }).waitFor()
})

step('creates, changes and deletes a project', async ({ page, open, heading, click }) => {
  await open('projects')
  await click('button', 'Create project')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Create project' }).click()
  await dialog.getByText('Enter a name.').waitFor()
  await dialog.getByLabel('Name').fill('fleet/1')
  await dialog.getByLabel('Applications', { exact: true }).fill('web')
  await page.keyboard.press('Enter')
  await dialog.getByLabel('release', { exact: true }).check()
  await dialog.getByRole('button', { name: 'Add clusters' }).click()
  await dialog.getByLabel('Account').selectOption('dev')
  assert.deepEqual(await findBarriers(page), [])
  await dialog.getByRole('button', { name: 'Create project' }).click()
  // Its address has the id: no address can have this name.
  await click('link', 'fleet/1')
  await heading('fleet/1')
  await page.reload()
  await heading('fleet/1')
  await page.getByText('1 of 1 up').waitFor()
  await page
    .getByRole('group', { name: 'Last runs of release' })
    .getByRole('link')
    .first()
    .waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await click('button', 'Edit')
  await dialog.getByLabel('Stack').fill('none')
  await dialog.getByRole('button', { name: 'Save fleet/1' }).click()
  await page.getByRole('row', { name: /web/ }).getByText('–').waitFor()
  await click('button', 'Actions of fleet/1')
  await click('menuitem', 'Delete')
  await page.getByLabel(/To confirm, type/).fill('fleet/1')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete fleet/1' }).click()
  await page.getByText('No project.').waitFor()
})

step('reads what a program writes', async ({ page, open }) => {
  await open('applications/web/server-groups/dev/east/web-prod-v000')
  await page.getByRole('link', { name: /^i-/ }).click()
  await page.getByRole('tab', { name: 'Console output' }).click()
  await page
    .getByText(/listening as i-/)
    .first()
    .waitFor()
  await page.keyboard.press('?')
  await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor()
  await page.keyboard.press('Escape')
})

step(
  'looks at a server group and its instance beside the list, and as a page on a phone',
  async ({ page, open }) => {
    await open('applications/web')
    await page.getByRole('link', { name: 'web-prod-v000', exact: true }).click()
    const side = (name: string | RegExp) => page.getByRole('complementary', { name })
    await side('web-prod-v000').getByRole('heading', { level: 2, name: 'web-prod-v000' }).waitFor()
    await side('web-prod-v000').getByRole('link', { name: /^i-/ }).click()
    await side(/^i-/).getByRole('tab', { name: 'Console output' }).click()
    await side(/^i-/)
      .getByText(/listening as i-/)
      .waitFor()
    const shown = page.url()
    await page.keyboard.press('Escape')
    await side(/^i-/).waitFor({ state: 'detached' })
    assert.equal(
      await page.evaluate('document.activeElement.ariaLabel'),
      'web-prod-v000',
      'the focus returns',
    )
    assert.equal(new URL(page.url()).search, '')
    const size = page.viewportSize()
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(shown)
    await side(/^i-/)
      .getByText(/listening as i-/)
      .waitFor()
    await page.getByRole('link', { name: 'Back to the list' }).click()
    await page.getByRole('link', { name: 'web-prod-v000', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'web-prod-v000' }).waitFor()
    if (size !== null) await page.setViewportSize(size)
  },
)

step('searches by keyboard', async ({ page, heading }) => {
  await page.keyboard.press('Control+k')
  await page.keyboard.type('relea')
  await page.getByRole('option', { name: /release/ }).waitFor()
  await page.keyboard.press('Enter')
  await heading('release')
  await page.getByRole('link', { name: 'Start release' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('relea')
  await page.getByRole('option', { name: /release/ }).waitFor()
  await page.keyboard.press('Tab')
  assert.deepEqual(await findBarriers(page), [])
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByLabel('Version').waitFor()
  await page.goBack()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  // What is used is offered before anything is typed.
  await page.keyboard.press('Control+k')
  await page
    .getByRole('group', { name: 'Often used' })
    .getByRole('option', { name: /^release/ })
    .waitFor()
  await page.keyboard.press('Escape')
})

step('finds everything of a name at an address', async ({ page, open, heading, click }) => {
  await open('search?q=web-prod')
  await heading('Search')
  const found = page.getByRole('list', { name: 'Server groups' })
  await found.getByRole('link', { name: 'web-prod-v000' }).waitFor()
  await page.getByRole('list', { name: 'Clusters' }).getByRole('link', { name: 'web-prod' }).click()
  await heading('web-prod')
  await open('applications/web/tasks?status=CANCELED')
  await page.getByText('No task matches “Cancelled”.').waitFor()
  await click('button', 'Clear filters')
  await page.getByRole('link', { name: 'Destroy web-prod-v001' }).waitFor()
  await open('applications')
  const row = page.getByRole('table', { name: 'Applications' }).getByRole('row', { name: /web/ })
  await row.getByRole('link', { name: /^(succeeded|failed|cancelled) / }).waitFor()
  await row.getByText('1 of 1 up').waitFor()
  await page.keyboard.press('j')
  assert.equal(await page.evaluate('document.activeElement.classList.contains("row-title")'), true)
  await row.getByRole('link', { name: 'web', exact: true }).press('*')
  assert.equal(
    await row.getByRole('button', { name: 'Favourite: web' }).getAttribute('aria-pressed'),
    'true',
  )
})

step(
  'sees which version runs where, one click from home',
  async ({ page, open, heading, click }) => {
    await open('')
    await page.getByRole('link', { name: /^web 1\.1\.0 to dev/ }).waitFor()
    await click('link', 'Environments')
    await heading('Environments')
    const row = page
      .getByRole('table', { name: 'Versions by environment' })
      .getByRole('row', { name: /web/ })
    await row.getByRole('link', { name: '1.0.0' }).waitFor()
    await row.getByText('1 of 1 up').waitFor()
  },
)

step('reads names that are markup, control or very long', async ({ page, open }) => {
  await open('applications/web/pipelines')
  const row = page.locator('.pipeline-row', { hasText: 'alert(1)' })
  await row.waitFor()
  assert.match(
    (await row.textContent()) ?? '',
    /<script>alert\(1\)<\/script>␣202e␣0007 “🚢” ?x*…x+/,
  )
})

step('filters pipelines by tag and last run', async ({ page, open, click }) => {
  const names = () => page.locator('.pipeline-row .row-title').allTextContents()
  const list = page.getByRole('link', { name: 'Start slow' })
  await page.getByLabel('Tag').selectOption('team: shop')
  await list.waitFor({ state: 'detached' })
  assert.deepEqual(await names(), ['release'])
  assert.equal(new URL(page.url()).searchParams.get('tag'), 'team: shop')
  await page.getByLabel('Last run', { exact: true }).selectOption('Failed')
  await page.getByText('No pipeline matches “Failed, team: shop”.').waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await click('button', 'Clear filters')
  await list.waitFor()
  await open('applications/web/pipelines?status=SUCCEEDED')
  await page.getByRole('link', { name: 'Start release' }).waitFor()
  assert.ok(!(await names()).includes('slow'))
  await page.locator('.pipeline-row .row-title', { hasText: /^release$/ }).click()
  await page.getByRole('heading', { name: 'What starts it' }).waitFor()
  await page
    .getByRole('table', { name: 'Last runs of release' })
    .getByText('succeeded')
    .nth(1)
    .waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await click('link', 'All runs')
  await page.getByLabel('Status', { exact: true }).selectOption('Succeeded')
  await page.waitForURL(/\/applications\/web\/runs\?.*pipeline=release.*status=succeeded/)
  await page.getByRole('searchbox', { name: 'Name, version or commit' }).fill('nothing of this')
  await page.getByText('No run matches “nothing of this, release, Succeeded”.').waitFor()
  await click('button', 'Clear filters')
  await page.getByRole('table', { name: 'Runs' }).getByText('failed').first().waitFor()
  assert.deepEqual(await findBarriers(page), [])
  // The first run of the list with the one before it.
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/executions\//)
  await page.locator('.page-head .menu > button').waitFor()
  await page.keyboard.press('c')
  await page.waitForURL(/executions\/compare\?left=previous/)
})

step('edits a pipeline as text and sees the difference', async ({ page, open, click }) => {
  await open('applications/web/pipelines/release/edit?tab=text')
  await page.getByRole('textbox', { name: 'Pipeline as JSON' }).waitFor()
  await page.locator('.cm-line', { hasText: 'Look first.' }).click()
  await page.keyboard.press('End')
  await page.keyboard.type('\n"propagateAu')
  await page.getByRole('option', { name: 'propagateAuthenticationContext' }).waitFor()
  await page.keyboard.press('Enter')
  await page.keyboard.type('x')
  await page
    .getByText(/^Line \d+: /)
    .first()
    .waitFor()
  await click('button', 'Back to the last readable text')
  await page.locator('.cm-line', { hasText: 'Look first.' }).click()
  await page.keyboard.press('End')
  await page.keyboard.type('\n"stageEnabled": {"type": "expression", "expression": "#nofun(1)"},')
  await click('button', 'YAML')
  await page.getByRole('textbox', { name: 'Pipeline as YAML' }).getByText('#nofun(1)').waitFor()
  await page.getByRole('tab', { name: 'Changes' }).click()
  const change = page.locator('.part-change', { hasText: 'Stage Ship it?' })
  await change.getByText('condition').waitFor()
  await page.getByText('Difference as text').click()
  await page.locator('.cm-changedLine', { hasText: '#nofun(1)' }).waitFor()
})

step('evaluates its expressions with the last run', async ({ page, click }) => {
  await page.getByRole('tab', { name: 'Dry run' }).click()
  await page
    .locator('.part-change', { hasText: /\bimage\b/i })
    .getByText('shop:1.1.0')
    .first()
    .waitFor()
  await page.locator('.dry-notes').getByText('There is no function "#nofun".').waitFor()
  await click('button', 'Check with the engine')
  await page.getByText('The engine accepts the draft.').waitFor()
})

step('restores a revision without saving it', async ({ browser, fleet }) => {
  const stored = async () =>
    (await fleet.ask('GET', '/applications/web/pipelineConfigs/release')).body as {
      description?: string
    }
  await savePipeline(fleet, { ...(await stored()), description: 'newer' })
  const visitor = await visit(browser, fleet.url(), { extraHTTPHeaders: asAlice })
  await visitor.open('applications/web/pipelines/release/edit?tab=history')
  await visitor.page.locator('.part-change').getByText('newer').waitFor()
  await visitor.page.locator('.revision').nth(1).click()
  assert.match(visitor.page.url(), /revision=\d+/)
  await visitor.page.getByRole('button', { name: 'Restore this revision' }).click()
  await visitor.page.getByText('Your draft is the same.').waitFor()
  await visitor.page.getByRole('button', { name: 'Your changes' }).click()
  await visitor.page.locator('.part-change', { hasText: 'newer' }).waitFor()
  assert.equal((await stored()).description, 'newer')
  assert.deepEqual(visitor.complaints, [])
})

step('does all of that by keyboard alone', async ({ browser, fleet }) => {
  const {
    page: keyed,
    complaints: keyComplaints,
    open: openKeyed,
  } = await visit(browser, fleet.url(), { extraHTTPHeaders: asAlice })
  const { keyboard } = keyed
  const title = (name: string | RegExp) => keyed.getByRole('heading', { level: 1, name }).waitFor()
  const badge = (word: string) => runIs(keyed, word)
  await openKeyed('')
  await title('Home')
  await keyboard.press('g')
  await keyboard.press('a')
  await title('Applications')
  await tabTo(keyed, /^Create application$/)
  await keyboard.press('Enter')
  await keyboard.type('keyed')
  await keyboard.press('Tab')
  await keyboard.type('ops@example.org')
  await keyboard.press('Enter')
  await title('keyed')
  await saveKeyed(fleet)

  for (const version of ['1.0.0', '1.0.1']) {
    await keyboard.press('g')
    await keyboard.press('p')
    await keyed.getByRole('link', { name: 'Start ship' }).waitFor()
    await keyboard.press('j')
    await keyboard.press('s')
    await keyed.getByRole('dialog').waitFor()
    await keyboard.type(version)
    await keyboard.press('Control+Enter')
    await title(/^ship/)
    await keyed.getByText('Go on?').first().waitFor()
    await tabTo(keyed, /^Approve$/)
    await keyboard.press('Enter')
    await badge('succeeded')
  }

  await keyboard.press('[')
  await keyed.getByText('1.0.0', { exact: true }).waitFor()
  await openKeyed('applications/keyed')
  await groupRow(keyed, 'v001').waitFor()
  await keyboard.press('j')
  await keyboard.press('ArrowRight')
  assert.match(keyed.url(), /keyed$/)
  assert.match(String(await keyed.evaluate('document.activeElement.title')), /^i-.*: up$/)
  await keyboard.press('ArrowLeft')
  await keyboard.press('.')
  await keyed.getByRole('menu').waitFor()
  while (!/^Roll back/.test(String(await keyed.evaluate('document.activeElement.textContent'))))
    await keyboard.press('ArrowDown')
  await keyboard.press('Enter')
  await tabTo(keyed, /^Roll back keyed-main-v001$/)
  await keyboard.press('Enter')
  await groupRow(keyed, 'v001').getByText('disabled').waitFor()

  await keyboard.press('?')
  await keyed.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor()
  await keyboard.press('Space')
  await keyboard.press('Escape')
  await keyboard.press('g')
  await keyboard.press('h')
  await keyboard.press('j')
  assert.match(keyed.url(), /keyed$/, 'single letters are switched off')
  assert.deepEqual(keyComplaints, [])
})

step('meets no barrier on any screen, in light and dark', async ({ browser, fleet }) => {
  const { body } = await fleet.ask('GET', '/applications/web/executions/search?size=1')
  const [execution] = body as [{ id: string; stages: { id: string }[] }]
  const [group] = (await fleet.ask('GET', '/applications/web/serverGroups')).body as [
    { name: string; instances: { id: string }[] },
  ]
  const instance = group.instances[0]?.id
  const paths = [
    '',
    'applications',
    'environments',
    'applications/web',
    'applications/web?group=region&health=up',
    'applications/web/clusters/dev/web-prod',
    'search?q=web',
    'applications/web/pipelines/release/start',
    ...['diff', 'history', 'dry-run'].map(
      (tab) => `applications/web/pipelines/release/edit?tab=${tab}`,
    ),
    'applications/web/pipelines/hostile/edit?tab=text&format=yaml',
    'applications/web/pipelines?status=SUCCEEDED',
    'applications/web/security-groups',
    'applications/web/jobs',
    'applications/web/tasks',
    'applications/web/settings',
    'applications/web/settings?tab=permissions',
    'applications/web/settings?tab=guards',
    'applications/web/settings?tab=notifications',
    'applications/web/settings?tab=delete',
    `applications/web/server-groups/dev/east/${group.name}`,
    `applications/web/server-groups/dev/east/${group.name}?tab=details`,
    `applications/web/instances/dev/east/${instance}`,
    `applications/web/instances/dev/east/${instance}?tab=console`,
    `applications/web/server-groups/dev/east/${group.name}?show=instances/dev/east/${instance}&tab=console`,
    `executions/${execution.id}`,
    `executions/${execution.id}?view=time&stage=${execution.stages[0]?.id}&tab=record`,
    'applications/nothing-here',
    'nowhere',
  ]
  // Colours on their way from light to dark are neither.
  const visitor = await visit(browser, fleet.url(), { extraHTTPHeaders: asAlice })
  await visitor.open('')
  await visitor.page.getByRole('heading', { level: 1 }).waitFor()
  assert.deepEqual(await findBarriers(visitor.page), [])
  for (const path of paths) assert.deepEqual(await findBarriersAt(visitor.page, path), [], path)
  assert.deepEqual(visitor.complaints, [])
})

test('a person deploys and rolls back a program at the console', {
  timeout: 900_000,
}, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const fleet = await startDeployments(t)
  const port = await fleet.balance('web-front')
  const visitor = await visit(browser, fleet.url(), { extraHTTPHeaders: asAlice })
  const { page } = visitor
  const journey: Journey = {
    ...visitor,
    t,
    browser,
    fleet,
    port,
    heading: (name) => page.getByRole('heading', { level: 1, name }).waitFor(),
    click: (role, name) => page.getByRole(role, { name }).first().click(),
  }
  let isBroken = false
  for (const { name, run } of steps) {
    // What follows a step that failed can only fail as well, after a long wait.
    await t.test(name, { skip: isBroken }, async () => {
      isBroken = true
      await run(journey)
      isBroken = false
    })
  }
  assert.deepEqual(visitor.complaints, [])
})

/** Waits for the state of the run in view, as the title of the tab says it. */
async function runIs(page: Page, state: string): Promise<void> {
  await waitUntil(
    async () => (await page.title()).includes(`: ${state} - `),
    `a run that is ${state}`,
  )
}

/** The row of a server group, within that of its cluster. */
function groupRow(page: Page, version: string): Locator {
  const link = page.getByRole('link', { name: new RegExp(`-${version}$`) })
  return page.getByRole('listitem').filter({ has: link }).last()
}

/** In the page: label, validity and last description of the field with the focus. */
const focusedField = `(() => {
  const field = document.activeElement
  const described = (field.getAttribute('aria-describedby') ?? '').split(' ').at(-1)
  return [field.labels?.[0]?.textContent, field.getAttribute('aria-invalid'), document.getElementById(described)?.textContent]
})()`

/** In the page: what a screen reader says by itself about the execution. */
const hear = `
  globalThis.heard = []
  const region = [...document.querySelectorAll('[role="status"].visually-hidden')].at(-1)
  new MutationObserver(() => heard.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true })
`

/** Presses Tab until something with this text has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  const seen: string[] = []
  for (let count = 0; count < 80; count++) {
    await page.keyboard.press('Tab')
    const text = String(
      await page.evaluate(
        '(document.activeElement.ariaLabel ?? document.activeElement.textContent).trim()',
      ),
    )
    if (name.test(text)) return
    seen.push(text)
  }
  assert.fail(`${name} is not reached by Tab, but ${seen.join(' | ')}`)
}

/** A judgment and a deployment of the application that was created by keyboard. */
async function saveKeyed(fleet: Deployments): Promise<void> {
  const cluster = {
    cloudProvider: 'local',
    account: 'dev',
    region: 'east',
    application: 'keyed',
    stack: 'main',
    imageId: 'shop:1.0.0',
    capacity: { min: 1, max: 1, desired: 1 },
    strategy: 'redblack',
  }
  const stages = [
    { refId: '1', requisiteStageRefIds: [], type: 'manualJudgment', name: 'Go on?' },
    {
      refId: '2',
      requisiteStageRefIds: ['1'],
      type: 'deploy',
      name: 'Deploy',
      clusters: [cluster],
    },
  ]
  const parameterConfig = [{ name: 'version', required: true }]
  const headers = { ...asAlice, 'content-type': 'application/json' }
  const pipeline = { id: 'ship', application: 'keyed', name: 'ship', parameterConfig, stages }
  const { status } = await fetch(`${fleet.url()}/pipelines`, {
    method: 'POST',
    headers,
    body: JSON.stringify(pipeline),
  })
  assert.equal(status, 200)
}

/** One that deploys after a judgment, and one with a hostile name. */
async function savePipelines(fleet: Deployments): Promise<void> {
  const cluster = {
    cloudProvider: 'local',
    account: 'dev',
    region: 'east',
    application: 'web',
    stack: 'prod',
    imageId: 'shop:${parameters.version}',
    capacity: { min: 1, max: 1, desired: 1 },
    loadBalancers: ['web-front'],
    strategy: 'redblack',
    environment: { VERSION: '${parameters.version}' },
  }
  const release = {
    id: 'release',
    application: 'web',
    name: 'release',
    tags: [{ name: 'team', value: 'shop' }],
    parameterConfig: [{ name: 'version', label: 'Version', required: true }],
    stages: [
      {
        refId: '1',
        requisiteStageRefIds: [],
        type: 'manualJudgment',
        name: 'Ship it?',
        instructions: 'Look first.',
        judgmentInputs: [{ value: 'all' }],
      },
      {
        refId: '2',
        requisiteStageRefIds: ['1'],
        type: 'deploy',
        name: 'Deploy',
        clusters: [cluster],
      },
    ],
  }
  const stages = [
    { refId: '1', requisiteStageRefIds: [], type: 'wait', name: hostile, waitTime: 1 },
  ]
  const regions = Array.from({ length: 8 }, (_, at) => `r${at}`)
  const wide = {
    id: 'wide',
    application: 'web',
    name: 'wide',
    stages: [
      { refId: '1', requisiteStageRefIds: [], type: 'wait', name: 'Collect', waitTime: 0 },
      ...regions.map((refId, at) => ({
        refId,
        requisiteStageRefIds: ['1'],
        type: 'wait',
        name: `Region ${at}`,
        waitTime: 0,
      })),
      {
        refId: '2',
        requisiteStageRefIds: regions,
        type: 'checkPreconditions',
        name: 'Gate',
        preconditions: [
          { type: 'expression', failPipeline: true, context: { expression: 'false' } },
        ],
      },
      { refId: '3', requisiteStageRefIds: ['2'], type: 'wait', name: 'Report', waitTime: 0 },
    ],
  }
  const slow = {
    id: 'slow',
    application: 'web',
    name: 'slow',
    stages: [
      { refId: '1', requisiteStageRefIds: [], type: 'wait', name: 'Long', waitTime: 600 },
      { refId: '2', requisiteStageRefIds: ['1'], type: 'wait', name: 'Longer', waitTime: 900 },
    ],
  }
  for (const pipeline of [
    release,
    wide,
    slow,
    { id: 'hostile', application: 'web', name: hostile, stages },
  ])
    await savePipeline(fleet, pipeline)
}

async function savePipeline(fleet: Deployments, pipeline: object): Promise<void> {
  const headers = { ...asAlice, 'content-type': 'application/json' }
  const answer = await fetch(`${fleet.url()}/pipelines`, {
    method: 'POST',
    headers,
    body: JSON.stringify(pipeline),
  })
  assert.equal(answer.status, 200, await answer.text())
}

async function changeAsAnother(fleet: Deployments, attributes: object): Promise<void> {
  const application = { name: 'web', email: 'ops@example.org', ...attributes }
  await fleet.run({ application, type: 'updateApplication' })
}

async function versionAt(port: number): Promise<unknown> {
  return ((await (await fetch(`http://127.0.0.1:${port}/`)).json()) as { version: unknown }).version
}

/** The operators of the account want what is destructive to be confirmed by name. */
async function challenge(page: Page): Promise<void> {
  const account = { name: 'dev', type: 'local', challengeDestructiveActions: true }
  await page.route(/\/credentials$/, (route) => route.fulfill({ json: [account] }))
}

test('a login that ends leaves the page, and returns to it', async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const url = await startGateway(
    t,
    {
      security: { basicform: { enabled: true } },
      spring: { security: { user: { name: 'alice', password: 'secret' } } },
    },
    { embedded: true },
  )
  const { page, complaints, open } = await visit(browser, url, {})
  const signIn = async (login: Page) => {
    await login.getByLabel('User name').fill('alice')
    await login.getByLabel('Password').fill('secret')
    await login.getByRole('button', { name: 'Sign in' }).click()
  }

  await open('applications?q=kept')
  await page.getByText('You continue to the console.').waitFor()
  await signIn(page)
  await page.getByRole('heading', { level: 1, name: 'Applications' }).waitFor()
  assert.equal(page.url(), `${url}/console/applications?q=kept`)

  await page.getByRole('button', { name: 'Create application' }).first().click()
  await page.getByLabel('Name').fill('unsaved')
  await page.context().clearCookies()
  await page.getByLabel('Owner’s email address').fill('ops@example.org')
  // A read of the list behind it may show the end of the login above the button.
  await page
    .getByRole('dialog')
    .getByRole('button', { name: 'Create application' })
    .dispatchEvent('click')
  await page.getByRole('heading', { name: 'Your login has ended' }).waitFor()

  const [login] = await Promise.all([
    page.waitForEvent('popup'),
    page.getByRole('link', { name: 'Sign in again' }).click(),
  ])
  const closed = login.waitForEvent('close')
  await signIn(login)
  await closed
  await page.getByRole('heading', { name: 'Your login has ended' }).waitFor({ state: 'detached' })
  assert.equal(await page.getByLabel('Name').inputValue(), 'unsaved')
  assert.deepEqual(complaints, [])
})

test('a service that fails costs its panel, not the page', async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const broken = await startUpstream(
    t,
    () =>
      new Reply(500, '{"message": "the store is down"}', { 'content-type': 'application/json' }),
  )
  const url = await startGateway(
    t,
    { services: { orca: { baseUrl: broken.url } } },
    { embedded: true },
  )
  const { page, open } = await visit(browser, url, {})
  await open('')
  await page.getByRole('alert').first().waitFor()
  assert.match(
    (await page.getByRole('alert').first().textContent()) ?? '',
    /The log of Fairlead says why.*Request/s,
  )
  await page.getByRole('link', { name: 'Applications', exact: true }).click()
  await page.getByText('No application yet.').waitFor()
})
