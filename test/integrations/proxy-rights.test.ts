/** Who may use proxies of the configuration, and what is recorded of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askEvents } from '../audit/support.ts'
import { basic } from '../login/support.ts'
import { startSeeded } from '../permissions/support.ts'
import { startUpstream } from '../support/upstream.ts'

const methods = ['GET', 'POST', 'PUT', 'DELETE']
const changes = methods.slice(1)

test('proxies are for users; limited tokens and other sites change nothing', async (t) => {
  const service = await startUpstream(t, ({ path }) => ({ path }))
  const { add, ask, url } = await startSeeded(t, {
    proxies: [{ id: 'wiki', uri: `${service.url}/base`, methods }],
  })
  await add('olga', ['writers'])
  const tokenFor = async (limits: object) => {
    const created = await ask('olga', 'POST /auth/apiTokens', {
      name: JSON.stringify(limits),
      ...limits,
    })
    assert.equal(created.status, 201, created.text)
    return (created.json() as { token: string }).token
  }
  const statuses = async (
    asked: readonly string[],
    user: string | undefined,
    headers: Record<string, string> = {},
  ) => {
    const answers = asked.map((method) =>
      ask(user, `${method} /proxies/wiki/page`, method === 'GET' ? undefined : {}, headers),
    )
    return (await Promise.all(answers)).map(({ status }) => status)
  }
  const withToken = async (limits: object) =>
    statuses(methods, undefined, { authorization: `Bearer ${await tokenFor(limits)}` })
  const received = () => [...service.requests, ...service.background].map(({ method }) => method)

  assert.ok((await statuses(methods, undefined)).every((status) => [302, 401].includes(status)))
  assert.deepEqual(await withToken({ applications: ['web'] }), [403, 403, 403, 403])
  assert.deepEqual(await withToken({ operations: ['getTaskUsingGET1'] }), [403, 403, 403, 403])
  assert.deepEqual(
    await statuses(changes, 'olga', {
      origin: 'https://evil.example',
      'sec-fetch-site': 'cross-site',
    }),
    [403, 403, 403],
  )
  const plain = { origin: 'https://evil.example', 'content-type': 'text/plain' }
  assert.equal((await ask('olga', 'POST /proxies/wiki/page', 'x', plain)).status, 403)
  assert.deepEqual(received(), [])
  assert.deepEqual(await withToken({ readOnly: true }), [200, 403, 403, 403])
  assert.deepEqual(received(), ['GET'])
  assert.deepEqual(await statuses(methods, 'olga'), [200, 200, 200, 200])

  for (const path of [
    '..%2fadmin',
    '%2e%2e/admin',
    'a/%2e%2e/%2e%2e/admin',
    '..;/admin',
    '%2e%2e%5cadmin',
  ])
    await ask('olga', `GET /proxies/wiki/${path}`)
  assert.ok(
    [...service.requests, ...service.background].every(({ path }) => path.startsWith('/base/')),
  )

  const { events } = await askEvents(url, 'user=olga', basic('admin', 'correct horse'))
  const recorded = events.filter(
    ({ kind, operation = '', decision }) =>
      kind === 'change' && operation.startsWith('anyUsing') && decision === 'allowed',
  )
  assert.deepEqual(
    recorded.map(({ operation }) => operation).sort(),
    changes.map((method) => `anyUsing${method}`).sort(),
  )
})
