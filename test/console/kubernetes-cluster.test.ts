/** The console over a real control plane: what a deployment looks like, why it fails, and the way back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { openChromium } from '../support/chromium.ts'
import { configMap, deployment, service } from '../support/kubernetes-manifests.ts'
import { startPlatform } from '../support/kubernetes-platform.ts'

test('a rollout that fails is explained and undone at the console', {
  timeout: 900_000,
}, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const platform = await startPlatform(t)
  if (platform === undefined) return
  const place = await platform.place()
  const web = (image: string) => ({
    ...deployment('web', image, 2),
    metadata: { name: 'web', namespace: place.namespace },
  })
  await place.deploy([
    web('app:1'),
    service('front', { app: 'web' }),
    configMap('conf', { a: '1' }),
  ])
  const page = await browser.newPage({ extraHTTPHeaders: { 'X-SPINNAKER-USER': 'alice' } })
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  const open = (path: string) => page.goto(`${platform.url()}/console/${path}`)
  const objectAt = (name: string) =>
    `applications/shop/manifests/k8s/${place.namespace}/${encodeURIComponent(name)}`
  const dialog = page.getByRole('dialog')

  await t.test('an edit plans and deploys the next version', async () => {
    await open(objectAt('deployment web'))
    await page.getByText('stable').waitFor()
    await page.getByRole('button', { name: 'Actions of deployment web' }).click()
    await page.getByRole('menuitem', { name: 'Edit', exact: true }).click()
    const text = dialog.getByRole('textbox', { name: 'Manifests as YAML' })
    await text.waitFor()
    await text.fill(JSON.stringify(web('bad:1')))
    await dialog.getByRole('button', { name: 'Show the plan' }).click()
    await dialog.getByRole('row', { name: /image.* app:1 bad:1/ }).waitFor()
    await dialog.getByRole('button', { name: 'Deploy', exact: true }).click()
    await page.getByText('in progress').waitFor()
    await page.getByText('1 of 2').waitFor()
  })

  await t.test('the overview shows both revisions, and which one takes traffic', async () => {
    await open('applications/shop')
    const cluster = page.getByRole('region', { name: 'deployment web' }).first()
    await cluster
      .getByRole('link', { name: /^Revision 2/ })
      .first()
      .waitFor()
    await cluster.getByText('100 % of traffic').first().waitFor()
    await cluster.getByText('0 of 1 up').first().waitFor()
  })

  await t.test('the rollout is undone, and moves to its end', async () => {
    await open(`${objectAt('deployment web')}?tab=history`)
    await page.getByRole('button', { name: 'Compare revision 1 with the current one' }).click()
    await page.getByRole('row', { name: /spec\.containers\.0\.image app:1 bad:1/ }).waitFor()
    await page.getByRole('button', { name: 'Undo to revision 1' }).click()
    await dialog.getByRole('button', { name: 'Undo deployment web' }).click()
    await page.getByRole('row', { name: /^3 current app:1/ }).waitFor()
    await page.getByText('stable').waitFor()
  })

  await t.test(
    'an object without a list of its own is edited under its name without version',
    async () => {
      await open(objectAt('configMap conf-v000'))
      await page.getByRole('button', { name: 'Edit' }).click()
      const text = dialog.getByRole('textbox', { name: 'Manifests as YAML' })
      await text.getByText('name: conf').waitFor()
      assert.doesNotMatch((await text.textContent()) ?? '', /spinnaker/)
      await dialog.getByRole('button', { name: 'Show the plan' }).click()
      await dialog.getByText('A deployment changes nothing.').waitFor()
    },
  )

  await t.test('a field that something else has changed is drift', async () => {
    await platform.api.patch(place.path('deployments/web'), { spec: { replicas: 1 } })
    await platform.until<object[]>('/applications/shop/drift', (found) => found.length > 0)
    await open('applications/shop')
    await page.getByText('Show what was changed').click()
    await page.getByText('spec.replicas').first().waitFor()
    await open(objectAt('deployment web'))
    await page.getByText('This object was changed since its deployment.').waitFor()
  })

  await t.test('a pipeline of the template deploys a manifest', async () => {
    const click = (name: string | RegExp, within: Page | Locator = page) =>
      within.getByRole('button', { name }).first().click()
    await open('applications/shop/pipelines/new')
    await page.getByRole('radio', { name: /^Deploy a manifest/ }).check()
    await page.getByLabel('Account').selectOption('k8s')
    const typed = configMap('greeting', { hello: 'world' }, { namespace: place.namespace })
    await page.getByLabel('Manifests').fill(JSON.stringify(typed))
    await click('Create pipeline')
    await click('Save')
    await click(/^Save/, dialog)
    await click('Start')
    await click(/^Start/, dialog)
    await page.waitForURL(/executions\//)
    await platform.finish(new URL(page.url()).pathname.split('/').at(-1) ?? '')
    const found = (await place.list('configmaps')).map(({ data }) => JSON.stringify(data))
    assert.ok(found.includes('{"hello":"world"}'), found.join())
  })
  assert.deepEqual(complaints, [])
})
