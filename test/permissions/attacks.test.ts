/** Ways around the permissions of an application that somebody without rights on it might try. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { basic } from '../login/support.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'
import { type Seeded, startSeeded } from './support.ts'

const plan = (fields: Record<string, unknown>) => ({
  name: 'main',
  stages: [],
  triggers: [],
  ...fields,
})
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

const wait = { refId: '1', type: 'wait', waitTime: 0 }

interface Shown {
  authentication: { user: string }
  trigger: { user: string }
}

function idIn({ text }: { text: string }): string {
  return (JSON.parse(text) as { ref: string }).ref.split('/').at(-1) as string
}

/** How an execution ends, and what its first failed stage says. */
async function outcomeOf(
  ask: Seeded['ask'],
  started: { text: string },
): Promise<{ status: string; error: string }> {
  return waitFor(async () => {
    const { text } = await ask('admin', `GET /pipelines/${idIn(started)}`)
    const { status, stages } = JSON.parse(text) as {
      status: string
      stages: { context: { exception?: unknown } }[]
    }
    if (['NOT_STARTED', 'RUNNING'].includes(status)) return undefined
    const failed = stages.find(({ context }) => context.exception !== undefined)
    return { status, error: JSON.stringify(failed?.context.exception ?? '') }
  }, `the end of ${started.text}`)
}

interface Scene extends Seeded {
  /** Definition of the pipeline `main` of the application `secret`. */
  secretId: string
  /** An execution of it. */
  executionId: string
}

/** `secret` belongs to the owners; mallory is a writer of `mine` and has nothing else. */
async function startScene(t: TestContext): Promise<Scene> {
  const seeded = await startSeeded(t, {
    'service-accounts': [{ name: 'robot', memberOf: ['robots'] }],
  })
  const { add, ask, createApplication } = seeded
  await add('mallory', ['mine'])
  await add('olga', ['owners'])
  await createApplication('secret', { READ: ['owners'], WRITE: ['owners'], EXECUTE: ['owners'] })
  await createApplication('mine', { READ: ['mine'], WRITE: ['mine'], EXECUTE: ['mine'] })
  assert.equal((await ask('olga', 'POST /pipelines', plan({ application: 'secret' }))).status, 200)
  assert.equal(
    (await ask('mallory', 'POST /pipelines', plan({ application: 'mine', name: 'own' }))).status,
    200,
  )
  const [stored] = (await ask('olga', 'GET /applications/secret/pipelineConfigs')).json() as {
    id: string
  }[]
  const started = (await ask('olga', 'POST /pipelines/secret/main', {})).json() as { ref: string }
  return {
    ...seeded,
    secretId: stored?.id as string,
    executionId: started.ref.split('/').at(-1) as string,
  }
}

