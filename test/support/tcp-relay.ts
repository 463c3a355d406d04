/** A TCP relay in front of a server: connections are counted, fall silent, break off or are refused. */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { TestEnd } from './test-end.ts'

export class TcpRelay {
  readonly #targetPort: number
  #server: Server | undefined
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #isSilent = false
  #port = 0
  /** Connections ever. */
  accepted = 0

  constructor(targetPort: number) {
    this.#targetPort = targetPort
  }

  get port(): number {
    return this.#port
  }

  get open(): number {
    return this.#pairs.size
  }

  /** At the same port as before. */
  async listen(): Promise<void> {
    const server = createServer((socket) => this.#accept(socket))
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: '127.0.0.1', port: this.#port }, resolve)
    })
    this.#port = (server.address() as AddressInfo).port
  }

  /** Breaks everything off and refuses connections. */
  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    const closed = new Promise<void>((resolve) =>
      server === undefined ? resolve() : server.close(() => resolve()),
    )
    this.breakConnections()
    await closed
  }

  breakConnections(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
  }

  /** Connections stay open, but nothing comes through. */
  silence(): void {
    this.#isSilent = true
    for (const pair of this.#pairs) for (const socket of pair) socket.pause()
  }

  /** Ends the silence; what had arrived meanwhile is passed on. */
  speak(): void {
    this.#isSilent = false
    for (const pair of this.#pairs) for (const socket of pair) socket.resume()
  }

  #accept(near: Socket): void {
    this.accepted++
    const far = connect({ host: '127.0.0.1', port: this.#targetPort })
    const pair = [near, far] as const
    this.#pairs.add(pair)
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      from.setNoDelay(true)
      from.on('data', (chunk) => to.write(chunk))
      from.on('end', () => to.end())
      from.on('error', () => {})
      from.on('close', () => {
        this.#pairs.delete(pair)
        to.destroy()
      })
      if (this.#isSilent) from.pause()
    }
  }
}

export async function startRelay(t: TestEnd, targetPort: number): Promise<TcpRelay> {
  const relay = new TcpRelay(targetPort)
  await relay.listen()
  t.after(() => relay.stop())
  return relay
}
