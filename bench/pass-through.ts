/** The bare pass-through: Fastify and undici without anything that a gateway is for. What Fairlead costs beyond it is its own. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import Fastify from 'fastify'
import { type Dispatcher, Pool } from 'undici'

const [port = '', origin = ''] = process.argv.slice(2)
const pool = new Pool(origin, { connections: 100 })
const server = Fastify()

/** Hop-by-hop headers stay out; the rest goes on as it came. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #client: ServerResponse
  #left = -1

  constructor(client: ServerResponse) {
    this.#client = client
  }

  onRequestStart(): void {}

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    const { connection, 'keep-alive': keepAlive, 'transfer-encoding': coding, ...passed } = headers
    this.#left = Number(headers['content-length'] ?? -1)
    this.#client.writeHead(status, passed)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#left -= chunk.length
    if (this.#left === 0) {
      this.#client.end(chunk)
    } else if (!this.#client.write(chunk)) {
      controller.pause()
      this.#client.once('drain', () => controller.resume())
    }
  }

  onResponseEnd(): void {
    if (!this.#client.writableEnded) this.#client.end()
  }

  onResponseError(): void {
    this.#client.destroy()
  }
}

server.get('/*', (request, reply) => {
  reply.hijack()
  const headers = { accept: request.headers.accept, host: request.headers.host }
  pool.dispatch({ origin, path: request.url, method: 'GET', headers }, new Exchange(reply.raw))
})
await server.listen({ host: '127.0.0.1', port: Number(port) })
process.on('SIGTERM', () => process.exit(0))
