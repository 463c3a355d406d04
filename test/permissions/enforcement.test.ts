/** Who checks what external services answer. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { basic } from '../login/support.ts'
import { runGateway } from '../support/gateway.ts'
import { Reply, startUpstream } from '../support/upstream.ts'

const view = {
  name: 'rita',
  admin: false,
  accounts: [],
  applications: [{ name: 'web', authorizations: ['READ'] }],
  serviceAccounts: [],
  roles: [],
}
const execution = { id: '1', application: 'secret' }

for (const [enforce, status] of [
  [undefined, 200],
  ['services', 200],
  ['gateway', 403],
  ['both', 403],
] as const) {
  test(`permissions.enforce ${enforce ?? 'unset'} answers a foreign execution ${status}`, async (t) => {
    const fiat = await startUpstream(t, {
      'GET /authorize/rita': view,
      'PUT /roles/rita': new Reply(200),
    })
    const orca = await startUpstream(t, { 'GET /pipelines/1': execution })
    const { url, dataDir } = await runGateway(t, {
      fairlead: { admin: { password: 'correct horse' } },
      ...(enforce && { permissions: { enforce } }),
      services: {
        fiat: { enabled: true, baseUrl: fiat.url },
        orca: { enabled: true, baseUrl: orca.url },
      },
    })
    const users = openUsers(dataDir)
    await users.add('rita', 'correct horse', ['dev'])
    users.close()
    const answer = await fetch(`${url}/pipelines/1`, { headers: basic('rita', 'correct horse') })
    assert.equal(answer.status, status, await answer.text())
  })
}
