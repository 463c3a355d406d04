/** Count of permission changes by embedded services, which invalidates caches elsewhere. */
import type { FastifyInstance } from 'fastify'

/** Writes that change the rights of users: to applications, their permissions, service accounts, also of pipelines, and roles. */
const permissionWrites =
  /^(?:\S+ \/(?:front50\/(?:v2\/applications|permissions|serviceAccounts|admin\/recover)|fiat\/roles)|DELETE \/front50\/(?:pipelines|strategies))(?:[/?]|$)/

/** A number in memory that the worker and the gateway share. */
export function createPermissionVersion(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
}

export function readPermissionVersion(memory: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(memory), 0)
}

/** For changes that no request makes: roles that a file or a directory gives. */
export function countPermissionChange(memory: SharedArrayBuffer): void {
  Atomics.add(new Int32Array(memory), 0, 1)
}

/**
 * The number changes before the writer gets the response. A failed write may count: that costs one lookup.
 *
 * @param announce Tells other processes, where there are any, and resolves when they know.
 */
export function countPermissionWrites(
  server: FastifyInstance,
  memory: SharedArrayBuffer,
  announce: (() => Promise<void>) | undefined,
): void {
  server.addHook('onSend', (request, _reply, _payload, done) => {
    if (request.method === 'GET' || !permissionWrites.test(`${request.method} ${request.url}`)) return done()
    countPermissionChange(memory)
    if (announce === undefined) return done()
    void announce().then(() => done())
  })
}
