/** Connections of plain TCP, each to one instance; retried elsewhere before the first byte. */
import { connect, type Socket } from 'node:net'
import { codedError } from '@fairlead/proxy/connection.ts'
import type { Swept } from '@fairlead/proxy/sweep.ts'
import type { Entrance } from './entrance.ts'
import { InstanceChoice, type InstanceSeeker } from './instance-choice.ts'
import type { Member } from './member.ts'
import { Tunnel } from './tunnel.ts'

export class Passage implements InstanceSeeker, Swept {
  readonly #entrance: Entrance
  readonly #client: Socket
  readonly #choice: InstanceChoice
  #member: Member | undefined
  #instance: Socket | undefined
  #sinceMs = 0

  /** @param client A paused connection. It is reset where no instance takes it. */
  constructor(entrance: Entrance, client: Socket) {
    this.#entrance = entrance
    this.#client = client
    this.#choice = new InstanceChoice(entrance, this)
    client.on('error', () => client.destroy())
    client.once('close', this.#abandon)
  }

  start(): void {
    this.#choice.seek()
  }

  onNoInstance(): void {
    this.#client.resetAndDestroy()
  }

  onInstance(member: Member): void {
    const { sweep } = this.#entrance
    member.inFlight++
    const instance = connect({ host: member.host, port: member.port, noDelay: true, allowHalfOpen: true })
    this.#member = member
    this.#instance = instance
    this.#sinceMs = sweep.nowMs
    sweep.add(this)
    instance.once('connect', () => this.#join(member, instance))
    instance.once('error', (error: NodeJS.ErrnoException) => {
      if (this.#instance !== instance) return
      this.#leave()
      if (this.#choice.fail(member, { error, wasConnected: false, wasKept: false })) this.#choice.seek()
      else this.onNoInstance()
    })
  }

  #join(member: Member, instance: Socket): void {
    if (this.#instance !== instance) return
    this.#instance = undefined
    this.#member = undefined
    this.#entrance.sweep.delete(this)
    this.#client.off('close', this.#abandon)
    new Tunnel(this.#entrance, member, this.#client, instance).open()
  }

  #leave(): void {
    this.#entrance.sweep.delete(this)
    this.#instance = undefined
    this.#member?.leave()
    this.#member = undefined
  }

  /** The client has gone away before the connection stood. */
  #abandon = (): void => {
    this.#choice.abandon()
    this.#instance?.destroy()
    this.#leave()
  }

  check(nowMs: number): void {
    if (nowMs - this.#sinceMs > this.#entrance.bounds.connectMs) {
      this.#instance?.destroy(codedError('ETIMEDOUT', 'the instance does not accept connections'))
    }
  }
}
