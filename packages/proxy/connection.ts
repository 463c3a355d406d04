/** One connection to an HTTP server: requests in turn, the outcome of each, and the hand-over to an upgrade. */
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { RequestBody } from './request-body.ts'
import {
  ResponseError,
  type ResponseHead,
  ResponseReader,
  type ResponseSink,
} from './response-reader.ts'
import type { Expiring, TimeoutSweep } from './sweep.ts'

export interface ConnectionTarget {
  readonly place: NetConnectOpts
  /** TLS options. */
  readonly secure?: ConnectionOptions
}

export interface ConnectionBounds {
  /** 0: without limit, as the next one. */
  readonly connectMs: number
  /** For a server that sends nothing of its response, unless the request has another bound. */
  readonly stallMs: number
  /** An idle connection to a server that announces no time of its own. */
  readonly keepAliveMs: number
  /** `fresh` takes none that has been idle for longer. */
  readonly freshMs?: number
  /** A connection is replaced at this age. */
  readonly maxAgeMs?: number
}

/** Holds the connections to one server. */
export interface ConnectionOwner {
  readonly target: ConnectionTarget
  readonly bounds: ConnectionBounds
  readonly sweep: TimeoutSweep
  /** TLS session to be resumed. */
  readonly session: Buffer | undefined
  /** Milliseconds. */
  now(): number
  isFresh(connection: Connection): boolean
  /** The response is complete: the next request may take the connection. */
  keep(connection: Connection, announcedSeconds: number | undefined): void
  keepSession(session: Buffer): void
  remove(connection: Connection): void
}

export interface OutgoingHead {
  readonly method: string
  /** Request line and headers without the empty line, for latin1; the framing of the body is included. */
  readonly text: string
  readonly expectsContinue?: boolean
  /** The response may change the protocol. Otherwise, 101 is no response. */
  readonly upgrades?: boolean
}

export type OutgoingBody = RequestBody | string | Buffer | undefined

/** Receiver of the response to one request. Nothing is called after `onEnd` and `onFailure`. */
export interface ResponseReceiver extends ResponseSink {
  /** Nothing more can be read for the moment. */
  onReadEnd?(): void
  /** The connection is over before the response. */
  onFailure(failure: ConnectionFailure): void
}

export interface ConnectionFailure {
  readonly error: Error & { code?: string }
  /** False: nothing has reached the server. */
  readonly wasConnected: boolean
  /** The connection has carried a request before: the server may just have closed it. */
  readonly wasKept: boolean
}

export function codedError(
  code: 'ECONNRESET' | 'ETIMEDOUT',
  message: string,
): Error & { code: string } {
  return Object.assign(new Error(message), { code })
}

/** No connection within its time. Errors of the system have the same fields. */
export function isConnectTimeout(error: unknown): boolean {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  return code === 'ETIMEDOUT' && syscall === 'connect'
}

