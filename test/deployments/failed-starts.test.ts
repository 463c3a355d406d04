/** Programs that cannot start: stages that wait for them fail in words, and traffic stays where it was. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../packages/base/json/values.ts'
import {
  creation,
  type Deployments,
  errorOf,
  sized,
  startDeployments,
  type TaskView,
  visit,
} from '../support/deployments.ts'
import { waitUntil } from '../support/wait-until.ts'

const crashing = ['sh', '-c', 'echo cannot read its settings; exit 3']
const few = { seconds: 600, failures: 3 }

/** What Fairlead says about the failure, on each level that a user may look at. */
function messagesOf({ execution }: TaskView): { stage: string; task: string; top: string } {
  const top = execution.stages.filter(
    ({ parentStageId, context }) => parentStageId == null && context['exception'] !== undefined,
  )
  const failed = execution.stages.flatMap(({ tasks }) =>
    tasks.filter(({ status }) => status === 'TERMINAL'),
  )
  return {
    top: JSON.stringify(top.map(({ context }) => context['exception'])),
    stage: errorOf({ execution }),
    task: JSON.stringify(failed.map(({ taskExceptionDetails }) => taskExceptionDetails)),
  }
}

/** A server group behind a load balancer, and a deploy stage beside it that fails. */
async function replaceBy(
  fleet: Deployments,
  stack: string,
  more: JsonObject,
): Promise<{ port: number; view: TaskView }> {
  const name = `shop-${stack}`
  const port = await fleet.balance(name)
  await fleet.deploy(stack, { loadBalancers: [name] })
  const place = { account: 'dev', credentials: 'dev', cloudProvider: 'local', region: 'east' }
  const { type: _type, ...cluster } = creation(stack, {
    ...place,
    loadBalancers: [name],
    strategy: 'redblack',
    ...more,
  })
  return { port, view: await fleet.run({ type: 'deploy', clusters: [cluster] }, 'TERMINAL') }
}

