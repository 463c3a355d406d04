/** Connections to an API server that speak another protocol after its answer. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { text as readText } from 'node:stream/consumers'
import { http } from '@fairlead/base/runtime/node-http.ts'
import type { ClientCertificate, ClusterAccess } from './cluster-access.ts'
import { createTlsContext, openSocket } from './connect.ts'
import { toResponseError } from './faults.ts'
import type { ApiRequest } from './transport.ts'

/** @throws {ApiError} for another answer; what the system reports */
export async function openUpgrade(
  access: ClusterAccess,
  { path, headers }: ApiRequest,
  {
    certificate,
    timeoutMs,
  }: { readonly certificate: ClientCertificate | undefined; readonly timeoutMs: number },
): Promise<Duplex> {
  const { host, pathname, protocol } = new URL(access.server)
  const context = protocol === 'https:' ? createTlsContext(access, certificate) : undefined
  const socket = await openSocket({ ...access, onlyHttp1: true }, context, timeoutMs)
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>()
  const request = http.request({
    createConnection: () => socket,
    path: pathname.replace(/\/$/, '') + path,
    headers: { host, ...headers },
    timeout: timeoutMs,
  })
  request.once('upgrade', (_answer, upgraded, head) => {
    socket.setTimeout(0)
    if (head.length > 0) upgraded.unshift(head)
    resolve(upgraded)
  })
  request.once('response', (answer: IncomingMessage) => {
    readText(answer).then(
      (text) => reject(toResponseError(answer.statusCode ?? 0, answer.headers, text)),
      reject,
    )
  })
  request.once('timeout', () => request.destroy(new Error('no response')))
  request.once('error', reject)
  request.end()
  return promise
}
