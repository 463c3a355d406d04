/** The strategy `recreate` with programs that hold a lock in their volume, and refuse to start while another one has it. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JsonObject } from '../../packages/base/json/values.ts'
import { at } from '../backends/orchestration/support.ts'
import {
  creation,
  type Deployments,
  errorOf,
  type Group,
  sized,
  sizeOf,
  startDeployments,
  type TaskView,
  visit,
} from '../support/deployments.ts'
import { waitUntil } from '../support/wait-until.ts'

const script = `cd "$FAIRLEAD_VOLUME_DATA" && exec 9>>lock && echo "$VERSION" >>begun
flock --nonblock 9 || { echo "$VERSION" >>refused; exit 7; }
cd "$OLDPWD" && exec ${process.execPath} server.mjs`
const locking = { command: ['sh', '-c', script], volumes: [{ name: 'data' }] }
const failing = { ...locking, command: ['false'], startLimits: { seconds: 60, failures: 2 } }

function read({ dataDir }: Deployments, stack: string, file: string): string[] {
  const path = join(dataDir, 'volumes/dev/east', `shop-${stack}`, 'current/data/0', file)
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
}

function noticeOf({ execution }: TaskView): unknown {
  return execution.stages[0]?.context['notice']
}

/** A load balancer and a first server group, whose program is version 1.0.0. */
async function live(
  fleet: Deployments,
  stack: string,
  more: JsonObject = {},
): Promise<{ port: number; settings: JsonObject }> {
  const name = `shop-${stack}`
  const port = await fleet.balance(name)
  const settings = { ...locking, loadBalancers: [name], ...more }
  await fleet.deploy(stack, settings)
  return { port, settings }
}

/** The server groups, the one that answers, its size, and that nothing ever found the lock held. */
async function expectServing(
  fleet: Deployments,
  stack: string,
  port: number,
  groups: string[],
): Promise<void> {
  assert.deepEqual(await fleet.cluster(`shop-${stack}`), groups)
  const serving = groups.find((name) => !name.startsWith('('))
  assert.equal((await visit(port)).group, serving)
  for (const name of groups) {
    const isServing = name === serving
    const group = await fleet.until(
      name.replaceAll(/[()]/g, ''),
      ({ instances }) => instances.length === Number(isServing),
    )
    assert.equal(sizeOf(group), isServing ? '1/1/1' : '0/0/0')
  }
  assert.deepEqual(read(fleet, stack, 'refused'), [])
}

async function reached(fleet: Deployments, id: string, step: string): Promise<void> {
  await waitUntil(async () => {
    const { stages } = (await fleet.read<TaskView>(`/tasks/${id}`)).execution
    return stages.some(({ tasks }) =>
      tasks.some(({ name, status }) => name === step && status !== 'NOT_STARTED'),
    )
  }, `${step} to begin`)
}

/** The first version alone serves, with its one instance. */
function isSettled(prefix: string): (group: Group) => boolean {
  return ({ name, isDisabled, instances }) => {
    if (!name.startsWith(prefix)) return true
    const isFirst = name.endsWith('-v000')
    return isDisabled !== isFirst && instances.length === Number(isFirst)
  }
}

