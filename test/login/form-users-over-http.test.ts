/** Administrators manage the users of the login form over HTTP. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { runGateway } from '../support/gateway.ts'
import { basic } from './support.ts'

const password = 'battery staple'

async function start(t: TestContext) {
  const settings = { fairlead: { admin: { password } }, 'api-tokens': { enabled: true } }
  const { url } = await runGateway(t, settings, { embedded: true })
  const ask = async (
    request: string,
    body?: unknown,
    headers: Record<string, string> = basic('admin', password),
  ) => {
    const [method = '', path = ''] = request.split(' ')
    const answer = await fetch(url + path, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  return { url, ask }
}

test('administrators manage the users of the login form', async (t) => {
  const { ask } = await start(t)
  await t.test('users are added, changed and removed while the gateway runs', async () => {
    const added = await ask('POST /auth/users', { username: 'Rita', roles: ['Readers'] })
    assert.equal(added.status, 201)
    assert.equal(added.body.username, 'rita')
    assert.match(added.body.password, /^[a-z2-9]{6}(-[a-z2-9]{6}){3}$/)
    const rita = basic('rita', added.body.password)
    assert.deepEqual((await ask('GET /auth/user', undefined, rita)).body.roles, ['readers'])
    assert.equal((await ask('POST /auth/users', { username: 'rita', password })).status, 409)
    assert.equal(
      (await ask('POST /auth/users', { username: 'kim', password: 'short' })).status,
      400,
    )
    assert.equal((await ask('POST /auth/users', { username: 'kim', rolls: ['x'] })).status, 400)

    const issued = await ask('POST /auth/apiTokens', { name: 'ci' }, rita)
    const withToken = { 'x-spinnaker-token': issued.body.token }
    assert.equal((await ask('GET /auth/sessions', undefined, withToken)).status, 200)
    const listed = await ask('GET /auth/users')
    assert.deepEqual(
      listed.body.map((user: Record<string, unknown>) => [
        user['username'],
        user['roles'],
        user['isAdmin'],
        user['tokens'],
      ]),
      [
        ['admin', ['admins'], true, 0],
        ['rita', ['readers'], false, 1],
      ],
    )

    const changed = await ask('PUT /auth/users/rita/roles', { roles: ['writers'] })
    assert.deepEqual([changed.status, changed.body.roles], [200, ['writers']])
    assert.deepEqual(
      (await ask('PUT /auth/users/rita/password', { password, revokeTokens: true })).body,
      { username: 'rita' },
    )
    assert.equal((await ask('GET /auth/user', undefined, rita)).status, 401)
    assert.equal((await ask('GET /auth/sessions', undefined, withToken)).status, 401)
    assert.equal((await ask('GET /auth/user', undefined, basic('rita', password))).status, 200)

    assert.equal(
      (await ask('POST /auth/apiTokens', { name: 'second' }, basic('rita', password))).status,
      201,
    )
    assert.deepEqual((await ask('DELETE /auth/users/rita')).body, { revokedTokens: 1 })
    assert.equal((await ask('GET /auth/user', undefined, basic('rita', password))).status, 401)
    assert.equal((await ask('DELETE /auth/users/rita')).status, 404)
  })

  await t.test('only administrators manage users, and never with a token', async () => {
    await ask('POST /auth/users', { username: 'rita', password })
    for (const request of ['GET /auth/users', 'DELETE /auth/users/admin']) {
      assert.equal((await ask(request, undefined, basic('rita', password))).status, 403, request)
      assert.equal((await ask(request, undefined, {})).status, 401, request)
    }
    const { body } = await ask('POST /auth/apiTokens', { name: 'ci' })
    const answer = await ask(
      'POST /auth/users',
      { username: 'eve', roles: ['admins'] },
      { 'x-spinnaker-token': body.token },
    )
    assert.deepEqual(
      [answer.status, answer.body.message],
      [403, 'The API token does not allow this: no API token administers users. Log in to do it.'],
    )
  })

  await t.test('an unlocked user need not wait any more', async () => {
    await ask('POST /auth/users', { username: 'uma', password })
    let refused = 0
    while (
      refused < 100 &&
      (await ask('GET /auth/user', undefined, basic('uma', 'wrong password'))).status !== 429
    )
      refused++
    assert.ok(refused < 100, 'guesses are limited')
    assert.equal((await ask('POST /auth/users/uma/unlock')).status, 204)
    assert.equal((await ask('GET /auth/user', undefined, basic('uma', password))).status, 200)
    assert.equal((await ask('POST /auth/users/nobody/unlock')).status, 404)
  })

  await t.test('the last administrator stays, and users cannot remove themselves', async () => {
    assert.equal((await ask('DELETE /auth/users/ADMIN')).status, 409)
    assert.equal((await ask('PUT /auth/users/admin/roles', { roles: [] })).status, 409)
    await ask('POST /auth/users', { username: 'kim', roles: ['admins'], password })
    const kim = basic('kim', password)
    assert.equal((await ask('DELETE /auth/users/admin', undefined, kim)).status, 200)
    assert.equal((await ask('PUT /auth/users/kim/roles', { roles: [] }, kim)).status, 409)
    assert.deepEqual(
      (await ask('GET /auth/users', undefined, kim)).body.map(
        (user: Record<string, unknown>) => user['username'],
      ),
      ['kim', 'rita', 'uma'],
    )
  })
})
