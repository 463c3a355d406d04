/** Server groups and their instances through the whole gateway: creation, names, sizes, traffic, removal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at } from '../backends/orchestration/support.ts'
import {
  creation,
  type Deployments,
  errorOf,
  type Group,
  newGroupOf,
  processOf,
  sized,
  sizeOf,
  startDeployments,
  states,
  visit,
} from '../support/deployments.ts'
import { waitUntil } from '../support/wait-until.ts'

const empty = { capacity: sized(0) }

const cases: Record<string, (fleet: Deployments) => Promise<void>> = {
  async 'infrastructure-scenario 132: the first deployment starts an instance'({ deploy, group }) {
    assert.equal(await deploy('t'), 'shop-t-v000')
    const created = await group('shop-t-v000')
    assert.equal(created?.instanceCounts.up, 1)
    assert.match(JSON.stringify(created?.['image']), /1\.0\.0/)
    assert.equal(at(created, 'moniker', 'sequence'), 0)
  },

  async 'infrastructure-scenario 133, 150: without a strategy nothing else changes'({
    deploy,
    cluster,
  }) {
    await deploy('none', empty)
    await deploy('none', { ...empty, strategy: 'NONE' })
    await deploy('none', { ...empty, strategy: 'unheard-of' })
    assert.deepEqual(await cluster('shop-none'), [
      'shop-none-v000',
      'shop-none-v001',
      'shop-none-v002',
    ])
  },

  async 'infrastructure-scenario 134: details without a stack leave a gap in the name'({ deploy }) {
    assert.equal(await deploy('', { ...empty, freeFormDetails: 'eu-1' }), 'shop--eu-1-v000')
  },

  async 'infrastructure-scenario 135: after the last number comes the first'({ deploy }) {
    await deploy('r', { ...empty, sequence: 999 })
    assert.equal(await deploy('r', empty), 'shop-r-v000')
  },

  async 'infrastructure-scenario 136 and 137: the next free number follows the newest'({ deploy }) {
    for (const sequence of [0, 999]) await deploy('full', { ...empty, sequence })
    assert.equal(await deploy('full', empty), 'shop-full-v001')
    for (const sequence of [3, 1]) await deploy('gap', { ...empty, sequence })
    assert.equal(await deploy('gap', empty), 'shop-gap-v002')
    assert.equal(await deploy('gap', empty), 'shop-gap-v004')
  },

  async 'infrastructure-scenario 138 to 140: a wrong description creates nothing'({
    run,
    cluster,
  }) {
    const says = async (stack: string, more: Record<string, unknown>) =>
      errorOf(await run(creation(stack, { ...empty, ...more }), 'TERMINAL'))
    assert.match(await says('bad stack', {}), /stack/)
    assert.match(await says('wrong', { capacity: { min: 3, max: 2, desired: 2 } }), /capacity/)
    assert.match(await says('wrong', { imageId: undefined }), /image/i)
    assert.match(await says('wrong', { imageId: 'shop:9.9.9' }), /shop:9\.9\.9/)
    assert.deepEqual(await cluster('shop-wrong'), [])
  },

  async 'infrastructure-scenario 180: a first deployment needs a capacity'({ run, group }) {
    const job = creation('sized', { useSourceCapacity: true, capacity: undefined })
    assert.match(errorOf(await run(job, 'TERMINAL')), /first deployment/)
    const view = await run(
      creation('sized', { preferSourceCapacity: true, useSourceCapacity: true }),
    )
    assert.equal(sizeOf(await group(newGroupOf(view))), '1/1/1')
  },

  async 'infrastructure-scenario 151 and 152: server groups are resized'({
    deploy,
    run,
    until,
    group,
  }) {
    const serverGroupName = await deploy('size')
    const resize = (more: Record<string, unknown>) =>
      run({ type: 'resizeServerGroup', serverGroupName, ...more })
    await resize({ capacity: sized(3) })
    await until(serverGroupName, ({ instanceCounts }) => instanceCounts.up === 3)
    await resize({ action: 'scale_down', scaleNum: 1 })
    assert.equal(sizeOf(await group(serverGroupName)), '2/2/2')
    await resize({ action: 'scale_up', scalePct: 50 })
    assert.equal(sizeOf(await group(serverGroupName)), '3/3/3')
    const missing = {
      type: 'resizeServerGroup',
      serverGroupName: 'shop-none-v900',
      capacity: sized(1),
    }
    assert.match(errorOf(await run(missing, 'TERMINAL')), /shop-none-v900 was not found/)
  },

  async 'infrastructure-scenario 153 and 154: a disabled server group runs without traffic'({
    deploy,
    run,
    balance,
    group,
  }) {
    const port = await balance('shop-switched')
    const serverGroupName = await deploy('switched', { loadBalancers: ['shop-switched'] })
    assert.equal((await visit(port)).group, serverGroupName)
    const before = (await group(serverGroupName))?.instances.map(({ id }) => id)
    await run({ type: 'disableServerGroup', serverGroupName })
    const disabled = await group(serverGroupName)
    assert.equal(disabled?.isDisabled, true)
    assert.deepEqual(
      disabled?.instances.map(({ id }) => id),
      before,
    )
    assert.deepEqual(states(disabled!, 'LoadBalancer'), ['OutOfService'])
    assert.ok(!disabled?.instances.some(({ health }) => health.some(({ state }) => state === 'Up')))
    assert.equal((await visit(port)).status, 503)
    await run({ type: 'enableServerGroup', serverGroupName })
    assert.equal((await group(serverGroupName))?.isDisabled, false)
    assert.equal((await visit(port)).group, serverGroupName)
  },

  async 'infrastructure-scenario 155: a part of the instances is disabled'({ deploy, run, group }) {
    const serverGroupName = await deploy('part', { capacity: sized(3) })
    await run({ type: 'disableServerGroup', serverGroupName, desiredPercentage: 50 })
    const partly = await group(serverGroupName)
    assert.deepEqual(
      [partly?.isDisabled, partly?.instanceCounts.outOfService, partly?.instanceCounts.up],
      [false, 2, 1],
    )
  },

  async 'infrastructure-scenario 156: a destroyed server group leaves no process'({
    deploy,
    run,
    group,
    processes,
  }) {
    const serverGroupName = await deploy('gone')
    const [instance] = (await group(serverGroupName))?.instances ?? []
    const { pid } = processOf(instance)
    assert.ok(processes().some((each) => each.pid === pid))
    await run({ type: 'destroyServerGroup', serverGroupName })
    assert.equal(await group(serverGroupName), undefined)
    assert.ok(!processes().some((each) => each.pid === pid))
    await run({ type: 'destroyServerGroup', serverGroupName })
  },

  async 'infrastructure-scenario 157: a terminated instance is replaced'({
    deploy,
    run,
    until,
    ask,
  }) {
    const serverGroupName = await deploy('replaced')
    const [first] = (await until(serverGroupName, ({ instanceCounts }) => instanceCounts.up === 1))
      .instances
    await run({ type: 'terminateInstances', instanceIds: [first?.id], serverGroupName })
    const { instances } = await until(
      serverGroupName,
      ({ instanceCounts: { up, total } }) => up === 1 && total === 1,
    )
    assert.notEqual(instances[0]?.id, first?.id)
    assert.equal((await ask('GET', `/instances/dev/east/${first?.id}`)).status, 404)
  },

  async 'infrastructure-scenario 158: an instance is terminated without replacement'({
    deploy,
    run,
    group,
    until,
  }) {
    const serverGroupName = await deploy('fewer', { capacity: sized(2) })
    const instance = (await group(serverGroupName))?.instances[0]?.id
    const job = { type: 'terminateInstanceAndDecrementServerGroup', serverGroupName, instance }
    assert.match(errorOf(await run(job, 'TERMINAL')), /minimum|min/)
    assert.equal(sizeOf(await group(serverGroupName)), '2/2/2')
    await run({ ...job, adjustMinIfNecessary: true })
    const { capacity } = await until(
      serverGroupName,
      ({ instanceCounts }) => instanceCounts.total === 1,
    )
    assert.deepEqual([capacity.min, capacity.desired], [1, 1])
  },

  async 'infrastructure-scenario 159: a reboot starts the process again'({ deploy, run, group }) {
    const serverGroupName = await deploy('reboot')
    const before = (await group(serverGroupName))?.instances[0]
    await run({ type: 'rebootInstances', instanceIds: [before?.id], serverGroupName })
    const after = (await group(serverGroupName))?.instances[0]
    assert.equal(after?.id, before?.id)
    assert.equal(after?.healthState, 'Up')
    assert.ok(after!.launchTime > before!.launchTime)
    assert.notEqual(processOf(after).pid, processOf(before).pid)
  },

  async 'infrastructure-scenario 168: another user must not change the account'({ run, ask }) {
    const created = await run(creation('held', { ...empty, credentials: 'prod', account: 'prod' }))
    const serverGroupName = newGroupOf(created)
    const place = { cloudProvider: 'local', credentials: 'prod', region: 'east' }
    const job = [{ type: 'resizeServerGroup', ...place, serverGroupName, capacity: sized(1) }]
    const refused = await ask(
      'POST',
      '/tasks',
      { application: 'shop', description: 'Resize', job },
      'bob',
    )
    assert.equal(refused.status, 403)
    assert.match(String((refused.body as { message: string }).message), /account prod/)
    const { body } = await ask(
      'GET',
      `/applications/shop/serverGroups/prod/east/${serverGroupName}`,
    )
    assert.equal(sizeOf(body as Group), '0/0/0')
  },

  async 'infrastructure-scenario 167: an unknown operation ends its task'({ run }) {
    assert.match(errorOf(await run({ type: 'noSuchOperation' }, 'TERMINAL')), /noSuchOperation/)
  },

  async 'infrastructure-scenario 178: a killed process is replaced'({ deploy, until, group }) {
    const name = await deploy('killed')
    const [before] = (await until(name, ({ instanceCounts }) => instanceCounts.up === 1)).instances
    const { pid } = processOf(before)
    process.kill(pid, 'SIGKILL')
    await until(
      name,
      ({ instanceCounts, instances }) =>
        instanceCounts.up === 1 && processOf(instances[0]).pid !== pid,
    )
    assert.equal((await group(name))?.instanceCounts.total, 1)
  },
}

test('server groups are real processes', { concurrency: 4 }, async (t) => {
  const fleet = await startDeployments(t)
  await Promise.all(Object.entries(cases).map(([title, run]) => t.test(title, () => run(fleet))))
  await t.test(
    'infrastructure-scenario 179: a restarted gateway finds everything again',
    async () => {
      const port = await fleet.balance('shop-kept')
      const name = await fleet.deploy('kept', { loadBalancers: ['shop-kept'] })
      const served = await visit(port)
      await fleet.restart()
      await waitUntil(
        async () => (await fleet.group(name))?.instanceCounts.up === 1,
        'the instance after the restart',
      )
      assert.deepEqual(await visit(port), served)
      const balancers = await fleet.read<{ name: string }[]>('/loadBalancers?provider=local')
      assert.ok(balancers.some((each) => each.name === 'shop-kept'))
      assert.equal((await fleet.read<unknown[]>('/images/find?provider=local&q=shop')).length, 2)
      const tasks = await fleet.read<{ name: string }[]>('/applications/shop/tasks')
      assert.ok(tasks.length > 0)
    },
  )
})
