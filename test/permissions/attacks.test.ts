/** Ways around the permissions of an application that somebody without rights on it might try. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { type Seeded, startSeeded } from './support.ts'

const plan = (fields: Record<string, unknown>) => ({ name: 'main', stages: [], triggers: [], ...fields })
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

interface Scene extends Seeded {
  /** Definition of the pipeline `main` of the application `secret`. */
  secretId: string
  /** An execution of it. */
  executionId: string
}

/** `secret` belongs to the owners; mallory is a writer of `mine` and has nothing else. */
async function startScene(t: TestContext): Promise<Scene> {
  const seeded = await startSeeded(t, { 'service-accounts': [{ name: 'robot', memberOf: ['robots'] }] })
  const { add, ask, createApplication } = seeded
  await add('mallory', ['mine'])
  await add('olga', ['owners'])
  await createApplication('secret', { READ: ['owners'], WRITE: ['owners'], EXECUTE: ['owners'] })
  await createApplication('mine', { READ: ['mine'], WRITE: ['mine'], EXECUTE: ['mine'] })
  assert.equal((await ask('olga', 'POST /pipelines', plan({ application: 'secret' }))).status, 200)
  assert.equal((await ask('mallory', 'POST /pipelines', plan({ application: 'mine', name: 'own' }))).status, 200)
  const [stored] = (await ask('olga', 'GET /applications/secret/pipelineConfigs')).json() as { id: string }[]
  const started = (await ask('olga', 'POST /pipelines/secret/main', {})).json() as { ref: string }
  return { ...seeded, secretId: stored?.id as string, executionId: started.ref.split('/').at(-1) as string }
}

