/** Secrets in stages: what is called gets values, and no record holds them. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import type { CallService, ServiceCall } from '../../../packages/ports/service-call.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { type RecordedRequest, startUpstream } from '../../support/upstream.ts'
import {
  at,
  type EngineOptions,
  J,
  startEngine,
  type TestEngine,
} from '../orchestration/support.ts'

const value = 'hunter-2222/"plain"+text'
const forms = [
  value,
  Buffer.from(value).toString('base64'),
  encodeURIComponent(value),
  JSON.stringify(value).slice(1, -1),
  JSON.stringify(JSON.stringify(value).slice(1, -1)).slice(1, -1),
  Buffer.from(value).toString('hex'),
]

async function startWith(
  t: TestContext,
  others?: CallService,
  options: EngineOptions = {},
): Promise<{ engine: TestEngine; dataDir: string }> {
  const dataDir = createFolder('secrets')
  t.after(() => removeFolder(dataDir))
  const engine = await startEngine(t, {
    dataDir,
    backends: [definitionsBackend],
    outside: { allowed: ['127.0.0.1'] },
    ...(others !== undefined && { others }),
    ...options,
  })
  for (const name of ['token', 'other'])
    await engine.backends.ask('front50', 'PUT', `/secrets/application/app/${name}`, {
      value: name === 'token' ? value : 'another-one',
    })
  return { engine, dataDir }
}

const echo = ({ headers, body, query }: RecordedRequest) => ({
  sent: { token: headers['x-token'], body, query },
  hex: Buffer.from(String(headers['x-token'])).toString('hex'),
})

test('a webhook sends values, and neither its record nor the database has them', async (t) => {
  const { engine, dataDir } = await startWith(t)
  const target = await startUpstream(t, echo)
  const id = await engine.run({
    parameterConfig: [{ name: 'key', default: 'secret:token' }],
    stages: [
      {
        refId: '1',
        type: 'webhook',
        name: 'Call',
        url: `${target.url}/hook?key=secret:{other}`,
        customHeaders: { 'x-token': 'secret:token' },
        payload: {
          password: '${parameters.key}',
          text: 'with secret:{other} inside',
          left: 'secret: plain',
        },
      },
      {
        refId: '2',
        type: 'webhook',
        url: target.url,
        payload: '{"a":"secret:token"}',
        requisiteStageRefIds: ['1'],
      },
    ],
  })
  const execution = await engine.ends(id, 'SUCCEEDED')

  const [first, second] = target.requests
  assert.equal(first?.headers['x-token'], value)
  assert.equal(first?.query, 'key=another-one')
  assert.deepEqual(JSON.parse(first?.body ?? ''), {
    password: value,
    text: 'with another-one inside',
    left: 'secret: plain',
  })
  assert.deepEqual(JSON.parse(second?.body ?? ''), { a: value })
  const [stage] = execution.stages
  assert.deepEqual(stage?.context['customHeaders'], { 'x-token': 'secret:token' })
  assert.equal(at(stage, 'context', 'payload', 'password'), 'secret:token')
  assert.equal(at(stage, 'context', 'webhook', 'body', 'sent', 'token'), '******')
  const shown = JSON.stringify(execution)
  for (const form of [...forms, 'another-one']) assert.ok(!shown.includes(form), form)
  for (const file of readdirSync(dataDir)) {
    const bytes = readFileSync(join(dataDir, file))
    for (const form of forms) assert.ok(!bytes.includes(form), `${form} in ${file}`)
  }
  const { body } = await engine.backends.ask(
    'front50',
    'GET',
    '/secrets/application/app/other/uses',
  )
  const [use] = (body as { uses: JsonObject[] }).uses
  assert.equal(use?.['place'], 'stage Call of pipeline app/p')
})

test('what comes with an event refers to nothing', async (t) => {
  const { engine } = await startWith(t)
  const target = await startUpstream(t, echo)
  const stage = {
    refId: '1',
    type: 'webhook',
    url: target.url,
    payload: { text: '${parameters.text}' },
  }
  const trigger = { type: 'webhook', parameters: { text: 'secret:token' } }
  const id = await engine.run({ stages: [stage], trigger })
  const execution = await engine.ends(id, 'TERMINAL')
  assert.match(JSON.stringify(execution), /secret:token.* is not in the definition of the stage/)
  assert.equal(target.requests.length, 0)

  // The same text that a user gives at a start counts.
  await engine.ends(
    await engine.run({ stages: [stage], trigger: { ...trigger, type: 'manual' } }),
    'SUCCEEDED',
  )
  assert.deepEqual(JSON.parse(target.requests[0]?.body ?? ''), { text: value })
})

test('an unknown secret fails the stage with the remedy', async (t) => {
  const { engine } = await startWith(t)
  const id = await engine.run({
    stages: [{ refId: '1', type: 'webhook', url: 'http://127.0.0.1:1/', payload: 'secret:none' }],
  })
  const execution = await engine.ends(id, 'TERMINAL')
  assert.match(
    JSON.stringify(execution),
    /There is no secret .{1,2}none.{1,2} of the application app\. Set it/,
  )
})

test('a rotated secret names the executions that still run with the old value', async (t) => {
  const { engine } = await startWith(t)
  const target = await startUpstream(t, echo)
  const call = {
    refId: '1',
    type: 'webhook',
    name: 'Call',
    url: target.url,
    payload: 'secret:token',
  }
  const id = await engine.run({ stages: [call, J('2', '1')] })
  await engine.eventually(async () => (await engine.stage(id, '2')).status === 'RUNNING')
  await engine.backends.ask('front50', 'PUT', '/secrets/application/app/token', {
    value: 'the-next-value',
  })
  const running = async () =>
    (
      (await engine.backends.ask('front50', 'GET', '/secrets/application/app/token/uses'))
        .body as JsonObject
    )['running']
  assert.deepEqual(await running(), [
    { place: 'stage Call of pipeline app/p', version: 1, count: 1, isCurrent: false },
  ])
  await engine.ask('PUT', `/pipelines/${id}/cancel`, {})
  await engine.ends(id, 'CANCELED')
  assert.deepEqual(await running(), [])
})

test('services outside this process get values where references count', async (t) => {
  const calls: [string, ServiceCall][] = []
  const { engine } = await startWith(t, async (service, call) => {
    calls.push([service, call])
    if (call.path.startsWith('/aws/ops'))
      return { status: 200, body: { id: 't1', resourceUri: '/task/t1' } }
    if (call.path === '/task/t1')
      return {
        status: 200,
        body: { id: 't1', status: { completed: true, failed: false }, resultObjects: [] },
      }
    return { status: 404, body: undefined }
  })
  await engine.backends.ask('front50', 'PUT', '/secrets/account/prod/login', {
    value: 'of-the-account',
  })
  const description = {
    account: 'prod',
    region: 'east',
    cloudProvider: 'aws',
    environment: { LOGIN: 'secret:login', TAG: 'secret:token' },
    image: 'secret:token',
  }
  const id = await engine.task({ type: 'upsertLoadBalancer', ...description, name: 'front' })
  await engine.eventually(async () => calls.some(([, { path }]) => path.startsWith('/aws/ops')))
  const [, sent] = calls.find(([, { path }]) => path.startsWith('/aws/ops')) as [
    string,
    ServiceCall,
  ]
  assert.match(JSON.stringify(sent.body), /"LOGIN":"of-the-account"/)
  assert.match(JSON.stringify(sent.body), /"image":"secret:token"/)
  assert.ok(!JSON.stringify(await engine.view(id)).includes('of-the-account'))
})

test('a webhook uses no secret of the account that its stage names', async (t) => {
  const { engine } = await startWith(t)
  await engine.backends.ask('front50', 'PUT', '/secrets/account/prod/login', {
    value: 'of-the-account',
  })
  const target = await startUpstream(t, echo)
  const call = {
    refId: '1',
    type: 'webhook',
    url: target.url,
    payload: 'secret:login',
    account: 'prod',
    credentials: 'prod',
  }
  const execution = await engine.ends(await engine.run({ stages: [call] }), 'TERMINAL')
  assert.match(
    JSON.stringify(execution),
    /There is no secret .{1,2}login.{1,2} of the application app\. Set it for the application,/,
  )
  assert.equal(target.requests.length, 0)
})

test('an operation with secrets needs WRITE on its own account', async (t) => {
  const sent: ServiceCall[] = []
  const { engine } = await startWith(
    t,
    async (service, call) => {
      if (service === 'fiat') {
        const accounts = [{ name: 'mine', authorizations: ['READ', 'WRITE'] }]
        const applications = [{ name: 'app', authorizations: ['READ', 'WRITE', 'EXECUTE'] }]
        return { status: 200, body: { accounts, applications, serviceAccounts: [] } }
      }
      if (service === 'clouddriver' && call.method === 'POST') sent.push(call)
      return call.path.startsWith('/aws/ops')
        ? { status: 200, body: { id: 't1' } }
        : { status: 404, body: undefined }
    },
    { authorization: true },
  )
  for (const account of ['prod', 'mine'])
    await engine.backends.ask('front50', 'PUT', `/secrets/account/${account}/login`, {
      value: `of-${account}`,
    })
  const stage = {
    refId: '1',
    type: 'upsertLoadBalancer',
    cloudProvider: 'aws',
    region: 'east',
    name: 'front',
  }
  const run = (account: string) =>
    engine.run(
      {
        stages: [
          { ...stage, 'account.name': 'mine', account, environment: { LOGIN: 'secret:login' } },
        ],
      },
      'olga',
    )
  const execution = await engine.ends(await run('prod'), 'TERMINAL')
  assert.match(
    JSON.stringify(execution),
    /needs WRITE on the account prod; olga has not got it\. An operator can grant it/,
  )
  assert.equal(sent.length, 0)
  await run('mine')
  await engine.eventually(async () => sent.length > 0)
  assert.match(JSON.stringify(sent[0]?.body), /"LOGIN":"of-mine"/)
})

test('a reference of one stage refers to nothing in another', async (t) => {
  const { engine } = await startWith(t)
  const target = await startUpstream(t, echo)
  const call = (refId: string, payload: unknown, ...requisiteStageRefIds: string[]) => {
    return { refId, type: 'webhook', url: target.url, payload, requisiteStageRefIds }
  }
  const message = { text: '${trigger.payload.message}' }
  const stages = [call('1', { token: 'secret:token' }), call('2', message, '1')]
  const trigger = {
    type: 'webhook',
    payload: { message: 'secret:token' },
    parameters: { key: 'secret:other' },
  }
  const refused = async (definition: JsonObject, ...expected: RegExp[]) => {
    const shown = JSON.stringify(await engine.ends(await engine.run(definition), 'TERMINAL'))
    for (const each of expected) assert.match(shown, each)
  }
  // The payload has the text of the only stage that may use it.
  await refused(
    { stages, trigger },
    /secret:token.{1,3} is also in the payload or the parameters of the event/,
  )
  assert.equal(target.requests.length, 0)
  // The second stage makes up the text.
  const made = call('2', { text: '${"secret:".concat(trigger.payload.name)}' }, '1')
  const named = { type: 'webhook', payload: { name: 'token' } }
  await refused(
    { stages: [stages[0], made], trigger: named },
    /secret:token.{1,3} is not in the definition of the stage/,
  )
  assert.equal(target.requests.length, 1)
  // A default counts everywhere, unless the event has it elsewhere.
  const parameterConfig = [{ name: 'key', default: 'secret:other' }, { name: 'text' }]
  const passing = [call('1', { a: '${parameters.key}', b: '${parameters.text}' })]
  await engine.ends(
    await engine.run({ parameterConfig, stages: passing, trigger: { ...trigger, payload: {} } }),
    'SUCCEEDED',
  )
  assert.match(target.requests[1]?.body ?? '', /"a":"another-one"/)
  const misused = { type: 'webhook', payload: {}, parameters: { text: 'secret:other' } }
  await refused(
    { parameterConfig, stages: passing, trigger: misused },
    /secret:other.{1,3} is also in/,
  )
  assert.equal(target.requests.length, 2)
})

test('a child gets references that count in the stage that passes them', async (t) => {
  const { engine } = await startWith(t)
  const target = await startUpstream(t, echo)
  const child = {
    id: 'c1',
    application: 'app',
    name: 'child',
    triggers: [],
    stages: [
      { refId: '1', type: 'webhook', url: target.url, payload: { text: '${parameters.text}' } },
    ],
  }
  await engine.backends.ask('front50', 'POST', '/pipelines', child)
  const start = (text: string, refId = '1') => ({
    refId,
    type: 'pipeline',
    pipeline: 'c1',
    pipelineParameters: { text },
  })
  await engine.ends(await engine.run({ stages: [start('secret:token')] }), 'SUCCEEDED')
  assert.deepEqual(JSON.parse(target.requests[0]?.body ?? ''), { text: value })

  // The text is in the parent, but not in the stage that passes it.
  const made = {
    ...start('${"secret:".concat(trigger.payload.name)}', '2'),
    requisiteStageRefIds: ['1'],
  }
  const stages = [{ refId: '1', type: 'wait', waitTime: 0, comments: 'secret:token' }, made]
  const trigger = { type: 'webhook', payload: { name: 'token' } }
  const ended = await engine.ends(await engine.run({ stages, trigger }), 'TERMINAL')
  assert.match(
    JSON.stringify(ended),
    /child pipeline stage .* is not in the definition of the stage/,
  )
  assert.equal(target.requests.length, 1)
})
