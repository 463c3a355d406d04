/** Two connections joined, with back-pressure in both directions and half-close. */
import type { Socket } from 'node:net'
import type { Expiring } from '@fairlead/proxy/sweep.ts'
import type { ListenerContext } from './listener-context.ts'
import type { Member } from './member.ts'

export class Tunnel implements Expiring {
  readonly #context: ListenerContext
  readonly #member: Member
  readonly #client: Socket
  readonly #instance: Socket
  #movedMs: number
  #bytes = 0
  #isOver = false

  /** @param member Counts the tunnel already. */
  constructor(context: ListenerContext, member: Member, client: Socket, instance: Socket) {
    this.#context = context
    this.#member = member
    this.#client = client
    this.#instance = instance
    this.#movedMs = context.sweep.nowMs
  }

  open(): void {
    this.#context.sweep.add(this)
    for (const socket of [this.#client, this.#instance]) {
      socket.on('error', this.#end)
      socket.once('close', this.#end)
    }
    this.#client.pipe(this.#instance)
    this.#instance.pipe(this.#client)
    if (this.#client.destroyed || this.#instance.destroyed) this.#end()
  }

  /** A side that has ended in both directions closes by itself; the other gets what is still under way, and then closes, too. */
  #end = (): void => {
    if (this.#isOver) return
    this.#isOver = true
    this.#context.sweep.delete(this)
    for (const socket of [this.#client, this.#instance]) {
      if (socket.errored !== null) this.#destroy()
      else socket.destroySoon()
    }
    this.#member.leave()
  }

  #destroy(): void {
    this.#client.destroy()
    this.#instance.destroy()
  }

  check(nowMs: number): void {
    const { bounds, closesSince } = this.#context
    const bytes =
      this.#client.bytesRead +
      this.#instance.bytesRead +
      this.#client.bytesWritten +
      this.#instance.bytesWritten
    if (bytes !== this.#bytes) this.#movedMs = nowMs
    this.#bytes = bytes
    const isIdle = nowMs - this.#movedMs > bounds.tunnelIdleMs
    const hasDrained = [closesSince, this.#member.drainsSince].some(
      (since) => since !== undefined && nowMs - since > bounds.drainMs,
    )
    if (isIdle || hasDrained) this.#destroy()
  }
}
