/** One connection to an instance: requests in turn, keep-alive, and the hand-over to an upgrade. */
import { connect, type Socket } from 'node:net'
import { ResponseError, ResponseReader, type ResponseSink } from './response-reader.ts'

/** The request that a connection works on. */
export interface ConnectionUser extends ResponseSink {
  /** The connection stands. Called at once where it stood before. */
  onConnected(): void
  /** What was written has been taken. */
  onDrain(): void
  /** Nothing more can be read for the moment. */
  onReadEnd(): void
  /** The connection is over before the response. Nothing is called after this. */
  onFailure(failure: ConnectionFailure): void
}

export interface ConnectionFailure {
  readonly error: Error & { code?: string }
  /** False: nothing has reached the instance. */
  readonly wasConnected: boolean
}

export function codedError(code: 'ECONNRESET' | 'ETIMEDOUT', message: string): Error & { code: string } {
  return Object.assign(new Error(message), { code })
}

export interface ConnectionOwner {
  readonly host: string
  readonly port: number
  readonly keepAliveMs: number
  /** An idle connection has ended. */
  remove(connection: MemberConnection): void
}

/** What any connection has just read; taken or copied before the next read. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024)

/** Announced times are shortened by this, so that the instance does not close while a request is under way. */
const keepAliveMarginMs = 1000

export class MemberConnection {
  readonly socket: Socket
  /** It has carried a request before; the instance may be closing it. */
  wasUsed = false
  /** Milliseconds of `performance.now()`. */
  idleSince = 0
  readonly #owner: ConnectionOwner
  readonly #reader = new ResponseReader()
  #user: ConnectionUser | undefined
  #isConnected = false
  #isReleased = false
  #error: Error | undefined
  #idle: NodeJS.Timeout | undefined
  #idleMs = 0

  /** @param isStream Its socket can be released. Others read without a new buffer each time. */
  constructor(owner: ConnectionOwner, isStream: boolean) {
    this.#owner = owner
    const options = { host: owner.host, port: owner.port, noDelay: true, allowHalfOpen: true }
    const socket = connect(isStream ? options : { ...options, onread: { buffer: readBuffer, callback: this.#readShared } })
    this.socket = socket
    socket.on('connect', () => {
      this.#isConnected = true
      this.#user?.onConnected()
    })
    if (isStream) socket.on('data', this.#read)
    socket.on('drain', () => this.#user?.onDrain())
    socket.on('error', (error) => {
      this.#error = error
    })
    socket.on('end', this.#end)
    socket.on('close', this.#close)
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Gives the connection to a request. Its user writes to the socket. */
  begin(user: ConnectionUser, headersOnly: boolean): void {
    this.#user = user
    this.#reader.expect(user, headersOnly)
  }

  /** Keeps the connection for the next request; it ends when none comes. @param seconds As the instance announced it. */
  rest(seconds: number | undefined): boolean {
    const announced = seconds === undefined ? this.#owner.keepAliveMs : seconds * 1000 - keepAliveMarginMs
    const idleMs = Math.min(announced, 60_000)
    this.#user = undefined
    if (this.socket.destroyed || idleMs <= 0) return false
    this.wasUsed = true
    this.idleSince = performance.now()
    this.socket.resume()
    if (this.#idle !== undefined && this.#idleMs === idleMs) return true
    this.#idleMs = idleMs
    clearTimeout(this.#idle)
    this.#watchIdle(idleMs)
    return true
  }

  /** The timer is not moved with each request: when it fires, it looks how long the connection has been idle. */
  #watchIdle(ms: number): void {
    this.#idle = setTimeout(() => {
      this.#idle = undefined
      const left = this.#user === undefined ? this.idleSince + this.#idleMs - performance.now() : this.#idleMs
      if (left > 1) this.#watchIdle(left)
      else this.#drop()
    }, ms).unref()
  }

  /** For a tunnel: from now on, the socket belongs to the caller. */
  release(): Socket {
    this.#user = undefined
    this.#isReleased = true
    clearTimeout(this.#idle)
    this.socket.removeAllListeners('data').removeAllListeners('drain').removeAllListeners('end').removeAllListeners('close')
    return this.socket
  }

  /** The user gets no further calls. */
  destroy(): void {
    this.#user = undefined
    this.#reader.forget()
    this.socket.destroy()
  }

  /** Ends the connection in the name of its user's request. */
  fail(error: Error & { code?: string }): void {
    const user = this.#user
    const wasConnected = this.#isConnected
    this.destroy()
    user?.onFailure({ error, wasConnected })
  }

  #readShared = (length: number): boolean => {
    this.#read(readBuffer.subarray(0, length))
    return true
  }

  #read = (chunk: Buffer): void => {
    // Nothing may arrive without a request: it would become the response to the next one.
    if (this.#user === undefined) return void this.#drop()
    try {
      const rest = this.#reader.read(chunk)
      if (rest === undefined) return void this.#user?.onReadEnd()
      // After 101 these bytes are of the new protocol; otherwise, the response is longer than it says.
      if (this.#isReleased) this.socket.unshift(rest)
      else this.#drop()
    } catch (error) {
      if (!(error instanceof ResponseError)) throw error
      this.fail(error)
    }
  }

  #end = (): void => {
    if (this.#user === undefined) return void this.#drop()
    if (!this.#reader.end()) this.fail(codedError('ECONNRESET', 'the instance closed the connection'))
  }

  #close = (): void => {
    clearTimeout(this.#idle)
    if (this.#user === undefined) this.#owner.remove(this)
    else this.fail(this.#error ?? codedError('ECONNRESET', 'the connection was closed'))
  }

  #drop(): void {
    this.#owner.remove(this)
    this.destroy()
  }
}
