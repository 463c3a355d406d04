/** Wrong values of enumerations are answered with the right ones. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../../support/gateway.ts'
import { waitFor, waitUntil } from '../../support/wait-until.ts'

type Fields = Record<string, unknown>

interface WrongValue {
  method?: string
  path: string
  body?: unknown
  says: RegExp
}

const statuses = /"RUNING" is not a status\. Use one of RUNNING, .*TERMINAL.*SUCCEEDED/
/** Saves of a pipeline that go wrong. */
const saves = (fields: Fields) => ({
  path: '/pipelines',
  body: { application: 'web', name: 'p', ...fields },
})

const wrongValues: WrongValue[] = [
  { path: '/applications/web/pipelines?statuses=RUNING', says: statuses },
  { path: '/applications/web/pipelines?statuses=SUCCEEDED,RUNING', says: statuses },
  { path: '/executions?pipelineConfigIds=x&statuses=RUNING', says: statuses },
  { path: '/applications/web/executions/search?statuses=RUNING', says: statuses },
  { path: '/applications/web/tasks?statuses=RUNING', says: statuses },
  { path: '/projects/x/pipelines?statuses=RUNING', says: statuses },
  {
    path: `/applications/web/tasks?statuses=${'x'.repeat(2000)}`,
    says: /"x{99}…" is not a status\. Use one of /,
  },
  {
    path: '/v2/builds?type=jenkns',
    says: /"jenkns" is not a type of build server\. Use one of jenkins, /,
  },
  {
    path: '/webhooks/git/gitlap',
    body: {},
    says: /"gitlap" is not a code host\. Use one of gitlab, /,
  },
  { path: '/audit/events?kind=changes', says: /"kind" must be one of change, / },
  {
    method: 'PUT',
    path: '/admin/executions/forceCancel?executionId=x&executionType=TASK',
    says: /"executionType" must be one of PIPELINE, ORCHESTRATION/,
  },
  {
    path: '/applications/web/executions/search?size=99999999999',
    says: /"size" must be at most 2147483647, not "99999999999"/,
  },
  {
    path: '/applications/web/executions/search?triggerTimeStartBoundary=yesterday',
    says: /"triggerTimeStartBoundary" must be a moment in milliseconds since the epoch, not "yesterday"/,
  },
  { ...saves({}), body: [], says: /The body is not usable: it must be an object, not a list\./ },
  {
    path: '/pipelines/x/evaluateExpression',
    body: [1],
    says: /The body is not usable: it must be text or an object, not a list\./,
  },
  { path: '/auth/redirect?to=', says: /"to" must have 1 to \d+ characters/ },
  { path: '/auth/redirect', says: /"to" is required/ },
  {
    path: '/pipelines',
    body: { name: 'p' },
    says: /"application" in the body is not usable: it is missing\./,
  },
  { ...saves({ id: 7 }), says: /id: it must be text, not a number\./ },
  { ...saves({ stages: {} }), says: /stages: it must be a list/ },
  { ...saves({ disabled: 'perhaps' }), says: /disabled: it must be true or false\./ },
  {
    path: '/pipelines/web/p',
    body: { parameters: 'a=b' },
    says: /"parameters" of the trigger is not usable: it must be an object, not text\./,
  },
  {
    path: '/auth/apiTokens/x/rotate',
    body: { overlapSeconds: '1' },
    says: /"overlapSeconds" in the body is not usable: it must be a number, not text\./,
  },
  {
    path: '/applications/web/pipelines?expand=perhaps',
    says: /"expand" must be true or false, not "perhaps"/,
  },
]

test('an invalid enumeration value is rejected with the valid ones', async (t) => {
  const url = await startGateway(t, { anonymous: { enabled: true } }, { embedded: true })
  const ask = async (path: string, method?: string, body?: unknown) => {
    const answer = await fetch(url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await answer.text()
    return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Fields }
  }
  for (const { path, method, body, says } of wrongValues) {
    await t.test(
      `${method ?? ''} ${path} ${JSON.stringify(body ?? '')}`.slice(0, 120).trim(),
      async () => {
        const answer = await ask(path, method, body)
        assert.equal(answer.status, 400, JSON.stringify(answer.body))
        assert.match(String(answer.body['message']), says)
      },
    )
  }

  await t.test('a judgment that decides nothing', async () => {
    const stages = [{ refId: '1', type: 'manualJudgment' }]
    const { ref } = (
      await ask('/pipelines/start', 'POST', { application: 'web', name: 'p', stages })
    ).body
    const stagesOf = async () => (await ask(String(ref))).body['stages'] as Fields[]
    await waitUntil(async () => (await stagesOf())[0]?.['status'] === 'RUNNING', 'the judgment')
    const path = `${ref}/stages/${(await stagesOf())[0]?.['id']}`
    const misspelt = await ask(path, 'PATCH', { judgementStatus: 'continue' })
    assert.match(
      String(misspelt.body['message']),
      /"judgementStatus" is not a field of a judgment\. Use one of judgmentStatus, /,
    )
    const elsewhere = await ask(`${ref}/stages/1`, 'PATCH', { judgmentStatus: 'continue' })
    assert.match(
      String(elsewhere.body['message']),
      /no stage with the id 1\. Its stages are .* \(manualJudgment\)\./,
    )
    const refused = await ask(path, 'PATCH', { judgmentStatus: 'contine' })
    assert.equal(refused.status, 400, JSON.stringify(refused.body))
    assert.match(
      String(refused.body['message']),
      /"contine" is not a judgment\. Use one of continue, stop/,
    )
    assert.equal((await ask(path, 'PATCH', { judgmentStatus: 'Continue' })).status, 200)
  })

  await t.test('a permission of an application', async () => {
    const application = { name: 'web', email: 'a@b.example', permissions: { REED: ['dev'] } }
    const job = [{ type: 'createApplication', application }]
    const { ref } = (await ask('/tasks', 'POST', { application: 'web', description: 'd', job }))
      .body
    const task = await waitFor(async () => {
      const { body } = await ask(String(ref))
      return body['status'] === 'TERMINAL' ? body : undefined
    }, 'the task')
    assert.match(
      JSON.stringify(task['variables']),
      /"REED\\*" is not a permission\. Use one of READ, /,
    )
    assert.equal((await ask('/applications/web')).status, 404, 'it would be open to all')
  })
})
