/** The port that a request or connection came in on, as far as its exchange needs it. */
import type { Socket } from 'node:net'
import type { SweepTimer } from '@fairlead/proxy/sweep.ts'
import type { Bounds } from './bounds.ts'
import type { RunningBalancer } from './load-balancer.ts'

export interface Entrance {
  /** Another one, when the port changes hands. */
  readonly balancer: RunningBalancer
  readonly bounds: Bounds
  readonly sweep: SweepTimer
  /** Bytes of bodies that are held to be sent again, over all ports. */
  readonly replay: { bytes: number }
  /** Since the port is no longer wanted, in milliseconds of `performance.now()`. */
  readonly closesSince: number | undefined
  /** The response to the present request of a connection is over. */
  endTurn(socket: Socket): void
}
