/** Which writes change rights: those of what rights depend on, by any caller, and only if something is written. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { ServiceName } from '../../../packages/base/services/services.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { permissionsBackend } from '../../../packages/engine/permissions/permissions.ts'
import { startBackends } from '../../support/backends.ts'

const web = { name: 'web', email: 'web@example.com' }
const pipeline = { id: 'p1', application: 'web', name: 'build', stages: [] }
const managed = { name: 'p1@managed-service-account', memberOf: ['dev'] }
const writes: readonly [
  service: ServiceName,
  method: string,
  path: string,
  body: unknown,
  changes: boolean,
  status?: number,
][] = [
  ['front50', 'POST', '/v2/applications', web, true],
  ['front50', 'POST', '/v2/applications', web, false, 400],
  ['front50', 'POST', '/pipelines', pipeline, false],
  ['front50', 'POST', '/serviceAccounts', managed, true],
  ['front50', 'GET', '/serviceAccounts', undefined, false],
  [
    'front50',
    'PUT',
    '/permissions/applications/web',
    { name: 'web', permissions: { READ: ['dev'] } },
    true,
  ],
  // With the pipeline goes the service account that was made for it.
  ['front50', 'DELETE', '/pipelines/web/build', undefined, true],
  ['front50', 'POST', '/pipelines', pipeline, false],
  ['front50', 'DELETE', '/pipelines/web/build', undefined, false],
  ['fiat', 'PUT', '/roles/ann', ['dev'], true],
  ['fiat', 'PUT', '/roles/ann', ['dev'], false],
  ['fiat', 'PUT', '/roles/ann', ['ops'], true],
  ['fiat', 'DELETE', '/roles/ann', undefined, true],
  ['fiat', 'DELETE', '/roles/ann', undefined, false],
  ['front50', 'DELETE', '/v2/applications/web', undefined, true, 204],
]

test('a write that changes rights says so before it is answered, and no other one does', async (t) => {
  let changes = 0
  const backends = await startBackends(t, [definitionsBackend, permissionsBackend], {
    onPermissionsChanged: () => void changes++,
  })
  for (const [service, method, path, body, isChange, status = 200] of writes) {
    changes = 0
    const answer = await backends.ask(service, method, path, body)
    assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`)
    assert.equal(changes > 0, isChange, `${method} ${path} with ${JSON.stringify(body)}`)
  }
})
