/** Triggers that an instance of a pipeline template inherits, with definitions, events and orchestration embedded. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import type { Execution } from '../../../packages/engine/orchestration/model.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration-backend.ts'
import { type Backends, startBackends } from '../../support/backends.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { createRecording } from './recording.ts'

const pauses = { orchestratorMs: 10, buildMs: 1, cronMs: 5 }

interface Platform {
  backends: Backends
  now: { ms: number }
  saveTemplate(pipeline: JsonObject, variables?: JsonObject[]): Promise<void>
  saveInstance(id: string, more?: JsonObject): Promise<void>
  runs(id: string): Promise<Execution[]>
  /** Waits for that many runs of a pipeline, and checks that there are no more. */
  untilRuns(id: string, count: number): Promise<Execution[]>
  webhook(source: string): Promise<void>
}

async function startPlatform(t: TestContext): Promise<Platform> {
  const now = { ms: Date.parse('2031-01-01T00:00:00Z') }
  const services = [definitionsBackend, orchestrationBackend, createEventsBackend(pauses)]
  const backends = await startBackends(t, services, {
    now: () => now.ms,
    others: async () => ({ status: 404, body: undefined }),
  })
  const { ask } = backends
  const runs = async (id: string) =>
    (await ask('orca', 'GET', `/pipelines?pipelineConfigIds=${id}&limit=50`)).body as Execution[]
  return {
    backends,
    now,
    runs,
    async saveTemplate(pipeline, variables = []) {
      const stages = [{ refId: '1', type: 'wait', waitTime: 0 }]
      const template = { id: 'rope', schema: 'v2', variables, pipeline: { stages, ...pipeline } }
      const stored = await ask('front50', 'GET', '/v2/pipelineTemplates/rope')
      const [method, path] =
        stored.status === 200
          ? ['PUT', '/v2/pipelineTemplates/rope']
          : ['POST', '/v2/pipelineTemplates']
      const answer = await ask('front50', method as string, path as string, template)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    },
    async saveInstance(id, more = {}) {
      const definition = {
        id,
        name: id,
        application: 'demo',
        type: 'templatedPipeline',
        schema: 'v2',
        stages: [],
      }
      const answer = await ask('front50', 'POST', '/pipelines', {
        ...{ ...definition, template: { reference: 'spinnaker://rope' }, variables: {} },
        ...more,
      })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    },
    async untilRuns(id, count) {
      await waitUntil(async () => (await runs(id)).length >= count, `${count} runs of ${id}`)
      await sleep(30)
      const found = await runs(id)
      assert.equal(found.length, count, id)
      return found
    },
    async webhook(source) {
      const { status, body } = await ask('echo', 'POST', `/webhooks/webhook/${source}`, {})
      assert.equal(status, 200, JSON.stringify(body))
    },
  }
}

const webhook = (source: string, more: JsonObject = {}) => ({
  id: source,
  type: 'webhook',
  enabled: true,
  source,
  ...more,
})

test('inherited triggers fire unless excluded or replaced', async (t) => {
  const { saveTemplate, saveInstance, untilRuns, webhook: send } = await startPlatform(t)
  await saveTemplate({ triggers: [webhook('ci')] })
  await saveInstance('plain')
  await saveInstance('excluding', { exclude: ['triggers'], triggers: [webhook('own')] })
  await saveInstance('replacing', { triggers: [webhook('ci', { source: 'other' })] })
  await saveInstance('adding', { triggers: [webhook('own')] })

  await send('ci')
  await send('own')

  const [run] = await untilRuns('plain', 1)
  assert.deepEqual(
    [run?.trigger.type, run?.trigger['source'], run?.name],
    ['webhook', 'ci', 'plain'],
  )
  await untilRuns('adding', 2)
  await untilRuns('excluding', 1)
  await untilRuns('replacing', 0)
})

test('a template that changes changes the triggers of its instances', async (t) => {
  const { saveTemplate, saveInstance, untilRuns, webhook: send } = await startPlatform(t)
  await saveTemplate({ triggers: [webhook('before')] })
  await saveInstance('p')
  await send('before')
  await untilRuns('p', 1)
  await saveTemplate({ triggers: [webhook('after')] })
  await send('before')
  await send('after')
  const sources = (await untilRuns('p', 2)).map(({ trigger }) => trigger['source'])
  assert.deepEqual(sources.sort(), ['after', 'before'])
})

const image = {
  type: 'docker',
  account: 'reg',
  repository: '${ templateVariables.repository }',
  tag: 'v\\d+',
  enabled: true,
}
const wanted = {
  id: 'image',
  matchArtifact: { type: 'docker/image', name: 'r.io/${ templateVariables.repository }' },
  usePriorArtifact: false,
}

test('inherited expressions use the variables of each instance', async (t) => {
  const { saveTemplate, saveInstance, untilRuns, backends } = await startPlatform(t)
  const prior = { id: 'chart', matchArtifact: { name: 'chart' }, usePriorArtifact: true }
  await saveTemplate(
    {
      triggers: [
        { ...image, id: 'i', expectedArtifactIds: ['image'] },
        webhook('x', { source: '${ templateVariables.repository }' }),
      ],
      expectedArtifacts: [wanted],
    },
    [{ name: 'repository', type: 'string' }],
  )
  for (const name of ['app', 'api'])
    await saveInstance(name, { variables: { repository: `org/${name}` } })
  await saveInstance('waiting', {
    variables: { repository: 'org/app' },
    expectedArtifacts: [prior],
  })

  const content = { account: 'reg', registry: 'r.io', repository: 'org/app', tag: 'v1' }
  await backends.ask('echo', 'POST', '/', { details: { type: 'docker' }, content })

  const [run] = await untilRuns('app', 1)
  assert.deepEqual(
    [run?.status, run?.trigger['repository'], run?.trigger['tag']],
    ['SUCCEEDED', 'org/app', 'v1'],
  )
  // The trigger fires here too: what the run lacks, it says itself.
  const [failed] = await untilRuns('waiting', 1)
  assert.match(
    String(failed?.cancellationReason),
    /The trigger has received no artifact that matches the expected artifact "chart"/,
  )
  await untilRuns('api', 0)
})

