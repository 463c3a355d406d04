/** Upgrades, such as to WebSocket: 101 opens a tunnel, other responses are passed on. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ClientResponse, refuse } from './client-response.ts'
import type { Entrance } from './entrance.ts'
import { InstanceChoice, type InstanceSeeker } from './instance-choice.ts'
import type { Member } from './member.ts'
import { type ConnectionFailure, type ConnectionUser, codedError, type MemberConnection } from './member-connection.ts'
import { type ClientSide, type RequestHead, toRequestHead } from './request-head.ts'
import { toClientHeaders } from './response-headers.ts'
import { ResponseError, type ResponseHead } from './response-reader.ts'
import type { Swept } from './sweep.ts'
import { Tunnel } from './tunnel.ts'

/** HTTP itself is no other protocol: requests on such a connection would pass by the load balancer. */
export function mayUpgrade({ headers, method }: IncomingMessage): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  const isHttp = /(?:^|,)\s*(?:h2c?|http|tls)\b/i.test(headers.upgrade ?? '')
  return !hasBody && !isHttp && method !== 'CONNECT' && /(?:^|,)\s*upgrade\s*(?:,|$)/i.test(headers.connection ?? '')
}

export interface UpgradeRequest {
  readonly request: IncomingMessage
  readonly socket: Socket
  /** What the client has sent after the request. */
  readonly rest: Buffer
}

export function beginUpgrade(entrance: Entrance, client: ClientSide, { request, socket, rest }: UpgradeRequest): void {
  socket.on('error', () => socket.destroy())
  const response = new ClientResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.destroySoon())
  if (rest.length > 0) socket.unshift(rest)
  const head = toRequestHead(request, client, true)
  if ('problem' in head) refuse(response, { status: head.status, text: head.problem, closes: true })
  else new Upgrade(entrance, { request, socket, response, head }).start()
}

interface UpgradeParts {
  readonly request: IncomingMessage
  readonly socket: Socket
  readonly response: ClientResponse
  readonly head: RequestHead
}

class Upgrade implements ConnectionUser, InstanceSeeker, Swept {
  readonly #entrance: Entrance
  readonly #parts: UpgradeParts
  #member: Member | undefined
  #connection: MemberConnection | undefined
  readonly #choice: InstanceChoice
  #movedMs = 0

  constructor(entrance: Entrance, parts: UpgradeParts) {
    this.#entrance = entrance
    this.#parts = parts
    this.#choice = new InstanceChoice(entrance, this)
    parts.socket.once('close', this.#abandon)
  }

  start(): void {
    this.#choice.seek()
  }

  onInstance(member: Member): void {
    const { sweep } = this.#entrance
    const connection = member.take('tunnel')
    this.#member = member
    this.#connection = connection
    this.#movedMs = sweep.nowMs
    sweep.add(this)
    connection.begin(this, this.#parts.head.method === 'HEAD')
  }

  onNoInstance(): void {
    const { balancer } = this.#entrance
    const { retryAfterSeconds } = balancer
    refuse(this.#parts.response, { status: 503, text: balancer.explain(), retryAfterSeconds, closes: true })
  }

  onConnected(): void {
    this.#movedMs = this.#entrance.sweep.nowMs
    this.#connection?.socket.write(`${this.#parts.head.text}\r\n`, 'latin1')
  }

  onDrain(): void {}

  onReadEnd(): void {}

  onInformation(): void {}

  onHead(head: ResponseHead): void {
    this.#movedMs = this.#entrance.sweep.nowMs
    if (head.status === 101) this.#join(head)
    else this.#parts.response.writeHead(head.status, head.statusText, [...toClientHeaders(head, false), 'connection', 'close'])
  }

  #join(head: ResponseHead): void {
    const connection = this.#connection
    const member = this.#member
    if (connection === undefined || member === undefined) return
    const { socket, response } = this.#parts
    const protocol = findHeader(head.headers, 'upgrade')
    if (protocol === undefined) throw new ResponseError('The instance does not say which protocol it changes to.')
    this.#connection = undefined
    this.#member = undefined
    this.#entrance.sweep.delete(this)
    socket.off('close', this.#abandon)
    response.detachSocket(socket)
    const lines = [...toClientHeaders(head, false), 'connection', 'upgrade', 'upgrade', protocol]
    let text = `HTTP/1.1 101 Switching Protocols\r\n`
    for (let at = 0; at < lines.length; at += 2) text += `${lines[at]}: ${lines[at + 1]}\r\n`
    socket.write(`${text}\r\n`, 'latin1')
    new Tunnel(this.#entrance, member, socket, connection.release()).open()
  }

  onBody(piece: Buffer): void {
    const { response } = this.#parts
    this.#movedMs = this.#entrance.sweep.nowMs
    if (response.write(Buffer.from(piece))) return
    this.#connection?.socket.pause()
    response.once('drain', () => this.#connection?.socket.resume())
  }

  onEnd(): void {
    this.#connection?.destroy()
    this.#leave()
    this.#parts.response.end()
  }

  onFailure(failure: ConnectionFailure): void {
    const member = this.#member
    const { response, socket } = this.#parts
    this.#leave()
    if (member === undefined) return
    const isWithinBounds = this.#choice.fail(member, failure)
    if (response.headersSent) socket.destroy()
    else if (failure.wasConnected)
      refuse(response, { status: 502, text: 'The instance closed the connection before it answered.', closes: true })
    else if (isWithinBounds) this.#choice.seek()
    else this.onNoInstance()
  }

  #leave(): void {
    this.#entrance.sweep.delete(this)
    this.#connection = undefined
    this.#member?.leave()
    this.#member = undefined
  }

  #abandon = (): void => {
    this.#choice.abandon()
    this.#connection?.destroy()
    this.#leave()
  }

  check(nowMs: number): void {
    const { bounds, closesSince } = this.#entrance
    const stalledMs = nowMs - this.#movedMs
    const limitMs = this.#connection?.isConnected === true ? bounds.instanceStallMs : bounds.connectMs
    const hasDrained = closesSince !== undefined && nowMs - closesSince > bounds.drainMs
    if (hasDrained) this.#parts.socket.destroy()
    else if (stalledMs > limitMs) {
      this.#connection?.fail(codedError('ETIMEDOUT', 'the instance did not answer in time'))
    }
  }
}

function findHeader(headers: readonly string[], name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2) if (headers[at]?.toLowerCase() === name) return headers[at + 1]
  return undefined
}
