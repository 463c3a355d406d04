/** The page of a task at the console: its steps on a phone, and its action once more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openChromium } from '../support/chromium.ts'
import { sized, sizeOf, startDeployments } from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'
import { waitUntil } from '../support/wait-until.ts'

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
    const { id } = await fleet.run({
      type: 'resizeServerGroup',
      serverGroupName: name,
      capacity: sized(2),
    })
    await page.setViewportSize({ width: 390, height: 844 })
    await open(id)
    const row = page.getByRole('listitem').filter({ hasText: 'Resize server group' })
    // The page may still move between two questions.
    await waitUntil(async () => {
      const mark = await row.getByRole('img').boundingBox()
      const text = await row.getByText('Resize server group').boundingBox()
      return mark !== null && text !== null && text.y < mark.y + mark.height
    }, 'both on one line')
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  await t.test('time and duration of a task share a line on a phone', async () => {
    const lengths = Array.from({ length: 9 }, (_, at) => 6 + 3 * at)
    const save = {
      type: 'updateApplication',
      application: { name: 'shop', email: 'a@example.com' },
    }
    for (const length of lengths)
      await fleet.ask('POST', '/tasks', {
        application: 'shop',
        description: 'm'.repeat(length),
        job: [save],
      })
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${fleet.url()}/console/applications/shop/tasks?q=mmm`)
    for (const length of lengths) {
      const row = page
        .locator('.run-row')
        .filter({ has: page.getByText('m'.repeat(length), { exact: true }) })
      await row.locator('.aside .number').waitFor()
      const [time, duration] = [
        await row.locator('time').boundingBox(),
        await row.locator('.aside .number').boundingBox(),
      ]
      assert.ok(
        time !== null && duration !== null && Math.abs(time.y - duration.y) < 5,
        `a name of ${length} letters`,
      )
    }
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  await t.test('the dialog of a resize has the size of the task', async () => {
    const { id } = await fleet.run({
      type: 'resizeServerGroup',
      serverGroupName: name,
      capacity: sized(2),
    })
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
    const rollbackContext = {
      rollbackServerGroupName: 'shop-again-v002',
      restoreServerGroupName: name,
    }
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

  await t.test('the dialog of a reboot names the instance of the task', async () => {
    const { instances } = await fleet.until(
      'shop-again-v002',
      ({ instanceCounts: { up, total } }) => up > 0 && up === total,
    )
    const id = instances[0]?.id ?? ''
    const reboot = {
      type: 'rebootInstances',
      serverGroupName: 'shop-again-v002',
      instanceIds: [id],
    }
    await open((await fleet.run(reboot)).id)
    await again.click()
    await dialog.getByText(`${id} stops and starts again`).waitFor()
    await page.keyboard.press('Escape')
  })

  await t.test(
    'the dialog of a load balancer has the values of the task, and those of a deleted one',
    async () => {
      const loadBalancerName = 'shop-again'
      const [port, other] = [await freePort(), await freePort()]
      const upsert = (externalPort: number) =>
        fleet.run({
          type: 'upsertLoadBalancer',
          name: loadBalancerName,
          loadBalancerName,
          listeners: [{ externalProtocol: 'TCP', externalPort, internalProtocol: 'TCP' }],
          healthCheck: 'TCP',
        })
      const { id } = await upsert(port)
      await upsert(other)
      await open(id)
      await again.click()
      assert.equal(
        await dialog.getByRole('textbox', { name: 'Port', exact: true }).inputValue(),
        String(port),
      )
      await dialog.getByRole('button', { name: `Save ${loadBalancerName}` }).click()
      await waitUntil(
        async () =>
          JSON.stringify(
            await fleet.read('/loadBalancers/dev/east/shop-again?provider=local'),
          ).includes(String(port)),
        'the port',
      )
      await fleet.run({ type: 'deleteLoadBalancer', loadBalancerName, regions: ['east'] })
      await open(id)
      await again.click()
      assert.equal(
        await dialog.getByRole('textbox', { name: 'Name', exact: true }).inputValue(),
        loadBalancerName,
      )
      await page.keyboard.press('Escape')
    },
  )

  await t.test('the dialog of a security group has the rules of the task', async () => {
    const name = 'shop-again'
    const upsert = (cidr: string) =>
      fleet.run({
        type: 'upsertSecurityGroup',
        name,
        securityGroupName: name,
        description: 'tests',
        regions: ['east'],
        ipIngress: [{ type: 'tcp', startPort: 80, endPort: 81, cidr }],
      })
    const { id } = await upsert('10.1.0.0/16')
    await upsert('10.2.0.0/16')
    await open(id)
    await again.click()
    assert.equal(
      await dialog.getByRole('textbox', { name: 'From', exact: true }).inputValue(),
      '10.1.0.0/16',
    )
    assert.equal(await dialog.getByRole('textbox', { name: 'From port' }).inputValue(), '80')
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