test('a user whom an expression has made up starts nothing', async (t) => {
  const { saveTemplate, saveInstance, untilRuns, webhook: send } = await startPlatform(t)
  const variables = [{ name: 'bot', type: 'string' }]
  await saveTemplate(
    { triggers: [webhook('ci', { runAsUser: '${ templateVariables.bot }' }), webhook('other')] },
    variables,
  )
  await saveInstance('p', { variables: { bot: 'root' } })
  await send('ci')
  await send('other')
  const [run] = await untilRuns('p', 1)
  assert.equal(run?.trigger['source'], 'other')
})

test('an instance that cannot be planned starts and fails visibly', async (t) => {
  const { saveTemplate, saveInstance, untilRuns, webhook: send } = await startPlatform(t)
  await saveTemplate(
    { triggers: [webhook('ci'), webhook('x', { source: '${ templateVariables.ship }' })] },
    [{ name: 'ship', type: 'string' }],
  )
  await saveInstance('p')
  await send('ci')
  const [run] = await untilRuns('p', 1)
  assert.equal(run?.status, 'TERMINAL')
  assert.match(String(run?.cancellationReason), /"ship" has no value/)
})

test('schedules follow the cron triggers of a template', async (t) => {
  const { saveTemplate, saveInstance, runs, now } = await startPlatform(t)
  const expressionsOf = async (id: string) =>
    (await runs(id)).map(({ trigger }) => trigger['cronExpression'])
  /** Lets time pass until a pipeline has run by an expression; its schedule may be read only after the first time. */
  const passUntil = async (id: string, expression: string) => {
    const isThere = async () => {
      now.ms += 20_000
      return (await expressionsOf(id)).includes(expression)
    }
    await waitUntil(isThere, `${id} to run at ${expression}`)
  }
  const cron = (cronExpression: string) => ({
    id: 'c',
    type: 'cron',
    enabled: true,
    cronExpression,
  })
  await saveTemplate({ triggers: [cron('0 ${ templateVariables.minute } * * * ?')] }, [
    { name: 'minute', type: 'int', defaultValue: 5 },
  ])
  await saveInstance('fifth')
  await saveInstance('tenth', { variables: { minute: 10 } })
  await passUntil('fifth', '0 5 * * * ?')
  await passUntil('tenth', '0 10 * * * ?')

  await saveTemplate({ triggers: [cron('0 20 * * * ?')] })
  await passUntil('fifth', '0 20 * * * ?')
  await passUntil('tenth', '0 20 * * * ?')
})

test("a pipeline's end starts instances of templates with that trigger", async (t) => {
  const { saveTemplate, saveInstance, untilRuns, backends } = await startPlatform(t)
  const after = (pipeline: string) => ({
    id: pipeline,
    type: 'pipeline',
    enabled: true,
    status: ['successful'],
    pipeline,
  })
  await saveTemplate({ triggers: [after('fixed'), after('${ templateVariables.parent }')] }, [
    { name: 'parent', type: 'string' },
  ])
  await saveInstance('p', { variables: { parent: 'chosen' } })
  await saveInstance('q', { variables: { parent: 'another' } })
  const stages = [{ refId: '1', type: 'wait', waitTime: 0 }]
  for (const id of ['fixed', 'chosen'])
    await backends.ask('orca', 'POST', '/orchestrate', { application: 'demo', id, stages })
  const runs = await untilRuns('p', 2)
  assert.deepEqual(
    new Set(runs.map(({ trigger }) => trigger['parentStatus'])),
    new Set(['SUCCEEDED']),
  )
  await untilRuns('q', 1)
})

test('inherited triggers work with an external definition store', async (t) => {
  const instance = {
    ...{ id: 'p', name: 'p', application: 'demo', type: 'templatedPipeline', schema: 'v2' },
    template: { reference: 'spinnaker://rope:stable' },
  }
  const recording = createRecording([])
  const asked: string[] = []
  recording.answer = (service, { path }) => {
    if (service !== 'front50') return undefined
    asked.push(path)
    if (path === '/pipelines?restricted=false')
      return { status: 200, body: [instance, { id: 'other', triggers: [webhook('ci')] }] }
    if (path !== '/v2/pipelineTemplates/rope?tag=stable') return undefined
    return {
      status: asked.length < 6 ? 200 : 500,
      body: { pipeline: { triggers: [webhook('ci')] } },
    }
  }
  const backends = await startBackends(t, [createEventsBackend({ ...pauses, cronMs: 100_000 })], {
    now: () => 0,
    others: recording.call,
  })
  for (let count = 1; count <= 4; count++) {
    assert.equal((await backends.ask('echo', 'POST', '/webhooks/webhook/ci', {})).status, 200)
    await recording.untilStarts(count)
  }
  assert.equal(recording.starts.length, 4)
  assert.deepEqual(recording.starts[0]?.body['template'], instance.template)
  assert.equal(asked.filter((path) => path === '/pipelines?restricted=false').length, 1)
})