test('attacks on an application that somebody has no right on', async (t) => {
  const scene = await startScene(t)
  const { ask, url, secretId, executionId } = scene
  const refused = async (request: string, body?: unknown, headers?: Record<string, string>) => {
    const { status, text } = await ask('mallory', request, body, headers)
    assert.ok(
      [400, 403, 404, 405, 422].includes(status),
      `${request}: ${status} ${text.slice(0, 200)}`,
    )
    assert.doesNotMatch(text, /"email":|"stages":/, request)
    return status
  }
  const forbidden = async (request: string, body?: unknown, headers?: Record<string, string>) => {
    const { status, text } = await ask('mallory', request, body, headers)
    assert.equal(status, 403, `${request} ${JSON.stringify(body)}: ${text.slice(0, 200)}`)
  }

  await t.test('other spellings of a name are the same application', async () => {
    for (const name of ['SECRET', 'Secret', '%73ecret', 'secret%20', '%20secret', '%C5%BFecret']) {
      await forbidden(`GET /applications/${name}`)
      await forbidden(`GET /applications/${name}/pipelineConfigs`)
    }
  })

  await t.test('a start judges the application of the pipeline that starts', async () => {
    const saved = await ask(
      'mallory',
      'POST /pipelines',
      plan({
        ...{ application: 'mine', name: 'asking', stages: [wait] },
        parameterConfig: [
          { name: 'ring', required: true },
          { name: 'size', hasOptions: true, options: [{ value: 'S' }] },
        ],
      }),
    )
    assert.equal(saved.status, 200, saved.text)
    const [own, other] = ['mine', 'secret'].map((name) => `POST /pipelines/${name}`)
    for (const path of [`${own}/${secretId}`, `${other}/${secretId}`, `${other}/main`])
      await forbidden(path, {})
    for (const path of ['POST /pipelines/MINE/own', `${own}/own`]) {
      const { status, text } = await ask('mallory', path, { parameters: {} })
      assert.equal(status, 202, `${path}: ${text}`)
    }
    assert.equal((await ask('olga', `${own}/${secretId}`, {})).status, 202)
    assert.equal((await ask('mallory', `${own}/Own`, {})).status, 404)
    const missing = await ask('mallory', `${own}/asking`, {})
    assert.equal(missing.status, 400)
    assert.match(missing.text, /ring/)
    const answer = await fetch(`${url}/pipelines/mine/asking`, {
      method: 'POST',
      headers: { ...basic('mallory', 'correct horse'), 'content-type': 'application/json' },
      body: JSON.stringify({ parameters: { ring: 'blue', size: 'XL' } }),
    })
    assert.equal(answer.status, 202, await answer.text())
    assert.match(answer.headers.get('x-fairlead-warnings') ?? '', /XL/)
  })

  await t.test('look-alikes of its name give no right on it', async () => {
    const names = ['\u017fecret', 'secret\ufeff', 'secret\u00a0', '\u2003SECRET']
    for (const name of names) {
      const { text } = await ask(
        'mallory',
        `POST /pipelines`,
        plan({ application: name, name: 'planted' }),
      )
      const job = {
        type: 'updateApplication',
        application: { name, email: 'x@example.com', permissions: {} },
      }
      await ask('mallory', 'POST /tasks', { application: 'mine', job: [job] })
      const stored = (await ask('olga', 'GET /applications/secret/pipelineConfigs')).json() as {
        name: string
      }[]
      assert.deepEqual(
        stored.map((one) => one.name),
        ['main'],
        `${JSON.stringify(name)}: ${text}`,
      )
      await forbidden('GET /applications/secret')
    }
  })

  await t.test('of several jobs, each is judged by its own application', async () => {
    const own = { type: 'updateApplication', application: { name: 'mine', email: 'x@example.com' } }
    for (const foreign of [
      { type: 'updateApplication', application: { name: 'secret', email: 'x@example.com' } },
      {
        type: 'destroyServerGroup',
        serverGroupName: 'secret-main-v000',
        credentials: 'local',
        region: 'local',
      },
      {
        type: 'deleteManifest',
        labelSelectors: {
          selectors: [{ kind: 'EQUALS', key: 'app.kubernetes.io/name', values: ['secret'] }],
        },
      },
      { type: 'deleteManifest', mode: 'dynamic', app: 'secret', cluster: 'deployment web' },
    ]) {
      await forbidden('POST /tasks', { application: 'mine', job: [own, foreign] })
      await forbidden('POST /applications/mine/tasks', { application: 'mine', job: [own, foreign] })
    }
  })

  await t.test('tricks in the path lead nowhere', async () => {
    for (const path of [
      '/applications/mine/../secret',
      '/applications/mine/%2e%2e/secret',
      '/applications//secret',
      '/applications/secret%2Fhistory',
      '/applications/secret;x=1',
      '/applications/secret%00',
      '/applications/secret/',
      '/./applications/secret',
    ]) {
      await refused(`GET ${path}`)
    }
  })

  await t.test('another method, or an override of it, changes nothing', async () => {
    const override = {
      'x-http-method-override': 'GET',
      'x-method-override': 'GET',
      'x-http-method': 'GET',
    }
    await forbidden(`DELETE /pipelines/${executionId}`, undefined, override)
    await forbidden(`POST /pipelines?_method=GET`, plan({ application: 'secret' }))
    assert.equal((await ask('mallory', 'HEAD /applications/secret')).status, 403)
    assert.equal((await ask('mallory', `HEAD /pipelines/${executionId}`)).status, 403)
    for (const method of ['OPTIONS', 'GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
      const { status, text } = await ask(
        'mallory',
        `${method} /pipelines/${executionId}/evaluateExpression?expression=%24%7B1%2B1%7D`,
      )
      assert.ok(
        status === 403 || (method === 'OPTIONS' && text === ''),
        `${method}: ${status} ${text}`,
      )
    }
  })

  await t.test('forged headers name nobody else', async () => {
    const forged: Record<string, string>[] = [
      { 'x-spinnaker-user': 'olga' },
      { 'X-SPINNAKER-USER': 'admin', 'x-spinnaker-accounts': 'prod' },
      { 'x-spinnaker-application': 'mine' },
      { 'x-spinnaker-anonymous': 'anonymous' },
      { 'x-forwarded-user': 'olga' },
    ]
    for (const headers of forged) {
      await forbidden('GET /applications/secret', undefined, headers)
      await forbidden(`PUT /pipelines/${executionId}/cancel`, undefined, headers)
    }
    await forbidden('GET /applications/secret?username=olga&user=olga&roles=owners')
  })

  await t.test('executions under the address of another application are refused', async () => {
    await forbidden(`GET /pipelines/${executionId}`)
    await forbidden(`PUT /applications/mine/pipelines/${executionId}/cancel`)
    await forbidden(`PUT /pipelines/${executionId}/pause`)
    await forbidden(`DELETE /pipelines/${executionId}`)
    await forbidden(`GET /executions/failedStages?executionId=${executionId}`)
    assert.deepEqual(
      (await ask('mallory', `GET /executions?executionIds=${executionId}`)).json(),
      [],
    )
    assert.deepEqual(
      (await ask('mallory', `GET /executions?pipelineConfigIds=${secretId}`)).json(),
      [],
    )
    const found = await ask('mallory', 'GET /applications/*/executions/search')
    assert.doesNotMatch(found.text, /secret/)
  })

  await t.test('definitions are not reached by id, nor taken over', async () => {
    await forbidden(`GET /pipelineConfigs/${secretId}/history`)
    await forbidden(`GET /pipelineConfigs/${secretId}/convertToTemplate`)
    await forbidden('POST /pipelines', plan({ application: 'mine', id: secretId }))
    await forbidden('POST /pipelines', plan({ application: 'mine', id: secretId.toUpperCase() }))
    await forbidden(`PUT /pipelines/${secretId}`, plan({ application: 'mine', id: secretId }))
    await forbidden(`PUT /pipelines/${secretId}`, plan({ application: 'secret', id: secretId }))
    await forbidden('POST /pipelines/move', { application: 'secret', from: 'main', to: 'gone' })
    await forbidden('DELETE /pipelines/SECRET/main')
    const status = await refused(`GET /applications/mine/pipelineConfigs/${secretId}`)
    assert.notEqual(status, 200)
    assert.doesNotMatch((await ask('mallory', 'GET /pipelineConfigs')).text, /secret/)
    assert.doesNotMatch((await ask('mallory', 'GET /applications')).text, /secret/)
    assert.doesNotMatch(
      (await ask('mallory', 'GET /search?q=secret&type=applications')).text,
      /"application":"secret"/,
    )
  })

  await t.test('one foreign definition rejects the batch', async () => {
    const own = plan({ application: 'mine', name: 'another' })
    await forbidden('POST /pipelines/bulksave', [own, plan({ application: 'secret', name: 'x' })])
    await forbidden('POST /pipelines/bulksave', [own, plan({ application: 'mine', id: secretId })])
    await forbidden('POST /pipelines/bulksave?application=secret', [own])
    await forbidden('POST /actions/pipelines/reorder', {
      application: 'mine',
      idsToIndices: { [secretId]: 0 },
    })
    await forbidden('POST /actions/pipelines/reorder', { application: 'secret', idsToIndices: {} })
    assert.doesNotMatch(
      (await ask('mallory', 'GET /applications/mine/pipelineConfigs')).text,
      /another/,
    )
  })

  await t.test('a pipeline needs a usable service account', async () => {
    const triggers = [
      { type: 'cron', enabled: true, cronExpression: '0 0 0 1 1 ?', runAsUser: 'robot' },
    ]
    await forbidden('POST /pipelines', plan({ application: 'mine', name: 'as robot', triggers }))
    const fields = {
      ...plan({ application: 'mine', name: 'as robot' }),
      triggers: [{ ...triggers[0], runAsUser: 'Robot ' }],
    }
    await forbidden('POST /pipelines', fields)
    await forbidden('POST /tasks', {
      application: 'mine',
      job: [{ type: 'savePipeline', pipeline: encoded(fields) }],
    })
  })

  await t.test('jobs are judged by what they change', async () => {
    const jobs = [
      { type: 'deleteApplication', application: { name: 'secret' } },
      { type: 'updateApplication', application: { name: 'SECRET', permissions: {} } },
      { type: 'createApplication', application: { name: 'secret ', permissions: {} } },
      { type: 'upsertApplication', application: { name: '\u017Fecret' } },
      { type: 'deleteApplication', application: { name: `\${'sec'+'ret'}` } },
      { type: 'deleteApplication' },
      { type: 'savePipeline', pipeline: encoded(plan({ application: 'secret' })) },
      { type: 'updatePipeline', pipeline: encoded(plan({ application: 'mine', id: secretId })) },
      { type: 'deletePipeline', pipeline: encoded({ application: 'secret', name: 'main' }) },
      {
        type: 'savePipeline',
        isBulkSavingPipelines: true,
        pipelines: encoded([plan({ application: 'secret' })]),
      },
      {
        type: 'reorderPipelines',
        application: encoded('secret'),
        idsToIndices: encoded({}),
        isStrategy: encoded(false),
      },
      { type: 'pipeline', application: 'mine', pipeline: secretId },
      { type: 'destroyServerGroup', account: 'prod', region: 'x', serverGroupName: 'y' },
      { type: 'deploy', clusters: [{ application: 'mine', account: 'prod' }] },
      { type: 'deployManifest', account: `\${'prod'}`, moniker: { app: 'mine' } },
      { type: 'deleteManifest', moniker: { app: 'secret' } },
    ]
    for (const job of jobs) {
      await forbidden('POST /tasks', {
        application: 'mine',
        job: [{ type: 'wait', waitTime: 0 }, job],
      })
      await forbidden('POST /applications/mine/tasks', { application: 'mine', job: [job] })
    }
    await forbidden('POST /tasks', { application: 'secret', job: [{ type: 'wait', waitTime: 0 }] })
    await forbidden('POST /applications/secret/tasks', {
      application: 'mine',
      job: [{ type: 'wait', waitTime: 0 }],
    })
    await forbidden('POST /applications/mine/tasks', {
      application: 'secret',
      job: [{ type: 'wait', waitTime: 0 }],
    })
  })

  await t.test('a pipeline of theirs does not do it either', async () => {
    const stages = [{ refId: '1', type: 'deleteApplication', application: { name: 'secret' } }]
    await forbidden('POST /pipelines', plan({ application: 'mine', name: 'evil', stages }))
    await forbidden('POST /pipelines/start', plan({ application: 'mine', name: 'evil', stages }))
    const child = [{ refId: '1', type: 'pipeline', application: 'secret', pipeline: secretId }]
    await forbidden(
      'POST /pipelines/start',
      plan({ application: 'mine', name: 'evil', stages: child }),
    )
    await forbidden('POST /pipelines/secret/main', {})
    await refused(`POST /pipelines/mine/${secretId}`, {})
    await forbidden('POST /pipelines/v2/secret/main', {})
  })

  await t.test('odd application values do not change the owner', async () => {
    for (const application of [['secret'], { name: 'secret' }, 7, true, null, '']) {
      await refused('POST /pipelines', plan({ application, name: 'odd' }))
      await refused('POST /strategies', plan({ application, name: 'odd' }))
      await ask('mallory', 'POST /pipelines/bulksave', [plan({ application, name: 'odd' })])
    }
    await refused('POST /pipelines/start', plan({ application: ['secret'], stages: [wait] }))
    await forbidden(
      'POST /pipelines',
      `{"application":"mine","application":"secret","name":"twice","stages":[]}`,
    )
    await forbidden('POST /pipelines', plan({ application: 'SECRET', name: 'loud' }))
    await forbidden('POST /pipelines', plan({ application: ' secret\u00A0', name: 'blank' }))
    // A key in another case is another key: what is stored belongs to the application that was checked.
    const { status } = await ask(
      'mallory',
      'POST /pipelines',
      plan({ application: 'mine', Application: 'secret', name: 'case' }),
    )
    assert.equal(status, 200)
    await refused(
      'POST /pipelines',
      `{"__proto__":{"application":"mine"},"name":"proto","stages":[]}`,
    )
    await refused(
      'POST /pipelines',
      `{"application":"secret","__proto__":{"application":"mine"},"name":"proto","stages":[]}`,
    )
    await forbidden(
      'POST /pipelines',
      `{"application":"secret","constructor":{"application":"mine"},"name":"c","stages":[]}`,
    )
  })

  await t.test('templates stay with the applications that are their scopes', async () => {
    const template = (id: string, ...scopes: unknown[]) => ({
      id,
      schema: 'v2',
      metadata: { name: id, scopes },
      pipeline: {},
    })
    for (const [id, scope] of [
      ['theirs', 'secret'],
      ['shared', 'global'],
    ] as const) {
      const created = await ask('admin', 'POST /v2/pipelineTemplates/create', template(id, scope))
      assert.equal(created.status, 202, created.text)
    }
    for (const body of [
      template('new', 'secret'),
      template('new', 'mine', 'SECRET'),
      template('new', 'global'),
      template('new'),
    ]) {
      await forbidden('POST /v2/pipelineTemplates/create', body)
      await forbidden('POST /pipelineTemplates', body)
      await forbidden('POST /tasks', {
        application: 'mine',
        job: [{ type: 'createV2PipelineTemplate', pipelineTemplate: encoded(body) }],
      })
    }
    for (const id of ['theirs', 'THEIRS', 'theirs:latest', 'shared']) {
      await forbidden(`POST /v2/pipelineTemplates/update/${id}`, template(id, 'mine'))
      await forbidden(`POST /pipelineTemplates/${id}`, template(id, 'mine'))
      await forbidden(`DELETE /v2/pipelineTemplates/${id}?application=mine`)
      await forbidden(`DELETE /pipelineTemplates/${id}?application=mine`)
      await forbidden('POST /tasks', {
        application: 'mine',
        job: [{ type: 'deleteV2PipelineTemplate', pipelineTemplateId: id }],
      })
      await forbidden('POST /tasks', {
        application: 'mine',
        job: [
          { type: 'updatePipelineTemplate', id, pipelineTemplate: encoded(template(id, 'mine')) },
        ],
      })
    }
    await forbidden('POST /v2/pipelineTemplates/create?tag=stable', template('theirs', 'mine'))
    const expression = encodeURIComponent(`\${'theirs'}`)
    for (const request of [
      `DELETE /v2/pipelineTemplates/${expression}`,
      `DELETE /pipelineTemplates/${expression}`,
    ]) {
      const { status, text } = await ask('mallory', `${request}?application=mine`)
      assert.match(`${status} ${text}`, /^400 .*holds an expression/, request)
    }
    for (const path of [
      '/pipelineTemplates/theirs',
      '/v2/pipelineTemplates/theirs',
      '/v2/pipelineTemplates/theirs?tag=latest',
    ]) {
      await forbidden(`GET ${path}`)
    }
    await forbidden('GET /v2/pipelineTemplates/theirs/dependents')
    for (const path of [
      '/pipelineTemplates',
      '/v2/pipelineTemplates',
      '/v2/pipelineTemplates/versions',
      '/pipelineTemplates?scopes=secret',
    ]) {
      assert.doesNotMatch((await ask('mallory', `GET ${path}`)).text, /theirs/, path)
    }
    assert.equal((await ask('mallory', 'GET /v2/pipelineTemplates/shared')).status, 200)
    const instance = {
      type: 'templatedPipeline',
      schema: 'v2',
      template: { reference: 'spinnaker://theirs' },
      variables: {},
    }
    await refused('POST /v2/pipelineTemplates/plan', {
      ...instance,
      application: 'mine',
      name: 'p',
    })
    await forbidden('POST /v2/pipelineTemplates/plan', {
      ...instance,
      application: 'secret',
      name: 'p',
    })
    await refused('POST /pipelines/start', { ...instance, application: 'mine', name: 'p' })
  })

  await t.test('a stage of a template is judged when it runs', async () => {
    const stages = [
      {
        refId: '1',
        type: 'deletePipeline',
        pipeline: encoded({ application: 'secret', name: 'main' }),
      },
    ]
    const template = {
      id: 'carrier',
      schema: 'v2',
      metadata: { name: 'carrier', scopes: ['mine'] },
      pipeline: { stages },
    }
    assert.equal((await ask('mallory', 'POST /v2/pipelineTemplates/create', template)).status, 202)
    const reference = { reference: 'spinnaker://carrier' }
    const instance = {
      type: 'templatedPipeline',
      schema: 'v2',
      application: 'mine',
      name: 'carried',
      template: reference,
      variables: {},
    }
    assert.equal((await ask('mallory', 'POST /pipelines', instance)).status, 200)
    const { status, error } = await outcomeOf(
      ask,
      await ask('mallory', 'POST /pipelines/mine/carried', {}),
    )
    assert.equal(status, 'TERMINAL')
    assert.match(error, /WRITE on the application secret; mallory has not got it/)
  })

  await t.test('a disguised stage is judged by what it does', async () => {
    const gone = encoded({ application: 'secret', name: 'main' })
    const hidden = [
      { type: 'wait', alias: 'deletePipeline', pipeline: gone },
      { type: 'DeletePipeline', pipeline: gone },
      { type: ' deletePipeline ', pipeline: gone },
      { type: `\${'deletePipeline'}`, pipeline: gone },
      { type: 'deletePipeline', alias: 'wait', pipeline: gone },
      { type: 'noop', alias: 'pipeline', application: 'secret', pipeline: secretId },
      { type: 'savePipeline', pipeline: { ...plan({ application: 'secret' }) } },
      { type: 'savePipeline', pipeline: `\${'x'}` },
    ]
    for (const job of hidden) await forbidden('POST /tasks', { application: 'mine', job: [job] })
    for (const stage of hidden.slice(0, 3)) {
      await forbidden(
        'POST /pipelines/start',
        plan({ application: 'mine', name: 'hidden', stages: [{ refId: '1', ...stage }] }),
      )
      await forbidden(
        'POST /pipelines',
        plan({ application: 'mine', name: 'hidden', stages: [{ refId: '1', ...stage }] }),
      )
    }
    await forbidden('POST /tasks', {
      application: 'mine',
      job: { type: 'deletePipeline', pipeline: gone },
    })
    await forbidden('POST /tasks', {
      application: 'mine',
      stages: [{ type: 'deletePipeline', pipeline: gone }],
    })
    await refused('POST /tasks', [{ type: 'deletePipeline', pipeline: gone }])
  })

  await t.test('a finished build is not believed without login', async () => {
    const build = {
      master: 'ci',
      project: { name: 'app', lastBuild: { number: 1, building: false, result: 'SUCCESS' } },
    }
    for (const path of [
      '/webhooks/build/x',
      '/webhooks/BUILD/x',
      '/webhooks/b%75ild/x',
      '/webhooks/docker/x',
    ]) {
      assert.equal((await ask(undefined, `POST ${path}`, build)).status, 403, path)
    }
    assert.equal((await ask('admin', 'POST /webhooks/build/x', build)).status, 200)
  })

  await t.test('variants of runAsUser lend nobody’s rights', async () => {
    const save = (runAsUser: unknown, more = {}) =>
      plan({
        application: 'mine',
        name: 'as someone',
        triggers: [{ type: 'webhook', source: 'x', enabled: true, runAsUser, ...more }],
      })
    for (const name of ['robot', 'ROBOT', ' robot', 'robot\u00A0', `\${'robot'}`]) {
      await forbidden('POST /pipelines', save(name))
    }
    const nested = {
      type: 'savePipeline',
      pipeline: encoded(
        plan({
          application: 'mine',
          name: 'n',
          stages: [{ type: 'savePipeline', pipeline: encoded(save('robot')) }],
        }),
      ),
    }
    await forbidden('POST /tasks', { application: 'mine', job: [nested] })
    // No service account is named olga or admin: such a trigger is held back.
    for (const name of ['olga', 'admin', '', '  ', ['robot'], { name: 'robot' }, 7, null]) {
      const { status } = await ask('mallory', 'POST /pipelines', {
        ...save(name),
        id: 'as-someone',
      })
      assert.equal(status, 200, JSON.stringify(name))
      await ask(undefined, 'POST /webhooks/webhook/x', {})
    }
    const runs = (
      await ask('admin', 'GET /executions?pipelineConfigIds=as-someone&limit=50')
    ).json() as {
      authentication: { user: string }
    }[]
    assert.deepEqual(
      runs.filter(({ authentication }) => authentication.user !== 'anonymous'),
      [],
    )
  })

  await t.test('foreign executions appear in no list or search', async () => {
    for (const path of [
      `/executions?executionIds=${executionId}%2C${executionId}`,
      `/executions?executionIds=x,${executionId}&expand=false`,
      `/executions?executionIds=${executionId}&executionIds=x`,
      `/executions?pipelineConfigIds=${secretId}%2Cx&limit=10`,
      `/executions?pipelineConfigIds=${secretId.toUpperCase()}`,
      '/applications/mine/executions/search?pipelineName=main',
      '/applications/%2A/executions/search?pipelineName=main',
      '/applications/mine/pipelines?limit=50&statuses=RUNNING,SUCCEEDED,TERMINAL',
      '/search?q=main&type=pipelines',
      '/search?q=secret&type=applications,projects',
    ]) {
      const { text } = await ask('mallory', `GET ${path}`)
      assert.doesNotMatch(
        text,
        new RegExp(`${executionId}|${secretId}|"application":"secret"`, 'i'),
        path,
      )
    }
    const start = plan({ application: 'mine', name: 'orphan', stages: [wait] })
    for (const trigger of [
      { parentPipelineId: executionId },
      { parentExecution: { id: executionId } },
    ]) {
      await forbidden('POST /pipelines/start', { ...start, trigger })
      for (const path of [
        '/pipelines/mine/own',
        '/pipelines/v2/mine/own',
        '/applications/mine/pipelineConfigs/own',
      ]) {
        await forbidden(`POST ${path}`, trigger)
      }
      await forbidden('POST /tasks', { application: 'mine', job: [wait], trigger })
    }
    assert.equal(
      (await ask('mallory', 'POST /pipelines/start', { ...start, executionId })).status,
      400,
    )
    for (const stage of [
      { type: 'monitorPipeline', executionIds: [executionId] },
      { type: 'dependsOnExecution', executionId },
    ]) {
      const started = await ask(
        'mallory',
        'POST /pipelines/start',
        plan({ application: 'mine', name: 'spy', stages: [{ refId: '1', ...stage }] }),
      )
      assert.match((await outcomeOf(ask, started)).error, /READ on the application secret/)
    }
  })

  await t.test('nothing runs under the id of a pipeline of others', async () => {
    const expectedArtifacts = [{ id: 'a', usePriorArtifact: true, matchArtifact: { type: 'x' } }]
    for (const id of [secretId, secretId.toUpperCase()]) {
      const body = plan({
        application: 'mine',
        name: 'main',
        id,
        stages: [wait],
        expectedArtifacts,
        initialConfig: { enabled: true },
      })
      await forbidden('POST /pipelines/start', body)
    }
  })

  await t.test('tasks of others are cancelled neither alone nor among one’s own', async () => {
    const own = idIn(
      await ask('mallory', 'POST /tasks', {
        application: 'mine',
        job: [{ type: 'wait', waitTime: 600 }],
      }),
    )
    const theirs = idIn(
      await ask('olga', 'POST /tasks', {
        application: 'secret',
        job: [{ type: 'wait', waitTime: 600 }],
      }),
    )
    for (const ids of [
      `ids=${own}&ids=${theirs}`,
      `ids=${own},${theirs}`,
      `ids=${own}%2C${theirs}`,
      `ids=${theirs}`,
    ]) {
      await forbidden(`PUT /tasks/cancel?${ids}`)
    }
    await forbidden(`PUT /applications/mine/tasks/${theirs}/cancel`)
    await forbidden(`DELETE /tasks/${theirs}`)
    const status = async (id: string) =>
      ((await ask('admin', `GET /tasks/${id}`)).json() as { status: string }).status
    assert.deepEqual([await status(own), await status(theirs)], ['RUNNING', 'RUNNING'])
    await ask('admin', `PUT /tasks/cancel?ids=${own},${theirs}`)
  })

  await t.test('no application gets a name that stands for others', async () => {
    const create = (name: string) => ({
      application: name,
      job: [{ type: 'createApplication', application: { name, email: 'a@b.example' } }],
    })
    for (const name of [
      '*',
      'web-*',
      '__proto__',
      'constructor',
      'web\0',
      'ｓecret',
      'stra\u00DFe',
      '\u017Fecret',
      'a,b',
      '..',
      'a/b',
      'we\u200Bb',
      'n'.repeat(10_000),
    ]) {
      const { status, text } = await ask('admin', 'POST /tasks', create(name))
      assert.equal(status, 400, `${name}: ${text}`)
      assert.match(text, /The application name .* (?:holds|has|is|consists)/)
    }
    await forbidden('POST /tasks', create('SpinnakerPlugins'))
    await forbidden('POST /plugins/info', { id: 'evil' })
    await forbidden('DELETE /plugins/info/evil')
    await forbidden('POST /plugins/publish/evil/1', {})
    await forbidden('POST /tasks', {
      application: 'mine',
      job: [{ type: 'upsertPluginInfo', pluginInfo: { id: 'evil' } }],
    })
    assert.equal((await ask('admin', 'POST /plugins/info', { id: 'good' })).status, 202)
    assert.equal((await ask('mallory', 'POST /tasks', create('My-app_2'))).status, 200)
    await scene.createApplication('spinnakerplugins')
  })

  await t.test('who starts or submits something is who is shown', async () => {
    const started = await ask(
      'mallory',
      'POST /pipelines/start',
      plan({ application: 'mine', name: 'me', stages: [wait], trigger: { user: 'olga' } }),
    )
    const run = (await ask('mallory', `GET /pipelines/${idIn(started)}`)).json() as Shown
    const submitted = await ask('mallory', 'POST /tasks', {
      application: 'mine',
      job: [wait],
      trigger: { user: 'olga' },
      user: 'olga',
    })
    const task = (
      (await ask('mallory', `GET /tasks/${idIn(submitted)}`)).json() as { execution: Shown }
    ).execution
    for (const { authentication, trigger } of [run, task]) {
      assert.deepEqual([authentication.user, trigger.user], ['mallory', 'mallory'])
    }
  })

  await t.test('templates and expressions do not change the owner', async () => {
    const template = (id: string, pipeline: object) => ({
      id,
      schema: 'v2',
      metadata: { name: id, scopes: ['mine'] },
      pipeline,
    })
    const instance = (id: string, more: object) => ({
      type: 'templatedPipeline',
      schema: 'v2',
      name: 'p',
      template: { reference: `spinnaker://${id}` },
      variables: {},
      ...more,
    })
    await ask(
      'mallory',
      'POST /v2/pipelineTemplates/create',
      template('borrows-id', { id: secretId, stages: [] }),
    )
    await ask(
      'mallory',
      'POST /v2/pipelineTemplates/create',
      template('borrows-place', { application: 'secret', stages: [] }),
    )
    const inner = { config: { pipeline: { application: 'mine' } } }
    for (const body of [
      instance('borrows-id', { application: 'mine' }),
      instance('borrows-id', inner),
      instance('borrows-place', inner),
    ]) {
      const started = await ask('mallory', 'POST /pipelines/start', body)
      assert.equal(started.status, 200, started.text)
      const run = await ask('admin', `GET /pipelines/${idIn(started)}`)
      assert.doesNotMatch(
        run.text,
        new RegExp(`"application":"secret"|"pipelineConfigId":"${secretId}"`),
      )
    }
    await refused('POST /pipelines/start', plan({ application: `\${'sec' + 'ret'}` }))
    await forbidden('POST /pipelines/start', plan({ application: 'mine', id: `\${'${secretId}'}` }))
    await forbidden('POST /pipelines/start', {
      ...plan({ application: 'mine' }),
      [`\${'application'}`]: 'secret',
    })
    await forbidden('POST /pipelines', {
      ...plan({ application: 'mine' }),
      [`\${'application'}`]: 'secret',
    })
  })

  await t.test('a changed stage acts for its last editor', async () => {
    const stages = [
      { refId: '1', type: 'manualJudgment', requisiteStageRefIds: [] },
      { refId: '2', type: 'wait', waitTime: 0, requisiteStageRefIds: ['1'] },
    ]
    const id = idIn(
      await ask(
        'admin',
        'POST /pipelines/start',
        plan({ application: 'mine', name: 'borrowed', stages }),
      ),
    )
    const { stages: made } = (await ask('mallory', `GET /pipelines/${id}`)).json() as {
      stages: { id: string; refId: string }[]
    }
    const [judgment, second] = ['1', '2'].map(
      (refId) => made.find((stage) => stage.refId === refId)?.id,
    )
    const change = {
      alias: 'deletePipeline',
      pipeline: encoded({ application: 'secret', name: 'main' }),
      application: 'secret',
    }
    assert.equal(
      (await ask('mallory', `PATCH /pipelines/${id}/stages/${second}`, change)).status,
      200,
    )
    assert.equal(
      (
        await ask('admin', `PATCH /pipelines/${id}/stages/${judgment}`, {
          judgmentStatus: 'continue',
        })
      ).status,
      200,
    )
    const { status, error } = await outcomeOf(ask, {
      text: JSON.stringify({ ref: `/pipelines/${id}` }),
    })
    assert.equal(status, 'TERMINAL')
    assert.match(error, /WRITE on the application secret; mallory/)
  })

  await t.test('a lost right ends control and restart', async () => {
    const lend = (...EXECUTE: string[]) => ({
      READ: ['mine', 'owners'],
      WRITE: ['owners'],
      EXECUTE,
    })
    await scene.createApplication('lent', lend('mine', 'owners'))
    const body = plan({
      application: 'lent',
      name: 'l',
      stages: [{ refId: '1', type: 'wait', waitTime: 600 }],
    })
    const id = idIn(await ask('mallory', 'POST /pipelines/start', body))
    const { stages } = (await ask('mallory', `GET /pipelines/${id}`)).json() as {
      stages: { id: string }[]
    }
    const application = { name: 'lent', email: 'a@example.com', permissions: lend('owners') }
    await scene.run('admin', 'lent', { type: 'updateApplication', application })
    for (const request of ['PUT', 'PATCH'].map(
      (method) => `${method} /pipelines/${id}/stages/${stages[0]?.id}`,
    )) {
      await forbidden(request.startsWith('PUT') ? `${request}/restart` : request, {
        skipRemainingWait: true,
      })
    }
    for (const action of ['cancel', 'pause', 'resume'])
      await forbidden(`PUT /pipelines/${id}/${action}`)
    await forbidden('POST /pipelines/start', body)
    assert.equal((await ask('olga', `PUT /pipelines/${id}/cancel`)).status, 200)
  })

  const users = openUsers(scene.dataDir)
  t.after(() => users.close())
  const removals = {
    'an operation': async () =>
      assert.equal((await ask('admin', 'DELETE /auth/users/paula')).status, 200),
    // The gateway looks for it each second.
    'a command': async () => {
      users.remove('paula')
      await waitUntil(() => users.unreported().length === 0, 'the report')
    },
  }
  for (const [by, remove] of Object.entries(removals))
    await t.test(`a run of a user whom ${by} has removed has no rights any more`, async () => {
      await scene.add('paula', ['owners'])
      const stages = [
        { refId: '1', type: 'manualJudgment' },
        { refId: '2', type: 'pipeline', application: 'secret', pipeline: secretId },
      ].map((stage, at) => ({ ...stage, requisiteStageRefIds: at === 0 ? [] : ['1'] }))
      const body = plan({ application: 'secret', name: 'late', stages })
      const started = await ask('paula', 'POST /pipelines/start', body)
      const run = `/pipelines/${idIn(started)}`
      const [judgment] = ((await ask('olga', `GET ${run}`)).json() as { stages: { id: string }[] })
        .stages
      await remove()
      await ask('olga', `PATCH ${run}/stages/${judgment?.id}`, { judgmentStatus: 'continue' })
      const { status, error } = await outcomeOf(ask, started)
      assert.equal(status, 'TERMINAL')
      assert.match(error, /EXECUTE on the application secret; paula/)
    })

  await t.test('a trigger runs no longer as an account that has lost its rights', async () => {
    const permit = (...EXECUTE: string[]) => ({ READ: ['owners'], WRITE: ['owners'], EXECUTE })
    await scene.createApplication('nightly', permit('owners', 'robots'))
    await scene.createApplication('open')
    await scene.add('roberta', ['owners', 'robots'])
    const trigger = { type: 'webhook', source: 'nightly', enabled: true }
    const nightly = {
      application: 'nightly',
      id: 'nightly',
      stages: [wait],
      triggers: [{ ...trigger, runAsUser: 'robot' }],
    }
    assert.equal((await ask('roberta', 'POST /pipelines', plan(nightly))).status, 200)
    // What the same event starts besides tells that it has been handled.
    const witness = { application: 'open', id: 'witness', stages: [wait], triggers: [trigger] }
    assert.equal((await ask('admin', 'POST /pipelines', plan(witness))).status, 200)
    const runsOf = async (id: string) =>
      (await ask('admin', `GET /executions?pipelineConfigIds=${id}&limit=50`)).json() as Shown[]
    const fire = async () => {
      const before = (await runsOf('witness')).length
      await ask(undefined, 'POST /webhooks/webhook/nightly', {})
      await waitFor(
        async () => (await runsOf('witness')).length > before || undefined,
        'a run of the witness',
      )
    }
    await waitFor(async () => {
      await fire()
      return (await runsOf('nightly')).length > 0 || undefined
    }, 'a run as the account')
    const before = await runsOf('nightly')
    assert.ok(before.every(({ authentication }) => authentication.user === 'robot'))
    const application = { name: 'nightly', email: 'a@example.com', permissions: permit('owners') }
    await scene.run('admin', 'nightly', { type: 'updateApplication', application })
    for (let round = 0; round < 3; round++) await fire()
    assert.equal((await runsOf('nightly')).length, before.length)
  })

  await t.test('nothing of it has happened', async () => {
    const names = (await ask('olga', 'GET /applications/secret/pipelineConfigs')).json() as {
      name: string
      id: string
    }[]
    assert.deepEqual(
      names.map(({ name, id }) => ({ name, id })),
      [{ name: 'main', id: secretId }],
    )
    assert.equal((await ask('olga', 'GET /applications/secret')).status, 200)
    const nobody = await fetch(`${url}/applications/secret`, { redirect: 'manual' })
    assert.ok([302, 401].includes(nobody.status))
  })

  await t.test('a moved definition belongs to its new application', async () => {
    const [own] = (await ask('mallory', 'GET /applications/mine/pipelineConfigs')).json() as {
      id: string
      name: string
    }[]
    assert.ok(own)
    const moved = await ask('admin', `PUT /pipelines/${own.id}`, {
      ...own,
      application: 'secret',
      name: 'moved',
    })
    assert.equal(moved.status, 200, moved.text)
    await forbidden(`PUT /pipelines/${own.id}`, { ...own, application: 'mine' })
    await forbidden(`GET /pipelineConfigs/${own.id}/history`)
  })
})

test('remains of a deleted application keep their owner', async (t) => {
  const { ask, secretId, executionId, run, createApplication } = await startScene(t)
  await run('olga', 'secret', { type: 'deleteApplication', application: { name: 'secret' } })
  const statusOf = async (who: string, request: string, body?: unknown) =>
    (await ask(who, request, body)).status
  const create = {
    type: 'createApplication',
    application: { name: 'SECRET', email: 'm@example.com' },
  }
  for (const request of [
    `GET /pipelines/${executionId}`,
    'GET /applications/secret/executions/search',
    'GET /applications/secret/tasks',
    'GET /applications/secret/history',
    `GET /pipelineConfigs/${secretId}/history`,
  ]) {
    assert.equal(await statusOf('mallory', request), 403, request)
    assert.equal(await statusOf('olga', request), 200, request)
  }
  assert.deepEqual((await ask('mallory', `GET /executions?executionIds=${executionId}`)).json(), [])
  assert.equal(
    await statusOf('mallory', 'POST /tasks', { application: 'secret', job: [create] }),
    403,
  )

  const template = { id: 'taker', schema: 'v2', metadata: { name: 'taker', scopes: ['mine'] } }
  const pipeline = { stages: [{ refId: '1', ...create }] }
  assert.equal(
    await statusOf('mallory', 'POST /v2/pipelineTemplates/create', { ...template, pipeline }),
    202,
  )
  const instance = {
    type: 'templatedPipeline',
    schema: 'v2',
    application: 'mine',
    name: 'takes',
    template: { reference: 'spinnaker://taker' },
    variables: {},
  }
  const { error } = await outcomeOf(ask, await ask('mallory', 'POST /pipelines/start', instance))
  assert.match(error, /WRITE on the application secret; mallory/)

  await run('olga', 'secret', {
    type: 'createApplication',
    application: { name: 'secret', email: 'o@example.com' },
  })
  assert.equal(await statusOf('mallory', 'GET /applications/secret'), 200)
  await createApplication('never-restricted')
  await run('admin', 'never-restricted', {
    type: 'deleteApplication',
    application: { name: 'never-restricted' },
  })
  assert.equal(await statusOf('mallory', 'GET /applications/never-restricted/tasks'), 200)
})
