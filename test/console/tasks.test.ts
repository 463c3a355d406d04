/** The page of a task at the console: its steps on a phone, and its action once more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openChromium } from '../support/chromium.ts'
import { sized, sizeOf, startDeployments } from '../support/deployments.ts'

test('a task is done again with what it did', { timeout: 900_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const fleet = await startDeployments(t)
  const [name, clone] = [await fleet.deploy('again'), 'shop-again-v001']
  const page = await browser.newPage({ extraHTTPHeaders: { 'X-SPINNAKER-USER': 'alice' } })
  const open = async (id: string) => {
    await page.goto(`${fleet.url()}/console/tasks/${id}`)
    await page.locator('.page-title .status-badge').waitFor()
  }
  const again = page.getByRole('button', { name: 'Do again' })
  const dialog = page.getByRole('dialog')

  await t.test('a step has its name beside its mark on a phone', async () => {
    const { id } = await fleet.run({ type: 'resizeServerGroup', serverGroupName: name, capacity: sized(2) })
    await page.setViewportSize({ width: 390, height: 844 })
    await open(id)
    const row = page.getByRole('listitem').filter({ hasText: 'Resize server group' })
    const [mark, text] = [await row.getByRole('img').boundingBox(), await row.getByText('Resize server group').boundingBox()]
    assert.ok(mark !== null && text !== null && text.y < mark.y + mark.height, 'on one line')
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  await t.test('the dialog of a resize has the size of the task', async () => {
    const { id } = await fleet.run({ type: 'resizeServerGroup', serverGroupName: name, capacity: sized(2) })
    await fleet.run({ type: 'resizeServerGroup', serverGroupName: name, capacity: sized(1) })
    await open(id)
    await again.click()
    assert.equal(await dialog.getByRole('spinbutton').inputValue(), '2')
    await dialog.getByRole('button', { name: `Resize ${name}` }).click()
    assert.equal(sizeOf(await fleet.until(name, ({ capacity }) => capacity.desired === 2)), '2/2/2')
  })

  await t.test('the dialog of a rollback has the target of the task', async () => {
    await fleet.deploy('again')
    await fleet.deploy('again')
    const rollbackContext = { rollbackServerGroupName: 'shop-again-v002', restoreServerGroupName: name }
    const rollback = {
      type: 'rollbackServerGroup',
      rollbackType: 'EXPLICIT',
      serverGroupName: 'shop-again-v002',
      rollbackContext,
    }
    const { id } = await fleet.run(rollback)
    await fleet.run({ type: 'enableServerGroup', serverGroupName: 'shop-again-v002' })
    await open(id)
    await again.click()
    assert.equal(await dialog.getByRole('combobox').inputValue(), name)
    await page.keyboard.press('Escape')
  })

  await t.test('what cannot be done again says why', async () => {
    const disabled = await fleet.run({ type: 'disableServerGroup', serverGroupName: clone })
    await open(disabled.id)
    await page.getByTitle(`${clone} is already in the state that this task sets.`).waitFor()
    const destroyed = await fleet.run({ type: 'destroyServerGroup', serverGroupName: clone })
    await open(destroyed.id)
    await page.getByTitle(`${clone} no longer exists.`).waitFor()
    assert.equal(await again.getAttribute('aria-disabled'), 'true')
  })
})
