import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definitionsBackend } from '../../../../packages/engine/definitions/definitions.ts'
import type { Stage } from '../../../../packages/engine/orchestration/model.ts'
import { createBuildStages } from '../../../../packages/engine/orchestration/stages/builds/build-stages.ts'
import type {
  CallStep,
  TaskContext,
} from '../../../../packages/engine/orchestration/stages/stage-type.ts'
import { openIgor } from '../../../../packages/external/igor.ts'
import { at, V } from '../support.ts'
import { type Answer, answersOfApp, app, build, startBuildEngine } from './fake-build-service.ts'

function errorOf(stage: Stage): string {
  return String(at(stage, 'context', 'exception', 'details', 'errors', 0))
}

test('a build stage starts a build, follows it and takes its results over', async (t) => {
  const running = build(8, { building: true, result: undefined })
  const image = { type: 'docker/image', name: 'shop', version: '8', reference: 'shop:8' }
  const file = { type: 'jenkins/file', name: 'svc', reference: 'shop.deb' }
  const { engine, calls, log, runs } = await startBuildEngine(t, {
    'PUT /masters/ci/jobs/team/job/my%20svc': [[202], [200, '41']],
    'GET /builds/queue/ci/41': [[404], [200, { number: null }], [503], [200, { number: 8 }]],
    'GET /builds/status/8/ci/team/job/my%20svc': [
      [404],
      [200, running],
      [500],
      [200, { ...running, building: false, result: 'BUILDING' }],
      [200, build(8, { artifacts: [file] })],
    ],
    'GET /builds/properties/8/out.yml/ci/team/job/my%20svc': [
      [500],
      [200, { version: '8', job: 'x', text: '${1 + 1}' }],
    ],
    'GET /builds/artifacts/8/ci/team/job/my%20svc': [[500], [200, [image]]],
  })
  const stage = await runs({
    ...app,
    job: 'team/job/my svc',
    parameters: { ENV: 'prod', COUNT: 3, NONE: null },
    propertyFile: 'out.yml',
    expectedArtifacts: [{ id: 'a', matchArtifact: { type: 'docker/image' } }],
  })

  assert.deepEqual(
    stage.tasks.map(({ name }) => name),
    'startJenkinsJob waitForJenkinsJobStart monitorJenkinsJob getBuildProperties getBuildArtifacts bindProducedArtifacts'.split(
      ' ',
    ),
  )
  const [first, second] = calls
  assert.equal(log()[0], 'PUT /masters/ci/jobs/team/job/my%20svc?ENV=prod&COUNT=3')
  assert.deepEqual(
    [first?.path, first?.body],
    [second?.path, second?.body],
    'the same order is repeated',
  )
  assert.equal(first?.body, stage.startTime)
  assert.equal(first?.headers?.['x-spinnaker-execution-id']?.length, 26)
  assert.deepEqual([stage.context['queuedBuild'], stage.context['buildNumber']], ['41', 8])
  assert.equal(at(stage.context, 'buildInfo', 'result'), 'SUCCESS')
  assert.equal(stage.context['job'], 'team/job/my svc', 'a property does not steer the stage')
  assert.deepEqual(
    [stage.context['version'], stage.outputs['version'], stage.outputs['job']],
    ['8', '8', 'x'],
  )
  assert.deepEqual(stage.outputs['propertyFileContents'], {
    version: '8',
    job: 'x',
    text: '${1 + 1}',
  })
  assert.equal(stage.context['text'], '${1 + 1}', 'what a build says is no expression')
  assert.deepEqual(stage.outputs['artifacts'], [image, file])
  assert.equal(
    at(stage.outputs, 'resolvedExpectedArtifacts', 0, 'boundArtifact', 'reference'),
    'shop:8',
  )
  assert.equal(stage.context['waiting.for'], undefined)
  assert.equal(log().at(-1), 'GET /builds/artifacts/8/ci/team/job/my%20svc?propertyFile=out.yml')
  assert.ok(
    (stage.startTime ?? 0) + 30_000 <= engine.clock.now(),
    'an order in progress is repeated after 30 s',
  )
})

