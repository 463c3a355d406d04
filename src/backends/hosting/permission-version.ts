/** Count of permission changes by embedded services, which invalidates caches elsewhere. */
import type { FastifyInstance } from 'fastify'
import { countStateChange } from '../../upstreams/state-counts.ts'

/** Writes that change the rights of users: to applications, their permissions, service accounts, also of pipelines, and roles. */
const permissionWrites =
  /^(?:\S+ \/(?:front50\/(?:v2\/applications|permissions|serviceAccounts)|fiat\/roles)|DELETE \/front50\/(?:pipelines|strategies))(?:[/?]|$)/

/**
 * The number changes before the writer gets the response. A failed write may count: that costs one lookup.
 *
 * @param announce Tells other processes, and resolves when they know.
 */
export function countPermissionWrites(server: FastifyInstance, counts: SharedArrayBuffer, announce: () => Promise<void>): void {
  server.addHook('onSend', (request, _reply, _payload, done) => {
    if (request.method === 'GET' || !permissionWrites.test(`${request.method} ${request.url}`)) return done()
    countStateChange(counts, 'permissions')
    void announce().then(() => done())
  })
}
