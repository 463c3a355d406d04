/** Limits of all load balancers: timeouts of clients and instances, and sizes of buffers. */

export interface Bounds {
  /** Connections of one listener; more are closed at once. */
  readonly maxConnections: number
  /** Of a request's line and headers. */
  readonly maxHeaderBytes: number
  /** Bodies with a length up to this are read before an instance is chosen, so the request can be sent again. */
  readonly maxReplayBytes: number
  /** Of all such bodies together; further ones are streamed. */
  readonly maxReplayTotalBytes: number
  /** Requests that a client may send ahead on one connection. */
  readonly maxPipelined: number
  /** Instances that one request is sent to, the first included. */
  readonly maxAttempts: number
  /** How often slow clients and instances are looked for; the times below are met to within this. */
  readonly sweepMs: number
  readonly handshakeMs: number
  /** For the line and the headers of a request. */
  readonly headersMs: number
  /** Between two requests of a client. Longer than most clients keep connections, so that the client ends them. */
  readonly keepAliveMs: number
  /** For a client that neither sends the rest of its request nor reads its response. */
  readonly clientStallMs: number
  readonly connectMs: number
  /** For an instance that sends nothing of its response. */
  readonly instanceStallMs: number
  /** For a tunnel, upgraded or TCP, on which nothing moves. */
  readonly tunnelIdleMs: number
  /** For requests and connections of an instance that is out of service, and of a listener that is removed. */
  readonly drainMs: number
  /** Between health checks until the first success, and after a refused connection: at first, and at most. */
  readonly quickCheckMs: number
  readonly longestQuickCheckMs: number
  /** An idle connection to an instance that announces no time of its own. Shorter than what common servers keep. */
  readonly instanceKeepAliveMs: number
  /** Requests that must not be repeated take no connection that has been idle for longer: the instance may just be closing it. */
  readonly freshMs: number
  /** How often certificate files are looked at. */
  readonly certificateCheckMs: number
  /** Before a port that could not be opened is tried again; doubles with each failure. */
  readonly firstReopenMs: number
  readonly longestReopenMs: number
}

export const defaultBounds: Bounds = {
  maxConnections: 8192,
  maxHeaderBytes: 32 * 1024,
  maxReplayBytes: 64 * 1024,
  maxReplayTotalBytes: 16 * 1024 * 1024,
  maxPipelined: 16,
  maxAttempts: 4,
  sweepMs: 5000,
  handshakeMs: 10_000,
  headersMs: 30_000,
  keepAliveMs: 72_000,
  clientStallMs: 120_000,
  connectMs: 5000,
  instanceStallMs: 300_000,
  tunnelIdleMs: 3_600_000,
  drainMs: 300_000,
  quickCheckMs: 50,
  longestQuickCheckMs: 1000,
  instanceKeepAliveMs: 4000,
  freshMs: 1000,
  certificateCheckMs: 2000,
  firstReopenMs: 250,
  longestReopenMs: 5000,
}
