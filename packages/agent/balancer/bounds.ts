/** Limits of all load balancers: timeouts of clients and instances, and sizes of buffers. */
import { readDescriptorLimit } from '@fairlead/base/runtime/descriptor-limit.ts'

export const defaultBounds = {
  /** Connections of one listener; requests on a few more get 503 (HTTP), and others are closed at once. */
  maxConnections: 8192,
  /** Connections of all listeners. Each takes a second descriptor at an instance; programs, health checks and files need some, too. */
  maxTotalConnections: Math.min(65_536, Math.floor(readDescriptorLimit() * 0.4)),
  /** Applies to a request's line and headers. */
  maxHeaderBytes: 32 * 1024,
  /** The same on a front, whose sites have limits of their own up to this. */
  maxFrontHeaderBytes: 64 * 1024,
  /** Requests at a time on one connection of HTTP/2. */
  maxStreams: 128,
  /**
   * Bodies of requests up to this can be sent again; where the length is known, they are read before an instance is chosen. Responses up
   * to this are passed on when they are complete, if the request may be repeated.
   */
  maxReplayBytes: 64 * 1024,
  /** Applies to all bodies of requests together; further ones are streamed, and not kept. */
  maxReplayTotalBytes: 16 * 1024 * 1024,
  /** Requests that a client may send ahead on one connection. */
  maxPipelined: 16,
  /** How often one request is sent, the first time included. Refused connections do not count. */
  maxAttempts: 4,
  /** Pause before a request goes again to an instance that has lost it, where there is no other; doubles each time. */
  firstRepeatMs: 50,
  /** Since the last instance of a load balancer was lost: requests wait for the next one that is healthy, later ones end with 503. */
  outageMs: 10_000,
  /** Requests of one load balancer that wait for an instance; further ones end with 503. */
  maxWaiting: 2048,
  /** How often slow clients and instances are looked for; the times below are met to within this. */
  sweepMs: 5000,
  handshakeMs: 10_000,
  /** For the line and the headers of a request. */
  headersMs: 30_000,
  /** Between two requests of a client. Longer than most clients keep connections, so that the client ends them. */
  keepAliveMs: 72_000,
  /** For a client that neither sends the rest of its request nor reads its response. */
  clientStallMs: 120_000,
  connectMs: 5000,
  /** For an instance that sends nothing of its response. */
  instanceStallMs: 300_000,
  /** For a tunnel, upgraded or TCP, on which nothing moves. */
  tunnelIdleMs: 3_600_000,
  /** For requests and connections of an instance that is out of service, and of a listener that is removed. */
  drainMs: 300_000,
  /** Between health checks until the first success, and after a refused connection: at first, and at most. */
  quickCheckMs: 50,
  longestQuickCheckMs: 1000,
  /** An idle connection to an instance that announces no time of its own. Shorter than what common servers keep. */
  instanceKeepAliveMs: 4000,
  /** Requests that must not be repeated take no connection that has been idle for longer: the instance may just be closing it. */
  freshMs: 1000,
  /** How often certificate files are looked at. */
  certificateCheckMs: 2000,
  /** Pause before a port that could not be opened is tried again; doubles with each failure. */
  firstReopenMs: 250,
  longestReopenMs: 5000,
}
export type Bounds = Readonly<typeof defaultBounds>
