/** Connections of plain TCP, each to one instance; retried elsewhere before the first byte. */
import { connect, type Socket } from 'node:net'
import { type ConnectionFailure, codedError } from '@fairlead/proxy/connection.ts'
import {
  Forward,
  type ForwardedRequest,
  type ForwardProgress,
  type RetryDecision,
  type Wait,
} from '@fairlead/proxy/forward.ts'
import type { Expiring } from '@fairlead/proxy/sweep.ts'
import { chooseInstance, decideRetry } from './instance-choice.ts'
import type { ListenerContext } from './listener-context.ts'
import type { Member } from './member.ts'
import { Tunnel } from './tunnel.ts'

export class TcpForward implements ForwardedRequest<Member, ConnectionFailure>, Expiring {
  readonly #context: ListenerContext
  readonly #client: Socket
  readonly #forward = new Forward<Member, ConnectionFailure>(this)
  #instance: Socket | undefined
  #sinceMs = 0

  /** @param client A paused connection. It is reset where no instance takes it. */
  constructor(context: ListenerContext, client: Socket) {
    this.#context = context
    this.#client = client
    client.on('error', () => client.destroy())
    client.once('close', this.#abandon)
  }

  start(): void {
    this.#forward.attempt()
  }

  choose(progress: ForwardProgress<Member>): Member | Wait<Member> | undefined {
    return chooseInstance(this.#context, progress)
  }

  giveUp(): void {
    this.#client.resetAndDestroy()
  }

  send(member: Member): void {
    const { sweep } = this.#context
    member.inFlight++
    const instance = connect({
      host: member.host,
      port: member.port,
      noDelay: true,
      allowHalfOpen: true,
    })
    this.#instance = instance
    this.#sinceMs = sweep.nowMs
    sweep.add(this)
    instance.once('connect', () => this.#join(instance))
    instance.once('error', (error: NodeJS.ErrnoException) => {
      if (this.#instance === instance)
        this.#forward.fail({ error, wasConnected: false, wasKept: false })
    })
  }

  decideRetry(
    member: Member,
    failure: ConnectionFailure,
    { number }: ForwardProgress<Member>,
  ): RetryDecision {
    return decideRetry(this.#context, member, failure, { number, mayRepeat: true })
  }

  #join(instance: Socket): void {
    const member = this.#instance === instance ? this.#forward.handOver() : undefined
    if (member === undefined) return
    this.#instance = undefined
    this.#context.sweep.delete(this)
    this.#client.off('close', this.#abandon)
    new Tunnel(this.#context, member, this.#client, instance).open()
  }

  leave(member: Member): void {
    this.#context.sweep.delete(this)
    this.#instance = undefined
    member.leave()
  }

  /** The client has gone away before the connection stood. */
  #abandon = (): void => {
    this.#instance?.destroy()
    this.#forward.abandon()
  }

  check(nowMs: number): void {
    if (nowMs - this.#sinceMs > this.#context.bounds.connectMs) {
      this.#instance?.destroy(codedError('ETIMEDOUT', 'the instance does not accept connections'))
    }
  }
}
