/** People at the pipeline editor: by keyboard, two at once, without a login, without the right, with names that attack. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { findBarriers, findLostText, findPale, showAddress } from '../support/barriers.ts'
import { type Chromium, openChromium } from '../support/chromium.ts'
import { startGateway } from '../support/gateway.ts'
import { waitUntil } from '../support/wait-until.ts'

type Json = Readonly<Record<string, unknown>>

const password = 'correct-horse-1'
const hostile = `<script>alert(1)</script>\u202e\u0007 “🚢” ${'x'.repeat(200)}`
const settings = { fairlead: { admin: { password } } }

interface Person {
  readonly page: Page
  readonly complaints: readonly string[]
  open(path: string): Promise<void>
  /** Asks the API with the login of the page. */
  ask(method: string, path: string, body?: unknown): Promise<unknown>
}

/** The browser itself tells of answers with an error status, and of a page that is left before anyone has touched it. */
const ofBrowser = /Failed to load resource|Blocked attempt to show a 'beforeunload'/

async function signIn(page: Page, name: string, secret: string): Promise<void> {
  await page.getByLabel('User name').fill(name)
  await page.getByLabel('Password').fill(secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

async function visit(
  browser: Chromium,
  url: string,
  name: string,
  secret: string,
): Promise<Person> {
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' && !ofBrowser.test(message.text()))
      complaints.push(message.text())
  })
  page.on('dialog', (dialog) => {
    if (dialog.type() !== 'beforeunload') complaints.push(`a script ran: ${dialog.message()}`)
    void dialog.accept()
  })
  await page.goto(`${url}/console/applications`)
  await signIn(page, name, secret)
  await page.getByRole('heading', { level: 1, name: 'Applications' }).waitFor()
  const ask: Person['ask'] = async (method, path, body) => {
    const answer = await page.request.fetch(url + path, {
      method,
      ...(body !== undefined && { data: body }),
    })
    const text = await answer.text()
    assert.ok(answer.ok(), `${method} ${path}: ${answer.status()} ${text}`)
    return text === '' ? undefined : (JSON.parse(text) as unknown)
  }
  return {
    page,
    complaints,
    open: async (path) =>
      void (await page.goto(`${url}/console/applications/web/pipelines${path}`)),
    ask,
  }
}

function wait(refId: string, requires: readonly string[], name: string, more: Json = {}): Json {
  return { refId, requisiteStageRefIds: requires, type: 'wait', name, waitTime: 0, ...more }
}

/** A stored pipeline of two stages, one after the other. */
async function store(person: Person, id: string, more: Json = {}): Promise<void> {
  const stages = [wait('1', [], 'First'), wait('2', ['1'], 'Second')]
  await person.ask('POST', '/pipelines', { id, name: id, application: 'web', stages, ...more })
}

async function stored(person: Person, id: string): Promise<Json> {
  return (await person.ask('GET', `/applications/web/pipelineConfigs/${id}`)) as Json
}

function stagesOf(definition: Json): readonly Json[] {
  return definition['stages'] as readonly Json[]
}

const saveButton = (page: Page) => page.getByRole('button', { name: 'Save', exact: true })
const waitTime = (page: Page) => page.getByLabel('Wait time', { exact: true })
const confirmSave = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name: `Save ${name}`, exact: true })

/** Waits until a field with such a value has the focus. */
async function focusOn(page: Page, value: RegExp): Promise<void> {
  const focused = () => page.evaluate('String(document.activeElement.value)')
  await waitUntil(async () => value.test(String(await focused())), `focus on ${value}`)
}

