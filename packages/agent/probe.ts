/** One health probe of a process: a connection, or a request whose status counts. */
import { connect } from 'node:net'
import type { ProbeTarget } from '@fairlead/base/net/agent-protocol.ts'
import { http } from '@fairlead/base/runtime/node-http.ts'

/** `refused`: nothing listens on the port. `reason` is for people. */
export interface Unhealthy {
  readonly kind: 'unhealthy'
  readonly reason: string
  readonly refused: boolean
}

export type ProbeResult =
  | { readonly kind: 'healthy' }
  | Unhealthy
  /** The signal ended the probe. */
  | { readonly kind: 'cancelled' }

/**
 * @param heldMs How long a connection has to stay open, or be spoken on. What forwards a port of a container accepts connections for
 *   it, and closes them where nothing listens there.
 */
export function probe(target: ProbeTarget, signal?: AbortSignal, heldMs = 0): Promise<ProbeResult> {
  const { promise, resolve } = Promise.withResolvers<ProbeResult>()
  let exchange: { destroy(): unknown } | undefined
  try {
    exchange =
      target.kind === 'tcp' ? connectOnce(target, heldMs, resolve) : requestOnce(target, resolve)
  } catch (error) {
    // A path that HTTP has no characters for.
    resolve(unhealthy(`${nameOf(target)} cannot be asked: ${(error as Error).message}`))
  }
  const limit = setTimeout(
    () => resolve(unhealthy(`${nameOf(target)} did not answer within ${target.timeoutMs} ms`)),
    target.timeoutMs + heldMs,
  )
  const cancel = () => resolve({ kind: 'cancelled' })
  signal?.addEventListener('abort', cancel, { once: true })
  return promise.finally(() => {
    clearTimeout(limit)
    signal?.removeEventListener('abort', cancel)
    exchange?.destroy()
  })
}

type Resolve = (result: ProbeResult) => void

function connectOnce(
  target: ProbeTarget,
  heldMs: number,
  resolve: Resolve,
): { destroy(): unknown } {
  const socket = connect({ host: target.host, port: target.port })
  const succeed = () => resolve({ kind: 'healthy' })
  socket.once('connect', () => (heldMs === 0 ? succeed() : socket.setTimeout(heldMs, succeed)))
  socket.once('data', succeed)
  socket.once('close', () =>
    resolve(unhealthy('nothing in its container listens on the value of PORT')),
  )
  socket.on('error', (error) => resolve(toFailure(target, error)))
  return socket
}

function requestOnce(
  target: ProbeTarget & { kind: 'http' },
  resolve: Resolve,
): { destroy(): unknown } {
  const { host, port, path, status, hostHeader } = target
  const sent = http.request({
    host,
    port,
    path,
    agent: false,
    headers: {
      'user-agent': 'Fairlead health check',
      ...(hostHeader !== undefined && { host: hostHeader }),
    },
  })
  sent.once('response', ({ statusCode = 0 }) => {
    const isHealthy = status === undefined ? statusCode < 400 : statusCode === status
    const asked = hostHeader === undefined ? '' : ` to the Host ${hostHeader}`
    resolve(
      isHealthy
        ? { kind: 'healthy' }
        : unhealthy(`${nameOf(target)} answered with status ${statusCode}${asked}`),
    )
  })
  sent.on('error', (error) => resolve(toFailure(target, error)))
  sent.end()
  return sent
}

function toFailure(target: ProbeTarget, error: NodeJS.ErrnoException): ProbeResult {
  const name = nameOf(target)
  if (error.code === 'ECONNREFUSED')
    return { kind: 'unhealthy', refused: true, reason: `nothing listens on port ${target.port}` }
  return unhealthy(
    error.code === 'ECONNRESET'
      ? `${name} closed the connection without an answer`
      : `${name} failed: ${error.message}`,
  )
}

/** Replaces a success where none of the instance's own processes listens. */
export function strangerAnswers(port: number): Unhealthy {
  return { kind: 'unhealthy', refused: true, reason: `another program answers on port ${port}` }
}

function unhealthy(reason: string): ProbeResult {
  return { kind: 'unhealthy', refused: false, reason }
}

function nameOf(target: ProbeTarget): string {
  return target.kind === 'http'
    ? `GET ${target.path} on port ${target.port}`
    : `port ${target.port}`
}
