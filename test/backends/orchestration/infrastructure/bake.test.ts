import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Execution } from '../../../../packages/engine/orchestration/model.ts'
import type { CallService, ServiceAnswer } from '../../../../packages/ports/service-call.ts'
import { createBakeryBackend } from '../../../../packages/providers/bakery/bakery.ts'
import { bakeTimes } from '../../../../packages/providers/local/bakes/running-bakes.ts'
import { createLocalProvider } from '../../../../packages/providers/local/provider.ts'
import { startInfrastructure, webProgram } from '../../../support/infrastructure.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { at, startEngine, type TestEngine, V } from '../support.ts'

type Answers = (
  method: string,
  path: string,
  body: Record<string, unknown>,
) => ServiceAnswer | undefined

interface Rig {
  readonly engine: TestEngine
  /** Requests that the bakery got: method and path, with the body of a bake. */
  readonly asked: string[]
  readonly bodies: Record<string, unknown>[]
  /** Runs a pipeline to its end, however long the stage pauses. */
  run(definition: Record<string, unknown>, status?: string): Promise<Execution>
}

const ok = (body: unknown): ServiceAnswer => ({ status: 200, body })
const state = (name: string, result: string | null = null) =>
  ok({ id: 's1', resource_id: 'b1', state: name, result })
const done = state('COMPLETED', 'SUCCESS')

/** An external bakery whose answers a test scripts; the rest goes well. */
async function startRig(t: TestContext, answers: Answers = () => undefined): Promise<Rig> {
  const asked: string[] = []
  const bodies: Record<string, unknown>[] = []
  const others: CallService = async (service, { method, path, body }) => {
    if (service !== 'rosco') return { status: 404, body: undefined }
    asked.push(`${method} ${path}`)
    if (method === 'POST') bodies.push(body as Record<string, unknown>)
    const scripted = answers(method, path, body as Record<string, unknown>)
    if (scripted !== undefined) return scripted
    if (path.startsWith('/bakeOptions')) return ok({ id: 'trusty', packageType: 'DEB' })
    if (method === 'POST') return state('RUNNING')
    if (path.includes('/status/')) return done
    const region = path.split('/')[3]
    return ok({
      id: 'b1',
      ami: `ami-${region}`,
      image_name: 'web-1',
      artifact: { type: 'aws/image', reference: `ami-${region}` },
    })
  }
  const engine = await startEngine(t, { others })
  return {
    engine,
    asked,
    bodies,
    async run(definition, status = 'SUCCEEDED') {
      const id = await engine.run(definition)
      const execution = await engine.eventually(async () => {
        engine.clock.pass(2)
        await engine.clock.settled()
        const found = await engine.execution(id)
        return found.status === 'RUNNING' || found.status === 'NOT_STARTED' ? undefined : found
      })
      assert.equal(execution?.status, status, JSON.stringify(execution, undefined, 1))
      return execution as Execution
    },
  }
}

const bake = {
  refId: '1',
  type: 'bake',
  cloudProviderType: 'aws',
  baseOs: 'trusty',
  package: 'web',
  regions: ['east', 'west'],
}
const stageOf = ({ stages }: Execution, refId = '1') =>
  stages.find((stage) => stage.refId === refId)
const errorsOf = ({ stages }: Execution) =>
  stages.flatMap((stage) => at(stage, 'context', 'exception', 'details', 'errors') ?? []).join('\n')