const cases: Record<string, (fleet: Deployments) => Promise<void>> = {
  async 'infrastructure-scenario 181: a volume for one writer chooses it where no strategy is given'(
    fleet,
  ) {
    const { port, settings } = await live(fleet, 'self')
    for (const [strategy, version] of [
      ['none', '1.1.0'],
      ['', '1.0.0'],
    ]) {
      const view = await fleet.run(
        creation('self', { ...settings, strategy, imageId: `shop:${version}` }),
      )
      assert.match(
        String(noticeOf(view)),
        /The strategy is recreate, as the volume "data" has one writer: shop-self-v00\d ends/,
      )
    }
    await expectServing(fleet, 'self', port, ['(shop-self-v001)', 'shop-self-v002'])
    assert.deepEqual(read(fleet, 'self', 'begun'), ['1.0.0', '1.1.0', '1.0.0'])
  },

  async 'volumes with many writers leave the strategy alone'(fleet) {
    const volumes = [
      { name: 'data', writers: 'many' },
      { name: 'all', shared: true },
    ]
    const settings = { volumes, capacity: sized(0) }
    for (let count = 0; count < 2; count++) await fleet.deploy('many', settings)
    assert.deepEqual(await fleet.cluster('shop-many'), ['shop-many-v000', 'shop-many-v001'])
  },

  async 'its judgement says what ends, and runs nothing'(fleet) {
    const { settings } = await live(fleet, 'plan')
    const job = {
      cloudProvider: 'local',
      account: 'dev',
      credentials: 'dev',
      region: 'east',
      ...creation('plan', settings),
    }
    const { body } = await fleet.ask('POST', '/applications/shop/tasks/judge', {
      application: 'shop',
      description: 'plan',
      job: [job],
    })
    const effects = (body as { effects: JsonObject[] }).effects.map(
      ({ operation, message }) => operation ?? message,
    )
    assert.match(String(effects[0]), /shop-plan-v000 ends before the new server group starts/)
    assert.deepEqual(effects.slice(1, 4), [
      'disableServerGroup',
      'resizeServerGroup',
      'createServerGroup',
    ])
    assert.deepEqual(await fleet.cluster('shop-plan'), ['shop-plan-v000'])
  },

  async 'infrastructure-scenario 182: the former version serves again where the new one does not come up'(
    fleet,
  ) {
    const { port, settings } = await live(fleet, 'back')
    await fleet.run(creation('back', { ...settings, ...failing, strategy: 'recreate' }), 'TERMINAL')
    await expectServing(fleet, 'back', port, ['shop-back-v000', '(shop-back-v001)'])
    const view = await fleet.run(
      creation('back', { ...settings, imageId: 'shop:9.9.9' }),
      'TERMINAL',
    )
    assert.match(errorOf(view), /shop:9\.9\.9/)
    assert.equal(
      view.execution.stages[0]?.tasks.find(({ name }) => name === 'stopServerGroups')?.status,
      'NOT_STARTED',
    )
    assert.deepEqual(read(fleet, 'back', 'begun'), ['1.0.0', '1.0.0'])
  },

  async 'without rollback the new one is disabled, and another deployment goes on from there'(
    fleet,
  ) {
    const { port, settings } = await live(fleet, 'stay')
    const cluster = {
      cloudProvider: 'local',
      account: 'dev',
      region: 'east',
      ...creation('stay', { ...settings, ...failing }),
    }
    const stages = [
      {
        refId: '1',
        requisiteStageRefIds: [],
        type: 'deploy',
        name: 'Deploy',
        clusters: [{ ...cluster, rollback: { onFailure: false } }],
      },
    ]
    const { body } = await fleet.ask('POST', '/pipelines/start', {
      application: 'shop',
      name: 'ship',
      stages,
    })
    const id =
      String((body as { ref: string }).ref)
        .split('/')
        .at(-1) ?? ''
    const view = (await fleet.ends(id, 'TERMINAL', 'pipelines')) as unknown as TaskView['execution']
    assert.deepEqual(await fleet.cluster('shop-stay'), ['(shop-stay-v000)', '(shop-stay-v001)'])
    const stage = view.stages.find(({ type }) => type === 'createServerGroup')
    assert.deepEqual(at(stage, 'context', 'source.stopped', 0, 'name'), 'shop-stay-v000')
    const restarted = await fleet.run(
      creation('stay', { ...settings, strategy: 'recreate', capacity: sized(1) }),
    )
    assert.equal(restarted.status, 'SUCCEEDED')
    await expectServing(fleet, 'stay', port, ['(shop-stay-v001)', 'shop-stay-v002'])
  },

  async 'a deployment and a rollback that are cancelled give back what they have stopped'(fleet) {
    const { port, settings } = await live(fleet, 'cancel')
    const never = {
      ...settings,
      environment: { READY: 'never' },
      strategy: 'recreate',
      maxRemainingAsgs: 0,
    }
    const jobs = [
      'stopServerGroups',
      'waitForNoInstances',
      'createServerGroup',
      'waitForUpInstances',
    ].map((step) => [creation('cancel', never), step] as const)
    const rollbackContext = {
      rollbackServerGroupName: 'shop-cancel-v000',
      restoreServerGroupName: 'shop-cancel-v001',
    }
    const rollback = { type: 'rollbackServerGroup', rollbackType: 'EXPLICIT', rollbackContext }
    for (const [job, step] of [...jobs, [rollback, 'resizeServerGroup'] as const]) {
      const id = await fleet.submit(job)
      await reached(fleet, id, step)
      await fleet.ask('PUT', `/tasks/${id}/cancel`)
      await fleet.ends(id, 'CANCELED')
      await waitUntil(
        async () =>
          (await visit(port)).group === 'shop-cancel-v000' &&
          (await fleet.groups()).every(isSettled('shop-cancel-')),
        `the former version after a cancellation at ${step}`,
      )
      assert.deepEqual(read(fleet, 'cancel', 'refused'), [])
    }
  },

  async 'the new one has the size that the source had'(fleet) {
    const { settings } = await live(fleet, 'size', { capacity: { min: 1, max: 4, desired: 2 } })
    const { capacity: _capacity, ...others } = settings
    await fleet.deploy('size', { ...others, capacity: undefined, useSourceCapacity: true })
    assert.equal(sizeOf(await fleet.group('shop-size-v001')), '1/2/4')
    const source = { account: 'dev', region: 'east', serverGroupName: 'shop-size-v001' }
    await fleet.run({
      type: 'cloneServerGroup',
      application: 'shop',
      stack: 'size',
      source,
      capacity: { max: 3 },
    })
    assert.equal(sizeOf(await fleet.group('shop-size-v002')), '1/2/3')
    assert.deepEqual(await fleet.cluster('shop-size'), ['(shop-size-v001)', 'shop-size-v002'])
    assert.deepEqual(read(fleet, 'size', 'refused'), [])
  },

  async 'infrastructure-scenario 183: a rollback ends the newer version first'(fleet) {
    const { port, settings } = await live(fleet, 'undo')
    await fleet.deploy('undo', { ...settings, imageId: 'shop:1.1.0' })
    const groups = ['shop-undo-v000', 'shop-undo-v001'] as const
    const rollback = (rolledBack: string, restored: string) => ({
      type: 'rollbackServerGroup',
      rollbackType: 'EXPLICIT',
      rollbackContext: { rollbackServerGroupName: rolledBack, restoreServerGroupName: restored },
    })
    await fleet.run(rollback(groups[1], groups[0]))
    await expectServing(fleet, 'undo', port, [groups[0], `(${groups[1]})`])
    await fleet.run({
      type: 'rollbackServerGroup',
      rollbackType: 'PREVIOUS_IMAGE',
      rollbackContext: { rollbackServerGroupName: groups[0], imageId: 'shop:1.1.0' },
    })
    await expectServing(fleet, 'undo', port, ['(shop-undo-v000)', 'shop-undo-v002'])
    assert.deepEqual(read(fleet, 'undo', 'begun'), ['1.0.0', '1.1.0', '1.0.0', '1.1.0'])
  },

  async 'a rollback to a version that does not come up gives back the newer one'(fleet) {
    const { port, settings } = await live(fleet, 'worse')
    await fleet.deploy('worse', { ...settings, imageId: 'shop:1.1.0' })
    const rollbackContext = {
      rollbackServerGroupName: 'shop-worse-v001',
      restoreServerGroupName: 'shop-worse-v002',
    }
    await fleet.run(
      creation('worse', {
        ...settings,
        ...failing,
        startDisabled: true,
        capacity: sized(0),
        strategy: 'redblack',
        maxRemainingAsgs: 0,
        scaleDown: false,
      }),
    )
    await fleet.run({ type: 'enableServerGroup', serverGroupName: 'shop-worse-v001' })
    await fleet.run(
      { type: 'rollbackServerGroup', rollbackType: 'EXPLICIT', rollbackContext },
      'TERMINAL',
    )
    await expectServing(fleet, 'worse', port, [
      '(shop-worse-v000)',
      'shop-worse-v001',
      '(shop-worse-v002)',
    ])
  },

  async 'another strategy is warned of, and refused where the volume is declared to have one writer'(
    fleet,
  ) {
    const { port, settings } = await live(fleet, 'warn', { command: undefined })
    const view = await fleet.run(creation('warn', { ...settings, strategy: 'redblack' }))
    assert.match(
      String(noticeOf(view)),
      /shop-warn-v001 and shop-warn-v000 write into the volume "data" at the same time/,
    )
    const volumes = [{ name: 'data', writers: 'one' }]
    for (const strategy of ['redblack', 'highlander', 'rollingredblack']) {
      const refused = await fleet.run(
        creation('warn', { ...settings, volumes, strategy }),
        'TERMINAL',
      )
      assert.match(
        errorOf(refused),
        /The volume "data" has one writer, and i-\w+ of shop-warn-v001 has it\. .* "recreate"/,
      )
    }
    assert.equal((await visit(port)).group, 'shop-warn-v001')
  },

  async 'an instance starts once the one that it replaces is gone'(fleet) {
    await live(fleet, 'next')
    const [first] = (await fleet.group('shop-next-v000'))?.instances ?? []
    await fleet.run({
      type: 'terminateInstances',
      instanceIds: [first?.id ?? ''],
      serverGroupName: 'shop-next-v000',
    })
    await fleet.until(
      'shop-next-v000',
      ({ instances: [now] }) =>
        now !== undefined && now.id !== first?.id && now.healthState === 'Up',
    )
    assert.deepEqual(
      [read(fleet, 'next', 'begun'), read(fleet, 'next', 'refused')],
      [['1.0.0', '1.0.0'], []],
    )
  },
}

test('recreate', { concurrency: 3 }, async (t) => {
  const fleet = await startDeployments(t)
  await Promise.all(Object.entries(cases).map(([title, run]) => t.test(title, () => run(fleet))))
})

test('infrastructure-scenario 184: recreate goes on when Fairlead is killed at any step', async (t) => {
  const fleet = await startDeployments(t, { isProcess: true })
  const { port, settings } = await live(fleet, 'kill')
  const strategy = { strategy: 'recreate', maxRemainingAsgs: 1 }
  for (const [round, step] of [
    'stopServerGroups',
    'waitForNoInstances',
    'createServerGroup',
    'waitForUpInstances',
  ].entries()) {
    const id = await fleet.submit(creation('kill', { ...settings, ...strategy }))
    await reached(fleet, id, step)
    await fleet.restart()
    await fleet.ends(id)
    await expectServing(fleet, 'kill', port, [
      `(shop-kill-v00${round})`,
      `shop-kill-v00${round + 1}`,
    ])
  }
  assert.equal(read(fleet, 'kill', 'begun').length, 5)
})
