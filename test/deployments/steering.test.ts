/** Users who steer the run of another deploy nothing with its rights: every operation by every kind of user, over HTTP. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Execution, Stage } from '../../packages/engine/orchestration/model.ts'
import { at } from '../backends/orchestration/support.ts'
import { creation, type Deployments, sized, startDeployments } from '../support/deployments.ts'
import { waitFor } from '../support/wait-until.ts'

/** Alice may deploy to the account `prod`, the others may not. */
const users = {
  alice: { who: 'the starter', may: true, isHeard: true },
  bob: { who: 'a user with EXECUTE', may: false, isHeard: true },
  carol: { who: 'a user with WRITE', may: false, isHeard: true },
  mallory: { who: 'a stranger', may: true, isHeard: false },
} as const

const permissions = {
  READ: ['ops', 'readers'],
  WRITE: ['ops', 'writers'],
  EXECUTE: ['ops', 'readers'],
}
const environments = [
  { name: 'staging', accounts: ['dev'], regions: ['east'] },
  { name: 'production', accounts: ['prod'], mayPromote: ['ops'] },
  {
    name: 'later',
    accounts: ['dev'],
    regions: ['west'],
    mayPromote: ['ops'],
    constraints: [{ type: 'soakTime', minutes: 60 }],
  },
]

const begun = /RUNNING|SUCCEEDED/

class Run {
  readonly fleet: Deployments
  readonly path: string

  constructor(fleet: Deployments, path: string) {
    this.fleet = fleet
    this.path = path
  }

  async stage(refId: string, status = /./): Promise<Stage> {
    return waitFor(
      async () => {
        const { stages } = await this.fleet.read<Execution & Record<string, unknown>>(this.path)
        const found = stages.find((stage) => stage.refId === refId)
        return found !== undefined && status.test(found.status) ? found : undefined
      },
      () => `stage ${refId} of ${this.path} to be ${status}`,
    )
  }

  async patch(user: string, refId: string, changes: object): Promise<number> {
    const { id } = await this.stage(refId)
    return (await this.fleet.ask('PATCH', `${this.path}/stages/${id}`, changes, user)).status
  }

  async restart(user: string, refId: string): Promise<number> {
    const { id } = await this.stage(refId)
    return (await this.fleet.ask('PUT', `${this.path}/stages/${id}/restart`, {}, user)).status
  }

  /** What its author wanted: the wait is over, and the judgment says yes. */
  async goOn(): Promise<void> {
    await this.stage('wait', begun)
    await this.patch('alice', 'wait', { skipRemainingWait: true })
    await this.stage('judge', begun)
    await this.patch('alice', 'judge', { judgmentStatus: 'continue' })
  }

  async ended(): Promise<Execution> {
    const isOver = ({ status }: Execution) => ['SUCCEEDED', 'TERMINAL'].includes(status)
    const look = async () => {
      const run = await this.fleet.read<Execution & Record<string, unknown>>(this.path)
      return isOver(run) ? run : undefined
    }
    return waitFor(look, () => `the end of ${this.path}`)
  }
}

async function start(fleet: Deployments, stages: object[], user = 'alice'): Promise<Run> {
  const { status, body } = await fleet.ask(
    'POST',
    '/pipelines/start',
    { application: 'shop', name: 'ship', stages },
    user,
  )
  assert.ok(status < 300, JSON.stringify(body))
  return new Run(fleet, String(at(body, 'ref')))
}

const place = { cloudProvider: 'local', account: 'prod', credentials: 'prod', region: 'east' }

function shipping(stack: string, judgment: object): object[] {
  return [
    {
      refId: 'vars',
      type: 'evaluateVariables',
      name: 'vars',
      variables: [{ key: 'image', value: 'shop:1.0.0' }],
    },
    { refId: 'wait', requisiteStageRefIds: ['vars'], type: 'wait', waitTime: 600 },
    { refId: 'judge', requisiteStageRefIds: ['wait'], type: 'manualJudgment', ...judgment },
    {
      ...creation(stack, place),
      refId: 'ship',
      requisiteStageRefIds: ['judge'],
      imageId: '${image}',
      capacity: sized(0),
    },
  ]
}

type Operation = (run: Run, user: string) => Promise<number>

