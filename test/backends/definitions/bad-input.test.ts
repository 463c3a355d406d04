import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { findApplicationNameObjection } from '../../../packages/base/names/application-name.ts'
import { findCharacterObjection } from '../../../packages/base/names/user-name.ts'
import { type Fields, startStore } from './store.ts'

const environmentWith = (constraint: string) =>
  `{"name":"x","email":"a@b","environments":[{"name":"dev","accounts":["a"],"constraints":[${constraint}]}]}`
const pipeline = '"application":"demo","name":"p"'
/** One character more than Front50 stores. */
const long = 'n'.repeat(256)
const refusedBodies: { method: string; path: string; text: string; status: number }[] = [
  { method: 'POST', path: '/pipelines', text: '', status: 400 },
  { method: 'POST', path: '/pipelines', text: 'null', status: 400 },
  { method: 'POST', path: '/pipelines', text: '[]', status: 400 },
  { method: 'POST', path: '/pipelines', text: '"text"', status: 400 },
  { method: 'POST', path: '/pipelines', text: '12345678901234567890', status: 400 },
  { method: 'POST', path: '/pipelines', text: '{', status: 400 },
  { method: 'POST', path: '/pipelines', text: '<xml/>', status: 400 },
  { method: 'POST', path: '/pipelines', text: '{"name":7,"application":"demo"}', status: 400 },
  { method: 'POST', path: '/pipelines', text: '{"name":"x","application":["demo"]}', status: 400 },
  { method: 'POST', path: '/pipelines', text: `{${pipeline},"id":{}}`, status: 400 },
  { method: 'POST', path: '/pipelines', text: `{${pipeline},"stages":{}}`, status: 400 },
  { method: 'POST', path: '/pipelines', text: `{${pipeline},"stages":[7]}`, status: 400 },
  {
    method: 'POST',
    path: '/pipelines',
    text: `{${pipeline},"stages":[12345678901234567890]}`,
    status: 400,
  },
  { method: 'POST', path: '/pipelines', text: `{${pipeline},"triggers":"none"}`, status: 400 },
  { method: 'POST', path: '/pipelines', text: `{${pipeline},"triggers":[["cron"]]}`, status: 400 },
  { method: 'POST', path: '/pipelines', text: `{${pipeline},"index":"first"}`, status: 400 },
  { method: 'POST', path: '/pipelines', text: `{${pipeline},"disabled":"perhaps"}`, status: 400 },
  { method: 'POST', path: '/pipelines', text: `{${pipeline},"updateTs":[]}`, status: 400 },
  {
    method: 'POST',
    path: '/pipelines',
    text: `{${pipeline},"__proto__":{"polluted":1}}`,
    status: 400,
  },
  {
    method: 'POST',
    path: '/pipelines',
    text: `{${pipeline},"x":[{"\\u005f_proto__":1}]}`,
    status: 400,
  },
  {
    method: 'POST',
    path: '/pipelines',
    text: `{${pipeline},"x":${'['.repeat(5000)}${']'.repeat(5000)}}`,
    status: 400,
  },
  { method: 'POST', path: '/pipelines?staleCheck=maybe', text: `{${pipeline}}`, status: 400 },
  { method: 'POST', path: '/v2/applications', text: '{"name":["x"],"email":"a@b"}', status: 400 },
  {
    method: 'POST',
    path: '/v2/applications',
    text: '{"name":"x","email":"a@b","cloudProviders":[1]}',
    status: 400,
  },
  {
    method: 'POST',
    path: '/v2/applications',
    text: '{"name":"x","email":"a@b","trafficGuards":[1]}',
    status: 400,
  },
  {
    method: 'POST',
    path: '/v2/applications',
    text: '{"name":"x","email":"a@b","__proto__":{}}',
    status: 400,
  },
  {
    method: 'POST',
    path: '/v2/applications',
    text: '{"name":"x","email":"a@b","environments":[{"name":"dev"}]}',
    status: 400,
  },
  {
    method: 'POST',
    path: '/v2/applications',
    text: environmentWith('{"type":"window","whitelist":[{"startHour":99}]}'),
    status: 400,
  },
  {
    method: 'POST',
    path: '/v2/applications',
    text: environmentWith('{"type":"verification","checks":[{"type":"x"}]}'),
    status: 400,
  },
  {
    method: 'POST',
    path: '/v2/applications',
    text: environmentWith('{"type":"canary","canaryConfig":{"scoreThresholds":{"pass":900}}}'),
    status: 400,
  },
  { method: 'PATCH', path: '/v2/applications/x', text: '[]', status: 400 },
  {
    method: 'PUT',
    path: '/permissions/applications/x',
    text: '{"permissions":{"ADMIN":["a"]}}',
    status: 400,
  },
  {
    method: 'PUT',
    path: '/permissions/applications/x',
    text: '{"permissions":{"READ":"a"}}',
    status: 400,
  },
  {
    method: 'PUT',
    path: '/permissions/applications/x',
    text: '{"name":"y","permissions":{}}',
    status: 400,
  },
  {
    method: 'POST',
    path: '/v2/projects',
    text: '{"name":"x","config":{"applications":"demo"}}',
    status: 400,
  },
  {
    method: 'POST',
    path: '/v2/projects',
    text: '{"name":"x","config":{"clusters":[{"applications":7}]}}',
    status: 400,
  },
  { method: 'POST', path: '/serviceAccounts', text: '{"memberOf":[]}', status: 400 },
  { method: 'POST', path: '/serviceAccounts', text: '{"name":"x","memberOf":"ops"}', status: 400 },
  { method: 'POST', path: '/snapshots', text: '{"application":1,"account":"a"}', status: 400 },
  { method: 'POST', path: '/notifications/application/x', text: '[]', status: 400 },
  {
    method: 'POST',
    path: '/pipelineTemplates',
    text: '{"id":"x","metadata":{"scopes":"all"}}',
    status: 400,
  },
  {
    method: 'POST',
    path: '/pipelines',
    text: `{"application":"demo","name":"${long}"}`,
    status: 400,
  },
  { method: 'POST', path: '/pipelines', text: `{${pipeline},"id":"${long}"}`, status: 400 },
  {
    method: 'POST',
    path: '/strategies',
    text: `{"application":"demo","name":"${long}"}`,
    status: 400,
  },
  {
    method: 'POST',
    path: '/pipelines/move',
    text: `{"application":"demo","from":"p","to":"${long}"}`,
    status: 400,
  },
  {
    method: 'POST',
    path: '/v2/applications',
    text: `{"name":"${long}","email":"a@b"}`,
    status: 400,
  },
  {
    method: 'PUT',
    path: '/permissions/applications/x',
    text: `{"permissions":{"READ":["${long}"]}}`,
    status: 400,
  },
  { method: 'POST', path: '/v2/projects', text: `{"name":"${long}"}`, status: 400 },
  {
    method: 'POST',
    path: '/v2/projects',
    text: `{"name":"x","config":{"applications":["${long}"]}}`,
    status: 400,
  },
  { method: 'POST', path: '/pipelineTemplates', text: `{"id":"${long}"}`, status: 400 },
  {
    method: 'POST',
    path: '/serviceAccounts',
    text: `{"name":"${long}","memberOf":[]}`,
    status: 400,
  },
  {
    method: 'POST',
    path: '/actions/pipelines/reorder',
    text: '{"application":"demo","idsToIndices":[1]}',
    status: 400,
  },
  { method: 'GET', path: '/v2/applications?pageSize=many', text: '', status: 400 },
  { method: 'GET', path: '/pipelines/demo?pipelineLimit=-1', text: '', status: 400 },
  { method: 'GET', path: '/pipelines/demo?enabledPipelines=perhaps', text: '', status: 400 },
  { method: 'GET', path: '/pipelines/P/history?limit=1e9', text: '', status: 400 },
  { method: 'PATCH', path: '/pipelines', text: '{}', status: 405 },
  { method: 'DELETE', path: '/strategies', text: '', status: 405 },
  { method: 'GET', path: '/unknown', text: '', status: 404 },
]

