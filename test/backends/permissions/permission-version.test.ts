import assert from 'node:assert/strict'
import { test } from 'node:test'
import fastify from 'fastify'
import { countPermissionWrites } from '../../../src/backends/hosting/permission-version.ts'
import { createStateCounts, readStateCount } from '../../../src/upstreams/state-counts.ts'

const requests = [
  ['POST', '/front50/v2/applications', 1],
  ['PUT', '/fiat/roles/ann', 1],
  // With a pipeline goes the service account that was made for it.
  ['DELETE', '/front50/pipelines/app/build', 1],
  ['DELETE', '/front50/strategies/app/roll', 1],
  ['POST', '/front50/pipelines', 0],
  ['GET', '/front50/serviceAccounts', 0],
] as const
for (const [method, url, counted] of requests) {
  test(`${method} ${url} ${counted === 1 ? 'counts' : 'does not count'} as a change of permissions`, async (t) => {
    const server = fastify()
    t.after(() => server.close())
    const memory = createStateCounts()
    countPermissionWrites(server, memory, async () => {})
    server.route({ method, url, handler: async () => ({}) })

    await server.inject({ method, url })

    assert.equal(readStateCount(memory, 'permissions'), counted)
  })
}
