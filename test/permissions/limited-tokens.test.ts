/** Ways around the applications to which an API token is limited, for somebody who may do more than the token. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { waitFor } from '../support/wait-until.ts'
import { startSeeded } from './support.ts'

const plan = (fields: Record<string, unknown>) => ({
  name: 'main',
  stages: [],
  triggers: [],
  ...fields,
})
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

test('a token reaches its own application only', async (t) => {
  const { add, ask, createApplication } = await startSeeded(t)
  await add('olga', ['owners', 'writers'])
  for (const application of ['web', 'shop']) {
    await createApplication(application, {
      READ: ['owners'],
      WRITE: ['owners'],
      EXECUTE: ['owners'],
    })
    assert.equal((await ask('olga', 'POST /pipelines', plan({ application }))).status, 200)
  }
  const [shop] = (await ask('olga', 'GET /applications/shop/pipelineConfigs')).json() as {
    id: string
  }[]
  const idOf = async (application: string) =>
    ((await ask('olga', `POST /pipelines/${application}/main`, {})).json() as { ref: string }).ref
      .split('/')
      .at(-1) as string
  const runs = { web: await idOf('web'), shop: await idOf('shop') }
  const created = await ask('olga', 'POST /auth/apiTokens', { name: 'ci', applications: ['web'] })
  const { token } = created.json() as { token: string }
  const withToken = (request: string, body?: unknown) =>
    ask(undefined, request, body, { authorization: `Bearer ${token}` })
  const refused = async (request: string, body?: unknown) => {
    const { status, text } = await withToken(request, body)
    assert.equal(status, 403, `${request} ${JSON.stringify(body)}: ${text}`)
    assert.match(text, /TOKEN_LIMITED/)
  }
  const child = { refId: '1', type: 'pipeline', application: 'web', pipeline: shop?.id }

  await t.test('by no job, whatever carries the definition', async () => {
    const saves = (value: unknown) => ({ type: 'savePipeline', pipeline: value })
    const jobs = [
      saves(encoded(plan({ application: 'shop' }))),
      saves(plan({ application: 'shop' })),
      saves(encoded(plan({ application: 'web', id: shop?.id }))),
      saves(
        encoded(
          plan({
            application: 'web',
            stages: [{ ...saves(encoded(plan({ application: 'shop' }))), refId: '1' }],
          }),
        ),
      ),
      {
        type: 'savePipeline',
        isBulkSavingPipelines: true,
        pipelines: encoded([plan({ application: 'shop' })]),
      },
      { type: 'deletePipeline', pipeline: encoded({ application: 'shop', name: 'main' }) },
      { type: 'reorderPipelines', application: encoded('shop'), idsToIndices: encoded({}) },
      {
        type: 'reorderPipelines',
        application: encoded('web'),
        idsToIndices: encoded({ [String(shop?.id)]: 1 }),
      },
      { type: 'pipeline', pipeline: shop?.id },
      { type: 'wait', alias: ' Pipeline', pipeline: shop?.id },
      { type: 'deleteManifest', moniker: { app: 'shop' } },
      { type: 'destroyServerGroup', serverGroupName: 'shop-main-v000', account: 'test' },
      { type: 'cloneServerGroup', source: { asgName: ' shop-v000' }, account: 'test' },
      { type: 'shrinkCluster', cluster: 'shop', account: 'test' },
      { type: 'deleteLoadBalancer', loadBalancerName: 'shop-front', account: 'test' },
      {
        type: 'createV2PipelineTemplate',
        pipelineTemplate: encoded({ id: 't', metadata: { scopes: ['shop'] } }),
      },
      { type: 'deleteProject', project: { id: 'p' } },
    ]
    for (const job of jobs) {
      await refused('POST /tasks', { application: 'web', job: [job] })
      await refused('POST /applications/web/tasks', { application: 'web', job: [job] })
    }
  })

  await t.test('by no expression for an object that may name another application', async () => {
    const variables = [{ key: 'c', value: [{ application: 'shop', account: 'test' }] }]
    const vars = { refId: '0', type: 'evaluateVariables', variables }
    for (const clusters of ['${c}', ['${c[0]}']]) {
      const deploy = { refId: '1', requisiteStageRefIds: ['0'], type: 'deploy', clusters }
      await refused('POST /pipelines/start', plan({ application: 'web', stages: [vars, deploy] }))
    }
  })

  await t.test('by no stage that starts a pipeline of another application', async () => {
    const hidden = { ...child, pipeline: `\${'${shop?.id}'}` }
    for (const stage of [child, hidden]) {
      await refused('POST /pipelines/start', plan({ application: 'web', stages: [stage] }))
      await refused(
        'POST /pipelines',
        plan({ application: 'web', name: 'parent', stages: [stage] }),
      )
      await refused('POST /pipelines/bulksave', [
        plan({ application: 'web', name: 'parent', stages: [stage] }),
      ])
    }
  })

  await t.test('by no restart that reaches a parent of another application', async () => {
    const [web] = (await ask('olga', 'GET /applications/web/pipelineConfigs')).json() as {
      id: string
    }[]
    const stages = [{ ...child, pipeline: web?.id }]
    const { ref } = (
      await ask('olga', 'POST /pipelines/start', plan({ application: 'shop', stages }))
    ).json() as { ref: string }
    const started = async () => {
      const [stage] = (
        (await ask('olga', `GET ${ref}`)).json() as {
          stages: { context: Record<string, unknown> }[]
        }
      ).stages
      return stage?.context['executionId']
    }
    const id = String(await waitFor(started, 'the child'))
    const { status, text } = await withToken(`PUT /pipelines/${id}/stages/x/restart`, {})
    assert.match(
      `${status} ${text}`,
      /^403 .*of the application shop has started this one and restarts with it/,
    )
  })

  await t.test('by no execution that the query names besides the path', async () => {
    const variables = [{ key: 'a', value: 'x' }]
    await refused(
      `POST /pipelines/${runs.web}/evaluateVariables?executionId=${runs.shop}`,
      variables,
    )
    assert.equal(
      (await withToken(`POST /pipelines/${runs.web}/evaluateVariables`, variables)).status,
      200,
    )
  })

  await t.test(
    'by no expression in an address that stands for a template of another application',
    async () => {
      const template = (id: string, scope: string) => ({
        id,
        schema: 'v2',
        metadata: { name: 'theirs', scopes: [scope] },
        pipeline: {},
      })
      const made = await ask(
        'olga',
        'POST /v2/pipelineTemplates/create',
        template('theirs', 'shop'),
      )
      assert.equal(made.status, 202, made.text)
      const { id: _, ...given } = template('', 'web')
      const expression = encodeURIComponent(`\${'theirs'}`)
      await refused('POST /v2/pipelineTemplates/update/theirs', given)
      for (const path of ['/v2/pipelineTemplates/update', '/pipelineTemplates']) {
        const { status, text } = await withToken(`POST ${path}/${expression}`, given)
        assert.match(`${status} ${text}`, /^400 .*holds an expression/, path)
      }
    },
  )

  await t.test(
    'not even of an administrator, by the notifications of all applications',
    async () => {
      const made = await ask('admin', 'POST /auth/apiTokens', { name: 'ci', applications: ['web'] })
      const { token: ofAdmin } = made.json() as { token: string }
      for (const type of ['global', 'Global']) {
        const headers = { authorization: `Bearer ${ofAdmin}` }
        const { status, text } = await ask(
          undefined,
          `POST /notifications/${type}/web`,
          { slack: [] },
          headers,
        )
        assert.match(`${status} ${text}`, /^403 .*TOKEN_LIMITED/, type)
      }
      const own = await withToken('POST /notifications/application/web', { slack: [] })
      assert.equal(own.status, 200, own.text)
    },
  )

  await t.test('while its own application is served', async () => {
    const [web] = (await ask('olga', 'GET /applications/web/pipelineConfigs')).json() as {
      id: string
    }[]
    const own = { ...child, pipeline: web?.id }
    for (const job of [
      {
        type: 'savePipeline',
        pipeline: encoded(plan({ application: 'web', name: 'made by a job' })),
      },
      {
        type: 'reorderPipelines',
        application: encoded('web'),
        idsToIndices: encoded({ [String(web?.id)]: 0 }),
      },
      { type: 'wait', waitTime: 0, cluster: 'web-main', serverGroupName: 'replicaSet shop' },
      own,
    ]) {
      const { status, text } = await withToken('POST /tasks', { application: 'web', job: [job] })
      assert.equal(status, 200, text)
    }
    assert.equal(
      (
        await withToken(
          'POST /pipelines',
          plan({ application: 'web', name: 'parent', stages: [own] }),
        )
      ).status,
      200,
    )
    assert.doesNotMatch(
      (await ask('olga', 'GET /applications/shop/pipelineConfigs')).text,
      /parent|made by/,
    )
  })
})
