/** A standalone instance without accounts is asked everything that the web UI and the command line `spin` ask of a gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser } from '../login/browser.ts'
import {
  type Answer,
  type Ask,
  createAsk,
  expectStatus,
  logIn,
  password,
  poll,
  runTask,
  startStandalone,
  statusOf,
  uiOrigin,
  until,
} from './client.ts'
import { type CommandRequest, commands } from './command-line.ts'
import { boot, type Page, type Places, pages } from './web-ui-pages.ts'

/** What holds for every answer that the page in the browser is to see. */
function checkReadable({ headers, text }: Answer, what: string): void {
  assert.equal(headers.get('access-control-allow-origin'), uiOrigin, what)
  assert.equal(headers.get('access-control-allow-credentials'), 'true', what)
  assert.match(headers.get('vary') ?? '', /Origin/i, what)
  if (text === '') assert.equal(headers.get('content-type'), null, what)
  else assert.match(headers.get('content-type') ?? '', /^application\/(.+\+)?json/, what)
}

async function checkPage(ui: Ask, { requests }: Page, places: Places): Promise<void> {
  for (const { path, answer: expected } of requests(places)) {
    const answer = await ui('GET', path)
    assert.equal(answer.status, 200, `${path}: ${answer.text}`)
    checkReadable(answer, path)
    const read = expected.safeParse(answer.value)
    assert.ok(read.success, `${path}: ${read.error?.message}\n${answer.text}`)
  }
}

interface Definition extends Record<string, unknown> {
  id: string
  name: string
  index: number
  updateTs: string
}

const wait = { refId: '1', requisiteStageRefIds: [], type: 'wait', name: 'Wait', waitTime: 0 }
const judge = {
  refId: '1',
  requisiteStageRefIds: [],
  type: 'manualJudgment',
  name: 'Go?',
  judgmentInputs: [],
}

const readDefinition = async (ask: Ask, application: string, name: string): Promise<Definition> => {
  const { value } = await expectStatus(
    ask('GET', `/applications/${application}/pipelineConfigs`),
    200,
  )
  const found = (value as Definition[]).find((definition) => definition.name === name)
  return found ?? assert.fail(`no ${name}`)
}

const start = async (ask: Ask, application: string, name: string): Promise<string> => {
  const trigger = { type: 'manual', user: 'admin', dryRun: false, parameters: { color: 'blue' } }
  const { value } = await expectStatus(
    ask('POST', `/pipelines/v2/${application}/${encodeURIComponent(name)}`, trigger),
    202,
  )
  const { ref } = value as { ref: string }
  await poll(
    () => ask('GET', ref),
    ({ status }) => status === 200,
  )
  return ref
}

