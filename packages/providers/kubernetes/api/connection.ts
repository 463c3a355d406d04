/** One connection to an API server, for as many requests as it takes. */
import type { Socket } from 'node:net'
import { Client, type Dispatcher } from 'undici'

/** The HTTP/2 limit of most servers and proxies; a lower one of the server counts, too. */
const maxStreams = 100
/** Connections that nothing uses are closed. */
const idleMs = 60_000
/** A server says within a round trip how many streams it takes. */
const settleMs = 1000

interface Http2Options {
  readonly origin: string
  readonly socket: Socket & { readonly alpnProtocol?: string | false | null }
  readonly open: () => Promise<Socket>
  readonly pingMs: number
}

/**
 * A client of undici that takes an open socket. It opens another one only for requests that the server has refused while it shut down
 * (GOAWAY); a lost connection is replaced by its owner.
 */
export class ApiConnection extends Client {
  running = 0
  readonly isMultiplexed: boolean
  isRetired = false
  isSettled: boolean
  /** Resolves once it is known how many requests it takes. */
  readonly settled: Promise<void>
  #isBusy = false

  constructor(options: Http2Options) {
    super(options.origin, toClientOptions(options))
    this.isMultiplexed = options.socket.alpnProtocol === 'h2'
    this.isSettled = !this.isMultiplexed
    const { promise, resolve } = Promise.withResolvers<void>()
    this.settled = promise
    const settle = () => {
      clearTimeout(timer)
      this.isSettled = true
      resolve()
    }
    const timer = setTimeout(settle, settleMs).unref()
    this.on('drain', () => {
      this.#isBusy = false
      settle()
    })
    this.on('disconnect', () => {
      this.isRetired = true
      settle()
    })
    this.on('connectionError', settle)
  }

  get hasRoom(): boolean {
    if (this.isRetired || this.#isBusy) return false
    return this.running < (this.isMultiplexed && this.isSettled ? maxStreams : 1)
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const takesMore = super.dispatch(options, handler)
    // With HTTP/1.1, the next request comes once this one is over.
    if (!takesMore && this.isMultiplexed) this.#isBusy = true
    return takesMore
  }
}

function toClientOptions({ socket, open, pingMs }: Http2Options): Client.Options {
  const isMultiplexed = socket.alpnProtocol === 'h2'
  let first: Socket | undefined = socket
  /** A connection keeps the protocol that its owner counts on. */
  const openAgain = async () => {
    const opened: Http2Options['socket'] = await open()
    if ((opened.alpnProtocol === 'h2') === isMultiplexed) return opened
    opened.destroy()
    throw new Error('the API server has another protocol now')
  }
  return {
    allowH2: true,
    // After GOAWAY, undici counts the streams that still run against this limit before it opens another socket.
    pipelining: isMultiplexed ? maxStreams : 1,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    h2Options: { maxConcurrentStreams: maxStreams, pingInterval: pingMs },
    connect: (_options, callback) => {
      const given = first
      first = undefined
      // undici expects the answer later.
      const opening = given === undefined || given.destroyed ? openAgain() : Promise.resolve(given)
      opening.then(
        (opened) => callback(null, opened),
        (error: Error) => callback(error, null),
      )
    },
  }
}