test('a bake stage bakes in each region', async (t) => {
  const { run, bodies } = await startRig(t)
  const trigger = { type: 'git', hash: 'abc', buildInfo: { number: 7, url: 'http://ci/7' } }
  const extendedAttributes = { color: 'blue' }
  const execution = await run({
    trigger,
    stages: [{ ...bake, amiSuffix: '1', extendedAttributes }],
  })
  const details = at(stageOf(execution), 'outputs', 'deploymentDetails') as Record<
    string,
    unknown
  >[]
  assert.deepEqual(
    details.map(({ region, imageId, imageName, baseOs, refId }) => [
      region,
      imageId,
      imageName,
      baseOs,
      refId,
    ]),
    [
      ['east', 'ami-east', 'web-1', 'trusty', '1'],
      ['west', 'ami-west', 'web-1', 'trusty', '1'],
    ],
  )
  assert.deepEqual(at(stageOf(execution), 'outputs', 'artifacts'), [
    { type: 'aws/image', reference: 'ami-east' },
    { type: 'aws/image', reference: 'ami-west' },
  ])
  const {
    user: _user,
    spinnaker_execution_id: id,
    ...request
  } = bodies[0] as Record<string, unknown>
  assert.equal(id, execution.id)
  assert.deepEqual(request, {
    build_number: 7,
    build_info_url: 'http://ci/7',
    commit_hash: 'abc',
    package: 'web',
    base_os: 'trusty',
    ami_suffix: '1',
    extended_attributes: extendedAttributes,
    cloud_provider_type: 'aws',
  })
  const children = execution.stages.filter(
    ({ parentStageId }) => parentStageId === stageOf(execution)?.id,
  )
  assert.deepEqual(
    children.map(({ name, context }) => [
      name,
      context['previouslyBaked'],
      context['bakePackageName'],
    ]),
    [
      ['Bake in east', false, 'web'],
      ['Bake in west', false, 'web'],
    ],
  )
})

const single = { ...bake, regions: undefined, region: 'east' }

test('a bake receives artifacts that earlier stages have bound', async (t) => {
  const { run, bodies } = await startRig(t)
  const boundArtifact = { type: 'git/repo', reference: 'https://example.org/web.git' }
  const binding = V('0', { resolvedExpectedArtifacts: [{ id: 'source', boundArtifact }] })
  await run({
    stages: [binding, { ...single, requisiteStageRefIds: ['0'], packageArtifactIds: ['source'] }],
  })
  assert.deepEqual(bodies[0]?.['package_artifacts'], [boundArtifact])
})

test('an unknown base image fails the stage in the words of the bakery', async (t) => {
  const missing = { status: 404, body: { status: 'NOT_FOUND', messages: ['no trusty here'] } }
  const { run, asked } = await startRig(t, (_method, path) =>
    path.startsWith('/bakeOptions') ? missing : undefined,
  )
  assert.match(errorsOf(await run({ stages: [single] }, 'TERMINAL')), /no trusty here/)
  assert.deepEqual(asked, ['GET /bakeOptions/aws/baseImages/trusty'])
})

test('a request for a bake is repeated up to five times', async (t) => {
  for (const [failures, status, requests] of [
    [4, 'SUCCEEDED', 5],
    [9, 'TERMINAL', 5],
  ] as const) {
    let left = failures as number
    const { run, asked } = await startRig(t, (method) =>
      method === 'POST' && left-- > 0 ? { status: 502, body: {} } : undefined,
    )
    await run({ stages: [single] }, status)
    assert.equal(asked.filter((line) => line.startsWith('POST')).length, requests)
  }
})

test('a rejected bake is not repeated', async (t) => {
  const { run, asked } = await startRig(t, (method) =>
    method === 'POST' ? { status: 400, body: { message: 'boom' } } : undefined,
  )
  assert.match(errorsOf(await run({ stages: [single] }, 'TERMINAL')), /boom/)
  assert.equal(asked.filter((line) => line.startsWith('POST')).length, 1)
})

test('a rebake of stage or trigger reaches the bakery', async (t) => {
  const { run, asked } = await startRig(t)
  await run({ stages: [{ ...single, rebake: true }] })
  await run({ stages: [single], trigger: { type: 'manual', rebake: true } })
  const posted = 'POST /api/v1/east/bake?rebake=1'
  assert.deepEqual(
    asked.filter((line) => line.startsWith('POST')),
    [posted, posted],
  )
})

const courses: [what: string, states: ServiceAnswer[], status: string, bakes: number][] = [
  ['waits through 404', [{ status: 404, body: undefined }, state('RUNNING'), done], 'SUCCEEDED', 1],
  ['waits through unknown states', [state('SUSPENDED'), state('PENDING'), done], 'SUCCEEDED', 1],
  ['fails with a completed failure', [state('COMPLETED', 'FAILURE')], 'TERMINAL', 1],
  ['fails with a cancelled bake', [state('RUNNING'), state('CANCELED', 'FAILURE')], 'TERMINAL', 1],
  ['repeats a bake that never ran', [state('PENDING'), state('CANCELLED'), done], 'SUCCEEDED', 2],
]