test('an unusable body is rejected with a reason', async (t) => {
  const store = await startStore(t)
  for (const { method, path, text, status } of refusedBodies) {
    await t.test(`${method} ${path} ${text.slice(0, 70)} is answered with ${status}`, async () => {
      const body = method === 'GET' ? undefined : text
      const answer = await fetch(store.url + path, {
        method,
        body,
        headers: { 'content-type': 'application/json' },
      })
      const error = (await answer.json()) as Fields
      assert.equal(answer.status, status, JSON.stringify(error))
      assert.equal(error['status'], status)
      assert.match(error['message'] as string, /\w+/)
      assert.ok((error['message'] as string).length < 1000, 'the message repeats no long value')
      for (const field of ['timestamp', 'error', 'exception'])
        assert.equal(typeof error[field], 'string', field)
      if (status === 405) assert.match(answer.headers.get('allow') ?? '', /GET/)
    })
  }
  assert.equal(({} as Fields)['polluted'], undefined)
  for (const list of [
    '/pipelines',
    '/v2/applications',
    '/v2/projects',
    '/serviceAccounts',
    '/permissions/applications',
  ]) {
    assert.deepEqual(await store.ok('GET', list), [], list)
  }
})

test('a document as deep as is accepted stays readable in lists', async (t) => {
  const store = await startStore(t)
  const nested = (depth: number) => `{${pipeline},"x":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const post = (text: string) => fetch(`${store.url}/pipelines`, { method: 'POST', body: text })
  assert.equal((await post(nested(500))).status, 400)
  assert.equal((await post(nested(499))).status, 200)
  assert.equal((await store.ok<unknown[]>('GET', '/pipelines/demo')).length, 1)
  assert.equal((await store.ok<unknown[]>('GET', '/pipelines')).length, 1)
})

const oddNames = [
  'a b',
  'a/b',
  'a%2Fb',
  '100%',
  '50%25',
  '.',
  '..',
  'a.b.c',
  'ü ß İ 名前 🚀',
  `it's "quoted"`,
  '`back`',
  'semi;colon,comma',
  'a?b#c&d=e+f',
  'back\\slash',
  '<script>',
  '{id}',
  '*',
  ':id',
  '%',
  '__proto__',
  'constructor',
  'name',
  'history',
  "'; DROP TABLE definitions_documents; --",
  'nul\u0000inside',
  'line\nbreak',
  'x'.repeat(250),
]
test('odd names work for pipelines, service accounts and most applications', async (t) => {
  const store = await startStore(t)
  const ask = (method: string, path: string) => askRaw(store.url, method, path)
  for (const name of oddNames) {
    const segment = encodeURIComponent(name)
    const isRefused = findApplicationNameObjection(name) !== undefined
    const created = await store.ask('POST', '/v2/applications', { name, email: 'a@b.c' })
    assert.equal(created.status, isRefused ? 400 : 200, name)
    // No application is named by invisible characters; a pipeline may be.
    const application = findCharacterObjection(name) === undefined ? name : 'demo'
    const owner = encodeURIComponent(application)
    await store.ok('POST', '/pipelines', { application, name, id: name })
    await store.ok('POST', '/serviceAccounts', { name, memberOf: [] })
    await store.fails(400, 'POST', '/v2/applications', { name, email: 'a@b.c' })
    for (const path of [
      ...(isRefused ? [] : [`/v2/applications/${segment}`]),
      `/pipelines/${owner}/name/${segment}`,
      `/pipelines/${owner}/name/${segment}/`,
      `/pipelines/${segment}/get`,
    ]) {
      const { status, body } = await ask('GET', path)
      assert.equal(status, 200, path)
      assert.equal(foldCase((JSON.parse(body) as Fields)['name']), foldCase(name))
    }
    assert.equal(
      (JSON.parse((await ask('GET', `/pipelines/${owner}`)).body) as unknown[]).length,
      1,
    )
    assert.equal((await ask('DELETE', `/serviceAccounts/${segment}`)).status, 200)
    assert.equal((await ask('DELETE', `/pipelines/${owner}/${segment}`)).status, 200)
    assert.equal((await ask('DELETE', `/v2/applications/${segment}`)).status, 204)
    assert.deepEqual(await store.ok('GET', '/v2/applications'), [])
  }
})

function foldCase(name: unknown): string {
  return String(name).toUpperCase().toLowerCase()
}

/** Sends the path as it is: fetch would resolve dots in it. */
function askRaw(
  base: string,
  method: string,
  path: string,
): Promise<{ status: number; body: string }> {
  const { hostname, port, pathname } = new URL(base)
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path: pathname + path }, (answer) => {
      let body = ''
      answer.setEncoding('utf8')
      answer.on('data', (part: string) => {
        body += part
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
    })
    sent.on('error', reject)
    sent.end()
  })
}