async function save({ page }: Person, name: string): Promise<void> {
  await saveButton(page).click()
  await confirmSave(page, name).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

test('pipelines are written at the editor', { timeout: 900_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const url = await startGateway(t, settings, { embedded: true })
  const admin = await visit(browser, url, 'admin', password)
  const { password: secret } = (await admin.ask('POST', '/auth/users', {
    username: 'ben',
    roles: ['dev'],
  })) as {
    password: string
  }
  await createApplication(admin)
  const ben = await visit(browser, url, 'ben', secret)
  const step = (name: string, run: (t: TestContext) => Promise<void>) => t.test(name, run)

  await step('one is created by keyboard alone, and runs', async () => {
    const { page } = admin
    const { keyboard } = page
    // What is typed before the types have arrived counts, too.
    const typed = Promise.withResolvers<void>()
    await page.route('**/capabilities/stageTypes', (route) =>
      typed.promise.then(() => route.continue()),
    )
    await admin.open('')
    await page.getByRole('link', { name: 'Create pipeline' }).first().press('Enter')
    await page.getByRole('radio', { name: /^Empty/ }).press('Space')
    await page.getByRole('textbox', { name: 'Name' }).focus()
    await keyboard.type('typed')
    await keyboard.press('Enter')
    for (const name of ['One', 'Two']) {
      await page.getByRole('button', { name: 'Add stage' }).press('Enter')
      await page.getByRole('combobox', { name: 'Search stage types' }).waitFor()
      await keyboard.type('wait')
      await keyboard.press('Enter')
      typed.resolve()
      // The name of the new stage has the focus, and is replaced by what is typed.
      await focusOn(page, /^Wait/)
      await keyboard.type(name)
      await waitTime(page).focus()
      await keyboard.type('0')
    }
    await keyboard.press('Control+s')
    await confirmSave(page, 'typed').press('Enter')
    await page.waitForURL(/pipelines\/[0-9a-f-]{36}\/edit/)
    const id = new URL(page.url()).pathname.split('/').at(-2) ?? ''
    const stages = stagesOf(await stored(admin, id))
    assert.deepEqual(
      stages.map(({ refId, requisiteStageRefIds, type, name, waitTime: seconds }) => [
        refId,
        requisiteStageRefIds,
        type,
        name,
        seconds,
      ]),
      [
        ['1', [], 'wait', 'One', 0],
        ['2', ['1'], 'wait', 'Two', 0],
      ],
    )
    const { ref } = (await admin.ask('POST', `/pipelines/web/typed`, { type: 'manual' })) as {
      ref: string
    }
    await waitUntil(
      async () => ((await admin.ask('GET', ref)) as Json)['status'] === 'SUCCEEDED',
      'the end of the run',
    )
  })

  await step('the audit log leads to the revision that a save made', async () => {
    const { page } = admin
    await store(admin, 'audited')
    await store(admin, 'audited', { description: 'newer' })
    await page.goto(`${url}/console/audit?kind=change`)
    await page
      .getByRole('row', { name: /saved audited of web/ })
      .last()
      .getByRole('link', { name: 'audited' })
      .click()
    await page.locator('.revision').nth(1).and(page.locator('[aria-current="true"]')).waitFor()
  })

  await step('stages are moved, removed and restored by keyboard', async () => {
    const { page } = admin
    await store(admin, 'keys')
    await admin.open('')
    await page.getByRole('link', { name: 'keys', exact: true }).focus()
    await page.keyboard.press('e')
    const node = (name: string) =>
      page.locator('.node-main', { has: page.locator('.node-name', { hasText: name }) })
    await node('First').focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Actions of Second' }).waitFor()
    await page.getByText('When it runs').click()
    await page.getByRole('group', { name: 'Runs after' }).getByLabel('First').uncheck()
    await page.getByRole('button', { name: 'Actions of Second' }).press('Enter')
    await page.getByRole('menuitem', { name: 'Copy' }).press('Enter')
    await node('Second (copy)').waitFor()
    await node('First').focus()
    await page.keyboard.press('Delete')
    await node('First').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+z')
    await node('First').waitFor()
    await save(admin, 'keys')
    assert.deepEqual(
      stagesOf(await stored(admin, 'keys')).map(({ refId, requisiteStageRefIds }) => [
        refId,
        requisiteStageRefIds,
      ]),
      [
        ['1', []],
        ['2', []],
        ['3', []],
      ],
    )
  })

  await step('what the server warns of is shown after a save', async () => {
    const { page } = admin
    await store(admin, 'warned', { stages: [wait('1', [], 'Päuse ✓', { failPipline: true })] })
    await admin.open('/warned/edit?stage=1')
    await waitTime(page).fill('1')
    await save(admin, 'warned')
    const notice = page.getByRole('status').filter({ hasText: 'warned is saved, with warnings' })
    await notice
      .getByText(
        'Stage "Päuse ✓": "failPipline" is no field of this stage type. Write "failPipeline".',
      )
      .waitFor()
    await notice.getByRole('button', { name: 'Close' }).click()
    await notice.waitFor({ state: 'detached' })
    await waitTime(page).fill('2')
    await save(admin, 'warned')
    await notice.waitFor()
    await admin.ask('POST', '/pipelines', {
      ...(await stored(admin, 'warned')),
      stages: [wait('1', [], 'Right')],
    })
    await admin.open('/warned/edit?stage=1')
    await waitTime(page).fill('3')
    await save(admin, 'warned')
    await saveButton(page).and(page.locator('[aria-disabled=true]')).waitFor()
    assert.equal(await notice.count(), 0)
  })

  await step(
    'findings of the server stand at the stage, the trigger and the pipeline',
    async () => {
      const { page } = admin
      await store(admin, 'doubtful', {
        stages: [wait('1', [], 'Odd', { type: 'wiat' })],
        triggers: [{ type: 'gitt', enabled: true }],
      })
      await admin.open('?q=doubtful')
      await page.getByRole('link', { name: '2 errors' }).click()
      const list = page.locator('.problem-list')
      await list.getByRole('button', { name: 'Odd: There is no stage type "wiat".' }).click()
      const form = page.getByRole('group', { name: 'Form' })
      await form.getByText(/^There is no stage type "wiat"\. The embedded/).waitFor()
      await list.getByRole('button', { name: '"gitt" is not a type of trigger.' }).click()
      await form.getByText(/^"gitt" is not a type of trigger\. Use one of git/).waitFor()
      await form.getByLabel('Type').selectOption('webhook')
      await page.locator('.problem-list li').nth(1).waitFor({ state: 'detached' })
      await page.getByRole('button', { name: /^Triggers .*1 problem here/ }).waitFor()
      assert.deepEqual(await findBarriers(page), [])
      await createApplication(admin, {}, { name: 'mine', email: 'admin' })
      await store(admin, 'own', {
        application: 'mine',
        stages: [wait('1', [], 'Odd', { type: 'wiat' })],
      })
      await page.goto(`${url}/console/`)
      await page.getByRole('link', { name: '1 finding in mine' }).waitFor()
    },
  )

  await step('a user with the right releases what is held back', async () => {
    const { page } = admin
    const held = /^Triggers that run as the service account coming are held back, since ben/
    for (const id of ['held', 'held-too'])
      await store(ben, id, {
        triggers: [{ type: 'webhook', source: id, enabled: true, runAsUser: 'coming' }],
      })
    await admin.open('/held/edit')
    const banner = page.locator('.banner', { hasText: held })
    await banner.getByRole('button', { name: 'Release' }).click()
    await banner.waitFor({ state: 'detached' })
    await admin.open('?q=held-too')
    const error = page.getByRole('link', { name: '1 error' })
    await error.waitFor()
    await page.getByRole('button', { name: 'Actions of held-too' }).click()
    await page.getByRole('menuitem', { name: 'Release' }).click()
    await error.waitFor({ state: 'detached' })
  })

  await step('fields with problems keep the save back, and the first is focused', async () => {
    const { page } = admin
    const longNumber = '"account":12345678901234567890'
    await store(admin, 'wrong')
    const text = JSON.stringify({ ...(await stored(admin, 'wrong')), account: 'long' }).replace(
      '"account":"long"',
      longNumber,
    )
    await page.request.post(`${url}/pipelines`, {
      data: text,
      headers: { 'content-type': 'application/json' },
    })
    await admin.open('/wrong/edit?stage=2')
    await waitTime(page).fill('soon')
    await page.getByRole('button', { name: /^Settings/ }).click()
    await saveButton(page).click()
    await focusOn(page, /^soon$/)
    await page
      .getByText(/"waitTime" must be a number/)
      .last()
      .waitFor()
    await waitTime(page).fill('${ #stage("First").context.x + exec')
    await page.getByRole('option', { name: 'execution' }).waitFor()
    await page.keyboard.press('Enter')
    assert.equal(await waitTime(page).inputValue(), '${ #stage("First").context.x + execution')
    await waitTime(page).fill('${ parameters.seconds }')
    await save(admin, 'wrong')
    assert.equal(stagesOf(await stored(admin, 'wrong'))[1]?.['waitTime'], '${ parameters.seconds }')
    const saved = await (
      await page.request.get(`${url}/applications/web/pipelineConfigs/wrong`)
    ).text()
    assert.ok(saved.includes(longNumber), saved)
    await page.getByText('Saved', { exact: true }).last().waitFor()
    await page.getByRole('button', { name: 'Start' }).waitFor()
    await admin.open('/wrong/edit?tab=text&run=01')
    await page.getByLabel('Pipeline as JSON').click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await page
      .getByText(/^Line 1: /)
      .first()
      .waitFor()
    assert.equal(await page.getByRole('dialog').count(), 0)
    await page.getByRole('button', { name: 'Back to the last readable text' }).click()
    await page.getByRole('link', { name: 'Back to the run' }).waitFor()
  })

  await step('what the server refuses is shown, and nothing is lost', async () => {
    const { page } = admin
    await admin.open('/wrong/edit')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('keys')
    await saveButton(page).click()
    await confirmSave(page, 'keys').click()
    await page.getByText(/A pipeline named "keys" exists already/).waitFor()
    await page.keyboard.press('Escape')
    assert.equal(
      await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue(),
      'keys',
    )
  })

  await step('changes of two people in different stages merge', async () => {
    await store(admin, 'shared')
    await ben.open('/shared/edit?stage=2')
    await waitTime(ben.page).fill('2')
    await admin.open('/shared/edit?stage=1')
    await waitTime(admin.page).fill('1')
    await save(admin, 'shared')
    await saveButton(ben.page).click()
    await merge(ben.page, /admin saved shared at .* 1 change merges by itself\./)
    await confirmSave(ben.page, 'shared').click()
    await ben.page.getByRole('dialog').waitFor({ state: 'detached' })
    const definition = await stored(admin, 'shared')
    assert.deepEqual(
      stagesOf(definition).map((stage) => stage['waitTime']),
      [1, 2],
    )
    assert.equal(definition['lastModifiedBy'], 'ben')
  })

  await step('a stale save that only the server notices is a choice', async () => {
    const { page } = ben
    await ben.open('/shared/edit?stage=1')
    await waitTime(page).fill('5')
    // Every read gives the old version until the page saves, also one between two steps: only the store knows better.
    const old = JSON.stringify(await stored(ben, 'shared'))
    let isOld = true
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().includes('/pipelines?')) isOld = false
    })
    await page.route('**/pipelineConfigs/shared', (route) =>
      isOld ? route.fulfill({ body: old, contentType: 'application/json' }) : route.continue(),
    )
    await admin.open('/shared/edit?stage=1')
    await waitTime(admin.page).fill('7')
    await save(admin, 'shared')
    const refused = page.waitForResponse(
      (answer) => answer.request().method() === 'POST' && answer.url().includes('/pipelines?'),
    )
    await saveButton(page).click()
    await confirmSave(page, 'shared').click()
    assert.equal((await refused).status(), 400)
    await page.getByText(/1 needs your choice\./).waitFor()
    const dialog = page.getByRole('dialog')
    assert.equal(
      await dialog.getByRole('button', { name: 'Merge' }).getAttribute('aria-disabled'),
      'true',
    )
    assert.deepEqual(await findBarriers(page), [])
    await dialog.getByRole('radio', { name: /Take theirs/ }).check()
    await dialog.getByRole('button', { name: 'Merge' }).click()
    await page.unroute('**/pipelineConfigs/shared')
    await confirmSave(page, 'shared').waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await waitTime(page).inputValue(), '7')
  })

  await step('what another user deletes can be saved anew', async () => {
    const { page } = ben
    await store(admin, 'lost')
    await ben.open('/lost/edit?stage=2')
    await waitTime(page).fill('4')
    await admin.ask('DELETE', '/pipelines/web/lost')
    await saveButton(page).click()
    await confirmSave(page, 'lost').click()
    await page.getByRole('heading', { name: 'The pipeline was deleted' }).waitFor()
    await page.getByRole('button', { name: 'Save as a new pipeline' }).click()
    await confirmSave(page, 'lost').click()
    await page.waitForURL(/pipelines\/[0-9a-f-]{36}\/edit/)
    assert.equal(stagesOf(await stored(admin, 'lost'))[1]?.['waitTime'], 4)
  })

  await step('a new pipeline outlives reloads until it is given up', async () => {
    const { page } = ben
    await ben.open('/new')
    await page.getByRole('radio', { name: /^A file/ }).check()
    const choose = (text: string) =>
      page
        .getByLabel('File *')
        .setInputFiles({ name: 'a.yaml', mimeType: 'text/yaml', buffer: Buffer.from(text) })
    await choose('- no pipeline')
    await page.getByText(/^a\.yaml is no pipeline\./).waitFor()
    await choose('name: begun\ndescription: soon\nid: of-another')
    await page.getByRole('button', { name: 'Create pipeline' }).click()
    assert.equal(await page.getByLabel('Description', { exact: true }).inputValue(), 'soon')
    await page.getByLabel('Description', { exact: true }).fill('later')
    for (let reload = 0; reload < 2; reload++) {
      await page.reload()
      await page.getByText('Not saved yet').waitFor()
      assert.equal(await page.getByLabel('Description', { exact: true }).inputValue(), 'later')
    }
    await page.getByRole('button', { name: 'Give up' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await page.waitForURL(/\/pipelines$/)
    await page.getByRole('link', { name: 'Create pipeline' }).first().click()
    await page.getByRole('button', { name: 'Create pipeline' }).waitFor()
  })

  await step('a login that ends, and a reload, lose no change', async () => {
    const { page } = ben
    await store(ben, 'kept')
    await ben.open('/kept/edit?stage=2')
    await waitTime(page).fill('3')
    await page.context().clearCookies()
    // Whichever read comes first may show the end of the login above the button: the judgement of the draft, or another one.
    await saveButton(page).dispatchEvent('click')
    await page.getByRole('heading', { name: 'Your login has ended' }).waitFor()
    await page.reload()
    await signIn(page, 'ben', secret)
    await page.getByText('1 unsaved change').waitFor()
    assert.equal(await waitTime(page).inputValue(), '3')
    await save(ben, 'kept')
    assert.equal(stagesOf(await stored(ben, 'kept'))[1]?.['waitTime'], 3)
  })

  await step('leaving with unsaved changes asks', async () => {
    const { page } = ben
    await ben.open('')
    await page.getByRole('link', { name: 'Pipelines' }).first().waitFor()
    await ben.open('/kept/edit?stage=2')
    await waitTime(page).fill('8')
    const address = page.url()
    await page.getByRole('link', { name: 'Home' }).first().click()
    await page.getByRole('heading', { name: 'Discard your changes?' }).waitFor()
    await page.getByRole('button', { name: 'Stay' }).click()
    await page.waitForURL(address)
    await page.getByRole('link', { name: 'Pipelines' }).first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await page.waitForURL(/\/pipelines$/)
    await page.goBack()
    await page.waitForURL(address)
    assert.equal(await waitTime(page).inputValue(), '3')
  })

  await step('unknown stages and hostile names stay as they are', async () => {
    const { page } = admin
    const plug = {
      refId: '1',
      requisiteStageRefIds: [],
      type: 'ofAPlugin',
      name: hostile,
      deep: { list: [1, { '__proto__ ': null }] },
    }
    const tangled = {
      refId: '2',
      requisiteStageRefIds: ['1'],
      type: 'wait',
      name: 'Second',
      waitTime: 0,
      'a.b[0]': { c: '<b>' },
    }
    await store(admin, 'plugged', {
      disabled: true,
      name: hostile,
      stages: [plug, tangled],
      tags: 'none',
    })
    await admin.open('/plugged/edit?stage=1')
    await page.getByText(/no description of the stage type ofAPlugin/).waitFor()
    await page.getByRole('button', { name: /^Settings/ }).click()
    await page.getByLabel('Description', { exact: true }).fill('changed')
    await saveButton(page).click()
    await page.getByRole('button', { name: 'Save anyway' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Save </ })
      .click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { stages, description } = await stored(admin, 'plugged')
    assert.deepEqual([stages, description], [[plug, tangled], 'changed'])
  })

  await step('the list reorders, renames, disables and deletes', async () => {
    const { page } = admin
    await store(admin, 'doomed')
    await admin.open('')
    const ids = async () =>
      ((await admin.ask('GET', '/applications/web/pipelineConfigs')) as readonly Json[]).map(
        (pipeline) => pipeline['id'],
      )
    const before = await ids()
    await page.getByRole('button', { name: 'Actions of doomed' }).click()
    await page
      .getByRole('menuitem', { name: /^Move (up|down)$/ })
      .first()
      .click()
    await waitUntil(async () => String(await ids()) !== String(before), 'the new order')
    await admin.open('?q=doomed')
    const act = async (action: string) => {
      await page.getByRole('button', { name: /^Actions of (doomed|done)/ }).click()
      await page.getByRole('menuitem', { name: action }).click()
    }
    await act('Rename')
    await page.getByRole('dialog').getByLabel('Name').fill('doomed twice')
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
    await page.getByText('doomed twice').first().waitFor()
    await act('Disable')
    await page.getByRole('dialog').getByRole('button', { name: 'Disable doomed twice' }).click()
    await page.locator('.pipeline-row').getByText('disabled').waitFor()
    assert.deepEqual(await stored(admin, 'doomed').then(({ name, disabled }) => [name, disabled]), [
      'doomed twice',
      true,
    ])
    await act('Enable')
    await page.getByRole('dialog').getByRole('button', { name: 'Enable doomed twice' }).click()
    await page.locator('.pipeline-row').getByText('disabled').waitFor({ state: 'detached' })
    assert.equal((await stored(admin, 'doomed'))['disabled'], false)
    await act('Copy')
    await page.getByRole('button', { name: 'Create pipeline' }).click()
    await save(admin, 'doomed twice (copy)')
    const copy = new URL(page.url()).pathname.split('/').at(-2) ?? ''
    assert.deepEqual(stagesOf(await stored(admin, copy)), stagesOf(await stored(admin, 'doomed')))
    await admin.ask('DELETE', `/pipelines/web/${encodeURIComponent('doomed twice (copy)')}`)
    await admin.open('?q=doomed')
    await act('Delete')
    await page.getByLabel(/To confirm, type/).fill('doomed twice')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete doomed twice' }).click()
    await page.getByText('No pipeline matches').waitFor()
  })

  await step('meets no barrier on any view, in light and dark', async () => {
    const { page } = admin
    const trigger = { type: 'cron', id: 'c', enabled: true, cronExpression: '0 0 6 ? * MON-FRI' }
    const clusters = [
      {
        account: 'local',
        region: 'local',
        strategy: 'redblack',
        capacity: { min: 1, desired: 1, max: 1 },
      },
    ]
    const judgment = wait('1', [], 'First', {
      type: 'manualJudgment',
      instructions: 'Is it right?',
    })
    const stages = [
      judgment,
      wait('2', ['1'], 'Second', { type: 'deploy', clusters }),
      wait('3', ['1'], 'Third', { type: 'webhook' }),
    ]
    await store(admin, 'seen', {
      stages,
      triggers: [trigger],
      parameterConfig: [{ name: 'version', required: true }],
    })
    const views = [
      '/new',
      ...['?stage=1', '?stage=2', '?stage=3', '?section=triggers', '?section=parameters'].map(
        (query) => `/seen/edit${query}`,
      ),
    ]
    const show = async (view: string) => {
      await showAddress(page, 'nowhere')
      await showAddress(page, `applications/web/pipelines${view}`)
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
    }
    await admin.open('')
    for (const view of views) {
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.emulateMedia({ colorScheme: 'light' })
      await show(view)
      for (const section of await page.locator('details.form-section > summary').all())
        await section.click()
      assert.deepEqual(await findBarriers(page), [], view)
      await page.emulateMedia({ colorScheme: 'dark' })
      assert.deepEqual(await findPale(page), [], `${view} in dark`)
      await page.setViewportSize({ width: 320, height: 900 })
      await show(view)
      const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      assert.ok(Number(wide) <= 0, `${view} is ${wide} px wider than a screen of 320`)
      assert.deepEqual(await findBarriers(page), [], `${view} on a phone`)
      assert.deepEqual(await findLostText(page), [], view)
    }
  })

  await step('a right that ends leaves the changes to copy', async () => {
    const { page } = ben
    await ben.open('/kept/edit?stage=2')
    await waitTime(page).fill('9')
    await createApplication(admin, { READ: ['dev'], EXECUTE: ['dev'], WRITE: ['ops'] })
    await page.reload()
    await page.getByText(/Ask ops@example.org.*Your changes are kept here\./).waitFor()
    assert.equal(await saveButton(page).getAttribute('aria-disabled'), 'true')
    assert.equal(await waitTime(page).inputValue(), '9')
  })

  assert.deepEqual([...admin.complaints, ...ben.complaints], [])
})

async function createApplication(
  { ask }: Person,
  permissions: Json = {},
  { name, email } = { name: 'web', email: 'ops@example.org' },
): Promise<void> {
  const body = {
    application: name,
    description: `create ${name}`,
    job: [{ type: 'createApplication', application: { name, email, permissions } }],
  }
  const { ref } = (await ask('POST', `/applications/${name}/tasks`, body)) as { ref: string }
  await waitUntil(
    async () => ((await ask('GET', ref)) as Json)['status'] === 'SUCCEEDED',
    'the end of the task',
  )
}

/** Takes over what merges by itself, and comes back to the save. */
async function merge(page: Page, says: RegExp): Promise<void> {
  // Either the poll has seen the other version, or the save does.
  const asked = page.getByText(says)
  await page.getByRole('dialog').waitFor()
  if (!(await asked.isVisible()))
    await page.getByRole('dialog').getByRole('button', { name: /^Save/ }).click()
  await asked.waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Merge' }).click()
}