for (const [what, states, status, bakes] of courses) {
  test(`a bake stage ${what}`, async (t) => {
    const left = [...states]
    const { run, asked } = await startRig(t, (_method, path) => {
      if (path.includes('/logs/')) return ok({ logsContent: 'first\nlast words\n' })
      return path.includes('/status/') ? left.shift() : undefined
    })
    const execution = await run({ stages: [single] }, status)
    assert.equal(asked.filter((line) => line.startsWith('POST')).length, bakes)
    if (status === 'TERMINAL') assert.match(errorsOf(execution), /last words/)
  })
}

test('a bake whose start is answered long after the cancellation is cancelled', async (t) => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  t.after(() => answer())
  const asked: string[] = []
  const others: CallService = async (service, { method, path }) => {
    if (service !== 'rosco') return { status: 404, body: undefined }
    asked.push(`${method} ${path}`)
    if (path.startsWith('/bakeOptions')) return ok({ id: 'trusty', packageType: 'DEB' })
    if (method === 'POST') await answered
    return state('RUNNING')
  }
  const engine = await startEngine(t, { others })
  const id = await engine.run({ stages: [{ ...bake, regions: ['east'] }] })
  await engine.eventually(async () => asked.some((call) => call.startsWith('POST')))
  await engine.ask('PUT', `/pipelines/${id}/cancel`)
  // Longer than the undoing waits for an answer.
  await setTimeout(6000)
  answer()
  assert.ok(await engine.eventually(async () => asked.includes('GET /api/v1/east/cancel/s1')))
})

test('cancelling the stage cancels the bake', async (t) => {
  const { engine, asked } = await startRig(t, (_method, path) =>
    path.includes('/status/') ? state('RUNNING') : undefined,
  )
  const id = await engine.run({ stages: [single] })
  await engine.eventually(async () => asked.some((line) => line.includes('/status/')))
  await engine.ask('PUT', `/pipelines/${id}/cancel`)
  assert.ok(await engine.eventually(async () => asked.includes('GET /api/v1/east/cancel/s1')))
})

test('a pipeline bakes a program and deploys it', async (t) => {
  const folder = createFolder('packages')
  t.after(() => removeFolder(folder))
  mkdirSync(join(folder, 'shop'))
  writeFileSync(join(folder, 'shop', 'server.mjs'), webProgram)
  const file = `command: [${process.execPath}, server.mjs]\nready: { path: /health, intervalSeconds: 0.2 }\n`
  writeFileSync(join(folder, 'shop', 'fairlead-image.yml'), file)
  const infra = await startInfrastructure(t, {
    beside: [createBakeryBackend([createLocalProvider({ ...bakeTimes, startMs: 600_000 })])],
    bakery: { 'local.packages': folder },
  })
  const others: CallService = async (service, { method, path, body, headers }) =>
    service === 'rosco' || service === 'clouddriver'
      ? infra.backends.ask(service, method, path, body, headers)
      : { status: 404, body: undefined }
  const realClock = { now: Date.now, pass: () => {}, settled: async () => {} }
  const engine = await startEngine(t, { others, clock: realClock })
  const place = { cloudProvider: 'local', credentials: 'local', account: 'local', region: 'local' }
  const stages = [
    {
      refId: 'bake',
      type: 'bake',
      cloudProviderType: 'local',
      baseOs: 'directory',
      package: 'shop',
      amiSuffix: '2',
      region: 'local',
    },
    {
      refId: 'deploy',
      type: 'deploy',
      requisiteStageRefIds: ['bake'],
      clusters: [
        { ...place, application: 'shop', stack: 'main', capacity: { min: 1, max: 1, desired: 1 } },
      ],
    },
  ]
  await engine.ends(await engine.run({ application: 'shop', stages }), 'SUCCEEDED')
  const [group] = await infra.read<Record<string, unknown>[]>('/applications/shop/serverGroups')
  assert.equal(group?.['name'], 'shop-main-v000')
  assert.deepEqual(
    [at(group, 'buildInfo', 'package_name'), at(group, 'buildInfo', 'version')],
    ['shop', '2'],
  )
})