test('attacks on an application that somebody has no right on', async (t) => {
  const scene = await startScene(t)
  const { ask, url, secretId, executionId } = scene
  const refused = async (request: string, body?: unknown, headers?: Record<string, string>) => {
    const { status, text } = await ask('mallory', request, body, headers)
    assert.ok([400, 403, 404, 405].includes(status), `${request}: ${status} ${text.slice(0, 200)}`)
    assert.doesNotMatch(text, /"email":|"stages":/, request)
    return status
  }
  const forbidden = async (request: string, body?: unknown, headers?: Record<string, string>) => {
    const { status, text } = await ask('mallory', request, body, headers)
    assert.equal(status, 403, `${request} ${JSON.stringify(body)}: ${text.slice(0, 200)}`)
  }

  await t.test('the name in another case, with blanks or percent-encoded is the same application', async () => {
    for (const name of ['SECRET', 'Secret', '%73ecret', 'secret%20', '%20secret', '%C5%BFecret']) {
      await forbidden(`GET /applications/${name}`)
      await forbidden(`GET /applications/${name}/pipelineConfigs`)
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
    const override = { 'x-http-method-override': 'GET', 'x-method-override': 'GET', 'x-http-method': 'GET' }
    await forbidden(`DELETE /pipelines/${executionId}`, undefined, override)
    await forbidden(`POST /pipelines?_method=GET`, plan({ application: 'secret' }))
    assert.equal((await ask('mallory', 'HEAD /applications/secret')).status, 403)
    assert.equal((await ask('mallory', `HEAD /pipelines/${executionId}`)).status, 403)
    for (const method of ['OPTIONS', 'GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
      const { status, text } = await ask(
        'mallory',
        `${method} /pipelines/${executionId}/evaluateExpression?expression=%24%7B1%2B1%7D`,
      )
      assert.ok(status === 403 || (method === 'OPTIONS' && text === ''), `${method}: ${status} ${text}`)
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
    assert.deepEqual((await ask('mallory', `GET /executions?executionIds=${executionId}`)).json(), [])
    assert.deepEqual((await ask('mallory', `GET /executions?pipelineConfigIds=${secretId}`)).json(), [])
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
    assert.doesNotMatch((await ask('mallory', 'GET /search?q=secret&type=applications')).text, /"application":"secret"/)
  })

  await t.test('one definition of a batch that is not theirs spoils the batch', async () => {
    const own = plan({ application: 'mine', name: 'another' })
    await forbidden('POST /pipelines/bulksave', [own, plan({ application: 'secret', name: 'x' })])
    await forbidden('POST /pipelines/bulksave', [own, plan({ application: 'mine', id: secretId })])
    await forbidden('POST /pipelines/bulksave?application=secret', [own])
    await forbidden('POST /actions/pipelines/reorder', { application: 'mine', idsToIndices: { [secretId]: 0 } })
    await forbidden('POST /actions/pipelines/reorder', { application: 'secret', idsToIndices: {} })
    assert.doesNotMatch((await ask('mallory', 'GET /applications/mine/pipelineConfigs')).text, /another/)
  })

  await t.test('a pipeline may run only as a service account that its author may use', async () => {
    const triggers = [{ type: 'cron', enabled: true, cronExpression: '0 0 0 1 1 ?', runAsUser: 'robot' }]
    await forbidden('POST /pipelines', plan({ application: 'mine', name: 'as robot', triggers }))
    const fields = { ...plan({ application: 'mine', name: 'as robot' }), triggers: [{ ...triggers[0], runAsUser: 'Robot ' }] }
    await forbidden('POST /pipelines', fields)
    await forbidden('POST /tasks', { application: 'mine', job: [{ type: 'savePipeline', pipeline: encoded(fields) }] })
  })

  await t.test('jobs are judged by what they are about, and not by the application of their task', async () => {
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
      { type: 'savePipeline', isBulkSavingPipelines: true, pipelines: encoded([plan({ application: 'secret' })]) },
      { type: 'reorderPipelines', application: encoded('secret'), idsToIndices: encoded({}), isStrategy: encoded(false) },
      { type: 'pipeline', application: 'mine', pipeline: secretId },
      { type: 'destroyServerGroup', account: 'prod', region: 'x', serverGroupName: 'y' },
      { type: 'deploy', clusters: [{ application: 'mine', account: 'prod' }] },
      { type: 'deployManifest', account: `\${'prod'}`, moniker: { app: 'mine' } },
      { type: 'deleteManifest', moniker: { app: 'secret' } },
    ]
    for (const job of jobs) {
      await forbidden('POST /tasks', { application: 'mine', job: [{ type: 'wait', waitTime: 0 }, job] })
      await forbidden('POST /applications/mine/tasks', { application: 'mine', job: [job] })
    }
    await forbidden('POST /tasks', { application: 'secret', job: [{ type: 'wait', waitTime: 0 }] })
    await forbidden('POST /applications/secret/tasks', { application: 'mine', job: [{ type: 'wait', waitTime: 0 }] })
    await forbidden('POST /applications/mine/tasks', { application: 'secret', job: [{ type: 'wait', waitTime: 0 }] })
  })

  await t.test('a pipeline of theirs does not do it either', async () => {
    const stages = [{ refId: '1', type: 'deleteApplication', application: { name: 'secret' } }]
    await forbidden('POST /pipelines', plan({ application: 'mine', name: 'evil', stages }))
    await forbidden('POST /pipelines/start', plan({ application: 'mine', name: 'evil', stages }))
    const child = [{ refId: '1', type: 'pipeline', application: 'secret', pipeline: secretId }]
    await forbidden('POST /pipelines/start', plan({ application: 'mine', name: 'evil', stages: child }))
    await forbidden('POST /pipelines/secret/main', {})
    await refused(`POST /pipelines/mine/${secretId}`, {})
    await forbidden('POST /pipelines/v2/secret/main', {})
  })

  await t.test('nothing of it has happened', async () => {
    const names = (await ask('olga', 'GET /applications/secret/pipelineConfigs')).json() as { name: string; id: string }[]
    assert.deepEqual(
      names.map(({ name, id }) => ({ name, id })),
      [{ name: 'main', id: secretId }],
    )
    assert.equal((await ask('olga', 'GET /applications/secret')).status, 200)
    const nobody = await fetch(`${url}/applications/secret`, { redirect: 'manual' })
    assert.ok([302, 401].includes(nobody.status))
  })

  await t.test('a definition that has moved belongs to its new application at once', async () => {
    const [own] = (await ask('mallory', 'GET /applications/mine/pipelineConfigs')).json() as { id: string; name: string }[]
    assert.ok(own)
    const moved = await ask('admin', `PUT /pipelines/${own.id}`, { ...own, application: 'secret', name: 'moved' })
    assert.equal(moved.status, 200, moved.text)
    await forbidden(`PUT /pipelines/${own.id}`, { ...own, application: 'mine' })
    await forbidden(`GET /pipelineConfigs/${own.id}/history`)
  })
})
