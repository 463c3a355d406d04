/** Strategies, rollbacks and stages of clusters through the whole gateway, while a client sends requests. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { describeEffect, effectsOf } from '../../packages/model/stage-types/effect.ts'
import { at } from '../backends/orchestration/support.ts'
import { needs } from '../support/debian.ts'
import {
  creation,
  type Deployments,
  errorOf,
  processOf,
  sized,
  sizeOf,
  startDeployments,
  startTraffic,
  visit,
} from '../support/deployments.ts'
import { startPrometheus } from '../support/prometheus.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

const empty = { capacity: sized(0) }
const place = { cloudProvider: 'local', credentials: 'dev', account: 'dev', region: 'east' }

/** A load balancer and a first server group behind it, with a client that sends requests from then on. */
async function live(
  { balance, deploy }: Deployments,
  t: TestContext,
  stack: string,
  more: Record<string, unknown> = {},
) {
  const name = `shop-${stack}`
  const port = await balance(name)
  const settings = { loadBalancers: [name], ...more }
  const first = await deploy(stack, settings)
  const traffic = startTraffic(port)
  t.after(() => traffic.stop())
  return { port, first, settings, traffic }
}

/** Kind, failure and end of the failure of both deployments of a cluster, the latest first. The list of runs is kept for a moment. */
function deliveriesOf(fleet: Deployments, cluster: string): Promise<unknown[][]> {
  return waitFor(async () => {
    const { changes } = await fleet.read<{ changes: Record<string, unknown>[] }>(
      '/applications/shop/delivery',
    )
    const own = changes.filter(({ clusters }) => String(clusters) === cluster)
    return own.length < 2
      ? undefined
      : own.map(({ kind, failure, restoredAtMs }) => [kind, failure, restoredAtMs])
  }, `two deployments of ${cluster}`)
}

/** Traffic stays where it was while a deployment fails. */
async function rollBackSick(
  fleet: Deployments,
  t: TestContext,
  stack: string,
  rollback: Record<string, unknown>,
): Promise<void> {
  const { traffic, settings } = await live(fleet, t, stack)
  const sick = {
    ...settings,
    strategy: 'redblack',
    environment: { READY: 'never' },
    stageTimeoutMs: 10_000,
    rollback,
  }
  await fleet.run(creation(stack, sick), 'TERMINAL')
  const answers = await traffic.stop()
  assert.deepEqual(
    [...new Set(answers.map(({ status, group }) => `${status} ${group}`))],
    [`200 shop-${stack}-v000`],
  )
}

/** One metric that a server group without errors passes, judged once after two seconds. */
async function canaryOf({ ask }: Deployments, stack: string): Promise<Record<string, unknown>> {
  const { status, body } = await ask('POST', '/v2/canaryConfig', {
    ...{
      name: stack,
      applications: ['shop'],
      configVersion: '1',
      judge: { name: 'NetflixACAJudge-v1.0' },
    },
    metrics: [
      {
        ...{ name: 'errors', scopeName: 'default', groups: ['all'] },
        query: { type: 'serverGroups', serviceType: 'serverGroups', metricName: 'errors' },
        analysisConfigurations: { canary: { direction: 'increase', nanStrategy: 'replace' } },
      },
    ],
    classifier: { groupWeights: { all: 100 } },
  })
  assert.equal(status, 200, JSON.stringify(body))
  const member = {
    ...place,
    application: 'shop',
    stack,
    capacity: sized(1),
    loadBalancers: [`shop-${stack}`],
  }
  return {
    type: 'kayentaCanary',
    analysisType: 'realTimeAutomatic',
    canaryConfig: {
      canaryConfigId: at(body, 'canaryConfigId'),
      metricsAccountName: 'server-groups',
      scopes: [{ scopeName: 'default', step: 1 }],
      lifetimeDuration: 'PT2S',
    },
    deployments: {
      baseline: { cloudProvider: 'local', account: 'dev', cluster: `shop-${stack}` },
      serverGroupPairs: [
        {
          control: { ...member, freeFormDetails: 'baseline' },
          experiment: { ...member, freeFormDetails: 'canary', imageId: 'shop:1.1.0' },
          trafficPercent: 20,
        },
      ],
    },
  }
}