test('the UI works on a platform without accounts', async (t) => {
  const { url } = await startStandalone(t)

  await t.test('a preflight is answered on any path without login', async () => {
    for (const path of [
      '/auth/user',
      '/applications',
      '/pipelines/v2/ship/hello',
      '/tasks/none/cancel',
      '/nowhere',
    ]) {
      const answer = await fetch(url + path, {
        method: 'OPTIONS',
        headers: {
          Origin: uiOrigin,
          'Access-Control-Request-Method': 'PATCH',
          'Access-Control-Request-Headers': 'content-type,x-ratelimit-app',
        },
      })
      assert.equal(answer.status, 200, path)
      assert.equal(answer.headers.get('access-control-allow-origin'), uiOrigin)
      assert.equal(answer.headers.get('access-control-allow-credentials'), 'true')
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        assert.match(answer.headers.get('access-control-allow-methods') ?? '', new RegExp(method))
      }
      assert.match(
        answer.headers.get('access-control-allow-headers') ?? '',
        /content-type.*x-ratelimit-app/i,
      )
      assert.equal(answer.headers.get('access-control-max-age'), '3600')
    }
  })

  await t.test('a first visit is not logged in and no error', async () => {
    const stranger = createAsk(url, { Origin: uiOrigin })
    const user = await expectStatus(stranger('GET', '/auth/user'), 200)
    assert.equal(user.text, '')
    checkReadable(user, '/auth/user')
    const target = `${uiOrigin}/#/applications?a=b`
    const sent = await new Browser(url).visit(`/auth/redirect?to=${encodeURIComponent(target)}`)
    assert.deepEqual([sent.status, sent.location], [302, `${url}/login`])
    await expectStatus(stranger('GET', '/plugins/deck/plugin-manifest.json'), 200)
  })

  const { ui, cookie } = await logIn(url)
  const application = 'ship'

  await t.test('the login returns to the page with its fragment', async () => {
    const target = `${uiOrigin}/#/applications?a=b`
    const sent = await expectStatus(
      ui('GET', `/auth/redirect?to=${encodeURIComponent(target)}`),
      302,
    )
    assert.equal(sent.headers.get('location'), target)
  })

  let taskId = ''
  await t.test('a created application can be read once its task has succeeded', async () => {
    const created = {
      name: application,
      email: 'crew@example.com',
      cloudProviders: '',
      instancePort: 80,
      permissions: { READ: [], EXECUTE: [], WRITE: [] },
      platformHealthOnly: false,
      providerSettings: {},
    }
    const ref = await runTask(ui, application, {
      type: 'createApplication',
      application: created,
      user: '[anonymous]',
    })
    taskId = ref.split('/').at(-1) ?? ''
    await expectStatus(ui('GET', `/applications/${application}?expand=false`), 200)
    const { value } = await ui('GET', '/applications')
    assert.ok((value as { name: string }[]).some(({ name }) => name.toLowerCase() === application))
  })

  await t.test('a saved pipeline is listed at once with id and index', async () => {
    for (const [place, name] of ['hello', 'ask first'].entries()) {
      const stages = name === 'hello' ? [wait] : [judge]
      const body = {
        name,
        application,
        index: place,
        stages,
        triggers: [],
        limitConcurrent: false,
        keepWaitingPipelines: false,
      }
      const saved = await expectStatus(ui('POST', '/pipelines?staleCheck=true', body), 200)
      assert.equal(saved.text, '')
      checkReadable(saved, 'save')
      const definition = await readDefinition(ui, application, name)
      assert.match(definition.id, /./)
      assert.equal(definition.index, place)
    }
  })

  await t.test('a save of an older revision is rejected', async () => {
    const read = await readDefinition(ui, application, 'hello')
    await expectStatus(
      ui('POST', '/pipelines?staleCheck=true', { ...read, description: 'first' }),
      200,
    )
    const stale = await ui('POST', '/pipelines?staleCheck=true', {
      ...read,
      updateTs: String(Number(read.updateTs) - 1),
      description: 'late',
    })
    assert.ok(stale.status >= 400 && stale.status < 500, `${stale.status}`)
    checkReadable(stale, 'stale save')
    assert.equal((stale.value as { status: number }).status, stale.status)
    assert.equal((await readDefinition(ui, application, 'hello'))['description'], 'first')
  })

  await t.test('a pipeline is renamed under its id', async () => {
    const read = await readDefinition(ui, application, 'hello')
    await expectStatus(ui('PUT', `/pipelines/${read.id}`, { ...read, name: 'greet' }), 200)
    assert.equal((await readDefinition(ui, application, 'greet')).id, read.id)
  })

  const pipelineId = (await readDefinition(ui, application, 'greet')).id
  let executionId = ''
  await t.test('a started pipeline can be read and succeeds', async () => {
    const ref = await start(ui, application, 'greet')
    executionId = ref.split('/').at(-1) ?? ''
    const { value } = await until(ui, ref, 'SUCCEEDED')
    assert.equal(
      (value as { trigger: { parameters: { color: string } } }).trigger.parameters.color,
      'blue',
    )
  })

  await t.test('a project is created, read by its name, and deleted', async () => {
    const config = { applications: [application], pipelineConfigs: [], clusters: [] }
    for (const name of ['harbour', 'reef']) {
      await runTask(ui, 'spinnaker', {
        type: 'upsertProject',
        project: { name, email: 'crew@example.com', config },
        user: 'admin',
      })
    }
    const { value } = await expectStatus(ui('GET', '/projects/reef'), 200)
    await runTask(ui, 'spinnaker', {
      type: 'deleteProject',
      project: { id: (value as { id: string }).id },
      user: 'admin',
    })
    const gone = await expectStatus(ui('GET', '/projects/reef'), 404)
    checkReadable(gone, 'a deleted project')
  })

  const places: Places = {
    application,
    pipeline: 'greet',
    pipelineId,
    executionId,
    taskId,
    project: 'harbour',
  }
  for (const page of [boot, ...pages]) {
    await t.test(`the page ${page.page}`, () => checkPage(ui, page, places))
  }

  const judgments = [
    { judgmentStatus: 'continue', ends: 'SUCCEEDED' },
    { judgmentStatus: 'stop', ends: 'TERMINAL' },
  ]
  for (const { judgmentStatus, ends } of judgments) {
    await t.test(`a judgment to ${judgmentStatus} ends the execution as ${ends}`, async () => {
      const ref = await start(ui, application, 'ask first')
      const { value } = await poll(
        () => ui('GET', ref),
        (answer) =>
          (answer.value as { stages: { status: string }[] }).stages[0]?.status === 'RUNNING',
      )
      const [stage] = (value as { stages: { id: string }[] }).stages
      await expectStatus(ui('PATCH', `${ref}/stages/${stage?.id}`, { judgmentStatus }), 200)
      await until(ui, ref, ends)
    })
  }

  await t.test('executions are controlled, and polling sees each change', async () => {
    const ref = await start(ui, application, 'ask first')
    await until(ui, ref, 'RUNNING')
    await expectStatus(ui('PUT', `${ref}/pause`), 200)
    await until(ui, ref, 'PAUSED')
    await expectStatus(ui('PUT', `${ref}/resume`), 200)
    await until(ui, ref, 'RUNNING')
    await expectStatus(ui('PUT', `${ref}/cancel?reason=fog&force=false`), 200)
    const { value } = await until(ui, ref, 'CANCELED')
    const [stage] = (value as { stages: { id: string }[] }).stages
    await expectStatus(ui('PUT', `${ref}/stages/${stage?.id}/restart`, { skip: false }), 200)
    await until(ui, ref, 'RUNNING')
    await expectStatus(ui('PUT', `${ref}/cancel`), 200)
    await until(ui, ref, 'CANCELED')
    await expectStatus(ui('DELETE', ref), 200)
    const gone = await poll(
      () => ui('GET', ref),
      ({ status }) => status === 404,
    )
    checkReadable(gone, 'a deleted execution')
  })

  await t.test('expressions are evaluated in executions and stages', async () => {
    const { value } = await ui('GET', `/pipelines/${executionId}`)
    const [stage] = (value as { stages: { id: string }[] }).stages
    const expression = encodeURIComponent(`\${trigger.parameters.color}`)
    for (const path of [`/pipelines/${executionId}`, `/pipelines/${executionId}/${stage?.id}`]) {
      const answer = await expectStatus(
        ui('GET', `${path}/evaluateExpression?expression=${expression}`),
        200,
      )
      assert.equal((answer.value as { result: string }).result, 'blue', path)
    }
  })

  await t.test('pipelines and strategies are kept in the order that was chosen', async () => {
    const first = await readDefinition(ui, application, 'ask first')
    const idsToIndices = { [first.id]: 0, [pipelineId]: 1 }
    await expectStatus(ui('POST', '/actions/pipelines/reorder', { application, idsToIndices }), 200)
    assert.equal((await readDefinition(ui, application, 'ask first')).index, 0)
    assert.equal((await readDefinition(ui, application, 'greet')).index, 1)
    await expectStatus(
      ui('POST', '/strategies', { name: 'gently', application, stages: [wait] }),
      200,
    )
    const { value } = await ui('GET', `/applications/${application}/strategyConfigs`)
    const [strategy] = value as Definition[]
    await expectStatus(
      ui('PUT', `/strategies/${strategy?.id}`, { ...strategy, name: 'softly' }),
      200,
    )
    await expectStatus(
      ui('POST', '/actions/strategies/reorder', {
        application,
        idsToIndices: { [strategy?.id ?? '']: 0 },
      }),
      200,
    )
    const history = await expectStatus(ui('GET', `/strategyConfigs/${strategy?.id}/history`), 200)
    assert.equal((history.value as Definition[])[0]?.name, 'softly')
    await expectStatus(ui('DELETE', `/strategies/${application}/softly`), 200)
    assert.deepEqual((await ui('GET', `/applications/${application}/strategyConfigs`)).value, [])
  })

  await t.test('notifications of an application are kept', async () => {
    const email = [
      {
        type: 'email',
        address: 'crew@example.com',
        level: 'application',
        when: ['pipeline.failed'],
      },
    ]
    await expectStatus(
      ui('POST', `/notifications/application/${application}`, { application, email }),
      200,
    )
    const { value } = await expectStatus(
      ui('GET', `/notifications/application/${application}`),
      200,
    )
    assert.equal((value as { email: { address: string }[] }).email[0]?.address, 'crew@example.com')
  })

  await t.test('a failed task names its errors for the dialogs', async () => {
    const nameless = { type: 'createApplication', application: { name: 'nameless' } }
    const { value } = await expectStatus(
      ui('POST', '/tasks', { application, description: 'fails', job: [nameless] }),
      200,
    )
    const failed = await until(ui, (value as { ref: string }).ref, 'TERMINAL')
    const { variables } = failed.value as {
      variables: { key: string; value: { details?: { errors?: string[] } } }[]
    }
    const errors = variables.find(({ key }) => key === 'exception')?.value.details?.errors
    assert.ok(errors?.every((error) => typeof error === 'string') && errors.length > 0, failed.text)
  })

  await t.test('a deleted pipeline and a deleted application are gone', async () => {
    await expectStatus(ui('DELETE', `/pipelines/${application}/greet`), 200)
    await runTask(ui, application, {
      type: 'deleteApplication',
      application: { name: application, cloudProviders: '' },
    })
    await expectStatus(ui('GET', `/applications/${application}?expand=false`), 404)
  })

  await t.test('after the logout the session is gone', async () => {
    const out = await fetch(`${url}/auth/logout`, {
      headers: { Cookie: cookie, Origin: uiOrigin, 'Content-Type': 'text/plain' },
    })
    assert.equal(out.status, 200)
    assert.equal((await ui('GET', '/auth/user')).text, '')
  })
})

