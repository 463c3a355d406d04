/** Limits of all load balancers: timeouts of clients and instances, and sizes of buffers. */

export interface Bounds {
  /** Connections of one listener; more are closed at once. */
  readonly maxConnections: number
  /** Applies to a request's line and headers. */
  readonly maxHeaderBytes: number
  /**
   * Bodies of requests up to this can be sent again; where the length is known, they are read before an instance is chosen. Responses up
   * to this are passed on when they are complete, if the request may be repeated.
   */
  readonly maxReplayBytes: number
  /** Applies to all bodies of requests together; further ones are streamed, and not kept. */
  readonly maxReplayTotalBytes: number
  /** Requests that a client may send ahead on one connection. */
  readonly maxPipelined: number
  /** How often one request is sent, the first time included. Refused connections do not count. */
  readonly maxAttempts: number
  /** Before a request goes to an instance again that has lost it, where there is no other; doubles each time. */
  readonly firstRepeatMs: number
  /** Since the last instance of a load balancer was lost: requests wait for the next one that is healthy, later ones end with 503. */
  readonly outageMs: number
  /** Requests of one load balancer that wait for an instance; further ones end with 503. */
  readonly maxWaiting: number
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
  firstRepeatMs: 50,
  outageMs: 10_000,
  maxWaiting: 2048,
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