const cases: Record<string, (fleet: Deployments, t: TestContext) => Promise<void>> = {
  async 'a version that crashes at start fails, and the former one serves'(fleet) {
    const { port, view } = await replaceBy(fleet, 'crash', { command: crashing })
    const { stage, task, top } = messagesOf(view)
    const said =
      /0 of 1 instances of shop-crash-v001 are up; .*code 3.* It failed to start [5-9] times in a row\.(\n|\\n)The output of \S+ says why: cannot read its settings/
    assert.match(stage, said)
    const causes = view.execution.stages.flatMap((each) =>
      'cause' in each ? [each.cause as JsonObject] : [],
    )
    assert.ok(causes.length > 0, 'the stage has the cause')
    for (const { text, line, stream } of causes)
      assert.deepEqual(
        { text, line, stream },
        { text: 'cannot read its settings', line: 1, stream: 'stdout' },
      )
    for (const text of [task, top]) assert.match(text.replaceAll('\\"', '"'), said)
    assert.deepEqual(await fleet.cluster('shop-crash'), ['shop-crash-v000', '(shop-crash-v001)'])
    assert.equal((await visit(port)).group, 'shop-crash-v000')
  },

  async 'a program that does not exist fails at once, and is destroyed'(fleet) {
    const rollback = { onFailure: true, destroyLatest: true }
    const { port, view } = await replaceBy(fleet, 'missing', {
      command: ['no-such-program'],
      rollback,
    })
    assert.match(
      messagesOf(view).stage,
      /0 of 1 instances of shop-missing-v001 are up; .*"no-such-program" was not found/,
    )
    assert.deepEqual(await fleet.cluster('shop-missing'), ['shop-missing-v000'])
    assert.equal((await visit(port)).group, 'shop-missing-v000')
  },

  async 'a program that is never ready fails after its time'(fleet) {
    const view = await fleet.run(
      creation('slow', { environment: { READY: 'never' }, startLimits: { seconds: 1 } }),
      'TERMINAL',
    )
    assert.match(
      messagesOf(view).stage,
      /0 of 1 instances of shop-slow-v000 are up; .* They were not up within 1 s\./,
    )
    assert.match(
      messagesOf(view).stage,
      /"startLimits"(?:.|\n)*shop-slow-v000 is the first of its cluster, and stays without traffic\./,
    )
  },

  async 'arguments name the port and the host'(fleet) {
    const program =
      'process.argv[1] === `${process.env.HOST}:${process.env.PORT}` ? import("./server.mjs") : process.exit(3)'
    await fleet.deploy('args', { command: ['node', '-e', program, '$HOST:$PORT', '$PORTAL'] })
  },

  async 'a stage goes on while enough instances can still come up'(fleet) {
    const half = ['sh', '-c', 'mkdir ../../first 2>/dev/null && exec node server.mjs; exit 3']
    const healthy = { capacity: sized(2), targetHealthyDeployPercentage: 50, startLimits: few }
    await fleet.deploy('half', { command: half, ...healthy })
  },

  async 'scaling up and cloning fail when new instances crash'(fleet) {
    const flag = join(fleet.dataDir, 'crash')
    const command = ['sh', '-c', `test -e ${flag} && exit 3; exec node server.mjs`]
    const name = await fleet.deploy('grow', { command, startLimits: few })
    writeFileSync(flag, '')
    const resize = { type: 'resizeServerGroup', serverGroupName: name, capacity: sized(2) }
    const grown = await fleet.run(resize, 'TERMINAL')
    assert.match(
      messagesOf(grown).stage,
      /1 of 2 instances of shop-grow-v000 are up; .* It failed to start \d times in a row/,
    )
    const source = { account: 'dev', region: 'east', serverGroupName: name }
    const clone = {
      type: 'cloneServerGroup',
      application: 'shop',
      stack: 'grow',
      source,
      capacity: sized(1),
    }
    const cloned = await fleet.run(clone, 'TERMINAL')
    assert.match(
      messagesOf(cloned).stage,
      /0 of 1 instances of shop-grow-v001 are up; .* It failed to start \d times in a row/,
    )
  },

  async 'enabling and rebooting fail when programs crash'(fleet) {
    const command = ['sh', '-c', 'exit 3']
    const disabled = {
      command,
      startDisabled: true,
      interestingHealthProviderNames: [],
      startLimits: few,
    }
    const name = await fleet.deploy('off', disabled)
    const enabled = await fleet.run(
      { type: 'enableServerGroup', serverGroupName: name },
      'TERMINAL',
    )
    assert.match(
      messagesOf(enabled).stage,
      /0 of 1 instances of shop-off-v000 are up; .* It failed to start \d times in a row/,
    )
    const group = await fleet.group(name)
    const reboot = {
      type: 'rebootInstances',
      instanceIds: group?.instances.map(({ id }) => id) ?? [],
    }
    const rebooted = await fleet.run(reboot, 'TERMINAL')
    assert.match(
      messagesOf(rebooted).stage,
      /is not up again; .* It failed to start \d times in a row/,
    )
  },
}

test('a version that fails while Fairlead is killed does not serve once its cause is gone', async (t) => {
  const fleet = await startDeployments(t, { isProcess: true })
  const flag = join(fleet.dataDir, 'cause-is-gone')
  const command = ['sh', '-c', `test -e ${flag} || exit 3; exec node server.mjs`]
  const port = await fleet.balance('shop-front')
  await fleet.deploy('late', { loadBalancers: ['shop-front'] })
  const id = await fleet.submit(
    creation('late', {
      command,
      loadBalancers: ['shop-front'],
      strategy: 'redblack',
      startLimits: few,
    }),
  )
  const hasBegun = async (type: string) => {
    const { execution } = await fleet.read<TaskView>(`/tasks/${id}`)
    return execution.stages.some((stage) => stage.type === type && stage.status !== 'NOT_STARTED')
  }
  for (const moment of ['createServerGroup', 'disableServerGroup']) {
    await waitUntil(() => hasBegun(moment), `${moment} to begin`)
    await fleet.restart()
  }
  await fleet.ends(id, 'TERMINAL')
  writeFileSync(flag, '')
  await waitUntil(
    async () => (await fleet.observed()).instances.every(({ phase }) => phase === 'ready'),
    'the cause to be gone',
  )
  assert.deepEqual(await fleet.cluster('shop-late'), ['shop-late-v000', '(shop-late-v001)'])
  for (let count = 0; count < 20; count++) assert.equal((await visit(port)).group, 'shop-late-v000')
})

test('failed starts', { concurrency: 3 }, async (t) => {
  const fleet = await startDeployments(t)
  await Promise.all(
    Object.entries(cases).map(([title, run]) => t.test(title, (each) => run(fleet, each))),
  )
})