type Found = Record<string, string>

/** Fills the `{names}` of a path in; one that nobody has found, such as a placeholder that a client sends, stays. */
const fill = (path: string, found: Found): string =>
  path.replace(/\{(\w+)\}/g, (all, name: string) => found[name] ?? all)

async function runRequest(
  spin: Ask,
  { ask, body, status, answer: expected, keep, isTask, until: again }: CommandRequest,
  found: Found,
) {
  const [method = '', path = ''] = ask.split(' ')
  const send = () => spin(method, fill(path, found), body?.(found))
  const isExpected = ({ value }: Answer) =>
    expected === undefined || expected.safeParse(value).success
  const answer = again ? await poll(send, isExpected) : await send()
  assert.equal(answer.status, status, `${ask}: ${answer.text}`)
  assert.ok(isExpected(answer), `${ask}: ${answer.text}`)
  if (answer.text !== '') assert.match(answer.headers.get('content-type') ?? '', /json/, ask)
  if (status >= 400) assert.equal(statusOf(answer), status, ask)
  Object.assign(found, keep?.(answer.value as never))
  if (isTask) await until(spin, (answer.value as { ref: string }).ref, 'SUCCEEDED')
}

test('spin gets the statuses and fields that it needs', async (t) => {
  const { url } = await startStandalone(t)
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  const spin = createAsk(url, { Authorization: authorization, Accept: 'application/json' })
  const found: Found = {}
  for (const { command, requests } of commands) {
    await t.test(command, async () => {
      const { value } = await expectStatus(spin('GET', '/version'), 200)
      assert.equal(typeof (value as { version: unknown }).version, 'string')
      for (const request of requests) await runRequest(spin, request, found)
    })
  }

  await t.test('an API token serves as login', async () => {
    const { value } = await expectStatus(spin('POST', '/auth/apiTokens', { name: 'spin' }), 201)
    const withToken = createAsk(url, { 'X-Spinnaker-Token': (value as { token: string }).token })
    assert.equal(
      ((await withToken('GET', '/auth/user')).value as { username: string }).username,
      'admin',
    )
    await expectStatus(withToken('GET', '/version'), 200)
  })

  await t.test('the form login needs no CSRF token', async () => {
    const { cookie } = await logIn(url)
    const withCookie = createAsk(url, { Cookie: cookie })
    await expectStatus(withCookie('GET', '/version'), 200)
    assert.equal(
      ((await withCookie('GET', '/auth/user')).value as { username: string }).username,
      'admin',
    )
  })
})
