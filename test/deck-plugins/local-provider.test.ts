/** The plug-in of Deck for programs on this machine, in a page that loads it as Deck does, with real server groups. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { build } from 'esbuild'
import type { Page } from 'playwright-core'
import { decks } from '../peers/deck.ts'
import { openChromium } from '../support/chromium.ts'
import { type Deployments, startDeployments, visit } from '../support/deployments.ts'
import { startGateway } from '../support/gateway.ts'
import { waitUntil } from '../support/wait-until.ts'

const manifestPath = '/plugins/deck/plugin-manifest.json'

test('the plug-in of the embedded infrastructure is served to pages of Deck', async (t) => {
  const deck = 'https://deck.example'
  const gateway = await startGateway(
    t,
    { services: { deck: { baseUrl: deck } } },
    { embedded: true },
  )
  const read = (path: string) => fetch(`${gateway}${path}`, { headers: { origin: deck } })

  const [entry, ...others] = (await (await read(manifestPath)).json()) as {
    id: string
    version: string
  }[]

  assert.deepEqual([entry?.id, others], ['fairlead.local', []])
  const script = await read(`/plugins/deck/${entry?.id}/${entry?.version}/index.js`)
  assert.equal(script.headers.get('content-type'), 'application/javascript')
  assert.equal(script.headers.get('access-control-allow-origin'), deck)
  assert.doesNotMatch(await script.text(), /\bimport\b[^(]*from|from ?["']preact/)
})

test('without the embedded infrastructure Deck is offered no plug-in for it', async (t) => {
  const gateway = await startGateway(t, {})
  assert.deepEqual(await (await fetch(gateway + manifestPath)).json(), [])
})

/** Serves the page, and below `/gate` what Fairlead answers to the user alice. */
async function startHost(t: TestContext, gateway: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`${import.meta.dirname}/deck-host.js`],
    bundle: true,
    write: false,
    format: 'esm',
    logLevel: 'warning',
  })
  const page = `<!doctype html><p id="task"></p><script type="module">${outputFiles[0]?.text}</script>`
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/gate/'))
      return response.setHeader('content-type', 'text/html').end(page)
    const { method = 'GET' } = request
    const body = method === 'GET' ? undefined : await buffer(request)
    const headers = { 'X-SPINNAKER-USER': 'alice', 'content-type': 'application/json' }
    const given = await fetch(gateway + request.url.slice('/gate'.length), {
      method,
      headers,
      ...(body && { body }),
    })
    response.writeHead(given.status, {
      'content-type': given.headers.get('content-type') ?? 'text/plain',
    })
    return response.end(Buffer.from(await given.arrayBuffer()))
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`
}

interface Deck {
  readonly page: Page
  /** Calls a function of the page by its name. */
  call<T>(name: string, ...args: readonly unknown[]): Promise<T>
  readonly loaded: {
    /** Names of Deck's core, and members of its classes. */
    readonly offered: readonly string[]
    readonly provider: string
    readonly stages: readonly { provides?: string; key?: string }[]
  }
}

async function openDeck(t: TestContext, fleet: Deployments): Promise<Deck | undefined> {
  const chromium = await openChromium(t)
  if (chromium === undefined) return undefined
  const page = await chromium.newPage()
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  t.after(() => assert.deepEqual(errors, []))
  await page.goto(await startHost(t, fleet.url()))
  const call: Deck['call'] = (name, ...args) =>
    page.evaluate(
      ([method, given]) =>
        (globalThis as unknown as { deck: Record<string, (...all: unknown[]) => unknown> }).deck[
          method
        ]!(...given),
      [name, args] as [string, unknown[]],
    ) as never
  return { page, call, loaded: await call('load') }
}

const done = async (page: Page, text: string) => page.locator('#task', { hasText: text }).waitFor()

test('Deck shows programs on this machine, and changes them', async (t) => {
  const fleet = await startDeployments(t)
  const port = await fleet.balance('shop-front')
  const rule = { cidr: '127.0.0.0/8', type: 'tcp', startPort: port, endPort: port }
  await fleet.run({
    type: 'upsertSecurityGroup',
    name: 'shop-web',
    description: 'Web',
    ipIngress: [rule],
  })
  const name = await fleet.deploy('main', {
    loadBalancers: ['shop-front'],
    securityGroups: ['shop-web'],
  })
  const [instance] = (await fleet.until(name, ({ instanceCounts }) => instanceCounts.up === 1))
    .instances
  await waitUntil(
    async () => (await visit(port)).group === name,
    'the load balancer has the instance',
  )
  const deck = await openDeck(t, fleet)
  if (deck === undefined) return
  const { page, call, loaded } = deck
  const consoleLink = (text: string) => page.getByRole('link', { name: text }).getAttribute('href')
  const place = { accountId: 'dev', region: 'east' }

  await t.test('the page offers no more than the newest Deck does', () => {
    const { core = {} } = decks[0] ?? {}
    for (const [name = '', member = ''] of loaded.offered.map((text) => text.split('.'))) {
      assert.ok(name in core, name)
      const members = core[name]?.static
      if (member !== '' && members !== undefined) assert.ok(members.includes(member), member)
    }
  })

  await t.test('the provider and its stage types are registered', () => {
    assert.equal(loaded.provider, 'This machine')
    const provided = loaded.stages.map(({ provides, key }) => provides ?? key)
    for (const type of ['bake', 'resizeServerGroup', 'rollbackCluster', 'runJob', 'runCommand'])
      assert.ok(provided.includes(type), type)
  })

  await t.test('the panel of a server group names image and load balancers', async () => {
    await call('serverGroup', { ...place, name })
    const panel = page.getByRole('main')
    await panel.getByText('shop:1.0.0').waitFor()
    for (const text of ['1 of 1 up', 'shop-front', 'shop-web'])
      assert.ok(await panel.getByText(text).isVisible(), text)
    const path = `/gate/console/applications/shop/server-groups/dev/east/${name}`
    assert.match((await consoleLink(`${name} in the console`)) ?? '', new RegExp(`${path}$`))
  })

  await t.test('the panel of an instance shows its health and events', async () => {
    await call('panel', 'instance', { instance: { instanceId: instance?.id } })
    await page.getByText(/Started as process/).waitFor()
    assert.ok(await page.getByText('Discovery').isVisible())
  })

  await t.test('the panels of load balancers and firewalls list ports', async () => {
    await call('panel', 'loadBalancer', { loadBalancer: { ...place, name: 'shop-front' } })
    await page.getByText(`HTTP on 127.0.0.1:${port}`).waitFor()
    await call('panel', 'securityGroup', { resolvedSecurityGroup: { ...place, name: 'shop-web' } })
    await page.getByText(`tcp ${port} from 127.0.0.0/8`).waitFor()
  })

  await t.test('a load balancer counts the instances of its server groups', async () => {
    await page.getByText('1 of 1 up').nth(1).waitFor()
  })

  await t.test('an action is confirmed, and becomes a task', async () => {
    await page.getByRole('button', { name: 'Server Group Actions' }).click()
    await page.getByRole('list').getByRole('button', { name: 'Disable' }).click()
    await page.getByText(`Really disable ${name}?`).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await done(page, `Disable ${name}: SUCCEEDED`)
    assert.equal((await fleet.group(name))?.isDisabled, true)
  })

  await t.test('a server group is resized in a form', async () => {
    await page.getByRole('button', { name: 'Server Group Actions' }).click()
    await page.getByRole('list').getByRole('button', { name: 'Resize' }).click()
    for (const label of ['Min', 'Max', 'Desired'])
      await page.getByLabel(label, { exact: true }).fill('2')
    await page.getByRole('button', { name: 'Resize' }).click()
    await done(page, `Resize ${name}: SUCCEEDED`)
    assert.deepEqual((await fleet.group(name))?.capacity.desired, 2)
  })
})

test('Deck creates server groups, and its stage forms write what the engine runs', async (t) => {
  const fleet = await startDeployments(t)
  const deck = await openDeck(t, fleet)
  if (deck === undefined) return
  const { page, call } = deck

  await t.test('a form creates a server group', async () => {
    await call('create')
    const action = page.getByRole('button', { name: 'Create' })
    assert.ok(await action.isDisabled(), 'account and region are missing')
    await page.getByLabel('Account', { exact: true }).fill('dev')
    await page.getByLabel('Region', { exact: true }).fill('east')
    await page.getByLabel('Stack', { exact: true }).fill('web')
    await page.getByLabel('Image', { exact: true }).fill('shop:1.1.0')
    await action.click()
    await done(page, 'Create: SUCCEEDED')
    await action.waitFor({ state: 'detached' })
    assert.deepEqual(await fleet.cluster('shop-web'), ['shop-web-v000'])
  })

  await t.test('the form of a stage offers accounts and clusters', async () => {
    await page.reload()
    await call('load')
    await call('stage', 'resizeServerGroup', {
      type: 'resizeServerGroup',
      refId: '1',
      requisiteStageRefIds: [],
    })
    await page.locator('option[value="dev"]').waitFor({ state: 'attached' })
    await page.locator('option[value="shop-web"]').waitFor({ state: 'attached' })
  })

  await t.test('the stage of a form runs', async () => {
    await page.getByLabel('Account', { exact: true }).fill('dev')
    await page.getByLabel('Regions', { exact: true }).first().fill('east')
    await page.getByLabel('Cluster', { exact: true }).fill('shop-web')
    await page.getByLabel('Target', { exact: true }).fill('current_asg_dynamic')
    for (const label of ['Min', 'Max', 'Desired'])
      await page.getByLabel(label, { exact: true }).fill('2')
    const stage = await page.evaluate(
      () =>
        (globalThis as unknown as { deck: { stageFields: Record<string, unknown> } }).deck
          .stageFields,
    )
    assert.equal(stage['cloudProvider'], 'local')
    const id = await start(fleet, stage)
    await fleet.ends(id, 'SUCCEEDED', 'pipelines')
    assert.equal((await fleet.group('shop-web-v000'))?.capacity.desired, 2)
  })
})

async function start(fleet: Deployments, stage: Record<string, unknown>): Promise<string> {
  const saved = await fleet.ask('POST', '/pipelines', {
    application: 'shop',
    name: 'resize',
    stages: [stage],
    triggers: [],
  })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const { body } = await fleet.ask('POST', '/pipelines/v2/shop/resize', {})
  return String((body as { ref: string }).ref)
    .split('/')
    .at(-1) as string
}

test('clusters of a project list builds with a number alone', async (t) => {
  const fleet = await startDeployments(t)
  await fleet.deploy('main')
  const config = {
    applications: ['shop'],
    pipelineConfigs: [],
    clusters: [{ account: 'dev', stack: '*', detail: '*' }],
  }
  await fleet.run({
    type: 'upsertProject',
    project: { name: 'harbour', email: 'team@example.test', config },
  })
  const [cluster] = await fleet.read<
    { applications: { clusters: { region: string; builds: unknown[] }[] }[] }[]
  >('/projects/harbour/clusters')
  assert.deepEqual(
    cluster?.applications[0]?.clusters.map(({ region, builds }) => [region, builds]),
    [['east', []]],
  )
})
