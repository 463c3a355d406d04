/** Request body on its way to a server; small ones can be replayed. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { KeptBytes } from './kept-bytes.ts'
import { toTrailerLines } from './response-headers.ts'
import type { Expiring, TimeoutSweep } from './sweep.ts'

/** A piece of this size and its frame are one write of one string. */
const maxTextBytes = 1024

/** Shared by bodies that can be replayed. */
interface ReplayRoom {
  readonly sweep: TimeoutSweep
  readonly bounds: { readonly maxReplayBytes: number; readonly maxReplayTotalBytes: number }
  /** Bytes that are held now. */
  readonly replay: { bytes: number }
}

export class RequestBody {
  readonly #request: Readable & { readonly rawTrailers?: readonly string[] }
  readonly #room: ReplayRoom
  readonly #isChunked: boolean
  /** What the client has sent so far; undefined once it is too much to be kept. */
  #kept: KeptBytes | undefined
  #keptBytes = 0
  /** What is counted of it in the room. */
  #countedBytes = 0
  #target: Socket | undefined
  #hasBegun = false
  #hasEnded = false
  #isBlocked = false
  #bytes = 0
  #maxBytes = Number.POSITIVE_INFINITY
  #onTooLong = () => {}
  /** When the client last sent something, by the coarse clock. */
  movedMs: number

  /** @param keeps The request may be repeated. */
  constructor(room: ReplayRoom, request: Readable, isChunked: boolean, keeps: boolean) {
    this.#room = room
    this.#request = request
    this.#isChunked = isChunked
    this.#kept = keeps ? new KeptBytes() : undefined
    this.movedMs = room.sweep.nowMs
  }

  /** @param onTooLong Called once, when more than these bytes have come */
  limit(maxBytes: number, onTooLong: () => void): void {
    this.#maxBytes = maxBytes
    this.#onTooLong = onTooLong
  }

  /** Reads all of it before it is sent anywhere. @param bytes Its length. */
  collect(bytes: number, then: () => void): void {
    this.#kept = new KeptBytes()
    this.#count(bytes)
    this.#read(then)
  }

  #count(bytes: number): void {
    this.#countedBytes += bytes
    this.#room.replay.bytes += bytes
  }

  #read(then?: () => void): void {
    this.#hasBegun = true
    this.#request.on('data', (piece: Buffer) => this.#take(piece))
    this.#request.once('end', () => {
      this.#hasEnded = true
      this.movedMs = this.#room.sweep.nowMs
      this.#endTarget()
      then?.()
    })
  }

  #take(piece: Buffer): void {
    this.movedMs = this.#room.sweep.nowMs
    this.#bytes += piece.length
    if (this.#bytes > this.#maxBytes) {
      this.#maxBytes = Number.POSITIVE_INFINITY
      return void this.#onTooLong()
    }
    if (this.#kept !== undefined) this.#keep(this.#kept, piece)
    if (this.#target === undefined || this.#write(this.#target, piece)) return
    this.#isBlocked = true
    this.#request.pause()
  }

  #keep(kept: KeptBytes, piece: Buffer): void {
    const { bounds, replay } = this.#room
    this.#keptBytes += piece.length
    const uncounted = Math.max(0, this.#keptBytes - this.#countedBytes)
    if (
      this.#keptBytes > bounds.maxReplayBytes ||
      replay.bytes + uncounted > bounds.maxReplayTotalBytes
    ) {
      this.#forget()
    } else {
      this.#count(uncounted)
      kept.add(piece)
    }
  }

  #write(target: Socket, piece: Buffer): boolean {
    if (!this.#isChunked) return target.write(piece)
    const size = piece.length.toString(16)
    // What waits for the server is bounded by its bytes, whatever each entry takes besides.
    if (piece.length <= maxTextBytes)
      return target.write(`${size}\r\n${piece.toString('latin1')}\r\n`, 'latin1')
    target.cork()
    target.write(`${size}\r\n`, 'latin1')
    target.write(piece)
    const isTaken = target.write('\r\n', 'latin1')
    target.uncork()
    return isTaken
  }

  #endTarget(): void {
    if (!this.#isChunked) return
    this.#target?.write(`0\r\n${toTrailerLines(this.#request.rawTrailers ?? [])}\r\n`, 'latin1')
  }

  /** Sends what there is to a server, and the rest as it comes. @param target Corked; the head was written. */
  passTo(target: Socket): void {
    this.#target = target
    const bytes = this.#kept?.bytes
    if (bytes !== undefined) this.#write(target, bytes)
    if (!this.#hasBegun) this.#read()
    else if (this.#hasEnded) this.#endTarget()
    else this.resume()
  }

  /** The server is gone. What the client sends meanwhile waits. */
  detach(): void {
    this.#target = undefined
    if (this.#hasBegun && !this.#hasEnded) this.#request.pause()
  }

  /** The server has taken what was written. */
  resume(): void {
    if (this.#isBlocked) this.movedMs = this.#room.sweep.nowMs
    this.#isBlocked = false
    if (!this.#hasEnded) this.#request.resume()
  }

  /** Another server can get all of it. */
  get isRepeatable(): boolean {
    return !this.#hasBegun || this.#kept !== undefined
  }

  /** The client has sent all. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** A server gets it while it comes. */
  get isPassedOn(): boolean {
    return this.#target !== undefined && !this.#hasEnded
  }

  /** It is the server that stops the flow. */
  get isBlocked(): boolean {
    return this.#isBlocked
  }

  /** No server gets the rest. */
  discard(): void {
    this.#forget()
    this.#target = undefined
    if (!this.#hasEnded) this.#request.resume()
  }

  #forget(): void {
    this.#kept = undefined
    this.#room.replay.bytes -= this.#countedBytes
    this.#countedBytes = 0
  }
}

/** Time for a client to send the rest of a request that has its response; a connection that is closed before may lose that. */
const lateBodyMs = 30_000

/** The rest of a body that is not wanted any more. */
export class LateBody implements Expiring {
  readonly #sweep: TimeoutSweep
  readonly #request: IncomingMessage
  readonly #sinceMs: number

  constructor(sweep: TimeoutSweep, request: IncomingMessage) {
    this.#sweep = sweep
    this.#request = request
    this.#sinceMs = sweep.nowMs
  }

  check(nowMs: number): void {
    const { complete, socket } = this.#request
    if (!complete && !socket.destroyed && nowMs - this.#sinceMs <= lateBodyMs) return
    if (!complete) socket.destroy()
    this.#sweep.delete(this)
  }
}