const results: [
  result: string,
  more: Record<string, unknown>,
  status: string,
  error: RegExp | undefined,
][] = [
  [
    'FAILURE',
    {},
    'TERMINAL',
    /^Build 7 of "app" on "ci" failed: 2 of 5 tests failed\. See https:\/\/ci\.example\/app\/7\.$/,
  ],
  ['UNSTABLE', {}, 'TERMINAL', /is unstable, .*markUnstableAsSuccessful/],
  ['UNSTABLE', { markUnstableAsSuccessful: true }, 'SUCCEEDED', undefined],
  ['NOT_BUILT', {}, 'TERMINAL', /^Build 7 of "app" on "ci" was not built: /],
  ['ABORTED', {}, 'CANCELED', /was aborted: 2 of 5 tests failed\. "make" was stopped\. See/],
]
test('the result of the build is that of the stage', async (t) => {
  for (const [result, more, status, error] of results) {
    await t.test(`${result} with ${JSON.stringify(more)} is ${status}`, async (t) => {
      const tests = [{ failCount: 2, totalCount: 5 }]
      const { runs } = await startBuildEngine(t, {
        ...answersOfApp,
        'GET /builds/status/7/ci/app': [
          [
            200,
            build(7, {
              result,
              testResults: tests,
              ...(result === 'ABORTED' && { reason: '"make" was stopped.' }),
            }),
          ],
        ],
        'GET /builds/properties/7/out.json/ci/app': [[200, { culprit: 'ann' }]],
      })
      const stage = await runs({ ...app, ...more, propertyFile: 'out.json' }, status)
      assert.equal(at(stage.outputs, 'buildInfo', 'result'), result)
      assert.equal(stage.outputs['culprit'], 'ann', 'its properties are there in any case')
      if (error !== undefined) assert.match(errorOf(stage), error)
    })
  }
})

test('a build that is taken out of the queue cancels its stage', async (t) => {
  const { runs } = await startBuildEngine(t, {
    ...answersOfApp,
    'GET /builds/queue/ci/41': [[200, { number: null, cancelled: true }]],
  })
  assert.equal(
    errorOf(await runs(app, 'CANCELED')),
    'The build of "app" was taken out of the queue of "ci".',
  )
})

test('a build stage without waiting ends when the build has a number', async (t) => {
  const { runs, log } = await startBuildEngine(t, answersOfApp)
  const stage = await runs({ ...app, waitForCompletion: 'false', propertyFile: 'out.yml' })
  assert.equal(stage.context['buildNumber'], 7)
  assert.deepEqual(log(), ['PUT /masters/ci/jobs/app', 'GET /builds/queue/ci/41?job=app'])
})

test('a property file that is missing or empty fails the stage', async (t) => {
  const rows: [host: string, answer: Answer, status: string, error: RegExp][] = [
    [
      'ci',
      [200, {}],
      'TERMINAL',
      /The property file "p" of build 7 of "app" on "ci" is empty or cannot be parsed\./,
    ],
    [
      'ci',
      [404, { message: 'no file "p"' }],
      'TERMINAL',
      /"p" of build 7 of "app" on "ci" cannot be read: no file "p"/,
    ],
    ['travis-org', [200, {}], 'SUCCEEDED', /undefined/],
  ]
  for (const [host, answer, status, error] of rows) {
    const { runs } = await startBuildEngine(t, {
      [`PUT /masters/${host}/jobs/app`]: [[200, '41']],
      [`GET /builds/queue/${host}/41`]: [[200, { number: 7 }]],
      [`GET /builds/status/7/${host}/app`]: [[200, build(7)]],
      [`GET /builds/properties/7/p/${host}/app`]: [answer],
      [`GET /builds/artifacts/7/${host}/app`]: [[200, undefined]],
    })
    assert.match(
      errorOf(await runs({ ...app, type: 'travis', master: host, propertyFile: 'p' }, status)),
      error,
    )
  }
})

test('what the build service refuses is in the error', async (t) => {
  const refusal = { message: '"z" is not among the choices of TIER: a, b' }
  const { runs, log } = await startBuildEngine(t, { 'PUT /masters/ci/jobs/app': [[400, refusal]] })
  const stage = await runs({ ...app, parameters: { TIER: 'z' } }, 'TERMINAL')
  assert.equal(errorOf(stage), `The build of "app" on "ci" cannot be started: ${refusal.message}`)
  assert.equal(log().length, 1)
  assert.match(
    errorOf(await runs({ type: 'gitlab-ci' }, 'TERMINAL')),
    /names no build server. Set "master"/,
  )
})

