/** Connections to one HTTP server: the one used last is used next, and callers bound their number themselves. */
import {
  Connection,
  type ConnectionBounds,
  type ConnectionOwner,
  type ConnectionTarget,
} from './connection.ts'
import type { TimeoutSweep } from './sweep.ts'

/** Announced times are shortened by this, so that the server does not close while a request is under way. */
const keepAliveMarginMs = 1000
const longestIdleMs = 60_000

interface ConnectionsOptions extends Pick<ConnectionOwner, 'target' | 'bounds' | 'sweep'> {
  /** Milliseconds. */
  readonly now?: () => number
}

export class Connections implements ConnectionOwner {
  readonly target: ConnectionTarget
  readonly bounds: ConnectionBounds
  readonly sweep: TimeoutSweep
  readonly now: () => number
  session: Buffer | undefined
  #keepsIdle = true
  #isClosed = false
  readonly #idle: Connection[] = []
  readonly #open = new Set<Connection>()

  constructor({ target, bounds, sweep, now = () => performance.now() }: ConnectionsOptions) {
    this.target = target
    this.bounds = bounds
    this.sweep = sweep
    this.now = now
  }

  /** @param which `fresh`: not one that the server may be closing; `tunnel`: a new one that can be released. */
  take(which: 'any' | 'fresh' | 'new' | 'tunnel' = 'any'): Connection {
    const mostIdleMs = which === 'fresh' ? this.bounds.freshMs : undefined
    while (which === 'any' || which === 'fresh') {
      const last = this.#idle.at(-1)
      if (
        last === undefined ||
        (mostIdleMs !== undefined && this.now() - last.idleSinceMs > mostIdleMs)
      )
        break
      this.#idle.pop()
      if (this.isFresh(last)) return last
      last.destroy()
    }
    const connection = new Connection(this, which === 'tunnel')
    this.#open.add(connection)
    if (this.#isClosed) connection.socket.destroy()
    return connection
  }

  keep(connection: Connection, announcedSeconds: number | undefined): void {
    const { keepAliveMs, maxAgeMs = Number.POSITIVE_INFINITY } = this.bounds
    const idleMs =
      announcedSeconds === undefined
        ? keepAliveMs
        : Math.min(announcedSeconds * 1000 - keepAliveMarginMs, longestIdleMs)
    connection.idleSinceMs = this.now()
    connection.freshUntilMs = Math.min(
      connection.idleSinceMs + idleMs,
      connection.bornMs + maxAgeMs,
    )
    if (this.#keepsIdle && this.isFresh(connection)) this.#idle.push(connection)
    else connection.destroy()
  }

  isFresh({ freshUntilMs, socket }: Connection): boolean {
    return this.now() < freshUntilMs && !socket.destroyed
  }

  remove(connection: Connection): void {
    if (!this.#open.delete(connection)) return
    this.sweep.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at !== -1) this.#idle.splice(at, 1)
  }

  keepSession(session: Buffer): void {
    this.session = session
  }

  /** Whether connections are kept after their response. */
  setKeepsIdle(keepsIdle: boolean): void {
    this.#keepsIdle = keepsIdle
    if (!keepsIdle) for (const connection of [...this.#idle]) connection.destroy()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Ends what runs, too. */
  close(): void {
    this.#isClosed = true
    this.#keepsIdle = false
    for (const connection of this.#open) connection.socket.destroy()
  }
}
