/** The port that a request or connection came in on, and what its exchange needs of it. */
import type { IncomingMessage } from 'node:http'
import type { TimeoutSweep } from '@fairlead/proxy/sweep.ts'
import type { Bounds } from './bounds.ts'
import type { ClientResponse } from './client-response.ts'
import type { RunningBalancer } from './load-balancer.ts'

export interface ListenerContext {
  readonly balancer: RunningBalancer
  readonly bounds: Bounds
  readonly sweep: TimeoutSweep
  /** Bytes of bodies that are held to be sent again, over all ports. */
  readonly replay: { bytes: number }
  /** Since the port is no longer wanted, in milliseconds of `performance.now()`. */
  readonly closesSince: number | undefined
  /** Undefined: the port belongs to the load balancer alone. */
  readonly site?: SiteTerms
}

/** What a front adds to a load balancer. */
interface SiteTerms {
  readonly maxBodyBytes: number
  readonly maxHeaderBytes: number
  /** Taken off the path for instances; empty: nothing. */
  readonly strippedPath: string
  readonly compress: 'gzip' | 'brotli' | undefined
  /** Names and values in turn. */
  readonly responseHeaders: readonly string[]
  /** HTML. */
  readonly errorPage: string | undefined
}

/** An open port, as far as what is behind it needs to know it. */
export interface Port extends Omit<ListenerContext, 'balancer' | 'site'> {
  readonly isSecure: boolean
}

/** What is behind a port. */
export interface PortService {
  /** Names it in logs, and where connections are counted. */
  readonly id: string
  /** @returns undefined when the request has its response already */
  contextOf(
    port: Port,
    request: IncomingMessage,
    response: ClientResponse,
  ): ListenerContext | undefined
  /** ListenerContext of a connection of plain TCP. */
  tcpContextOf?(port: Port): ListenerContext
  /** Certificates by host name. Then clients may speak HTTP/2, too. */
  readonly tlsOptions?: TlsChoice
}

export type TlsChoice = Pick<import('node:tls').TlsOptions, 'SNICallback' | 'ALPNCallback'>

/** One load balancer behind a port, with its own terms if a front gives some. */
export class PortContext implements ListenerContext {
  readonly balancer: RunningBalancer
  readonly bounds: Bounds
  readonly site: SiteTerms | undefined
  readonly #port: Port

  constructor(
    port: Port,
    balancer: RunningBalancer,
    { bounds = port.bounds, site }: { bounds?: Bounds; site?: SiteTerms } = {},
  ) {
    this.#port = port
    this.balancer = balancer
    this.bounds = bounds
    this.site = site
  }

  get sweep(): TimeoutSweep {
    return this.#port.sweep
  }

  get replay(): { bytes: number } {
    return this.#port.replay
  }

  get closesSince(): number | undefined {
    return this.#port.closesSince
  }
}

/** A load balancer with ports of its own. */
export class BalancerService implements PortService {
  readonly #balancer: RunningBalancer
  #context: PortContext | undefined

  constructor(balancer: RunningBalancer) {
    this.#balancer = balancer
  }

  get id(): string {
    return this.#balancer.id
  }

  contextOf(port: Port): ListenerContext {
    return this.tcpContextOf(port)
  }

  tcpContextOf(port: Port): ListenerContext {
    this.#context ??= new PortContext(port, this.#balancer)
    return this.#context
  }
}