const pauses: [
  where: 'embedded' | 'external',
  seconds: number,
  backoffPeriodMs: number | undefined,
  pollMs: number,
][] = [
  ['embedded', 0, undefined, 250],
  ['embedded', 20, undefined, 1000],
  ['embedded', 600, undefined, 5000],
  ['external', 0, undefined, 1000],
  ['external', 600, undefined, 10_000],
  ['embedded', 600, 20_000, 20_000],
]
const external = openIgor(assert.fail).pauses
const pausesOf = {
  embedded: { ...external, least: 250, most: 2000, queued: 5000 },
  external,
} as const
test('pauses between two looks grow with the age of the stage', async () => {
  const queue = createBuildStages({ host: undefined, job: undefined })[0]?.steps[1] as CallStep
  for (const [where, seconds, backoffPeriodMs, pollMs] of pauses) {
    const context = {
      stage: { startTime: 1000, context: { ...app, queuedBuild: '41', backoffPeriodMs } },
      now: 1000 + seconds * 1000,
      builds: { pauses: pausesOf[where], queueItem: async () => ({}) },
    }
    const result = await queue.execute(context as unknown as TaskContext)
    assert.deepEqual([where, seconds, result.pollMs], [where, seconds, pollMs])
  }
})

test('a cancelled stage stops its build', async (t) => {
  await t.test('in the queue', async (t) => {
    const { engine, start, log } = await startBuildEngine(t, {
      ...answersOfApp,
      'GET /builds/queue/ci/41': [[200, { number: null, why: 'No agent is free.' }]],
    })
    const id = await start(app)
    const waiting = await engine.eventually(
      async () => (await engine.stage(id, '1')).context['waiting.for'],
    )
    assert.equal(waiting, 'No agent is free')
    await engine.ask('PUT', `/pipelines/${id}/cancel`)
    await engine.eventually(async () => log().includes('PUT /masters/ci/jobs/app/stop/41/0'))
    assert.equal(log().at(-1), 'PUT /masters/ci/jobs/app/stop/41/0')
  })

  await t.test('while it runs, in a folder', async (t) => {
    const { engine, start, log } = await startBuildEngine(t, {
      'PUT /masters/ci/jobs/team/job/svc': [[200, '41']],
      'GET /builds/queue/ci/41': [[200, { number: 7 }]],
      'GET /builds/status/7/ci/team/job/svc': [[200, build(7, { building: true })]],
      'PUT /masters/ci/jobs/stop/41/7': [[200, true]],
    })
    const id = await start({ ...app, job: 'team/job/svc' })
    await engine.eventually(async () => (await engine.stage(id, '1')).context['buildInfo'])
    await engine.ask('PUT', `/pipelines/${id}/cancel`)
    await engine.eventually(async () =>
      log().includes('PUT /masters/ci/jobs/stop/41/7?jobName=team%2Fjob%2Fsvc'),
    )
    assert.equal(log().at(-1), 'PUT /masters/ci/jobs/stop/41/7?jobName=team%2Fjob%2Fsvc')
  })

  await t.test('during its order', async (t) => {
    const asked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<Answer>()
    const { engine, start, log } = await startBuildEngine(t, {
      ...answersOfApp,
      'PUT /masters/ci/jobs/app': () => {
        asked.resolve()
        return answered.promise
      },
      'GET /builds/status/7/ci/app': [[200, build(7, { building: true })]],
    })
    const id = await start(app)
    await asked.promise
    await engine.ask('PUT', `/pipelines/${id}/cancel`)
    await engine.ends(id, 'CANCELED')
    answered.resolve([200, '41'])
    await engine.eventually(async () => log().includes('PUT /masters/ci/jobs/app/stop/41/7'))
    assert.equal(log().at(-1), 'PUT /masters/ci/jobs/app/stop/41/7')
  })
})

test('a stage that runs out of time stops its build and says why', async (t) => {
  const running = build(7, { building: true, result: null })
  const { runs, log } = await startBuildEngine(t, {
    ...answersOfApp,
    'GET /builds/status/7/ci/app': [[200, running]],
  })
  const stage = await runs({ ...app, stageTimeoutMs: 60_000 }, 'TERMINAL')
  assert.match(
    errorOf(stage),
    /"monitorJenkinsJob" did not end within 60 s: build 7 of "app" on "ci" has no result yet\./,
  )
  assert.ok(log().includes('PUT /masters/ci/jobs/app/stop/41/7'), log().join('\n'))
})

