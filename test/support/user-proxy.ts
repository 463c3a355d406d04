/** A proxy in front of a gateway that trusts its header: it takes the tokens of clients for the names of users. */
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestEnd } from './test-end.ts'

/** @returns its address */
export async function startUserProxy(t: TestEnd, target: string): Promise<string> {
  const server = createServer((request, response) => {
    const { authorization = '', ...headers } = request.headers
    const sent = httpRequest(`${target}${request.url}`, {
      method: request.method,
      headers: { ...headers, 'x-spinnaker-user': authorization.slice('Bearer '.length) },
    })
    sent.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
      response.once('close', () => answer.destroy())
    })
    sent.on('error', () => response.destroy())
    request.pipe(sent)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