const cases: Record<string, (fleet: Deployments, t: TestContext) => Promise<void>> = {
  async 'a canary and its baseline get their shares, are judged, and go'(fleet, t) {
    const { traffic, first } = await live(fleet, t, 'judged')
    const { execution } = await fleet.run(await canaryOf(fleet, 'judged'))
    assert.equal(
      at(
        execution.stages.find(({ type }) => type === 'kayentaCanary'),
        'context',
        'canaryScores',
        0,
      ),
      100,
    )
    for (const cluster of ['baseline', 'canary'])
      assert.deepEqual(await fleet.cluster(`shop-judged-${cluster}`), [])
    const answers = await traffic.stop()
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
    const of = (name: string) => answers.filter(({ group }) => group === name)
    const [canary, baseline] = [of('shop-judged-canary-v000'), of('shop-judged-baseline-v000')]
    const meanwhile = answers.slice(
      answers.indexOf(canary[0]!),
      answers.lastIndexOf(canary.at(-1)!) + 1,
    )
    for (const each of [canary, baseline]) {
      const wanted = meanwhile.length / 5
      assert.ok(
        Math.abs(each.length - wanted) <= 2 + wanted / 10,
        `${each.length} of ${meanwhile.length} for ${each[0]?.group}`,
      )
    }
    assert.ok(of(first).length > meanwhile.length / 2)
  },
  async 'infrastructure-scenario 141: highlander leaves the new one, and loses no request'(
    fleet,
    t,
  ) {
    const { traffic, settings, port } = await live(fleet, t, 'high')
    await fleet.deploy('high', { ...settings, strategy: 'highlander' })
    assert.deepEqual(await fleet.cluster('shop-high'), ['shop-high-v001'])
    assert.equal((await visit(port)).group, 'shop-high-v001')
    const answers = await traffic.stop()
    assert.deepEqual(
      answers.filter(({ status }) => status !== 200),
      [],
    )
    assert.deepEqual(
      [...new Set(answers.map(({ group }) => group))],
      ['shop-high-v000', 'shop-high-v001'],
    )
  },

  async 'infrastructure-scenario 142, 144, 171: red/black and back lose no request'(fleet, t) {
    const { traffic, settings, port } = await live(fleet, t, 'rb')
    await fleet.deploy('rb', {
      ...settings,
      strategy: 'redblack',
      maxRemainingAsgs: 1,
      scaleDown: false,
    })
    assert.deepEqual(await fleet.cluster('shop-rb'), ['(shop-rb-v000)', 'shop-rb-v001'])
    const old = await fleet.group('shop-rb-v000')
    assert.equal(processOf(old?.instances[0]).phase, 'ready')
    assert.equal((await visit(port)).group, 'shop-rb-v001')
    const rollbackContext = {
      rollbackServerGroupName: 'shop-rb-v001',
      restoreServerGroupName: 'shop-rb-v000',
    }
    await fleet.run({ type: 'rollbackServerGroup', rollbackType: 'EXPLICIT', rollbackContext })
    assert.deepEqual(await fleet.cluster('shop-rb'), ['shop-rb-v000', '(shop-rb-v001)'])
    assert.equal((await visit(port)).group, 'shop-rb-v000')
    const answers = await traffic.stop()
    assert.deepEqual(
      answers.filter(({ status }) => status !== 200),
      [],
    )
  },

  async 'infrastructure-scenario 143: red/black destroys surplus disabled groups'(fleet) {
    await fleet.deploy('rest', { ...empty, startDisabled: true })
    await fleet.deploy('rest', empty)
    await fleet.deploy('rest', { ...empty, strategy: 'redblack' })
    assert.deepEqual(await fleet.cluster('shop-rest'), ['(shop-rest-v001)', 'shop-rest-v002'])
  },

  async 'infrastructure-scenario 145: red/black empties what it has disabled'(fleet) {
    await fleet.deploy('down')
    await fleet.deploy('down', { strategy: 'redblack' })
    const old = await fleet.group('shop-down-v000')
    assert.deepEqual([sizeOf(old), old?.instances.length, old?.isDisabled], ['0/0/0', 0, true])
  },

  async 'infrastructure-scenario 146: red/black waits before it disables'(fleet) {
    await fleet.deploy('delay', empty)
    const view = await fleet.run(
      creation('delay', { ...empty, strategy: 'redblack', delayBeforeDisableSec: 3 }),
    )
    const { stages } = view.execution
    const [pause, disable] = stages.filter(
      ({ type }) => type === 'wait' || type === 'disableCluster',
    )
    assert.deepEqual([pause?.context['waitTime'], pause?.status], [3, 'SUCCEEDED'])
    assert.deepEqual(
      [disable?.type, disable?.requisiteStageRefIds],
      ['disableCluster', [pause?.refId]],
    )
    assert.deepEqual(await fleet.cluster('shop-delay'), ['(shop-delay-v000)', 'shop-delay-v001'])
  },

  async 'infrastructure-scenario 147: a deployment that never becomes ready is disabled'(fleet, t) {
    await rollBackSick(fleet, t, 'sick', {})
    assert.deepEqual(await fleet.cluster('shop-sick'), ['shop-sick-v000', '(shop-sick-v001)'])
    const [[kind, failure, restoredAtMs] = []] = await deliveriesOf(fleet, 'shop-sick')
    assert.deepEqual(
      [kind, typeof failure, typeof restoredAtMs],
      ['deployment', 'string', 'number'],
    )
  },

  async 'infrastructure-scenario 147: a deployment that never becomes ready is destroyed'(
    fleet,
    t,
  ) {
    await rollBackSick(fleet, t, 'sicker', { onFailure: true, destroyLatest: true })
    assert.deepEqual(await fleet.cluster('shop-sicker'), ['shop-sicker-v000'])
  },

  async 'infrastructure-scenario 148: red/black needs no earlier group'(fleet) {
    assert.equal(await fleet.deploy('first', { ...empty, strategy: 'redblack' }), 'shop-first-v000')
    assert.deepEqual(await fleet.cluster('shop-first'), ['shop-first-v000'])
  },

  async 'infrastructure-scenario 149: rolling red/black moves traffic in steps, and loses no request'(
    fleet,
    t,
  ) {
    const { traffic, settings, port } = await live(fleet, t, 'roll', {
      capacity: { min: 2, max: 10, desired: 4 },
    })
    const more = {
      ...settings,
      capacity: undefined,
      useSourceCapacity: true,
      targetPercentages: [25, 50],
      scaleDown: false,
    }
    const view = await fleet.run(creation('roll', { ...more, strategy: 'rollingredblack' }))
    const grown = view.execution.stages.filter(({ name }) => name.startsWith('Grow'))
    assert.deepEqual(
      grown.map(({ context }) => at(context, 'capacity', 'desired')),
      [1, 2, 4],
    )
    const disabled = view.execution.stages.filter(({ type }) => type === 'disableServerGroup')
    assert.deepEqual(
      disabled.map(
        ({ context }) => (context['instanceIdsToDisable'] as string[] | undefined)?.length ?? 'all',
      ),
      [1, 2, 'all'],
    )
    const inOrder = view.execution.stages.toSorted(
      (one, other) => (one.startTime ?? 0) - (other.startTime ?? 0),
    )
    const effects = inOrder.flatMap((stage) => effectsOf({ ...stage, tasks: [] }))
    assert.deepEqual(
      effects.map(
        (effect) =>
          `${effect.cluster} ${effect.serverGroup?.slice(-1)} ${describeEffect(effect, true)}`,
      ),
      [
        'shop-roll 1 created',
        'shop-roll 0 pinned',
        'shop-roll 1 resized to 1',
        'shop-roll 0 disabled for 25 % of its instances',
        'shop-roll 1 resized to 2',
        'shop-roll 0 disabled for 50 % of its instances',
        'shop-roll 1 resized to 4',
        'shop-roll 0 disabled',
        'shop-roll 0 pinned',
      ],
    )
    assert.partialDeepStrictEqual(effects[0], {
      kind: 'created',
      account: 'dev',
      region: 'east',
      source: 'shop-roll-v000',
      desired: 0,
    })
    assert.equal(sizeOf(await fleet.group('shop-roll-v001')), '2/4/10')
    assert.equal(sizeOf(await fleet.group('shop-roll-v000')), '2/4/10')
    assert.deepEqual(await fleet.cluster('shop-roll'), ['(shop-roll-v000)', 'shop-roll-v001'])
    assert.equal((await visit(port)).group, 'shop-roll-v001')
    const answers = await traffic.stop()
    assert.deepEqual(
      answers.filter(({ status }) => status !== 200),
      [],
    )
  },

  async 'infrastructure-scenario 169 and 170: a traffic guard keeps the last live group'(fleet) {
    const guard = { account: 'dev', location: 'east', stack: 'g', detail: '*', enabled: true }
    const application = { name: 'shop', email: 'team@example.test', trafficGuards: [guard] }
    await fleet.run({ type: 'updateApplication', application })
    const serverGroupName = await fleet.deploy('g')
    const job = { type: 'disableServerGroup', serverGroupName }
    assert.match(
      errorOf(await fleet.run(job, 'TERMINAL')),
      /shop-g in dev\/east .* no instance would remain/s,
    )
    assert.deepEqual(await fleet.cluster('shop-g'), ['shop-g-v000'])
    await fleet.deploy('g')
    await fleet.run(job)
    assert.deepEqual(await fleet.cluster('shop-g'), ['(shop-g-v000)', 'shop-g-v001'])
  },

  async 'infrastructure-scenario 172: a cluster is rolled back'(fleet) {
    await fleet.deploy('undo', { startDisabled: true, capacity: sized(0) })
    const serverGroup = await fleet.deploy('undo')
    await fleet.run({ type: 'rollbackCluster', regions: ['east'], serverGroup })
    assert.deepEqual(await fleet.cluster('shop-undo'), ['shop-undo-v000', '(shop-undo-v001)'])
    assert.equal((await fleet.group('shop-undo-v000'))?.instanceCounts.up, 1)
  },

  async 'infrastructure-scenario 173: only the newest groups of a cluster stay enabled'(fleet) {
    for (let count = 0; count < 3; count++) await fleet.deploy('c', empty)
    await fleet.run({ type: 'disableCluster', cluster: 'shop-c', remainingEnabledServerGroups: 1 })
    assert.deepEqual(await fleet.cluster('shop-c'), [
      '(shop-c-v000)',
      '(shop-c-v001)',
      'shop-c-v002',
    ])
  },

  async 'infrastructure-scenario 174: a cluster shrinks by its disabled groups'(fleet) {
    for (const startDisabled of [true, true, false])
      await fleet.deploy('s', { ...empty, startDisabled })
    await fleet.run({ type: 'shrinkCluster', cluster: 'shop-s', shrinkToSize: 1 })
    assert.deepEqual(await fleet.cluster('shop-s'), ['shop-s-v002'])
  },

  async 'infrastructure-scenario 175: a cluster is scaled down to its live group'(fleet) {
    const serverGroupName = await fleet.deploy('idle', { capacity: sized(2) })
    await fleet.run({ type: 'disableServerGroup', serverGroupName })
    await fleet.deploy('idle')
    await fleet.run({
      type: 'scaleDownCluster',
      cluster: 'shop-idle',
      remainingFullSizeServerGroups: 1,
    })
    assert.equal((await fleet.group('shop-idle-v000'))?.instances.length, 0)
    assert.equal(sizeOf(await fleet.group('shop-idle-v001')), '1/1/1')
  },

  async 'infrastructure-scenario 176: the image of a cluster is found'(fleet) {
    await fleet.deploy('image', empty)
    await fleet.deploy('image', { ...empty, imageId: 'shop:1.1.0' })
    await fleet.deploy('image', { ...empty, startDisabled: true })
    const job = {
      type: 'findImage',
      cluster: 'shop-image',
      regions: ['east'],
      selectionStrategy: 'NEWEST',
    }
    const [stage] = (await fleet.run(job)).execution.stages
    const [detail] = at(stage, 'context', 'amiDetails') as { imageId: string; imageName: string }[]
    assert.deepEqual([detail?.imageId, detail?.imageName], ['shop:1.1.0', 'shop-1.1.0'])
  },

  async 'infrastructure-scenario 177: a dynamic target is the group of that moment'(fleet) {
    for (let count = 0; count < 3; count++) await fleet.deploy('target', empty)
    const target = { target: 'ancestor_asg_dynamic', cluster: 'shop-target', regions: ['east'] }
    await fleet.run({ type: 'destroyServerGroup', ...target })
    assert.deepEqual(await fleet.cluster('shop-target'), ['shop-target-v000', 'shop-target-v002'])
  },

  async 'a good deployment passes checks of every kind'(fleet, t) {
    const { first } = await live(fleet, t, 'good')
    const program = needs(t, 'prometheus')
    const watched = { seconds: 2, intervalSeconds: 1 }
    const checks: Record<string, unknown>[] = [
      { type: 'http', path: '/health', status: 200, contains: first, withinMs: 60_000, ...watched },
      { type: 'logs', pattern: 'listening as i-[a-z0-9]+' },
      { type: 'logs', pattern: 'panic', appears: false, ...watched },
      { type: 'metric', metric: 'requests', comparison: '>', bound: 0, seconds: 12 },
      { type: 'metric', metric: 'errorPercent', bound: 0, seconds: 12 },
      { type: 'command', command: ['true'], name: 'Smoke test' },
    ]
    if (program !== undefined) {
      const url = await startPrometheus(t, program, {})
      const isReady = () =>
        fetch(`${url}/-/ready`).then(
          ({ ok }) => ok,
          () => false,
        )
      await waitUntil(isReady, 'a Prometheus that answers')
      checks.push({
        type: 'prometheus',
        url,
        query: 'vector(3)',
        comparison: '==',
        bound: 3,
        ...watched,
      })
    }
    const { execution } = await fleet.run({ type: 'verify', serverGroupName: first, checks })
    const looks = execution.stages.filter(
      ({ parentStageId }) => parentStageId === execution.stages[0]?.id,
    )
    assert.deepEqual(
      looks.map(({ name }) => name),
      [
        ...[
          '/health answers',
          'The output has "listening as i-[a-z0-9]+"',
          'The output has no "panic"',
        ],
        ...[
          'requests > 0',
          'errorPercent <= 0',
          'Smoke test',
          ...(program === undefined ? [] : ['vector(3) == 3']),
        ],
      ],
    )
    const watching = looks.filter(({ type }) => type === 'verify')
    assert.ok(watching.every(({ context }) => Number(at(context, 'verification', 'successes')) > 0))
  },

  async 'a deployment that a check finds bad is rolled back, and says why'(fleet, t) {
    const { settings, traffic, port } = await live(fleet, t, 'bad')
    const bad = {
      ...creation('bad', { ...settings, strategy: 'redblack', environment: { VERSION: 'bad' } }),
      ...place,
    }
    const checks = [{ type: 'http', path: '/', contains: '"version":"good"' }]
    const job = [bad, { type: 'verify', checks, rollback: true }]
    const answer = await fleet.ask('POST', '/tasks', {
      application: 'shop',
      description: 'Deploy and verify',
      job,
    })
    const view = await fleet.ends(
      String(at(answer.body, 'ref')).split('/').at(-1) as string,
      'TERMINAL',
    )
    assert.match(
      errorOf(view),
      /^The check "\/ answers" failed: http:\/\/127\.0\.0\.1:\d+\/ answered 200 in \d+ ms, without ""version/,
    )
    assert.deepEqual(await fleet.cluster('shop-bad'), ['shop-bad-v000', '(shop-bad-v001)'])
    assert.equal((await visit(port)).group, 'shop-bad-v000')
    const answers = await traffic.stop()
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
    assert.ok(
      answers.some(({ group }) => group === 'shop-bad-v001'),
      'it had traffic',
    )
    const [failed, good] = await deliveriesOf(fleet, 'shop-bad')
    assert.deepEqual(
      [failed?.slice(0, 2), typeof failed?.[2]],
      [['deployment', 'The stage "verify" failed.'], 'number'],
    )
    assert.deepEqual(good, ['deployment', undefined, undefined])
  },

  async 'the deployment of a pipeline is in the metrics for those who may read its application'(
    fleet,
  ) {
    const stages = [
      { refId: '1', type: 'deploy', clusters: [{ ...place, ...creation('piped', empty) }] },
    ]
    assert.equal(
      (await fleet.ask('POST', '/pipelines', { application: 'shop', name: 'ship', stages })).status,
      200,
    )
    const { body } = await fleet.ask('POST', '/pipelines/shop/ship', { type: 'manual' })
    await fleet.ends(String(at(body, 'ref')).split('/').at(-1) as string, 'SUCCEEDED', 'pipelines')
    const isCounted = async (path: string) => {
      const answer = await fetch(fleet.url() + path, { headers: { 'X-SPINNAKER-USER': 'alice' } })
      return /^fairlead_delivery_deployments\{application="shop"\} [1-9]/m.test(await answer.text())
    }
    await waitUntil(() => isCounted('/metrics'), 'the deployment in the metrics')
    assert.equal(await isCounted('/spectator/metrics'), false, 'they need no login')
  },

  async 'a canary that fails on purpose is stopped with no more than its share, and no request is lost'(
    fleet,
    t,
  ) {
    const { settings, traffic, port } = await live(fleet, t, 'canary')
    const others = [startTraffic(port), startTraffic(port)]
    t.after(() => Promise.all(others.map((each) => each.stop())))
    const check = {
      type: 'metric',
      metric: 'errorPercent',
      bound: 5,
      minRequests: 8,
      intervalSeconds: 1,
    }
    const canary = { steps: [{ percent: 10, checks: [check] }, { percent: 50 }] }
    const view = await fleet.run(
      creation('canary', { ...settings, strategy: 'canary', canary, environment: { FAULTY: '4' } }),
      'TERMINAL',
    )
    assert.match(
      errorOf(view),
      /^The canary shop-canary-v001 was stopped at 10 % of the traffic by step 1 of 2, "Verify at 10 %": .* is \d+.*, wanted <= 5\.$/m,
    )
    assert.deepEqual(await fleet.cluster('shop-canary'), ['shop-canary-v000', '(shop-canary-v001)'])
    const [[, failure, restoredAtMs] = []] = await deliveriesOf(fleet, 'shop-canary')
    assert.deepEqual([typeof failure, typeof restoredAtMs], ['string', 'number'])
    const answers = (await Promise.all([traffic, ...others].map((each) => each.stop()))).flat()
    const met = answers.filter(({ group }) => group.includes('shop-canary-v001'))
    assert.ok(
      met.length >= 8 && met.length <= answers.length / 10,
      `${met.length} of ${answers.length}`,
    )
    const failed = answers.filter(({ status }) => status !== 200)
    assert.ok(
      failed.every(({ status, group }) => status === 500 && group.includes('shop-canary-v001')),
      'all others are answered',
    )
  },

  async 'a canary that is good gets all the traffic, and no request is lost'(fleet, t) {
    const { settings, traffic, port } = await live(fleet, t, 'bird')
    const check = {
      type: 'metric',
      metric: 'errorPercent',
      bound: 5,
      minRequests: 1,
      seconds: 3,
      intervalSeconds: 1,
    }
    const canary = { steps: [{ percent: 50, checks: [check] }] }
    await fleet.deploy('bird', { ...settings, strategy: 'canary', canary })
    assert.deepEqual(await fleet.cluster('shop-bird'), ['(shop-bird-v000)', 'shop-bird-v001'])
    assert.equal((await fleet.group('shop-bird-v001'))?.['trafficPercent'], undefined)
    assert.equal((await visit(port)).group, 'shop-bird-v001')
    const answers = await traffic.stop()
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  },

  async 'checks that cannot be made, or that learn nothing, fail and say so'(fleet) {
    const serverGroupName = await fleet.deploy('mute')
    const failure = async (more: Record<string, unknown>) =>
      errorOf(await fleet.run({ type: 'verify', serverGroupName, ...more }, 'TERMINAL'))
    const short = { seconds: 0 }
    assert.match(await failure({}), /no check: add one to "checks"/)
    assert.match(
      await failure({ checks: [{ type: 'guess' }] }),
      /no check of the type "guess": use one of command, http/,
    )
    assert.match(
      await failure({ checks: [{ type: 'metric', metric: 'requests', bound: 1, ...short }] }),
      /has no value yet/,
    )
    assert.match(
      await failure({ checks: [{ type: 'logs', pattern: 'never said', ...short }] }),
      /No output of 1 instances has/,
    )
    assert.match(
      await failure({ checks: [{ type: 'metric', metric: 'requests', ...short }] }),
      /set "bound"/,
    )
    assert.match(await failure({ checks: [{ type: 'http', ...short }] }), /set "url", or "path"/)
    assert.match(
      await failure({ checks: [{ type: 'command', command: ['false'] }] }),
      /failed with exit code 1/,
    )
    const closed = {
      type: 'http',
      url: 'http://127.0.0.1:1/',
      failures: 1,
      seconds: 60,
      intervalSeconds: 1,
    }
    assert.match(
      await failure({ checks: [closed] }),
      /127\.0\.0\.1:1.* 2 of 2 looks failed, 1 may\./s,
    )
  },
}

test('strategies move real traffic', { concurrency: 3 }, async (t) => {
  const fleet = await startDeployments(t)
  await Promise.all(
    Object.entries(cases).map(([title, run]) =>
      t.test(title, (each: TestContext) => run(fleet, each)),
    ),
  )
})