/** What any connection has just read; taken or copied before the next read. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024)

export class Connection implements ResponseSink, Expiring {
  readonly socket: Socket
  /** After this, in milliseconds of the owner's clock, no request may take it. */
  freshUntilMs = 0
  idleSinceMs = 0
  readonly bornMs: number
  readonly #owner: ConnectionOwner
  readonly #reader = new ResponseReader()
  #receiver: ResponseReceiver | undefined
  #head: OutgoingHead | undefined
  #body: OutgoingBody
  #answer: ResponseHead | undefined
  #isConnected = false
  #isPaused = false
  #isReleased = false
  #wasUsed = false
  #error: Error | undefined
  /** For a server that sends nothing of its response; 0: without limit. */
  #stallMs = 0
  /** When something last moved, by the coarse clock. */
  #movedMs = 0

  /** @param isStream Its socket can be released. Others read without a new buffer each time. */
  constructor(owner: ConnectionOwner, isStream: boolean) {
    const { target, sweep } = owner
    this.#owner = owner
    this.bornMs = owner.now()
    const isShared = !isStream && target.secure === undefined
    const socket = isShared
      ? connect({
          ...target.place,
          ...common,
          onread: { buffer: readBuffer, callback: this.#readShared },
        })
      : target.secure === undefined
        ? connect({ ...target.place, ...common })
        : process
            .getBuiltinModule('node:tls')
            .connect({ ...target.place, ...common, ...target.secure, session: owner.session })
    this.socket = socket
    socket.once(target.secure === undefined ? 'connect' : 'secureConnect', () => {
      this.#isConnected = true
      if (this.#receiver !== undefined) this.#write()
    })
    if (!isShared) socket.on('data', this.#read)
    if (target.secure !== undefined)
      socket.on('session', (session: Buffer) => owner.keepSession(session))
    socket.on('drain', () => {
      if (isStreamed(this.#body)) this.#body.resume()
    })
    socket.on('error', (error) => {
      this.#error = error
    })
    socket.on('end', this.#end)
    socket.on('close', this.#close)
    sweep.add(this)
  }

  /**
   * Sends a request, once the connection stands, and reports what becomes of it. After the response, the connection is kept for the
   * next request if it can be.
   */
  send(
    head: OutgoingHead,
    body: OutgoingBody,
    receiver: ResponseReceiver,
    stallMs = this.#owner.bounds.stallMs,
  ): void {
    this.#receiver = receiver
    this.#head = head
    this.#body = body
    this.#answer = undefined
    this.#stallMs = stallMs
    this.#movedMs = this.#owner.sweep.nowMs
    this.#reader.expect(this, head.method === 'HEAD')
    if (this.#isConnected) this.#write()
  }

  #write(): void {
    const { socket } = this
    const body = this.#body
    const { text, expectsContinue } = this.#head as OutgoingHead
    this.#movedMs = this.#owner.sweep.nowMs
    if (body === undefined) return void socket.write(`${text}\r\n`, 'latin1')
    socket.cork()
    const invites = expectsContinue === true && isStreamed(body) && !body.hasEnded
    socket.write(invites ? `${text}expect: 100-continue\r\n\r\n` : `${text}\r\n`, 'latin1')
    if (isStreamed(body)) body.passTo(socket)
    else socket.write(body)
    socket.uncork()
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** The receiver takes nothing more for the moment; what was read already still comes. */
  pause(): void {
    this.#isPaused = true
    this.socket.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#movedMs = this.#owner.sweep.nowMs
    this.socket.resume()
  }

  /** Leaves the socket to the caller, for a tunnel. */
  release(): Socket {
    this.#isReleased = true
    this.#forget()
    const { socket } = this
    socket
      .removeAllListeners('data')
      .removeAllListeners('drain')
      .removeAllListeners('end')
      .removeAllListeners('close')
    return socket
  }

  /** The receiver gets no further calls. */
  destroy(): void {
    this.#forget()
    this.#reader.forget()
    this.socket.destroy()
  }

  #forget(): void {
    this.#receiver = undefined
    this.#body = undefined
    this.#owner.remove(this)
  }

  /** Ends the connection in the name of its request. */
  fail(error: Error & { code?: string }): void {
    const receiver = this.#receiver
    const failure = { error, wasConnected: this.#isConnected, wasKept: this.#wasUsed }
    this.destroy()
    receiver?.onFailure(failure)
  }

  onInformation(head: ResponseHead): void {
    this.#movedMs = this.#owner.sweep.nowMs
    this.#receiver?.onInformation(head)
  }

  onHead(head: ResponseHead): void {
    this.#movedMs = this.#owner.sweep.nowMs
    if (head.status === 101 && this.#head?.upgrades !== true) {
      throw new ResponseError('It changes the protocol although nothing asked for it.')
    }
    this.#answer = head
    this.#receiver?.onHead(head)
  }

  onBody(piece: Buffer, isLast: boolean): void {
    this.#movedMs = this.#owner.sweep.nowMs
    this.#receiver?.onBody(piece, isLast)
  }

  onEnd(trailers: readonly string[]): void {
    const receiver = this.#receiver
    const answer = this.#answer
    if (receiver === undefined || answer === undefined) return
    const hasSentAll = !isStreamed(this.#body) || this.#body.hasEnded
    this.#receiver = undefined
    this.#body = undefined
    if (answer.keepsAlive && hasSentAll && this.#head?.upgrades !== true)
      this.#rest(answer.keepAliveSeconds)
    else this.destroy()
    receiver.onEnd(trailers)
  }

  #rest(announcedSeconds: number | undefined): void {
    this.#wasUsed = true
    if (this.#isPaused) this.resume()
    this.#owner.keep(this, announcedSeconds)
  }

  #readShared = (length: number): boolean => {
    this.#read(readBuffer.subarray(0, length))
    return true
  }

  #read = (chunk: Buffer): void => {
    // Nothing may arrive without a request: it would become the response to the next one.
    if (this.#receiver === undefined) return void this.destroy()
    try {
      const rest = this.#reader.read(chunk)
      if (rest === undefined) return void this.#receiver?.onReadEnd?.()
      // After 101 these bytes are of the new protocol; otherwise, the response is longer than it says.
      if (this.#isReleased) this.socket.unshift(rest)
      else this.fail(new ResponseError('The response is longer than it says.'))
    } catch (error) {
      if (!(error instanceof ResponseError)) throw error
      this.fail(error)
    }
  }

  #end = (): void => {
    if (this.#receiver === undefined) this.destroy()
    else if (!this.#reader.end())
      this.fail(codedError('ECONNRESET', 'the server closed the connection'))
  }

  #close = (): void => {
    this.fail(this.#error ?? codedError('ECONNRESET', 'the connection was closed'))
  }

  check(nowMs: number): void {
    if (this.#receiver === undefined) {
      if (!this.#owner.isFresh(this)) this.destroy()
      return
    }
    const body = this.#body
    const stalledMs = nowMs - Math.max(this.#movedMs, isStreamed(body) ? body.movedMs : 0)
    if (!this.#isConnected) {
      const { connectMs } = this.#owner.bounds
      const error = Object.assign(codedError('ETIMEDOUT', 'no connection within its time'), {
        syscall: 'connect',
      })
      if (connectMs > 0 && stalledMs > connectMs) this.fail(error)
      return
    }
    const waitsForClient =
      this.#isPaused || (isStreamed(body) && body.isPassedOn && !body.isBlocked)
    if (!waitsForClient && this.#stallMs > 0 && stalledMs > this.#stallMs) {
      this.fail(codedError('ETIMEDOUT', 'the server did not answer in time'))
    }
  }
}

const common = {
  noDelay: true,
  allowHalfOpen: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
}

function isStreamed(body: OutgoingBody): body is RequestBody {
  return typeof body === 'object' && 'passTo' in body
}