const operations: Record<string, { operate: Operation; isAfter?: true; judgment?: object }> = {
  restart: { operate: (run, user) => run.restart(user, 'ship'), isAfter: true },
  patch: { operate: (run, user) => run.patch(user, 'vars', { outputs: { image: 'shop:1.1.0' } }) },
  skip: { operate: (run, user) => run.patch(user, 'wait', { skipRemainingWait: true }) },
  judge: {
    operate: async (run, user) => {
      await run.patch('alice', 'wait', { skipRemainingWait: true })
      await run.stage('judge', begun)
      return run.patch(user, 'judge', { judgmentStatus: 'continue' })
    },
    judgment: { propagateAuthenticationContext: true },
  },
  'ignore failure': { operate: (run, user) => run.patch(user, 'ship', { continuePipeline: true }) },
}

test('a deployment needs the rights of all who steered its run', async (t) => {
  const fleet = await startDeployments(t)
  const application = {
    name: 'shop',
    email: 'team@example.test',
    cloudProviders: 'local',
    permissions,
    environments,
  }
  await fleet.run({ type: 'updateApplication', application })
  const rows = Object.entries(operations).flatMap(([title, operation]) =>
    Object.entries(users).map(([user, expected]) => ({ title, user, ...operation, ...expected })),
  )
  await Promise.all(
    rows.map(({ title, user, who, may, isHeard, operate, isAfter, judgment = {} }, row) =>
      t.test(`${title} by ${who}`, async () => {
        const run = await start(fleet, shipping(`s${row}`, judgment))
        if (isAfter) await run.goOn()
        if (isAfter) assert.equal((await run.ended()).status, 'SUCCEEDED')
        else await run.stage('wait', begun)
        assert.equal(await operate(run, user), isHeard ? 200 : 403)
        if (!isAfter) await run.goOn()
        const ended = await run.ended()
        const stage = await run.stage('ship')
        assert.equal(stage.status === 'SUCCEEDED', may, JSON.stringify(stage.context))
        const said = String(at(stage, 'context', 'exception', 'details', 'errors'))
        if (!may) assert.match(said, new RegExp(`account prod: ${user}, who steered the run`))
        const steerers = (ended.authentication.steeredBy ?? []).map((each) => each.user)
        assert.deepEqual(steerers, may || title === 'judge' ? [] : [user])
      }),
    ),
  )
  await t.test('a promotion needs the role of all who steered it', async () => {
    const instance = { account: 'dev', credentials: 'dev' }
    await fleet.run(creation('', { ...place, ...instance, ready: { path: '/health' } }))
    const promotion = [{ refId: '1', type: 'promote', to: 'production' }]
    const run = await start(fleet, promotion)
    assert.equal((await run.ended()).status, 'SUCCEEDED')
    await fleet.run(
      creation('', { ...place, ...instance, imageId: 'shop:1.1.0', strategy: 'redblack' }),
    )
    assert.equal(await run.restart('mallory', '1'), 403)
    for (const user of ['bob', 'carol', 'alice']) {
      assert.equal(await run.restart(user, '1'), 200)
      const ended = await waitFor(
        async () => {
          const found = await run.ended()
          return found.status === 'TERMINAL' ? found : undefined
        },
        () => `the refusal of ${run.path}`,
      )
      assert.match(JSON.stringify(ended.stages), /bob may not promote to production/)
    }
    // Carol may deploy to the account, and not promote to the environment.
    const soaking = await start(fleet, [{ ...promotion[0], from: 'staging', to: 'later' }])
    const soak = await waitFor(
      async () =>
        (await fleet.read<Execution & Record<string, unknown>>(soaking.path)).stages.find(
          ({ context, status }) => context['soak'] !== undefined && status === 'RUNNING',
        ),
      () => 'the soak time',
    )
    assert.equal(
      await soaking.patch('carol', soak.refId, {
        soak: { ...(soak.context['soak'] as object), minutes: 0 },
      }),
      200,
    )
    assert.match(JSON.stringify((await soaking.ended()).stages), /carol may not promote to later/)
    const again = await start(fleet, promotion)
    assert.equal((await again.ended()).status, 'SUCCEEDED')
    const groups = (await fleet.groups()).filter(
      (group) => group['account'] === 'prod' && group.capacity.desired > 0,
    )
    assert.match(JSON.stringify(groups), /shop:1\.1\.0/)
  })
})