test('a restarted stage starts a build of its own', async (t) => {
  const { engine, start, ends, calls } = await startBuildEngine(t, {
    ...answersOfApp,
    'PUT /masters/ci/jobs/app': [
      [200, '41'],
      [200, '42'],
    ],
    'GET /builds/queue/ci/42': [[200, { number: 8 }]],
    'GET /builds/status/7/ci/app': [[200, build(7, { result: 'FAILURE' })]],
    'GET /builds/status/8/ci/app': [[200, build(8)]],
    'GET /builds/artifacts/8/ci/app': [[200, []]],
    'GET /builds/properties/7/p/ci/app': [[200, { version: '7' }]],
    'GET /builds/properties/8/p/ci/app': [[200, { tag: '8' }]],
  })
  const id = await start({ ...app, propertyFile: 'p' })
  const failed = await ends(id, 'TERMINAL')
  assert.equal(
    (await engine.ask('PUT', `/pipelines/${id}/stages/${failed.id}/restart`, {})).status,
    200,
  )
  const stage = await ends(id, 'SUCCEEDED')
  const orders = calls.filter(({ method }) => method === 'PUT').map(({ body }) => body)
  assert.deepEqual(orders, [failed.startTime, stage.startTime])
  assert.notEqual(orders[0], orders[1])
  assert.deepEqual(
    [stage.context['buildNumber'], stage.context['tag'], stage.context['version']],
    [8, '8', undefined],
  )
  assert.equal(at(stage.context, 'restartDetails', 'previousBuildInfo', 'number'), 7)
  assert.deepEqual([stage.outputs['tag'], stage.outputs['version']], ['8', undefined])
})

test('a script stage runs the job of the configuration', async (t) => {
  const { runs, log } = await startBuildEngine(t, answersOfApp, {
    script: { host: 'ci', job: 'app' },
  })
  const stage = await runs({
    type: 'script',
    command: 'make smoke',
    repoUrl: 'git@example:ops',
    account: 'prod',
    region: 'east',
  })
  const query = 'COMMAND=make%20smoke&REGION_PARAM=east&ENV_PARAM=prod&REPO_URL=git%40example%3Aops'
  assert.equal(log()[0], `PUT /masters/ci/jobs/app?${query}`)
  assert.deepEqual(
    stage.tasks.map(({ name }) => name),
    ['startScript', 'waitForScriptStart', 'monitorScript', 'getBuildArtifacts'],
  )
  assert.deepEqual(
    [stage.context['master'], stage.context['job'], stage.context['REPO_URL']],
    ['ci', 'app', 'git@example:ops'],
  )
})

test('stages without a build server say what to use instead', async (t) => {
  const { engine, runs } = await startBuildEngine(t, {}, { backends: [definitionsBackend] })
  assert.match(
    errorOf(await runs({ type: 'script', command: 'true' }, 'TERMINAL')),
    /Set script\.master to a connected build server/,
  )
  assert.match(
    errorOf(await runs({ type: 'concourse' }, 'TERMINAL')),
    /"concourse": run a job .* with a stage of the type "jenkins"/,
  )
  const definition = { application: 'app', name: 'p', stages: [{ type: 'wercker', name: 'Build' }] }
  const { body: findings } = await engine.ask('POST', '/findings/pipeline', definition)
  assert.match(
    JSON.stringify(findings),
    /"stage":"Build","message":"[^}]*\\"wercker\\": run a job /,
  )
  const { body } = await engine.ask('GET', '/capabilities/stageTypes')
  const script = (at(body, 'stageTypes') as Record<string, unknown>[]).find(
    ({ type }) => type === 'script',
  )
  assert.equal(script?.['runsHere'], false)
})

test('expressions read the build of the trigger', async (t) => {
  const { engine } = await startBuildEngine(t, {})
  const buildInfo = build(9, { scm: [{ branch: 'main', sha1: 'c0ffee' }] })
  const stages = [
    V('1', {
      number: '${trigger.buildInfo.number}',
      sha: '${scmInfo.sha1}',
      tag: '${trigger.properties.tag}',
    }),
  ]
  const id = await engine.run({
    stages,
    trigger: { type: 'jenkins', buildInfo, properties: { tag: 'v9' } },
  })
  await engine.ends(id, 'SUCCEEDED')
  const { number, sha, tag } = (await engine.stage(id, '1')).outputs
  assert.deepEqual([number, sha, tag], [9, 'c0ffee', 'v9'])
})
